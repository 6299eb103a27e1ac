//! A group is of one of two kinds, and a running group can change its kind; everything that is asked of both goes
//! through [`Group`].

pub(crate) mod admin;
pub mod assignor;
pub(crate) mod classic;
pub(crate) mod consumer;
pub(crate) mod offsets;

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId, TopicName};
use ottla_protocol::internal::ConsumerOffsetsRecord;

use classic::ClassicGroup;
use consumer::ConsumerGroup;

/// A group of either kind.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "the other kind is as large")]
pub(crate) enum Group {
    /// Its members join and sync in rounds, and one of them assigns; also groups that only commit offsets.
    Classic(ClassicGroup),
    /// Its members heartbeat, and the coordinator assigns (KIP-848).
    Consumer(ConsumerGroup),
}

impl Group {
    /// Whether it has no members.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Classic(group) => group.is_empty(),
            Self::Consumer(group) => group.is_empty(),
        }
    }

    /// How many members it has.
    pub(crate) fn member_count(&self) -> usize {
        match self {
            Self::Classic(group) => group.members().len(),
            Self::Consumer(group) => group.member_count(),
        }
    }

    /// Whether a member consumes the topic.
    pub(crate) fn is_subscribed_to(&self, topic: &TopicName) -> bool {
        match self {
            Self::Classic(group) => group.is_subscribed_to(topic),
            Self::Consumer(group) => group.is_subscribed_to(topic),
        }
    }

    /// Whether the group may be deleted.
    ///
    /// # Errors
    /// `NON_EMPTY_GROUP` when it has members.
    pub(crate) fn check_delete(&self) -> Result<(), ErrorCode> {
        if self.is_empty() { Ok(()) } else { Err(ErrorCode::NON_EMPTY_GROUP) }
    }

    /// The records that take the group away, its offsets aside.
    pub(crate) fn tombstones(&self, id: &GroupId, records: &mut Vec<ConsumerOffsetsRecord>) {
        match self {
            Self::Classic(_) => records.push(ClassicGroup::tombstone(id)),
            Self::Consumer(group) => group.tombstones(records),
        }
    }

    /// The state that tools see.
    pub(crate) fn state_name(&self) -> &'static str {
        match self {
            Self::Classic(group) => group.state.name(),
            Self::Consumer(group) => group.state(),
        }
    }

    /// The kind that tools see.
    pub(crate) const fn type_name(&self) -> &'static str {
        match self {
            Self::Classic(_) => "classic",
            Self::Consumer(_) => "consumer",
        }
    }

    /// The kind of its members; empty for a group that only commits offsets.
    pub(crate) fn protocol_type(&self) -> CompactString {
        match self {
            Self::Classic(group) => group.protocol_type.clone().unwrap_or_default(),
            Self::Consumer(_) => classic::CONSUMER_PROTOCOL_TYPE.into(),
        }
    }
}
