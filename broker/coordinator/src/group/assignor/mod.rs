//! The assignors that a broker runs for its consumer groups (KIP-848): pure functions from who wants what and has what
//! to who shall have what. They give what Apache Kafka's give for the same input in the same order. When one runs, and
//! what becomes of its answer, is `group/consumer`'s.

mod mixed;
mod range;
mod uniform;

use std::collections::{BTreeMap, BTreeSet};

use compact_str::CompactString;
use ottla_model::{PartitionIndex, Uuid};

/// Partitions by topic. A topic without partitions is not in it.
pub type Partitions = BTreeMap<Uuid, BTreeSet<PartitionIndex>>;

/// One of the assignors of `group.consumer.assignors`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assignor {
    /// As even as can be over all topics together, moving as little as can be.
    Uniform,
    /// Each topic by itself in ranges, so that topics of as many partitions are cut at the same places.
    Range,
}

impl Assignor {
    /// The assignor that Kafka calls so.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Uniform, Self::Range].into_iter().find(|assignor| assignor.name() == name)
    }

    /// What Kafka calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Range => "range",
        }
    }

    /// Who shall have what. A member that gets nothing may be missing in the answer.
    #[must_use]
    pub fn assign(self, group: &GroupSpec) -> BTreeMap<CompactString, Partitions> {
        if group.members.is_empty() {
            return BTreeMap::new();
        }
        match self {
            Self::Uniform if group.same_subscriptions => uniform::assign(group),
            Self::Uniform => mixed::assign(group),
            Self::Range => range::assign(group),
        }
    }
}

/// What an assignor is told of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberSpec {
    /// The member.
    pub id: CompactString,
    /// The static member's id.
    pub instance_id: Option<CompactString>,
    /// The topics that it subscribes to and that exist.
    pub topics: BTreeSet<Uuid>,
    /// What the assignment before gave it. No partition is given to two members.
    pub owned: Partitions,
}

/// What an assignor is told of a group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupSpec {
    /// The members; those first are served first.
    pub members: Vec<MemberSpec>,
    /// Whether all of them subscribe to the same.
    pub same_subscriptions: bool,
    /// How many partitions each topic has that a member subscribes to.
    pub topics: BTreeMap<Uuid, i32>,
}

impl GroupSpec {
    fn partitions_of(&self, topic: &Uuid) -> i32 {
        self.topics.get(topic).copied().unwrap_or(0)
    }

    /// Roughly how much work an assignment is: members and partitions together.
    #[must_use]
    pub fn size(&self) -> usize {
        let partitions = self.topics.values().map(|count| usize::try_from(*count).unwrap_or(0));
        self.members.len() + partitions.sum::<usize>()
    }
}

/// The numbers of a topic's partitions.
fn numbers(count: i32) -> impl Iterator<Item = PartitionIndex> {
    (0..count).map(PartitionIndex::new)
}

/// Numbers in the order in which Java walks a set of them: by their place in its table, which doubles when it is three quarters full. Which
/// partitions Kafka lets a member keep hangs on it.
fn java_set_order(partitions: &BTreeSet<PartitionIndex>) -> Vec<PartitionIndex> {
    const TABLE_SIZE_MIN: usize = 16;
    let table = (partitions.len() * 4).div_ceil(3).next_power_of_two().max(TABLE_SIZE_MIN);
    let mut numbers: Vec<PartitionIndex> = partitions.iter().copied().collect();
    numbers.sort_by_key(|number| usize::try_from(number.get()).unwrap_or(0) % table);
    numbers
}
