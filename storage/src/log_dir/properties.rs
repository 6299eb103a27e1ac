//! The small text files that say what a directory or a partition is: `meta.properties`, `partition.metadata`, and the
//! marker of a clean stop. What follows from them is decided elsewhere.

use std::io;
use std::path::PathBuf;

use ottla_model::{NodeId, Uuid};

use crate::disk_log::PARTITION_METADATA;
use crate::io::{self as disk, Directory, Stamp};
use crate::log::LogError;

/// Who a log directory belongs to.
pub(super) const META_PROPERTIES: &str = "meta.properties";
/// Present while a directory is as its last, orderly stop left it.
pub(super) const CLEAN_SHUTDOWN: &str = ".kafka_cleanshutdown";

/// What `meta.properties` (version 1) says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaProperties {
    /// The cluster that the directory belongs to.
    pub cluster_id: String,
    /// The node of that cluster.
    pub node_id: NodeId,
    /// The directory's own id (KIP-858); directories of older brokers may lack it.
    pub directory_id: Option<Uuid>,
}

impl MetaProperties {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let mut version = None;
        let mut cluster_id = None;
        let mut node_id = None;
        let mut directory_id = None;
        for (key, value) in text.lines().filter_map(property) {
            match key.as_str() {
                "version" => version = Some(value),
                "cluster.id" => cluster_id = Some(value),
                "node.id" => node_id = Some(value),
                "directory.id" => directory_id = Some(value),
                _ => {}
            }
        }
        if version.as_deref() != Some("1") {
            return Err("version=1 is missing");
        }
        let node_id: i32 =
            node_id.ok_or("node.id is missing")?.parse().map_err(|_| "node.id is no number")?;
        let directory_id = directory_id.map(|text| text.parse().map_err(|_| "directory.id is no id"));
        Ok(Self {
            cluster_id: cluster_id.ok_or("cluster.id is missing")?,
            node_id: NodeId::new(node_id),
            directory_id: directory_id.transpose()?,
        })
    }

    fn render(&self) -> String {
        let mut text = format!("#\nnode.id={}\n", self.node_id);
        if let Some(id) = self.directory_id {
            text.push_str(&format!("directory.id={id}\n"));
        }
        text.push_str(&format!("version=1\ncluster.id={}\n", escaped(&self.cluster_id)));
        text
    }
}

/// One line of a Java properties file; none for blank lines and comments. Lines that go on in the next one and escapes
/// by number do not occur in the values of these files.
fn property(line: &str) -> Option<(String, String)> {
    let line = line.trim_start();
    if line.is_empty() || line.starts_with(['#', '!']) {
        return None;
    }
    let mut key = String::new();
    let mut characters = line.chars();
    for character in characters.by_ref() {
        if matches!(character, '=' | ':') || character.is_whitespace() {
            break;
        }
        key.push(character);
    }
    let value = characters.as_str().trim_start_matches(['=', ':', ' ', '\t']);
    let mut plain = String::new();
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        plain.push(if character == '\\' { characters.next().unwrap_or('\\') } else { character });
    }
    Some((key, plain.trim_end().to_owned()))
}

