//! Assignor `uniform` where all members subscribe to the same: each gets as many partitions as the others or one more,
//! and keeps of what it had as much as that leaves room for.

use std::collections::{BTreeMap, BTreeSet};

use compact_str::CompactString;
use ottla_model::{PartitionIndex, Uuid};

use super::{GroupSpec, MemberSpec, Partitions, numbers};

pub(super) fn assign(group: &GroupSpec) -> BTreeMap<CompactString, Partitions> {
    let subscribed = match group.members.first() {
        Some(member) if !member.topics.is_empty() => &member.topics,
        _ => return BTreeMap::new(),
    };
    let total: usize =
        subscribed.iter().map(|topic| usize::try_from(group.partitions_of(topic)).unwrap_or(0)).sum();
    let mut free = unassigned(group, subscribed);
    let mut quotas = Quotas::new(total, group.members.len());
    let mut assigned = BTreeMap::new();
    let mut hungry = Vec::new();
    for member in &group.members {
        let mut quota = quotas.offer();
        let kept = keep(member, subscribed, &mut quota, &mut free);
        let room = quotas.settle(quota);
        if room > 0 {
            hungry.push((&member.id, room));
        }
        assigned.insert(member.id.clone(), kept);
    }
    let mut free = free.into_iter();
    for (id, room) in hungry {
        let Some(partitions) = assigned.get_mut(id) else { continue };
        for (topic, partition) in free.by_ref().take(room) {
            partitions.entry(topic).or_default().insert(partition);
        }
    }
    assigned
}

/// What of its partitions a member keeps within its quota, which shrinks by as much; the rest is free.
fn keep(
    member: &MemberSpec,
    subscribed: &BTreeSet<Uuid>,
    quota: &mut usize,
    free: &mut Vec<(Uuid, PartitionIndex)>,
) -> Partitions {
    let mut kept = Partitions::new();
    for (topic, partitions) in member.owned.iter().filter(|(topic, _)| subscribed.contains(topic)) {
        let stay: BTreeSet<_> = partitions.iter().copied().take(*quota).collect();
        free.extend(partitions.iter().skip(*quota).map(|partition| (*topic, *partition)));
        *quota -= stay.len();
        if !stay.is_empty() {
            kept.insert(*topic, stay);
        }
    }
    kept
}

fn unassigned(group: &GroupSpec, subscribed: &BTreeSet<Uuid>) -> Vec<(Uuid, PartitionIndex)> {
    let owned: BTreeSet<(Uuid, PartitionIndex)> = group
        .members
        .iter()
        .flat_map(|member| &member.owned)
        .flat_map(|(topic, partitions)| partitions.iter().map(|partition| (*topic, *partition)))
        .collect();
    let all = subscribed
        .iter()
        .flat_map(|topic| numbers(group.partitions_of(topic)).map(|partition| (*topic, partition)));
    all.filter(|partition| !owned.contains(partition)).collect()
}

/// How many partitions the next member may have. So many as the remainder says have one more than the others: those
/// first that have it already, and at the end whoever is left.
#[derive(Debug)]
struct Quotas {
    least: usize,
    larger_left: usize,
    members_left: usize,
}

impl Quotas {
    fn new(total: usize, members: usize) -> Self {
        Self { least: total / members, larger_left: total % members, members_left: members }
    }

    /// The most that the next member may keep.
    fn offer(&self) -> usize {
        self.least + usize::from(self.larger_left > 0)
    }

    /// How many more it gets, when so much of the offer is left over.
    fn settle(&mut self, left: usize) -> usize {
        let mut left = left;
        if self.larger_left > 0 {
            if left > 0 && self.members_left > self.larger_left {
                left -= 1;
            } else {
                self.larger_left -= 1;
            }
        }
        self.members_left -= 1;
        left
    }
}
