//! What committed offsets ask of a consumer group: may this member commit, and which partitions; may it fetch; may the
//! group be deleted. A commit of an epoch that has passed counts where the partition was the member's in that epoch
//! (KIP-1251).

use ottla_model::{ErrorCode, PartitionIndex, Uuid};

use super::member::Member;
use super::state::ConsumerGroup;

/// The first version of OffsetCommit that carries a member epoch.
const COMMIT_VERSION_WITH_EPOCH: i16 = 9;

/// Which partitions a commit may be of.
#[derive(Debug)]
pub(crate) enum CommitGate<'a> {
    /// Any.
    Open,
    /// Those that the member had in this epoch already.
    HeldSince {
        /// The member.
        member: &'a Member,
        /// The epoch that it has told.
        epoch: i32,
    },
}

impl CommitGate<'_> {
    /// Whether the partition may be committed; if one may not, none is.
    ///
    /// # Errors
    /// Says why.
    pub(crate) fn check(&self, topic: &Uuid, partition: PartitionIndex) -> Result<(), ErrorCode> {
        match self {
            Self::Open => Ok(()),
            Self::HeldSince { member, epoch } => match member.partition_epoch(topic, partition) {
                Some(since) if since <= *epoch => Ok(()),
                _ => Err(stale(member)),
            },
        }
    }
}

impl ConsumerGroup {
    /// Whether the member may commit; `version` is that of OffsetCommit, and plays no part in a transaction.
    ///
    /// # Errors
    /// Says why not: 25, 22, 113, or 35 for an old version of a member of the newer protocol.
    pub(crate) fn validate_commit(
        &self,
        member_id: &str,
        instance_id: Option<&str>,
        epoch: i32,
        transactional: bool,
        version: i16,
    ) -> Result<CommitGate<'_>, ErrorCode> {
        if epoch < 0 && self.is_empty() {
            return Ok(CommitGate::Open);
        }
        if transactional && epoch == -1 && member_id.is_empty() && instance_id.is_none() {
            return Ok(CommitGate::Open);
        }
        let member = self.members.get(member_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if !transactional && !member.is_classic() && version < COMMIT_VERSION_WITH_EPOCH {
            return Err(ErrorCode::UNSUPPORTED_VERSION);
        }
        match epoch.cmp(&member.epoch) {
            std::cmp::Ordering::Equal => Ok(CommitGate::Open),
            std::cmp::Ordering::Greater => Err(stale(member)),
            std::cmp::Ordering::Less => Ok(CommitGate::HeldSince { member, epoch }),
        }
    }

    /// Whether the member may fetch offsets; who names no member may.
    ///
    /// # Errors
    /// Says why not: 25, 22, 113.
    pub(crate) fn validate_fetch(&self, member_id: Option<&str>, epoch: i32) -> Result<(), ErrorCode> {
        if member_id.is_none() && epoch < 0 {
            return Ok(());
        }
        let member = member_id.and_then(|id| self.members.get(id)).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if member.epoch == epoch { Ok(()) } else { Err(stale(member)) }
    }
}

/// Each protocol has its own code for an epoch that is not the member's.
const fn stale(member: &Member) -> ErrorCode {
    if member.is_classic() { ErrorCode::ILLEGAL_GENERATION } else { ErrorCode::STALE_MEMBER_EPOCH }
}