fn escaped(value: &str) -> String {
    let special = |character| matches!(character, '=' | ':' | '#' | '!' | '\\');
    value.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

pub(super) fn read_meta_properties(directory: &dyn Directory) -> Result<Option<MetaProperties>, LogError> {
    let Some(text) = read_text(directory, META_PROPERTIES)? else { return Ok(None) };
    MetaProperties::parse(&text).map(Some).map_err(|reason| malformed(directory, META_PROPERTIES, reason))
}

pub(super) fn write_meta_properties(
    directory: &dyn Directory,
    properties: &MetaProperties,
) -> Result<(), LogError> {
    replace(directory, META_PROPERTIES, &properties.render())
}

/// The topic's id, or none where there is no such file.
pub(super) fn read_partition_metadata(directory: &dyn Directory) -> Result<Option<Uuid>, LogError> {
    let Some(text) = read_text(directory, PARTITION_METADATA)? else { return Ok(None) };
    let mut lines = text.lines();
    if lines.next() != Some("version: 0") {
        return Err(malformed(directory, PARTITION_METADATA, "its first line is not 'version: 0'"));
    }
    let id = lines.next().and_then(|line| line.strip_prefix("topic_id: ")).and_then(|id| id.parse().ok());
    id.map(Some).ok_or_else(|| malformed(directory, PARTITION_METADATA, "its second line is no topic id"))
}

pub(super) fn write_partition_metadata(directory: &dyn Directory, topic_id: Uuid) -> Result<(), LogError> {
    replace(directory, PARTITION_METADATA, &format!("version: 0\ntopic_id: {topic_id}"))
}

/// Whether the last stop was an orderly one, and the broker epoch of that time if the marker tells it. Only the marker's
/// existence counts.
pub(super) fn read_clean_marker(directory: &dyn Directory) -> Result<Option<CleanMarker>, LogError> {
    let content = disk::read_named(directory, CLEAN_SHUTDOWN);
    let content = content.map_err(|source| io_error("read", directory, CLEAN_SHUTDOWN, source))?;
    let Some(content) = content else { return Ok(None) };
    let epoch = String::from_utf8_lossy(&content).split_once("\"brokerEpoch\":").and_then(|(_, rest)| {
        let digits = rest.trim_start().split(|c: char| c != '-' && !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    });
    Ok(Some(CleanMarker { broker_epoch: epoch }))
}

/// The marker of an orderly stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CleanMarker {
    pub(super) broker_epoch: Option<i64>,
}

/// What the marker looks like from outside, which no other marker does.
pub(super) fn clean_marker_stamp(directory: &dyn Directory) -> Result<Option<Stamp>, LogError> {
    directory.stamp(CLEAN_SHUTDOWN).map_err(|source| io_error("look at", directory, CLEAN_SHUTDOWN, source))
}

/// Writes the marker, durably. No log may be written in the directory after it.
pub(super) fn write_clean_marker(directory: &dyn Directory, broker_epoch: i64) -> Result<(), LogError> {
    replace(directory, CLEAN_SHUTDOWN, &format!("{{\"version\":0,\"brokerEpoch\":{broker_epoch}}}"))
}

/// Takes the marker away, durably: from now on a crash is a crash.
pub(super) fn remove_clean_marker(directory: &dyn Directory) -> Result<(), LogError> {
    let removed = disk::remove_if_there(directory, CLEAN_SHUTDOWN).and_then(|()| directory.sync());
    removed.map_err(|source| io_error("remove", directory, CLEAN_SHUTDOWN, source))
}

fn read_text(directory: &dyn Directory, name: &'static str) -> Result<Option<String>, LogError> {
    let content = disk::read_named(directory, name);
    let content = content.map_err(|source| io_error("read", directory, name, source))?;
    let text = content.map(String::from_utf8).transpose();
    text.map_err(|_| malformed(directory, name, "it is no text"))
}

fn replace(directory: &dyn Directory, name: &'static str, text: &str) -> Result<(), LogError> {
    disk::replace(directory, name, text.as_bytes())
        .map_err(|source| io_error("write", directory, name, source))
}

fn malformed(directory: &dyn Directory, name: &str, reason: &'static str) -> LogError {
    LogError::Malformed { path: path(directory, name), reason }
}

fn io_error(action: &'static str, directory: &dyn Directory, name: &str, source: io::Error) -> LogError {
    LogError::Io { action, path: path(directory, name), source }
}

fn path(directory: &dyn Directory, name: &str) -> PathBuf {
    directory.path().join(name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;

    use super::*;
    use crate::io::posix::PosixDirectory;

    fn vectors(file: &str) -> Vec<Value> {
        let text = include_str!("../../tests/data/property-files.jsonl");
        let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.filter(|vector| vector["file"] == file).collect()
    }

    #[test]
    fn meta_properties_read_as_kafka_wrote_them_and_version_0_is_refused() {
        let vectors = vectors(META_PROPERTIES);
        assert_eq!(vectors.len(), 2);
        for vector in vectors {
            let parsed = MetaProperties::parse(vector["text"].as_str().unwrap());
            if vector["case"] == "version-0" {
                assert!(parsed.is_err());
                continue;
            }
            let parsed = parsed.unwrap();
            assert_eq!(parsed.cluster_id, vector["values"]["cluster.id"]);
            assert_eq!(parsed.node_id.to_string(), vector["values"]["node.id"].as_str().unwrap());
            let id = parsed.directory_id.unwrap().to_string();
            assert_eq!(id, vector["values"]["directory.id"].as_str().unwrap());
            assert_eq!(MetaProperties::parse(&parsed.render()), Ok(parsed));
        }
    }

    #[test]
    fn odd_but_legal_properties_are_read() {
        let text = "! comment\n\n  version = 1\ncluster.id: a\\:b\\=c\nnode.id\t7\nother=x\n";
        let expected =
            MetaProperties { cluster_id: "a:b=c".to_owned(), node_id: NodeId::new(7), directory_id: None };
        assert_eq!(MetaProperties::parse(text), Ok(expected.clone()));
        assert_eq!(MetaProperties::parse(&expected.render()), Ok(expected));
        assert!(MetaProperties::parse("version=2\ncluster.id=a\nnode.id=1\n").is_err());
        assert!(MetaProperties::parse("").is_err());
    }

    #[test]
    fn partition_metadata_and_the_clean_marker_are_written_as_kafka_writes_them() {
        let folder = tempfile::tempdir().unwrap();
        let directory = PosixDirectory::new(folder.path());
        for vector in vectors(PARTITION_METADATA) {
            let id: Uuid = vector["values"]["topicId"].as_str().unwrap().parse().unwrap();
            write_partition_metadata(&directory, id).unwrap();
            let text = fs::read_to_string(folder.path().join(PARTITION_METADATA)).unwrap();
            assert_eq!(text, vector["text"]);
            assert_eq!(read_partition_metadata(&directory).unwrap(), Some(id));
        }
        for vector in vectors(CLEAN_SHUTDOWN) {
            let epoch = vector["values"]["brokerEpoch"].as_i64().unwrap();
            write_clean_marker(&directory, epoch).unwrap();
            let text = fs::read_to_string(folder.path().join(CLEAN_SHUTDOWN)).unwrap();
            assert_eq!(text, vector["text"]);
            let marker = read_clean_marker(&directory).unwrap();
            assert_eq!(marker, Some(CleanMarker { broker_epoch: Some(epoch) }));
        }
    }

    #[test]
    fn a_clean_marker_counts_whatever_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let directory = PosixDirectory::new(folder.path());
        assert_eq!(read_clean_marker(&directory).unwrap(), None);
        for content in [&b""[..], b"junk\xff\0"] {
            fs::write(folder.path().join(CLEAN_SHUTDOWN), content).unwrap();
            assert_eq!(read_clean_marker(&directory).unwrap(), Some(CleanMarker { broker_epoch: None }));
        }
        remove_clean_marker(&directory).unwrap();
        assert_eq!(read_clean_marker(&directory).unwrap(), None);
    }
}
