//! OffsetCommit and TxnOffsetCommit: who may commit, and what is written.

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, LeaderEpoch, Offset, PartitionIndex, TopicName, Uuid};
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitResponse, OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
};
use ottla_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};

use super::CommittedOffset;
use crate::event::{Client, Token};
use crate::group::Group;
use crate::group::classic::State;
use crate::group::consumer::CommitGate;
use crate::machine::{GroupMachine, Step};
use crate::reply::{Reply, commit_refused, txn_commit_refused};

/// From this version on, a group that is not there has an error code of its own.
const NOT_FOUND_VERSION_MIN: i16 = 9;
/// What an old client says to have the broker's retention.
const DEFAULT_RETENTION_MS: i64 = -1;

/// Who commits.
struct Committer<'a> {
    group: &'a GroupId,
    member: &'a str,
    instance: Option<&'a str>,
    epoch: i32,
    version: i16,
}

impl GroupMachine {
    /// OffsetCommit.
    pub(crate) fn commit_offsets(
        &mut self,
        client: &Client,
        request: OffsetCommitRequest,
        token: Token,
        step: &mut Step,
    ) {
        let committer = Committer {
            group: &request.group_id,
            member: &request.member_id,
            instance: request.group_instance_id.as_deref(),
            epoch: request.generation_id_or_member_epoch,
            version: client.version,
        };
        let partitions = request.topics.iter().flat_map(|topic| {
            topic.partitions.iter().map(|partition| (topic.topic_id, partition.partition_index))
        });
        let checked = self.check_commit(&committer).and_then(|gate| all_pass(&gate, partitions));
        if let Err(error) = checked {
            return step.answer_at_once(token, Reply::OffsetCommit(commit_refused(&request, error)));
        }
        self.heard_from_committer(&request, step);
        let expire_ms = (request.retention_time_ms != DEFAULT_RETENTION_MS)
            .then(|| step.now.wall_ms.saturating_add(request.retention_time_ms));
        let topics = request.topics.into_iter().map(|topic| {
            let mut commit = |partition: OffsetCommitRequestPartition| OffsetCommitResponsePartition {
                partition_index: partition.partition_index,
                error_code: self.commit_one(
                    Committing {
                        group: &request.group_id,
                        topic: &topic.name,
                        topic_id: topic.topic_id,
                        partition: partition.partition_index,
                        offset: partition.committed_offset,
                        leader_epoch: partition.committed_leader_epoch,
                        metadata: partition.committed_metadata,
                        expire_ms,
                    },
                    step,
                ),
            };
            let partitions = topic.partitions.into_iter().map(&mut commit).collect();
            OffsetCommitResponseTopic { name: topic.name.clone(), topic_id: topic.topic_id, partitions }
        });
        let response = OffsetCommitResponse { throttle_time_ms: 0, topics: topics.collect() };
        step.answer(token, Reply::OffsetCommit(response));
    }

    /// TxnOffsetCommit.
    pub(crate) fn commit_offsets_in_transaction(
        &mut self,
        request: TxnOffsetCommitRequest,
        token: Token,
        step: &mut Step,
    ) {
        let partitions = request.topics.iter().flat_map(|topic| {
            topic.partitions.iter().map(|partition| (topic.topic_id, partition.partition_index))
        });
        let checked = self
            .check_commit_in_transaction(&request)
            .and_then(|gate| all_pass(&gate, partitions))
            .map_err(generation_code);
        if let Err(error) = checked {
            return step.answer_at_once(token, Reply::TxnOffsetCommit(txn_commit_refused(&request, error)));
        }
        step.transaction = Some((request.producer_id, request.producer_epoch));
        let topics = request.topics.into_iter().map(|topic| {
            let mut commit = |partition: TxnOffsetCommitRequestPartition| TxnOffsetCommitResponsePartition {
                partition_index: partition.partition_index,
                error_code: self.commit_one(
                    Committing {
                        group: &request.group_id,
                        topic: &topic.name,
                        topic_id: topic.topic_id,
                        partition: partition.partition_index,
                        offset: partition.committed_offset,
                        leader_epoch: partition.committed_leader_epoch,
                        metadata: partition.committed_metadata,
                        expire_ms: None,
                    },
                    step,
                ),
            };
            let partitions = topic.partitions.into_iter().map(&mut commit).collect();
            TxnOffsetCommitResponseTopic { name: topic.name.clone(), topic_id: topic.topic_id, partitions }
        });
        let response = TxnOffsetCommitResponse { throttle_time_ms: 0, topics: topics.collect() };
        step.answer(token, Reply::TxnOffsetCommit(response));
    }

