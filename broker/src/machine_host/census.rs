//! Which groups are coordinated here, for whoever counts them. Names no metric.

use std::collections::BTreeMap;

use ottla_coordinator::GroupMachine;
use ottla_model::GroupId;

use crate::context::Broker;

/// A group at the moment of a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupCount {
    pub(crate) id: GroupId,
    /// `Classic` or `Consumer`.
    pub(crate) kind: &'static str,
    pub(crate) state: &'static str,
    pub(crate) members: usize,
}

/// Everything that is coordinated here.
#[derive(Debug, Default)]
pub(crate) struct Census {
    /// In the order of their names.
    pub(crate) groups: Vec<GroupCount>,
    /// Committed offsets of all groups.
    pub(crate) offsets: usize,
    /// Partitions of `__consumer_offsets` whose machines serve.
    pub(crate) serving: usize,
    /// Those that are led here and are still read.
    pub(crate) loading: usize,
}

impl Census {
    /// Of this moment. Each machine stands still for a copy of its groups' names.
    pub(crate) fn of(broker: &Broker) -> Self {
        let mut census = Self::default();
        for index in broker.groups.partitions() {
            match broker.groups.look(index, |machine| (counts(machine), machine.offset_count())) {
                None => census.loading += 1,
                Some((groups, offsets)) => {
                    census.serving += 1;
                    census.groups.extend(groups);
                    census.offsets += offsets;
                }
            }
        }
        census.groups.sort_by(|a, b| a.id.cmp(&b.id));
        census
    }

    /// How many groups are of each kind and state.
    pub(crate) fn by_state(&self) -> BTreeMap<(&'static str, &'static str), u64> {
        let mut sums = BTreeMap::new();
        for group in &self.groups {
            *sums.entry((group.kind, group.state)).or_default() += 1;
        }
        sums
    }
}

fn counts(machine: &GroupMachine) -> Vec<GroupCount> {
    let count = |group: ottla_coordinator::GroupView<'_>| GroupCount {
        id: group.id.clone(),
        kind: group.kind,
        state: group.state,
        members: group.members,
    };
    machine.groups().map(count).collect()
}
