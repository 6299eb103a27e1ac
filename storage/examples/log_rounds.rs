//! `log_rounds DIR ROUND`: takes over a log directory that Apache Kafka wrote and stopped, and writes on in it, as its
//! broker would: batches of every codec, transactions that end either way, a deletion, a compaction. Prints what a reader
//! finds before (`before …`) and after (`after …`), then waits for the end of stdin and stops in good order; killed before
//! that, it leaves what a killed broker leaves.
//!
//! A line is `TOPIC PARTITION OFFSET KEY VALUE committed|aborted|open`.

#![allow(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::error::Error;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use ottla_model::batch::{BatchBuilder, CheckedBatch, EndTxnMarker, NewRecord, RecordBatch};
use ottla_model::compression::{Codec, Compression};
use ottla_model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};
use ottla_storage::compaction::{Cleaner, CleanerLimits, Step};
use ottla_storage::{
    DiskLog, Log, LogConfig, LogDir, ReadEnd, ReadMode, ReadOutcome, ReadRequest, SliceSource, TopicPartition,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const RECORD_BYTES_MAX: usize = 1 << 20;
const RECORDS: usize = 12;
/// So many records are deleted at the start of the log that is trimmed.
const TRIMMED: i64 = 15;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, round] = arguments.as_slice() else { return Err("usage: log_rounds DIR ROUND".into()) };
    let round: i64 = round.parse()?;
    let now_ms = i64::try_from(std::time::UNIX_EPOCH.elapsed()?.as_millis())?;
    let directory = LogDir::open(Path::new(folder))?;
    let loaded = directory.load(2, now_ms, &config)?;
    if let Some((name, error)) = loaded.failed.first() {
        return Err(format!("{name}: {error}").into());
    }
    for log in &loaded.logs {
        if let Some(cut) = &log.recovery.cut {
            return Err(format!("{} was cut: {cut:?}", log.partition).into());
        }
    }
    let mut out = std::io::stdout().lock();
    let logs: Vec<_> =
        directory.logs().into_iter().filter(|(name, _)| !name.topic.as_str().starts_with("__")).collect();
    for (partition, log) in &logs {
        show(&mut out, "before", partition, log)?;
    }
    for (partition, log) in &logs {
        write_on(&directory, partition, log, round, now_ms)?;
    }
    for (partition, log) in &logs {
        show(&mut out, "after", partition, log)?;
    }
    writeln!(out, "done")?;
    out.flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    directory.close(-1, now_ms)?;
    Ok(())
}

fn config(partition: &TopicPartition) -> LogConfig {
    let compacted =
        partition.topic.as_str().starts_with("compact") || partition.topic.as_str().starts_with("__");
    LogConfig {
        is_compacted: compacted,
        deletes: !compacted,
        min_cleanable_dirty_ratio: 0.0,
        ..LogConfig::default()
    }
}

/// What a round adds to a log: which, its topic's name says.
fn write_on(
    directory: &LogDir,
    partition: &TopicPartition,
    log: &Arc<DiskLog>,
    round: i64,
    now_ms: i64,
) -> Result<()> {
    let topic = partition.topic.as_str();
    let epoch = log.latest_epoch().unwrap_or(LeaderEpoch::new(0));
    let append = |batch: CheckedBatch| log.append_as_leader(batch, epoch, now_ms);
    if let Some(name) = topic.strip_prefix("codec-") {
        let codec = Codec::ALL.into_iter().find(|codec| codec.name() == name).ok_or("no such codec")?;
        for part in 0..2 {
            append(plain(Compression::of(codec), round, part, now_ms)?)?;
        }
    } else if topic == "transactions" {
        for (number, committed) in [(1, true), (2, false), (3, true)] {
            let producer = ProducerId::new(9_000_000 + round * 10 + number);
            append(transactional(producer, round, now_ms)?)?;
            let marker = EndTxnMarker { committed, coordinator_epoch: 0 };
            let marker = marker.to_batch(producer, ProducerEpoch::new(0), now_ms)?;
            append(marker)?;
        }
    } else if topic == "trimmed" {
        append(plain(Compression::NONE, round, 0, now_ms)?)?;
        log.roll(now_ms)?;
        append(plain(Compression::NONE, round, 1, now_ms)?)?;
        let start = Offset::new(log.positions().log_start.get() + TRIMMED);
        log.raise_log_start(start)?;
        directory.checkpoint()?;
        log.remove_segments(start)?.delete()?;
    } else if topic.starts_with("compact") {
        append(keyed(round, now_ms)?)?;
        log.roll(now_ms)?;
        log.flush_up_to(log.positions().log_end.offset, now_ms)?;
        compact(directory, partition, log, now_ms)?;
        append(keyed(round + 100, now_ms)?)?;
    }
    log.flush_up_to(log.positions().log_end.offset, now_ms)?;
    directory.checkpoint()?;
    Ok(())
}

