//! From the records of the log to state. Serving goes through here too, once a batch is appended.

use bytes::Bytes;
use ottla_model::{LeaderEpoch, ProducerId, Uuid};
use ottla_protocol::internal::group::{
    LegacyOffsetCommitKey, LegacyOffsetCommitValue, OffsetCommitKey, OffsetCommitValue,
};
use ottla_protocol::internal::{ConsumerOffsetsRecord, CoordinatorRecordError};

use super::GroupMachine;
use crate::group::Group;
use crate::group::classic::ClassicGroup;
use crate::records;
use crate::transaction::TransactionRecordError;

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
    /// The same of a transaction's record.
    #[error("a record of __transaction_state cannot be read: {0}")]
    Transaction(#[from] TransactionRecordError),
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
        self.offsets.end_transaction(producer_id, committed);
    }

    pub(crate) fn replay_record(
        &mut self,
        record: ConsumerOffsetsRecord,
        transaction: Option<ProducerId>,
    ) -> Replayed {
        match record {
            ConsumerOffsetsRecord::GroupMetadata(key, value) => self.classic_replay(key, value),
            ConsumerOffsetsRecord::OffsetCommit(key, value) => self.offset_replay(key, value, transaction),
            ConsumerOffsetsRecord::LegacyOffsetCommit(key, value) => {
                let (key, value) = modern(key, value);
                self.offset_replay(key, value, transaction);
            }
            other => {
                return if self.consumer_replay(other) { Replayed::Applied } else { Replayed::Ignored };
            }
        }
        Replayed::Applied
    }

    /// An offset of a group that is not there makes it: one that only commits.
    fn offset_replay(
        &mut self,
        key: OffsetCommitKey,
        value: Option<OffsetCommitValue>,
        transaction: Option<ProducerId>,
    ) {
        if let Some(value) = &value
            && !self.groups.contains_key(&key.group)
        {
            let group = ClassicGroup::new(key.group.clone(), value.commit_timestamp);
            self.groups.insert(key.group.clone(), Group::Classic(group));
        }
        self.offsets.replay(key, value, transaction);
    }
}

/// A record of Kafka 0.8 as one of today.
fn modern(
    key: LegacyOffsetCommitKey,
    value: Option<LegacyOffsetCommitValue>,
) -> (OffsetCommitKey, Option<OffsetCommitValue>) {
    let value = value.map(|value| OffsetCommitValue {
        offset: value.offset,
        leader_epoch: LeaderEpoch::UNKNOWN,
        metadata: value.metadata,
        commit_timestamp: value.commit_timestamp,
        expire_timestamp: -1,
        topic_id: Uuid::ZERO,
    });
    (OffsetCommitKey { group: key.group, topic: key.topic, partition: key.partition }, value)
}
