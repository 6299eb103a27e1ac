//! A member of a consumer group, as its records say it: what it told of itself, where it stands on the way to its target,
//! and what it has. Nothing here decides.

use std::collections::{BTreeMap, BTreeSet};

use compact_str::CompactString;
use ottla_model::{PartitionIndex, TopicName, Uuid};
use ottla_protocol::internal::group::consumer_group_member_metadata::ClassicMemberMetadata;

use crate::group::assignor::Partitions;

/// The epoch of a member that leaves.
pub(crate) const LEAVING_EPOCH: i32 = -1;
/// The epoch of a static member that will be back.
pub(crate) const PAUSED_EPOCH: i32 = -2;

/// Partitions that a member has, each with the epoch in which it was given them.
pub(crate) type Owned = BTreeMap<Uuid, BTreeMap<PartitionIndex, i32>>;

/// Where a member stands on the way to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberState {
    /// It has what it may have at its epoch.
    Stable,
    /// It has partitions to give up, and has not said that it did.
    Unrevoked,
    /// It waits for partitions that others have to give up.
    Unreleased,
    /// A state that a newer coordinator wrote.
    Unknown,
}

impl MemberState {
    pub(crate) const fn from_wire(number: i8) -> Self {
        match number {
            0 => Self::Stable,
            1 => Self::Unrevoked,
            2 => Self::Unreleased,
            _ => Self::Unknown,
        }
    }

    pub(crate) const fn to_wire(self) -> i8 {
        match self {
            Self::Stable => 0,
            Self::Unrevoked => 1,
            Self::Unreleased => 2,
            Self::Unknown => 127,
        }
    }
}

/// A member.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    pub(crate) id: CompactString,
    pub(crate) epoch: i32,
    pub(crate) previous_epoch: i32,
    pub(crate) state: MemberState,
    pub(crate) instance_id: Option<CompactString>,
    pub(crate) rack_id: Option<CompactString>,
    pub(crate) rebalance_timeout_ms: i32,
    pub(crate) client_id: CompactString,
    pub(crate) client_host: CompactString,
    pub(crate) topics: BTreeSet<TopicName>,
    /// Empty where it does not subscribe by one; so Kafka writes it.
    pub(crate) regex: Option<CompactString>,
    pub(crate) assignor: Option<CompactString>,
    pub(crate) assigned: Owned,
    pub(crate) revoking: Owned,
    /// What it said when it joined by the classic protocol, if it did.
    pub(crate) classic: Option<ClassicMemberMetadata>,
}

impl Member {
    /// A member that has said nothing yet.
    pub(crate) fn new(id: CompactString) -> Self {
        Self {
            id,
            epoch: 0,
            previous_epoch: -1,
            state: MemberState::Stable,
            instance_id: None,
            rack_id: None,
            rebalance_timeout_ms: -1,
            client_id: CompactString::default(),
            client_host: CompactString::default(),
            topics: BTreeSet::new(),
            regex: Some(CompactString::default()),
            assignor: None,
            assigned: Owned::new(),
            revoking: Owned::new(),
            classic: None,
        }
    }

    /// The regular expression that it subscribes by, if it does.
    pub(crate) fn regex(&self) -> Option<&CompactString> {
        self.regex.as_ref().filter(|regex| !regex.is_empty())
    }

    /// Whether it speaks the classic protocol.
    pub(crate) const fn is_classic(&self) -> bool {
        self.classic.is_some()
    }

    /// Whether it has all that it is to have in this epoch.
    pub(crate) fn is_reconciled_to(&self, epoch: i32) -> bool {
        self.state == MemberState::Stable && self.epoch == epoch
    }

    /// The epoch in which it was given a partition that it has, or has to give up.
    pub(crate) fn partition_epoch(&self, topic: &Uuid, partition: PartitionIndex) -> Option<i32> {
        let epoch =
            |owned: &Owned| owned.get(topic).and_then(|partitions| partitions.get(&partition)).copied();
        epoch(&self.assigned).or_else(|| epoch(&self.revoking))
    }

    /// All that it has or has to give up.
    pub(crate) fn holds(&self) -> impl Iterator<Item = (Uuid, PartitionIndex)> + '_ {
        self.assigned
            .iter()
            .chain(&self.revoking)
            .flat_map(|(topic, partitions)| partitions.keys().map(move |partition| (*topic, *partition)))
    }

    /// It moves on to an epoch, and remembers the one before.
    pub(crate) fn move_to(&mut self, epoch: i32) {
        self.previous_epoch = self.epoch;
        self.epoch = epoch;
    }
}

/// The same partitions, all given in one epoch.
pub(crate) fn with_epoch(partitions: &Partitions, epoch: i32) -> Owned {
    let topics = partitions.iter().filter(|(_, numbers)| !numbers.is_empty());
    topics.map(|(topic, numbers)| (*topic, numbers.iter().map(|number| (*number, epoch)).collect())).collect()
}

/// Whether all that a client says it has is among what it was given.
pub(crate) fn is_within(claimed: &Partitions, owned: &Owned) -> bool {
    claimed.iter().all(|(topic, numbers)| {
        let given = owned.get(topic);
        numbers.iter().all(|number| given.is_some_and(|given| given.contains_key(number)))
    })
}
