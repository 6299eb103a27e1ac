//! The directories that Apache Kafka wrote, unpacked from `tests/data/kafka` into a temporary folder, with what Kafka says
//! about them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ottla_model::compression::{Codec, decompress};
use ottla_storage::{LogConfig, TopicPartition};
use serde_json::Value;

/// No archive is larger when it is unpacked.
const UNPACKED_BYTES_MAX: usize = 8 << 20;

/// Shortly after the last of Kafka's runs: by then its producers of 2023 are too old to be remembered.
pub(crate) const AFTER_KAFKA_MS: i64 = 1_796_030_000_000;

/// One of Kafka's directories.
pub(crate) struct KafkaSet {
    folder: tempfile::TempDir,
}

impl KafkaSet {
    pub(crate) fn unpack(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/kafka/{name}.tar.zst"));
        let archive = decompress(Codec::Zstd, &fs::read(path).unwrap(), UNPACKED_BYTES_MAX).unwrap();
        for (name, content) in entries(&archive) {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        Self { folder }
    }

    /// The log directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        json(&self.path(name))
    }

    /// What clients were told of each partition, by its name.
    pub(crate) fn truths(&self, folder: &str) -> BTreeMap<String, Value> {
        let named = |path: PathBuf| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, json(&path))
        };
        fs::read_dir(self.path(folder)).unwrap().map(|entry| named(entry.unwrap().path())).collect()
    }
}

/// The settings with which Kafka ran a topic, where `about` lists those that it was given.
pub(crate) fn config(about: &Value) -> LogConfig {
    let number = |name: &str| about["overrides"][name].as_str().map(|text| text.parse::<i64>().unwrap());
    let bytes = |name: &str, default| number(name).map_or(default, |bytes| u32::try_from(bytes).unwrap());
    let default = LogConfig::default();
    LogConfig {
        index_interval_bytes: bytes("index.interval.bytes", default.index_interval_bytes),
        segment_index_bytes: bytes("segment.index.bytes", 4096),
        segment_bytes: bytes("segment.bytes", default.segment_bytes),
        segment_ms: number("segment.ms").unwrap_or(default.segment_ms),
        preallocate: about["overrides"]["preallocate"] == "true",
        is_compacted: about["overrides"]["cleanup.policy"].as_str().is_some_and(|it| it.contains("compact")),
        ..default
    }
}

/// The same for every partition of a directory, as a start of Kafka names them. Kafka's own topics are compacted.
pub(crate) fn configs(start: Value) -> impl Fn(&TopicPartition) -> LogConfig + Sync {
    move |partition| {
        let config = config(&start["partitions"][&partition.to_string()]);
        LogConfig {
            is_compacted: config.is_compacted || partition.topic.as_str().starts_with("__"),
            ..config
        }
    }
}

/// CRC-32 of each of a log's files in which Kafka's bytes are to be found again: all but its small text files.
pub(crate) fn checksums(log: &Path) -> BTreeMap<String, String> {
    let named = |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), entry.path());
    let entries = fs::read_dir(log).unwrap().map(|entry| named(entry.unwrap()));
    let checksum = |path: &Path| {
        let mut crc = flate2::Crc::new();
        crc.update(&fs::read(path).unwrap());
        format!("{:08x}", crc.sum())
    };
    entries.filter(|(name, _)| is_binary(name)).map(|(name, path)| (name, checksum(&path))).collect()
}

/// The same as an expectation has it.
pub(crate) fn expected_checksums(about: &Value) -> BTreeMap<String, String> {
    let files = about["crc32_after_stop"].as_object().into_iter().flatten();
    let text = |(name, crc): (&String, &Value)| (name.clone(), crc.as_str().unwrap().to_owned());
    files.filter(|(name, _)| is_binary(name)).map(text).collect()
}

/// The sizes of the same files.
pub(crate) fn found_sizes(log: &Path) -> BTreeMap<String, u64> {
    let named =
        |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len());
    let entries = fs::read_dir(log).unwrap().map(|entry| named(entry.unwrap()));
    entries.filter(|(name, _)| is_binary(name)).collect()
}

/// The same as an expectation has them.
pub(crate) fn expected_sizes(about: &Value) -> BTreeMap<String, u64> {
    let files = about["files_after_stop"].as_object().into_iter().flatten();
    let size = |(name, bytes): (&String, &Value)| (name.clone(), bytes.as_u64().unwrap());
    files.filter(|(name, _)| is_binary(name)).map(size).collect()
}

fn is_binary(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_digit())
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The files of a tar archive (ustar: 512 bytes of header, content, padding).
fn entries(archive: &[u8]) -> Vec<(String, &[u8])> {
    let mut found = Vec::new();
    let mut rest = archive;
    while let Some((header, content)) = rest.split_at_checked(512).filter(|(header, _)| header[0] != 0) {
        let text =
            |bytes: &[u8]| String::from_utf8(bytes.split(|b| *b == 0).next().unwrap().to_vec()).unwrap();
        let bytes = usize::from_str_radix(text(&header[124..136]).trim(), 8).unwrap();
        found.push((text(&header[..100]), &content[..bytes]));
        rest = &content[bytes.next_multiple_of(512)..];
    }
    assert!(!found.is_empty(), "an archive holds files");
    found
}
