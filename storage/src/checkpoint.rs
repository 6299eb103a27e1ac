//! Kafka's checkpoint files: a version, a count, a line an entry. Two shapes of line exist: `topic partition offset` in
//! a log directory, `epoch offset` in a partition. They are replaced whole, so that a crash leaves one or the other.

use ottla_model::{LeaderEpoch, Offset, PartitionIndex, TopicName};

use crate::io::{self as disk, Directory};
use crate::log::LogError;
use crate::log_dir::TopicPartition;

/// Of each partition, up to where its records are durable.
pub(crate) const RECOVERY_POINTS: &str = "recovery-point-offset-checkpoint";
/// Of each partition, its high watermark.
pub(crate) const HIGH_WATERMARKS: &str = "replication-offset-checkpoint";
/// Of the partitions whose start is not that of their first segment, their log start offset.
pub(crate) const LOG_STARTS: &str = "log-start-offset-checkpoint";
/// Of each compacted partition, up to where its records were compacted.
pub(crate) const CLEANER_OFFSETS: &str = "cleaner-offset-checkpoint";
/// In a partition: where each leader epoch began.
pub(crate) const LEADER_EPOCHS: &str = "leader-epoch-checkpoint";

const VERSION: &str = "0";

/// An entry's fields as text.
trait Line: Sized {
    fn read<'a>(fields: impl Iterator<Item = &'a str>) -> Option<Self>;
    fn write(&self) -> String;
}

impl Line for (TopicPartition, Offset) {
    fn read<'a>(mut fields: impl Iterator<Item = &'a str>) -> Option<Self> {
        let topic = TopicName::from(fields.next()?);
        let partition = PartitionIndex::new(fields.next()?.parse().ok()?);
        let offset = Offset::new(fields.next()?.parse().ok()?);
        fields.next().is_none().then_some((TopicPartition { topic, partition }, offset))
    }

    fn write(&self) -> String {
        format!("{} {} {}", self.0.topic, self.0.partition, self.1)
    }
}

impl Line for (LeaderEpoch, Offset) {
    fn read<'a>(mut fields: impl Iterator<Item = &'a str>) -> Option<Self> {
        let epoch = LeaderEpoch::new(fields.next()?.parse().ok()?);
        let offset = Offset::new(fields.next()?.parse().ok()?);
        fields.next().is_none().then_some((epoch, offset))
    }

    fn write(&self) -> String {
        format!("{} {}", self.0, self.1)
    }
}

/// The offsets of a checkpoint file of a log directory; empty where there is none. Where a partition stands twice, the
/// last line counts, so lines keep their order.
pub(crate) fn read_offsets(
    directory: &dyn Directory,
    name: &str,
) -> Result<Vec<(TopicPartition, Offset)>, LogError> {
    read(directory, name)
}

pub(crate) fn write_offsets(
    directory: &dyn Directory,
    name: &str,
    offsets: &[(TopicPartition, Offset)],
) -> Result<(), LogError> {
    write(directory, name, offsets)
}

pub(crate) fn read_epochs(directory: &dyn Directory) -> Result<Vec<(LeaderEpoch, Offset)>, LogError> {
    read(directory, LEADER_EPOCHS)
}

pub(crate) fn write_epochs(
    directory: &dyn Directory,
    epochs: &[(LeaderEpoch, Offset)],
) -> Result<(), LogError> {
    write(directory, LEADER_EPOCHS, epochs)
}

fn read<L: Line>(directory: &dyn Directory, name: &str) -> Result<Vec<L>, LogError> {
    let path = || directory.path().join(name);
    let content = disk::read_named(directory, name)
        .map_err(|source| LogError::Io { action: "read", path: path(), source })?
        .unwrap_or_default();
    let text = String::from_utf8(content).map_err(|_| "it is no text");
    text.and_then(|text| parse(&text)).map_err(|reason| LogError::Malformed { path: path(), reason })
}

fn write<L: Line>(directory: &dyn Directory, name: &str, lines: &[L]) -> Result<(), LogError> {
    let mut text = format!("{VERSION}\n{}\n", lines.len());
    for line in lines {
        text.push_str(&line.write());
        text.push('\n');
    }
    disk::replace(directory, name, text.as_bytes()).map_err(|source| LogError::Io {
        action: "write",
        path: directory.path().join(name),
        source,
    })
}

/// Reads what Kafka's reader reads: any white space between fields, either line end, a missing last one. A file that
/// ends after its version, or is empty, has no entries.
fn parse<L: Line>(text: &str) -> Result<Vec<L>, &'static str> {
    let mut lines = text.lines();
    match lines.next() {
        None => return Ok(Vec::new()),
        Some(VERSION) => {}
        Some(_) => return Err("its first line is not version 0"),
    }
    let Some(count) = lines.next() else { return Ok(Vec::new()) };
    let count: usize = count.parse().map_err(|_| "its second line is not the number of entries")?;
    let entries: Option<Vec<L>> = lines.map(|line| L::read(line.split_whitespace())).collect();
    let entries = entries.ok_or("a line is no entry")?;
    if entries.len() == count { Ok(entries) } else { Err("it has another number of entries than it says") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;

    fn vectors() -> Vec<Value> {
        let text = include_str!("../tests/data/checkpoints.jsonl");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn render<L: Line>(entries: &[L]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let directory = crate::io::posix::PosixDirectory::new(folder.path());
        write(&directory, "file", entries).unwrap();
        assert_eq!(folder.path().read_dir().unwrap().count(), 1, "nothing temporary is left");
        std::fs::read_to_string(folder.path().join("file")).unwrap()
    }

    #[test]
    fn epochs_read_and_write_as_kafkas() {
        let epochs = vectors().into_iter().filter(|vector| vector["file"] == LEADER_EPOCHS);
        let mut compared = 0;
        for vector in epochs {
            let text = vector["text"].as_str().unwrap();
            let found: Vec<(LeaderEpoch, Offset)> = parse(text).unwrap();
            let entries = vector["entries"].as_array().unwrap();
            assert_eq!(found.len(), entries.len());
            for ((epoch, offset), entry) in found.iter().zip(entries) {
                assert_eq!(i64::from(epoch.get()), entry["epoch"].as_i64().unwrap());
                assert_eq!(offset.get(), entry["startOffset"].as_i64().unwrap());
            }
            assert_eq!(render(&found), text);
            compared += 1;
        }
        assert_eq!(compared, 3);
    }

    #[test]
    fn offsets_read_and_write_as_kafkas_and_what_kafka_refuses_is_refused() {
        let mut compared = 0;
        for vector in vectors().into_iter().filter(|vector| vector["file"] != LEADER_EPOCHS) {
            compared += 1;
            let text = vector["text"].as_str().unwrap();
            let found = parse::<(TopicPartition, Offset)>(text);
            let Some(entries) = vector["entries"].as_array() else {
                assert!(found.is_err(), "{text:?}");
                continue;
            };
            let found = found.unwrap();
            let by_name: BTreeMap<String, i64> =
                found.iter().map(|(name, offset)| (name.to_string(), offset.get())).collect();
            let expected: BTreeMap<String, i64> = entries
                .iter()
                .map(|entry| {
                    let name = format!("{}-{}", entry["topic"].as_str().unwrap(), entry["partition"]);
                    (name, entry["offset"].as_i64().unwrap())
                })
                .collect();
            assert_eq!(by_name, expected, "{text:?}");
            if vector["case"] != "read-only" {
                assert_eq!(render(&found), text);
            }
        }
        assert_eq!(compared, 33);
    }
}
