//! Apache Kafka's DumpLogSegments over every file that the broker wrote, and the stored batches against the bytes that
//! were sent. What the dump may say is a short list; the list is tried on damaged copies, so that it can fail.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::compat::node::{KEEP_ALL, Kind, Node};
use crate::compat::session::{Session, files_below, report};
use crate::process::{self, Finished};

const DUMP: &str = "org.apache.kafka.tools.DumpLogSegments";
const PRODUCER: &str = "org.apache.kafka.tools.ConsoleProducer";
const METADATA_LOG: &str = "__cluster_metadata-0";

/// Topic, records, bytes of a value, settings of the producer and of the topic.
const LOADS: &[(&str, u64, u64, &[&str])] = &[
    ("load-none", 500, 400, &["compression.type=none"]),
    ("load-gzip", 500, 400, &["compression.type=gzip"]),
    ("load-snappy", 500, 400, &["compression.type=snappy"]),
    ("load-lz4", 500, 400, &["compression.type=lz4"]),
    ("load-zstd", 500, 400, &["compression.type=zstd"]),
    ("load-idempotent", 2_000, 400, &["enable.idempotence=true", "batch.size=10000"]),
    ("load-stamped", 500, 400, &["topic.message.timestamp.type=LogAppendTime", "compression.type=lz4"]),
    (
        "load-segments",
        4_000,
        1_000,
        &["topic.segment.bytes=1048576", "enable.idempotence=true", "batch.size=50000"],
    ),
    ("load-dense-index", 2_000, 100, &["topic.index.interval.bytes=1000", "batch.size=2000"]),
];
const RAW_TOPICS: &[&str] = &["raw-plain", "raw-rolled", "raw-stamped"];

/// Codecs that Kafka's own producer writes with: its snappy has a frame of its own, librdkafka's has none.
const JAVA_CODECS: &[&str] = &["gzip", "snappy", "lz4", "zstd"];
const JAVA_LINES: u64 = 200;

/// Files beside the logs in a log directory, which are Kafka's but for the one that a clean stop of ours leaves and Kafka does
/// not look at (docs/format.md); DumpLogSegments reads none of them.
const OTHER_FILES: &[&str] = &[
    ".kafka_cleanshutdown",
    ".lock",
    ".ottla-clean-stop",
    "bootstrap.checkpoint",
    "cleaner-offset-checkpoint",
    "leader-epoch-checkpoint",
    "log-start-offset-checkpoint",
    "meta.properties",
    "partition.metadata",
    "quorum-state",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
];

pub(crate) fn run(session: &mut Session<'_>) -> Result<()> {
    let mut node = session.start("broker", KEEP_ALL)?;
    session.create_topic(&node, "empty", 1, &[])?;
    for (topic, count, size, settings) in LOADS {
        let mut command = session.peers.python("load.py");
        command.args([&node.address(), *topic, &count.to_string(), &size.to_string()]).args(*settings);
        session.expect_success(&mut command)?;
    }
    for codec in JAVA_CODECS {
        java_load(session, &node, codec)?;
    }
    let mut raw = session.peers.python("raw_produce.py");
    let answers = session.expect_success(raw.arg(node.address()).arg(&session.folder))?;
    session.answer("answers to batches built by hand", &answers);
    node.stop()?;

    let files = Files::of(node.data())?;
    session.claim(
        format!("every file is of a kind that Kafka or docs/format.md knows: {:?}", files.unknown),
        files.unknown.is_empty(),
    );
    dump_everything(session, &node, &files)?;
    damage_is_noticed(session, &node)?;
    for topic in RAW_TOPICS {
        let folder = node.data().join(format!("{topic}-0"));
        let sent = std::fs::read(session.folder.join(format!("{topic}.sent")))?;
        stored_as_sent(session, topic, &sent, &logs_in(&folder)?)?;
        session.answer(format!("files of {topic}"), &listing(&folder, *topic == "raw-stamped")?);
    }
    Ok(())
}

fn java_topic(codec: &str) -> String {
    format!("java-{codec}")
}

/// Writes lines with Kafka's console producer and reads them with librdkafka.
fn java_load(session: &mut Session<'_>, node: &Node, codec: &str) -> Result<()> {
    let topic = java_topic(codec);
    session.create_topic(node, &topic, 1, &[])?;
    let lines: Vec<String> = (0..JAVA_LINES).map(|n| format!("line {n} {}\n", "again ".repeat(9))).collect();
    let arguments = ["--bootstrap-server", &node.address(), "--topic", &topic, "--compression-codec", codec];
    let written = session.java(PRODUCER, &arguments, &lines.concat())?;
    session.answer(format!("console producer with {codec}"), &report(&written));
    let mut read = session.peers.python("read_all.py");
    let read = session.expect_success(read.args([node.address().as_str(), &topic]))?;
    session.records += read.lines().count() as u64;
    session.answer(format!("what confluent-kafka reads of {topic}"), &read);
    Ok(())
}

