//! What becomes of a batch when its log is compacted: it goes, it stays as it is, or it is written anew with the records
//! that stay, or with none. The rules are Kafka's, to the byte of the header. Nothing is read or written here.

use std::collections::HashMap;

use ottla_model::batch::{
    BatchBuilder, BatchHeader, BuildError, CheckedBatch, ControlRecordType, DECOMPRESSED_BATCH_BYTES_MAX,
    NewRecord, RecordBatch, RecordView, Records, RecordsError, TimestampType, parse_control_key,
};
use ottla_model::compression::{Codec, Compression};
use ottla_model::{Offset, ProducerId};

use super::offset_map::OffsetMap;
use super::transactions::{MarkerRole, PassingTransactions};
use crate::log::AbortedTransaction;
use crate::producer_state::LastBatch;

/// What decides about records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter<'a> {
    /// The newest offset of each key.
    pub(crate) newest: &'a OffsetMap,
    /// The time.
    pub(crate) now_ms: i64,
    /// `delete.retention.ms`.
    pub(crate) delete_retention_ms: i64,
    /// The offset after the last record that this round looks at.
    pub(crate) round_end: Offset,
    /// Of each live producer, the batch that must be found again when the log is read to know it.
    pub(crate) last_batches: &'a HashMap<ProducerId, LastBatch>,
}

/// What becomes of a batch.
#[derive(Debug, Clone)]
pub(crate) enum Kept {
    Nothing,
    Unchanged,
    Anew(CheckedBatch),
}

/// A batch that was looked at.
#[derive(Debug, Clone)]
pub(crate) struct Filtered {
    pub(crate) kept: Kept,
    /// The transaction of which this is the marker and of which aborted records may be left: it stays in the index.
    pub(crate) aborted: Option<AbortedTransaction>,
    pub(crate) records: u64,
    pub(crate) records_kept: u64,
}

/// Why a batch cannot be judged, or made anew.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilterError {
    #[error(transparent)]
    Records(#[from] RecordsError),
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// What is known of a batch before its records are looked at.
struct Judgement {
    /// No record stays.
    drops_all: bool,
    /// It is the marker of a transaction of which nothing is left: it waits for its delete horizon.
    is_unneeded_marker: bool,
    aborted: Option<AbortedTransaction>,
}

impl Filter<'_> {
    /// Judges the next batch of the log.
    pub(crate) fn judge(
        &self,
        batch: &RecordBatch,
        passing: &mut PassingTransactions,
    ) -> Result<Filtered, FilterError> {
        let header = batch.header();
        let judgement = self.judge_header(batch, passing)?;
        let stays_empty = self.stays_empty(header);
        let records_in_header = u64::try_from(header.record_count()).unwrap_or_default();
        let mut filtered = Filtered {
            kept: Kept::Nothing,
            aborted: judgement.aborted,
            records: records_in_header,
            records_kept: 0,
        };
        if judgement.drops_all {
            if stays_empty {
                filtered.kept = Kept::Anew(emptied(header)?);
            }
            return Ok(filtered);
        }
        let records = batch.records(DECOMPRESSED_BATCH_BYTES_MAX)?;
        let mut keeps = Vec::new();
        let mut keeps_tombstones = false;
        for record in &records {
            let record = record?;
            let stays = header.is_control() || self.stays(header, &record);
            keeps_tombstones |= stays && record.value.is_none();
            keeps.push(stays);
        }
        let count = keeps.iter().filter(|stays| **stays).count();
        filtered.records_kept = count as u64;
        let wants_horizon =
            (keeps_tombstones || judgement.is_unneeded_marker) && header.delete_horizon_ms().is_none();
        filtered.kept = match count {
            0 if stays_empty => Kept::Anew(emptied(header)?),
            0 => Kept::Nothing,
            _ if count == keeps.len() && !wants_horizon => Kept::Unchanged,
            _ => {
                let new_ms = self.now_ms.saturating_add(self.delete_retention_ms);
                let horizon_ms = if wants_horizon { Some(new_ms) } else { header.delete_horizon_ms() };
                Kept::Anew(rewritten(&records, &keeps, horizon_ms)?)
            }
        };
        Ok(filtered)
    }

    fn judge_header(
        &self,
        batch: &RecordBatch,
        passing: &mut PassingTransactions,
    ) -> Result<Judgement, FilterError> {
        let header = batch.header();
        if !header.is_control() {
            let drops_all = passing.pass_records(header);
            return Ok(Judgement { drops_all, is_unneeded_marker: false, aborted: None });
        }
        Ok(match passing.pass_control(header, control_kind(batch)?) {
            MarkerRole::Needed(aborted) => Judgement { drops_all: false, is_unneeded_marker: false, aborted },
            MarkerRole::Unneeded => {
                let drops_all =
                    header.delete_horizon_ms().is_some_and(|horizon_ms| horizon_ms <= self.now_ms);
                Judgement { drops_all, is_unneeded_marker: true, aborted: None }
            }
        })
    }

    /// Whether the batch is needed though none of its records is: for its producer's state, or for the end of the round
    /// to be found again.
    fn stays_empty(&self, header: &BatchHeader) -> bool {
        let is_last = |last: &LastBatch| match last.data_offset {
            Some(offset) => header.last_offset() == offset,
            None => header.is_control() && header.producer_epoch() == last.producer_epoch,
        };
        let producer = header.producer_id();
        (producer.is_some() && self.last_batches.get(&producer).is_some_and(is_last))
            || header.next_offset() == self.round_end
    }

    fn stays(&self, header: &BatchHeader, record: &RecordView<'_>) -> bool {
        if self.newest.latest().is_none_or(|latest| record.offset > latest) {
            return true;
        }
        let Some(key) = record.key else { return false };
        let is_newest = self.newest.get(key).is_none_or(|newest| record.offset >= newest);
        let is_due = || header.delete_horizon_ms().is_some_and(|horizon_ms| self.now_ms >= horizon_ms);
        is_newest && (record.value.is_some() || !is_due())
    }
}

