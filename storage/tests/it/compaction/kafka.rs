//! The same directories compacted by Apache Kafka and by us: every file is the same, byte for byte. Where a batch had to
//! be compressed anew its bytes are the compressor's own, so there the headers and records are the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ottla_model::Offset;
use ottla_model::batch::{BatchHeader, RecordBatch};
use ottla_storage::compaction::{CleanReport, Cleaner, CleanerLimits, Step};
use ottla_storage::{DiskLog, Log, LogConfig};
use serde_json::Value;

use crate::support::open;

/// A partition's files at one of the four stages.
struct Stage {
    files: BTreeMap<String, Vec<u8>>,
    cleaner_checkpoint: Option<i64>,
}

fn stages() -> BTreeMap<(String, String), Stage> {
    let text = include_str!("../../data/compaction.jsonl");
    let stages = text.lines().map(|line| {
        let value: Value = serde_json::from_str(line).unwrap();
        let text = |field: &str| value[field].as_str().unwrap().to_owned();
        let files = value["files"].as_object().unwrap().iter();
        let files =
            files.map(|(name, content)| (name.clone(), STANDARD.decode(content.as_str().unwrap()).unwrap()));
        let stage =
            Stage { files: files.collect(), cleaner_checkpoint: value["cleaner_checkpoint"].as_i64() };
        ((text("partition"), text("stage")), stage)
    });
    stages.collect()
}

fn batches(log: &[u8]) -> Vec<RecordBatch> {
    let mut bytes = bytes::Bytes::copy_from_slice(log);
    std::iter::from_fn(|| RecordBatch::split_first(&mut bytes).unwrap()).collect()
}

fn horizons(stage: &Stage) -> BTreeSet<i64> {
    let logs = stage.files.iter().filter(|(name, _)| name.ends_with(".log"));
    logs.flat_map(|(_, log)| batches(log)).filter_map(|batch| batch.header().delete_horizon_ms()).collect()
}

pub(super) fn run(log: &Arc<DiskLog>, checkpoint: Option<i64>, now_ms: i64) -> CleanReport {
    let high_watermark = log.positions().log_end.offset;
    let plan = log.plan_cleaning(high_watermark, checkpoint.map(Offset::new), now_ms).unwrap();
    let limits = CleanerLimits { dedupe_buffer_bytes: 1 << 20, ..CleanerLimits::default() };
    let mut cleaning = Cleaner::new(limits).unwrap().begin(log, &plan, now_ms, 77).unwrap();
    loop {
        if let Step::Done(report) = cleaning.step().unwrap() {
            return *report;
        }
    }
}

/// What compaction leaves alone, and what only the codec decides.
fn without_bytes(header: &BatchHeader) -> String {
    let text = format!("{header:?}");
    let is_bytes = |field: &&str| !field.trim().starts_with("size:") && !field.trim().starts_with("crc:");
    text.split(',').filter(is_bytes).collect()
}

fn records(batch: &RecordBatch) -> Vec<String> {
    let records = batch.records(1 << 20).unwrap();
    records
        .iter()
        .map(|record| {
            let record = record.unwrap();
            let headers: Vec<_> = record.headers.collect();
            format!(
                "{} {} {:?} {:?} {headers:?}",
                record.offset, record.timestamp_ms, record.key, record.value
            )
        })
        .collect()
}

fn compare(partition: &str, name: &str, ours: &[u8], kafkas: &[u8]) {
    let is_compressed = partition.starts_with("pair.codecs") || partition.starts_with("pair.idem");
    if name.ends_with(".log") {
        let (ours, kafkas) = (batches(ours), batches(kafkas));
        for (ours, kafkas) in ours.iter().zip(&kafkas) {
            let context = format!("{partition} {name} at {}", kafkas.header().base_offset());
            assert_eq!(without_bytes(ours.header()), without_bytes(kafkas.header()), "{context}");
            assert_eq!(records(ours), records(kafkas), "{context}");
            ours.verify_crc().unwrap();
        }
        assert_eq!(ours.len(), kafkas.len(), "{partition} {name}");
    }
    if !is_compressed {
        assert_eq!(ours, kafkas, "{partition} {name}");
    }
}

fn live(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = crate::support::names(path).into_iter().filter(|name| !name.ends_with(".deleted"));
    names.map(|name| (name.clone(), fs::read(path.join(name)).unwrap())).collect()
}

#[test]
fn a_log_compacted_by_us_is_the_log_compacted_by_kafka() {
    let stages = stages();
    let partitions: BTreeSet<_> = stages.keys().map(|(partition, _)| partition).collect();
    assert_eq!(partitions.len(), 8);
    for partition in partitions {
        for (before, after) in [("before1", "after1"), ("before2", "after2")] {
            let before = &stages[&(partition.clone(), before.to_owned())];
            let after = &stages[&(partition.clone(), after.to_owned())];
            let delete_retention_ms = if partition.contains("gone") { 0 } else { 86_400_000 };
            let config = LogConfig {
                is_compacted: true,
                index_interval_bytes: 60,
                delete_retention_ms,
                min_cleanable_dirty_ratio: 0.0,
                producer_id_expiration_ms: i64::MAX,
                ..LogConfig::default()
            };
            // Kafka's clock at that round, which the horizons that it set tell.
            let new = horizons(after).difference(&horizons(before)).next().copied();
            let now_ms = new.map_or(1_796_044_400_000, |horizon_ms| horizon_ms - delete_retention_ms);
            let folder = tempfile::tempdir().unwrap();
            for (name, content) in &before.files {
                fs::write(folder.path().join(name), content).unwrap();
            }
            let (log, _) = open(folder.path(), &config, true, 0).unwrap();
            log.flush_up_to(Offset::MAX, now_ms).unwrap();
            let log = Arc::new(log);
            let report = run(&log, before.cleaner_checkpoint, now_ms);
            let reached = after.cleaner_checkpoint.filter(|_| report.segments_before > 0);
            if let Some(reached) = reached {
                assert_eq!(report.cleaned_up_to.get(), reached, "{partition}");
            }
            let ours = live(folder.path());
            let is_of_segment = |name: &&String| name.contains("log") || name.contains("index");
            let names = |files: &BTreeMap<String, Vec<u8>>| -> Vec<String> {
                files.keys().filter(is_of_segment).cloned().collect()
            };
            assert_eq!(names(&ours), names(&after.files), "{partition}");
            for name in names(&ours) {
                compare(partition, &name, &ours[&name], &after.files[&name]);
            }
            // Read through the log, too: the new segments are those that readers find.
            let read = crate::support::batches(&*log, 0, ottla_storage::ReadEnd::LogEnd, 1 << 20);
            let kafkas: Vec<_> = after.files.iter().filter(|(name, _)| name.ends_with(".log")).collect();
            let kafkas: Vec<_> = kafkas.iter().flat_map(|(_, log)| batches(log)).collect();
            assert_eq!(read.len(), kafkas.len());
            for removed in report.removed {
                removed.delete().unwrap();
            }
            let left = crate::support::names(folder.path());
            assert!(left.iter().all(|name| !name.ends_with("deleted")), "{left:?}");
        }
    }
}