    fn check_commit(&self, by: &Committer<'_>) -> Result<CommitGate<'_>, ErrorCode> {
        match self.groups.get(by.group) {
            Some(Group::Classic(group)) => {
                group.check_commit(by.member, by.instance, by.epoch, false)?;
                Ok(CommitGate::Open)
            }
            Some(Group::Consumer(group)) => {
                group.validate_commit(by.member, by.instance, by.epoch, false, by.version)
            }
            // A commit from outside makes a group that has nothing but offsets.
            None if by.epoch < 0 => Ok(CommitGate::Open),
            None if by.version >= NOT_FOUND_VERSION_MIN => Err(ErrorCode::GROUP_ID_NOT_FOUND),
            None => Err(ErrorCode::ILLEGAL_GENERATION),
        }
    }

    fn check_commit_in_transaction(
        &self,
        request: &TxnOffsetCommitRequest,
    ) -> Result<CommitGate<'_>, ErrorCode> {
        let (member, instance) = (request.member_id.as_str(), request.group_instance_id.as_deref());
        let epoch = request.generation_id_or_member_epoch;
        if request.group_id.is_empty() {
            return Err(ErrorCode::INVALID_GROUP_ID);
        }
        match self.groups.get(&request.group_id) {
            Some(Group::Classic(group)) => {
                group.check_commit(member, instance, epoch, true)?;
                Ok(CommitGate::Open)
            }
            Some(Group::Consumer(group)) => group.validate_commit(member, instance, epoch, true, i16::MAX),
            None if epoch < 0 => Ok(CommitGate::Open),
            None => Err(ErrorCode::ILLEGAL_GENERATION),
        }
    }

    /// A commit counts as a heartbeat of the classic protocol.
    fn heard_from_committer(&mut self, request: &OffsetCommitRequest, step: &mut Step) {
        let Some((group, mut scope)) = self.classic(request.group_id.as_str(), step) else { return };
        if matches!(group.state, State::Stable | State::PreparingRebalance) {
            group.reset_session(&request.member_id, &mut scope);
        }
    }

    fn commit_one(&self, committing: Committing<'_>, step: &mut Step) -> ErrorCode {
        let metadata = committing.metadata.unwrap_or_default();
        if is_longer(&metadata, self.config.offsets.metadata_chars_max) {
            return ErrorCode::OFFSET_METADATA_TOO_LARGE;
        }
        let committed = CommittedOffset {
            offset: committing.offset,
            leader_epoch: committing.leader_epoch,
            metadata,
            commit_ms: step.now.wall_ms,
            expire_ms: committing.expire_ms,
            topic_id: committing.topic_id,
        };
        step.records.push(committed.record(committing.group, committing.topic, committing.partition));
        ErrorCode::NONE
    }
}

struct Committing<'a> {
    group: &'a GroupId,
    topic: &'a TopicName,
    topic_id: Uuid,
    partition: PartitionIndex,
    offset: Offset,
    leader_epoch: LeaderEpoch,
    metadata: Option<CompactString>,
    expire_ms: Option<i64>,
}

/// Whether every partition may be committed; if one may not, none is.
fn all_pass(
    gate: &CommitGate<'_>,
    mut partitions: impl Iterator<Item = (Uuid, PartitionIndex)>,
) -> Result<(), ErrorCode> {
    partitions.try_for_each(|(topic, partition)| gate.check(&topic, partition))
}

/// Producers know generations only.
fn generation_code(error: ErrorCode) -> ErrorCode {
    if error == ErrorCode::STALE_MEMBER_EPOCH { ErrorCode::ILLEGAL_GENERATION } else { error }
}

/// Whether a text has more UTF-16 units than that, counting no further than needed.
fn is_longer(text: &str, units_max: usize) -> bool {
    text.len() > units_max && text.encode_utf16().nth(units_max).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_counted_in_utf16_units_as_java_does() {
        assert!(!is_longer("абвг", 4), "eight bytes, four units");
        assert!(is_longer("абвгд", 4));
        assert!(is_longer("a🙂🙂", 4) && !is_longer("🙂🙂", 4), "two units each");
        assert!(!is_longer("", 0) && is_longer("a", 0));
    }
}
