//! That no record of a transaction is appended where its coordinator does not know of it (KIP-890): such a transaction would
//! never end, and readers of committed records would stand before it for ever.
//!
//! The first batch of a transaction in a partition is preceded by a question to the coordinator. Between its answer and the
//! append a marker may end the transaction, so the question leaves a note here, a marker takes the note away, and the
//! append needs it. One lock holds the notes and is held over the append, above the log's own.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_model::batch::{BatchHeader, CheckedBatch};
use ottla_model::{ProducerEpoch, ProducerId};
use ottla_storage::{AppendInfo, LogError, MarkerRule};
use parking_lot::Mutex;

use super::append::Acks;
use super::{Partition, PartitionError};

/// The notes of one partition. There are no more of them than requests that ask at the moment.
#[derive(Debug, Default)]
pub(super) struct Verifications {
    notes: Mutex<HashMap<ProducerId, Note>>,
}

/// A producer whose transaction is being asked about.
#[derive(Debug)]
struct Note {
    epoch: ProducerEpoch,
    /// How many requests ask.
    asking: u32,
    is_verified: bool,
    /// The lowest first sequence of the batches that wait for the answer: none of them overtakes it.
    lowest_sequence: i32,
}

/// One request's part in a note.
#[derive(Debug)]
pub(crate) struct Verification {
    partition: Arc<Partition>,
    producer_id: ProducerId,
    epoch: ProducerEpoch,
}

impl Partition {
    /// Notes that the coordinator is asked about a batch; none where the transaction is known to be open.
    pub(crate) fn begin_verification(
        self: &Arc<Self>,
        producer_id: ProducerId,
        epoch: ProducerEpoch,
        sequence: i32,
    ) -> Option<Verification> {
        let mut notes = self.verifications.notes.lock();
        if self.has_open_transaction(producer_id, epoch) {
            return None;
        }
        let new = || Note { epoch, asking: 0, is_verified: false, lowest_sequence: sequence };
        let note = notes.entry(producer_id).or_insert_with(new);
        if note.epoch != epoch {
            *note = new();
        }
        note.asking += 1;
        note.lowest_sequence = note.lowest_sequence.min(sequence);
        Some(Verification { partition: Arc::clone(self), producer_id, epoch })
    }

    /// Appends a batch of a transaction that is open here or that the coordinator has just been asked about.
    pub(crate) fn append_in_transaction(
        self: &Arc<Self>,
        batch: CheckedBatch,
        acks: Acks,
        now_ms: i64,
    ) -> Result<AppendInfo, PartitionError> {
        let producer_id = batch.header().producer_id();
        let mut notes = self.verifications.notes.lock();
        if !self.has_open_transaction(producer_id, batch.header().producer_epoch()) {
            check(notes.get(&producer_id), batch.header())?;
        }
        let appended = self.append(batch, acks, now_ms);
        if appended.is_ok() {
            notes.remove(&producer_id);
        }
        appended
    }

    /// Appends a transaction's marker as leader; whatever was asked about that transaction does not hold any more. Where
    /// ends raise the epoch, a marker of the note's own epoch is that of the transaction before, for whose end the next one
    /// may be waiting.
    pub(crate) fn append_marker(
        self: &Arc<Self>,
        marker: CheckedBatch,
        rule: MarkerRule,
        now_ms: i64,
    ) -> Result<AppendInfo, PartitionError> {
        let (producer_id, epoch) = (marker.header().producer_id(), marker.header().producer_epoch());
        let mut notes = self.verifications.notes.lock();
        let appended = self.append_end_of_transaction(marker, rule, now_ms);
        if appended.is_ok()
            && notes.get(&producer_id).is_some_and(|note| rule == MarkerRule::NotBelow || note.epoch < epoch)
        {
            notes.remove(&producer_id);
        }
        appended
    }

    fn has_open_transaction(&self, producer_id: ProducerId, epoch: ProducerEpoch) -> bool {
        if !self.is_ready() {
            // A start opens every log that has an open transaction, and to open this one here would wait for the disk.
            return false;
        }
        let known = self.log().producer(producer_id);
        known.is_some_and(|it| it.transaction_start.is_some() && it.producer_epoch == epoch)
    }
}

/// Whether a batch may begin a transaction here.
fn check(note: Option<&Note>, header: &BatchHeader) -> Result<(), PartitionError> {
    let producer_id = header.producer_id();
    let producer_epoch = header.producer_epoch();
    let note = note.filter(|note| note.is_verified && note.epoch == producer_epoch);
    let Some(note) = note else { return Err(PartitionError::NotInTransaction { producer_id }) };
    let (sequence, expected) = (header.base_sequence(), note.lowest_sequence);
    if sequence > expected {
        let error = LogError::SequenceOutOfOrder { producer_id, producer_epoch, sequence, expected };
        return Err(error.into());
    }
    Ok(())
}

impl Verification {
    /// The coordinator has said that the partition is part of the open transaction. It counts unless a marker came between.
    pub(crate) fn confirm(&self) {
        let mut notes = self.partition.verifications.notes.lock();
        if let Some(note) = notes.get_mut(&self.producer_id).filter(|note| note.epoch == self.epoch) {
            note.is_verified = true;
        }
    }
}

impl Drop for Verification {
    /// The request is over, however it went.
    fn drop(&mut self) {
        let mut notes = self.partition.verifications.notes.lock();
        let Some(note) = notes.get_mut(&self.producer_id).filter(|note| note.epoch == self.epoch) else {
            return;
        };
        note.asking = note.asking.saturating_sub(1);
        if note.asking == 0 {
            notes.remove(&self.producer_id);
        }
    }
}
