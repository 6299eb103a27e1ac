//! From the records of the log to state. Serving goes through here too, once a batch is appended.

use bytes::Bytes;
use ottla_model::ProducerId;
use ottla_protocol::internal::{ConsumerOffsetsRecord, CoordinatorRecordError};

use super::GroupMachine;
use crate::records;

/// What became of a replayed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replayed {
    /// It is part of the state.
    Applied,
    /// It is of a kind that a newer Kafka writes, or that is not served here; it stays in the log.
    Ignored,
}

/// Why a record cannot be part of the state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Its bytes are damaged, or its value is of a version that is not known here.
    #[error("a record of __consumer_offsets cannot be read: {0}")]
    Record(#[from] CoordinatorRecordError),
}

impl GroupMachine {
    /// Takes a record of the log into the state; the producer is that of its batch, if that is transactional.
    ///
    /// # Errors
    /// When the record is damaged or of an unknown version. A record of an unknown type is ignored, as Kafka does: what
    /// a newer version wrote is of no use to an older one, and compaction keeps it.
    pub fn replay(
        &mut self,
        key: Bytes,
        value: Option<Bytes>,
        transaction: Option<ProducerId>,
    ) -> Result<Replayed, ReplayError> {
        match records::decode(key, value) {
            Ok(record) => Ok(self.replay_record(record, transaction)),
            Err(CoordinatorRecordError::UnknownType { .. }) => Ok(Replayed::Ignored),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes the marker of a transaction into the state.
    pub fn replay_end_of_transaction(&mut self, producer_id: ProducerId, committed: bool) {
        let _ = (producer_id, committed);
    }

    pub(crate) fn replay_record(
        &mut self,
        record: ConsumerOffsetsRecord,
        transaction: Option<ProducerId>,
    ) -> Replayed {
        let _ = transaction;
        if self.consumer_replay(record) { Replayed::Applied } else { Replayed::Ignored }
    }
}