/// The files of a log directory, relative to it, by what reads them.
#[derive(Default)]
struct Files {
    logs: Vec<PathBuf>,
    indexes: Vec<PathBuf>,
    snapshots: Vec<PathBuf>,
    metadata: Vec<PathBuf>,
    unknown: Vec<PathBuf>,
}

impl Files {
    fn of(data: &Path) -> Result<Self> {
        let mut files = Self::default();
        for path in files_below(data)? {
            let path = path.strip_prefix(data)?.to_path_buf();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let of_metadata = path.starts_with(METADATA_LOG);
            let list = match path.extension().unwrap_or_default().to_string_lossy().as_ref() {
                _ if OTHER_FILES.contains(&name.as_ref()) => continue,
                "log" | "checkpoint" if of_metadata => &mut files.metadata,
                "log" => &mut files.logs,
                "index" | "timeindex" => &mut files.indexes,
                "snapshot" => &mut files.snapshots,
                _ => &mut files.unknown,
            };
            list.push(path);
        }
        Ok(files)
    }
}

fn dump_everything(session: &mut Session<'_>, node: &Node, files: &Files) -> Result<()> {
    let data = node.data();
    // Apache Kafka does not trim the indexes of its metadata log, and its own check then refuses the time index.
    let trimmed = |path: &&PathBuf| session.kind == Kind::Ottla || !path.starts_with(METADATA_LOG);
    let trimmed: Vec<PathBuf> = files.indexes.iter().filter(trimmed).cloned().collect();
    let indexed: Vec<PathBuf> = files.indexes.iter().chain(&files.snapshots).cloned().collect();
    let logs = dump(session, data, &["--deep-iteration"], &files.logs)?;
    let runs = [
        ("logs record by record", &logs),
        ("indexes by themselves", &dump(session, data, &["--index-sanity-check"], &trimmed)?),
        ("indexes against their logs, and snapshots", &dump(session, data, &[], &indexed)?),
        ("cluster metadata", &dump(session, data, &["--cluster-metadata-decoder"], &files.metadata)?),
    ];
    for (what, done) in runs {
        let unexpected = unexpected_lines(done);
        session.claim(
            format!("DumpLogSegments reads the {what} without complaint: {unexpected:#?}"),
            unexpected.is_empty() && done.success(),
        );
    }
    let contents = contents(&logs.stdout);
    let of_java = JAVA_CODECS.iter().map(|codec| (java_topic(codec), JAVA_LINES));
    let loads = LOADS.iter().map(|(topic, count, _, _)| ((*topic).to_owned(), *count)).chain(of_java);
    for (topic, count) in loads {
        let (records, codecs) = contents.get(&format!("{topic}-0")).cloned().unwrap_or_default();
        session.claim(
            format!("the dump shows the {count} records of {topic}, and it does {records}"),
            records == count,
        );
        session.records += records;
        session.answer(format!("codecs in {topic}"), &format!("{codecs:?}"));
    }
    Ok(())
}

/// Runs DumpLogSegments in `folder` over these files.
pub(super) fn dump(
    session: &Session<'_>,
    folder: &Path,
    options: &[&str],
    files: &[PathBuf],
) -> Result<Finished> {
    let list: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let mut command = session.peers.java(DUMP, "tool-log4j2.xml");
    command.current_dir(folder).args(options).arg("--files").arg(list.join(","));
    process::capture(&mut command)
}

/// Every line that DumpLogSegments has no reason to write over sound files.
pub(super) fn unexpected_lines(done: &Finished) -> Vec<String> {
    let mut unexpected: Vec<String> =
        done.stdout.lines().filter(|line| !is_sound(line)).map(|line| format!("out {line}")).collect();
    // Kafka expects the batch after none at offset 0, so each later segment is announced like this.
    let mut lines = done.stderr.lines().peekable();
    while let Some(line) = lines.next() {
        let base = line.strip_prefix("Non-consecutive offsets in ").and_then(base_offset_of);
        let expected = base.filter(|base| *base > 0).map(|base| format!("  -1 is followed by {base}"));
        if expected.is_some() && lines.peek().map(|next| (*next).to_owned()) == expected {
            lines.next();
        } else {
            unexpected.push(format!("err {line}"));
        }
    }
    unexpected
}

