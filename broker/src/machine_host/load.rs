//! A machine's state out of its partition's log: every record from the log start to the log end, in chunks. After a
//! compaction that is little more than what is still true. Waits for the disk, so it runs on no reactor.

use std::os::unix::fs::FileExt as _;

use bytes::{Bytes, BytesMut};
use ottla_coordinator::{Machine, ReplayError, Replayed};
use ottla_model::Offset;
use ottla_model::batch::{BatchError, EndTxnMarker, RecordBatch, RecordsError, parse_control_key};
use ottla_storage::{LogError, ReadEnd, ReadMode, ReadOutcome, ReadRequest, ReadSlice, SliceSource};

use crate::partition::Partition;

/// What was read.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Loaded {
    pub(super) records: u64,
    pub(super) bytes: u64,
    /// Of kinds that a newer version writes.
    pub(super) ignored: u64,
}

/// Why a partition cannot be served.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("the log cannot be read: {0}")]
    Read(#[from] std::io::Error),
    #[error("the log holds what is no batch after offset {after}: {source}")]
    Batch { after: Offset, source: BatchError },
    #[error("the log ends within a batch after offset {after}")]
    Cut { after: Offset },
    #[error("the batch at offset {base} cannot be read: {source}")]
    Records { base: Offset, source: RecordsError },
    #[error("the batch at offset {base}: {source}")]
    Replay { base: Offset, source: ReplayError },
}

/// Replays the partition's log into the machine, at most so many bytes at a time (a larger batch aside).
pub(super) fn load(
    partition: &Partition,
    machine: &mut impl Machine,
    chunk_bytes: u64,
) -> Result<Loaded, LoadError> {
    let mut loaded = Loaded::default();
    let log = partition.log();
    // The machine appends under its lock, and on reactors: what a start left closed is opened here.
    log.ready()?;
    let mut from = log.positions().log_start;
    let unfolded_max = partition.settings().rules.decompressed_batch_bytes_max;
    loop {
        let request = ReadRequest {
            from,
            max_bytes: chunk_bytes,
            end: ReadEnd::LogEnd,
            at_least_one_batch: true,
            mode: ReadMode::MayBlock,
        };
        let slice = match log.read(&request)? {
            ReadOutcome::Found(slice) => slice,
            ReadOutcome::Empty | ReadOutcome::WouldBlock => return Ok(loaded),
        };
        loaded.bytes += slice.length;
        let mut bytes = bytes_of(slice)?;
        let before = from;
        while let Some(batch) =
            RecordBatch::split_first(&mut bytes).map_err(|source| LoadError::Batch { after: from, source })?
        {
            from = batch.header().next_offset();
            replay(machine, &batch, unfolded_max, &mut loaded)?;
        }
        if from == before {
            return Err(LoadError::Cut { after: from });
        }
    }
}

fn bytes_of(slice: ReadSlice) -> Result<Bytes, std::io::Error> {
    let length = usize::try_from(slice.length).expect("a read is limited to less than 2^31 bytes");
    match slice.source {
        SliceSource::File(file) => {
            let mut buffer = BytesMut::zeroed(length);
            file.read_exact_at(&mut buffer, slice.position)?;
            Ok(buffer.freeze())
        }
        SliceSource::Memory(bytes) => {
            let start = usize::try_from(slice.position).expect("a slice lies within its bytes");
            Ok(bytes.slice(start..start + length))
        }
    }
}

fn replay(
    machine: &mut impl Machine,
    batch: &RecordBatch,
    unfolded_max: usize,
    loaded: &mut Loaded,
) -> Result<(), LoadError> {
    let header = batch.header();
    let base = header.base_offset();
    let records = batch.records(unfolded_max).map_err(|source| LoadError::Records { base, source })?;
    let producer = header.is_transactional().then_some(header.producer_id());
    for record in records.iter() {
        let record = record.map_err(|source| LoadError::Records { base, source })?;
        let Some(key) = record.key else { continue };
        loaded.records += 1;
        if header.is_control() {
            let marker = record.value.map(|value| EndTxnMarker::parse(key, value));
            match marker {
                Some(Ok(marker)) => {
                    machine.replay_end_of_transaction(header.producer_id(), marker.committed);
                }
                // Control records of other types concern other readers.
                _ => tracing::debug!(%base, kind = ?parse_control_key(key), "control record skipped"),
            }
            continue;
        }
        // Copied, since the state would otherwise hold on to the whole chunk.
        let value = record.value.map(Bytes::copy_from_slice);
        match machine.replay(Bytes::copy_from_slice(key), value, producer) {
            Ok(Replayed::Applied) => {}
            Ok(Replayed::Ignored) => loaded.ignored += 1,
            Err(source) => return Err(LoadError::Replay { base, source }),
        }
    }
    Ok(())
}