fn plain(compression: Compression, round: i64, part: i64, now_ms: i64) -> Result<CheckedBatch> {
    let mut builder = BatchBuilder::new(compression);
    for number in 0..RECORDS {
        let key = format!("o{round}");
        let value = format!("ottla-{round}-{part}-{number}");
        let (key, value) = (Some(key.as_bytes()), Some(value.as_bytes()));
        builder.append(&NewRecord { timestamp_ms: now_ms, key, value, ..NewRecord::default() })?;
    }
    Ok(builder.finish()?)
}

fn transactional(producer: ProducerId, round: i64, now_ms: i64) -> Result<CheckedBatch> {
    let mut builder = BatchBuilder::new(Compression::of(Codec::Lz4))
        .with_producer(producer, ProducerEpoch::new(0), 0)
        .with_transactional(true);
    for number in 0..RECORDS {
        let value = format!("ottla-{round}-{producer}-{number}");
        let value = Some(value.as_bytes());
        builder.append(&NewRecord { timestamp_ms: now_ms, value, ..NewRecord::default() })?;
    }
    Ok(builder.finish()?)
}

/// Some keys again and again, one of them deleted.
fn keyed(round: i64, now_ms: i64) -> Result<CheckedBatch> {
    let mut builder = BatchBuilder::new(Compression::of(Codec::Zstd));
    for number in 0..RECORDS {
        let key = format!("k{}", number % 5);
        let value = format!("ottla-{round}-{number}");
        let value = (number != RECORDS - 1).then_some(value.as_bytes());
        let key = Some(key.as_bytes());
        builder.append(&NewRecord { timestamp_ms: now_ms, key, value, ..NewRecord::default() })?;
    }
    Ok(builder.finish()?)
}

fn compact(directory: &LogDir, partition: &TopicPartition, log: &Arc<DiskLog>, now_ms: i64) -> Result<()> {
    let end = log.positions().log_end.offset;
    let plan = log.plan_cleaning(end, directory.cleaner_offset(partition), now_ms)?;
    let mut cleaning = Cleaner::new(CleanerLimits::default())?.begin(log, &plan, now_ms, 1)?;
    loop {
        if let Step::Done(report) = cleaning.step()? {
            directory.set_cleaner_offset(partition, report.cleaned_up_to)?;
            for files in report.removed {
                files.delete()?;
            }
            return Ok(());
        }
    }
}

/// Prints every data record of a log, and what a reader of committed ones would make of it.
fn show(out: &mut impl Write, when: &str, partition: &TopicPartition, log: &DiskLog) -> Result<()> {
    let positions = log.positions();
    let (mut from, end) = (positions.log_start, positions.log_end.offset);
    let stable = log.first_undecided(end).unwrap_or(end);
    let aborted = log.aborted_transactions(from, end)?;
    let (topic, number) = (&partition.topic, partition.partition);
    writeln!(out, "{when} {topic} {number} from {from} to {end} stable {stable}")?;
    while from < end {
        let mut bytes = read(log, from)?;
        let Some(batch) = RecordBatch::split_first(&mut bytes)? else {
            return Err(format!("no batch at {from}").into());
        };
        batch.verify_crc()?;
        let header = batch.header();
        for record in batch.records(RECORD_BYTES_MAX)?.iter() {
            let record = record?;
            let offset = record.offset;
            if header.is_control() || offset < positions.log_start {
                continue;
            }
            let is_aborted = header.is_transactional()
                && aborted.iter().any(|transaction| {
                    transaction.producer_id == header.producer_id()
                        && (transaction.first_offset..=transaction.last_offset).contains(&offset)
                });
            let fate = match (offset >= stable, is_aborted) {
                (true, _) => "open",
                (false, true) => "aborted",
                (false, false) => "committed",
            };
            let text = |bytes: Option<&[u8]>| match bytes {
                Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                None => "null".to_owned(),
            };
            writeln!(
                out,
                "{when} {topic} {number} {offset} {} {} {fate}",
                text(record.key),
                text(record.value)
            )?;
        }
        from = header.next_offset();
    }
    Ok(())
}

/// The batch that holds an offset, or the next one.
fn read(log: &DiskLog, from: Offset) -> Result<Bytes> {
    let request = ReadRequest {
        from,
        max_bytes: 1,
        end: ReadEnd::LogEnd,
        at_least_one_batch: true,
        mode: ReadMode::MayBlock,
    };
    let ReadOutcome::Found(slice) = log.read(&request)? else {
        return Err(format!("nothing at {from}").into());
    };
    match slice.source {
        SliceSource::Memory(bytes) => Ok(bytes),
        SliceSource::File(file) => {
            let mut bytes = vec![0; usize::try_from(slice.length)?];
            std::os::unix::fs::FileExt::read_exact_at(&*file, &mut bytes, slice.position)?;
            Ok(bytes.into())
        }
    }
}