/// The lines that tell of sound files.
fn is_sound(line: &str) -> bool {
    let sentence = |parts: &[&str]| {
        let words: Vec<&str> = line.split(' ').collect();
        words.len() == parts.len()
            && words.iter().zip(parts).all(|(word, part)| match *part {
                "#" => word.trim_end_matches(',').parse::<i64>().is_ok(),
                part => *word == part,
            })
    };
    (line.starts_with("Dumping ") && base_offset_of(line).is_some())
        || sentence(&["Log", "starting", "offset:", "#"])
        || sentence(&["Snapshot", "end", "offset:", "#", "epoch:", "#"])
        || sentence(&["offset:", "#", "position:", "#"])
        || sentence(&["timestamp:", "#", "offset:", "#"])
        || (line.starts_with("baseOffset: ") && line.ends_with(" isvalid: true"))
        || (line.starts_with("| offset: ")
            && !line.contains("isValid: false")
            && !line.contains("payload: null"))
        || line.ends_with(" passed sanity check.")
        || line.ends_with(".index is empty.")
        || line.starts_with("producerId: ")
        || line.starts_with("version: 0 producerId: ")
}

/// The base offset in a segment's file name.
fn base_offset_of(path: &str) -> Option<u64> {
    let name = path.rsplit('/').next()?;
    name.split(['.', '-']).next()?.parse().ok()
}

/// For each partition of the dump: how many records, and which codecs its batches have.
fn contents(dump: &str) -> BTreeMap<String, (u64, BTreeSet<String>)> {
    let mut all: BTreeMap<String, (u64, BTreeSet<String>)> = BTreeMap::new();
    let mut partition = String::new();
    for line in dump.lines() {
        if let Some(path) = line.strip_prefix("Dumping ") {
            path.split('/').next().unwrap_or_default().clone_into(&mut partition);
        }
        let (records, codecs) = all.entry(partition.clone()).or_default();
        *records += u64::from(line.starts_with("| offset: "));
        if let Some((_, codec)) = line.split_once("compresscodec: ") {
            codecs.insert(codec.split(' ').next().unwrap_or_default().to_owned());
        }
    }
    all
}

/// Flips a byte in copies of a log and of its index: the dump has to complain.
fn damage_is_noticed(session: &mut Session<'_>, node: &Node) -> Result<()> {
    const IN_A_RECORD: usize = 61 + 20;
    const IN_A_POSITION: usize = 7;
    let source = node.data().join("raw-plain-0");
    for (extension, at) in [("log", IN_A_RECORD), ("index", IN_A_POSITION)] {
        let folder = session.folder.join(format!("damaged-{extension}"));
        std::fs::create_dir_all(&folder)?;
        let mut files = Vec::new();
        for kind in ["log", "index"] {
            let name = format!("00000000000000000000.{kind}");
            let mut bytes = std::fs::read(source.join(&name)).with_context(|| format!("reading {name}"))?;
            if kind == extension {
                *bytes.get_mut(at).context("a file too short to damage")? ^= 1;
                files.push(PathBuf::from(&name));
            }
            std::fs::write(folder.join(&name), bytes)?;
        }
        let options: &[&str] = if extension == "log" { &["--deep-iteration"] } else { &[] };
        let done = dump(session, &folder, options, &files)?;
        let noticed = !done.success() || !unexpected_lines(&done).is_empty();
        session.claim(format!("a flipped byte in a .{extension} file is noticed"), noticed);
    }
    Ok(())
}

/// The contents of all segments of a partition, in order.
fn logs_in(folder: &Path) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    for path in files_below(folder)?.iter().filter(|path| path.extension().is_some_and(|kind| kind == "log"))
    {
        all.extend(std::fs::read(path)?);
    }
    Ok(all)
}

/// Where the fields lie that a broker writes into a client's batch.
mod field {
    use std::ops::Range;

    pub(super) const BASE_OFFSET: Range<usize> = 0..8;
    pub(super) const LENGTH: Range<usize> = 8..12;
    pub(super) const LEADER_EPOCH: Range<usize> = 12..16;
    pub(super) const CRC: Range<usize> = 17..21;
    pub(super) const ATTRIBUTES_LOW: usize = 22;
    pub(super) const MAX_TIMESTAMP: Range<usize> = 35..43;
    pub(super) const COUNT: Range<usize> = 57..61;
    pub(super) const APPEND_TIME_BIT: u8 = 0b1000;
}