/// The kind of a control batch's record, or none where it has no record.
pub(crate) fn control_kind(batch: &RecordBatch) -> Result<Option<ControlRecordType>, RecordsError> {
    let records = batch.records(DECOMPRESSED_BATCH_BYTES_MAX)?;
    let Some(first) = records.iter().next().transpose()? else { return Ok(None) };
    // What cannot be told is no marker, and stays.
    let unknown = ControlRecordType::new(-1);
    Ok(Some(first.key.and_then(|key| parse_control_key(key).ok()).unwrap_or(unknown)))
}

/// The batch with none of its records.
fn emptied(header: &BatchHeader) -> Result<CheckedBatch, BuildError> {
    let builder =
        builder_for(header, Compression::NONE).with_max_timestamp_at_least(header.max_timestamp_ms());
    closed(builder, header)
}

/// The batch with some of its records.
fn rewritten(
    records: &Records,
    keeps: &[bool],
    horizon_ms: Option<i64>,
) -> Result<CheckedBatch, FilterError> {
    let header = records.header();
    let codec = header.codec().unwrap_or(Codec::None);
    let mut builder = builder_for(header, Compression::of(codec));
    if let Some(horizon_ms) = horizon_ms {
        builder = builder.with_delete_horizon(horizon_ms);
    }
    let mut headers = Vec::new();
    for (record, keep) in records.iter().zip(keeps) {
        let record = record?;
        if !keep {
            continue;
        }
        headers.clear();
        headers.extend(record.headers);
        let RecordView { timestamp_ms, key, value, .. } = record;
        builder.append_at(record.offset, &NewRecord { timestamp_ms, key, value, headers: &headers })?;
    }
    Ok(closed(builder, header)?)
}

fn builder_for(header: &BatchHeader, compression: Compression) -> BatchBuilder {
    let builder = BatchBuilder::new(compression)
        .with_base_offset(header.base_offset())
        .with_leader_epoch(header.leader_epoch())
        .with_producer(header.producer_id(), header.producer_epoch(), header.base_sequence())
        .with_transactional(header.is_transactional())
        .with_control(header.is_control());
    match header.timestamp_type() {
        TimestampType::CreateTime => builder,
        TimestampType::LogAppendTime => builder.with_log_append_time(header.max_timestamp_ms()),
    }
}

/// Offsets and sequence numbers go as far as they went.
fn closed(mut builder: BatchBuilder, header: &BatchHeader) -> Result<CheckedBatch, BuildError> {
    builder.extend_to(header.last_offset())?;
    builder.finish()
}