/// Compares stored batches with sent ones. A broker may write the offset and its epoch; the append time, its bit and so
/// the CRC where the topic asks for it; nothing else.
fn stored_as_sent(session: &mut Session<'_>, topic: &str, sent: &[u8], stored: &[u8]) -> Result<()> {
    let stamped = topic == "raw-stamped";
    let mut faults = Vec::new();
    let (mut at, mut next_offset) = (0, 0);
    if sent.len() != stored.len() {
        faults.push(format!("{} bytes were sent, {} are stored", sent.len(), stored.len()));
    }
    while at + field::COUNT.end <= sent.len().min(stored.len()) {
        let size = 12 + usize::try_from(number(&sent[at..], field::LENGTH)?)?;
        let (mut wanted, mut found) = (sent[at..at + size].to_vec(), stored[at..].to_vec());
        found.truncate(size);
        if number(&found, field::BASE_OFFSET)? != next_offset {
            faults.push(format!("the batch at {at} has not offset {next_offset}"));
        }
        if stamped && found[field::ATTRIBUTES_LOW] & field::APPEND_TIME_BIT == 0 {
            faults.push(format!("the batch at {at} does not say that its time is the append time"));
        }
        for side in [&mut wanted, &mut found] {
            side[field::BASE_OFFSET].fill(0);
            side[field::LEADER_EPOCH].fill(0);
            if stamped {
                side[field::CRC].fill(0);
                side[field::MAX_TIMESTAMP].fill(0);
                side[field::ATTRIBUTES_LOW] |= field::APPEND_TIME_BIT;
            }
        }
        if wanted != found {
            faults.push(format!("the batch at {at} is not the client's"));
        }
        let count = number(&sent[at..], field::COUNT)?;
        session.records += count;
        next_offset += count;
        at += size;
    }
    session.claim(format!("the batches of {topic} are the client's bytes {faults:?}"), faults.is_empty());
    Ok(())
}

/// A big-endian number.
fn number(batch: &[u8], place: std::ops::Range<usize>) -> Result<u64> {
    let bytes = batch.get(place).context("a batch is cut short")?;
    Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// The files of a partition with their sizes, and the contents of those that follow from the batches alone.
fn listing(folder: &Path, stamped: bool) -> Result<String> {
    let mut text = String::new();
    for path in files_below(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path)?;
        let kind = path.extension().unwrap_or_default().to_string_lossy();
        // How many times there are, and which, is up to the clock if the broker stamps the batches.
        if stamped && kind == "timeindex" {
            text.push_str(&format!("{name}\n"));
            continue;
        }
        text.push_str(&format!("{name}: {} bytes\n", bytes.len()));
        let entry_size = match kind.as_ref() {
            "index" => 8,
            "timeindex" => 12,
            "snapshot" if !stamped => bytes.len().max(1),
            _ if name == "leader-epoch-checkpoint" => {
                text.push_str(&format!("  {}\n", String::from_utf8_lossy(&bytes).replace('\n', " ")));
                continue;
            }
            _ => continue,
        };
        for entry in bytes.chunks(entry_size) {
            let hex: Vec<String> = entry.iter().map(|byte| format!("{byte:02x}")).collect();
            text.push_str(&format!("  {}\n", hex.concat()));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn unexpected(stdout: &str, stderr: &str) -> Vec<String> {
        let status = ExitStatus::from_raw(0);
        unexpected_lines(&Finished { status, stdout: stdout.to_owned(), stderr: stderr.to_owned() })
    }

    #[test]
    fn a_later_segment_may_be_announced() {
        let announced =
            "Non-consecutive offsets in /d/t-0/00000000000000000138.log\n  -1 is followed by 138\n";
        assert!(unexpected("", announced).is_empty());
    }

    #[test]
    fn a_gap_inside_a_segment_is_unexpected() {
        let gap = "Non-consecutive offsets in /d/t-0/00000000000000000138.log\n  140 is followed by 142\n";
        assert_eq!(unexpected("", gap).len(), 2);
        let wrong_base =
            "Non-consecutive offsets in /d/t-0/00000000000000000138.log\n  -1 is followed by 139\n";
        assert_eq!(unexpected("", wrong_base).len(), 2);
        let first_segment =
            "Non-consecutive offsets in /d/t-0/00000000000000000000.log\n  -1 is followed by 0\n";
        assert_eq!(unexpected("", first_segment).len(), 2);
    }

    #[test]
    fn an_invalid_batch_and_an_unknown_line_are_unexpected() {
        assert_eq!(unexpected("baseOffset: 0 lastOffset: 9 crc: 1 isvalid: false\n", "").len(), 1);
        assert_eq!(unexpected("Found 5 invalid bytes at the end of 00000000000000000000.log\n", "").len(), 1);
        assert_eq!(unexpected("offset: 1 position: x\n", "").len(), 1);
        assert!(unexpected("offset: 1 position: 2\nLog starting offset: 0\n", "").is_empty());
    }
}
