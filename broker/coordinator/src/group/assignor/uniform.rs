//! Assignor `uniform` where all members subscribe to the same. How many partitions each is to have follows from how many
//! each had, before any partition is looked at: as many as the others or one more, and one more for those first who would
//! have to give something up otherwise. Then each keeps what it had as far as that goes, and what nobody has is dealt out.

use std::collections::{BTreeMap, BTreeSet};

use compact_str::CompactString;
use ottla_model::{PartitionIndex, Uuid};

use super::{GroupSpec, MemberSpec, Partitions, java_set_order, numbers};

type Place = (Uuid, PartitionIndex);

pub(super) fn assign(group: &GroupSpec) -> BTreeMap<CompactString, Partitions> {
    let Some(topics) = group.members.first().map(|member| &member.topics).filter(|topics| !topics.is_empty())
    else {
        return BTreeMap::new();
    };
    let all: Vec<Place> = topics
        .iter()
        .flat_map(|topic| numbers(group.partitions_of(topic)).map(|partition| (*topic, partition)))
        .collect();
    let had: Vec<Vec<Place>> = group.members.iter().map(|member| had(member, topics)).collect();
    let sizes = sizes(all.len(), &had.iter().map(Vec::len).collect::<Vec<_>>());
    let (kept, given_up) = divide(had, &sizes);
    let owned: BTreeSet<Place> = kept.iter().chain([&given_up]).flatten().copied().collect();
    let mut pool = all.into_iter().filter(|place| !owned.contains(place)).chain(given_up);
    let mut assigned = BTreeMap::new();
    for ((member, kept), size) in group.members.iter().zip(kept).zip(sizes) {
        let missing = size.saturating_sub(kept.len());
        let mut partitions = Partitions::new();
        for (topic, partition) in kept.into_iter().chain(pool.by_ref().take(missing)) {
            partitions.entry(topic).or_default().insert(partition);
        }
        assigned.insert(member.id.clone(), partitions);
    }
    assigned
}

/// What the member had of these topics. What comes first is kept first.
fn had(member: &MemberSpec, topics: &BTreeSet<Uuid>) -> Vec<Place> {
    let of_these = member.owned.iter().filter(|(topic, _)| topics.contains(topic));
    of_these
        .flat_map(|(topic, partitions)| {
            java_set_order(partitions).into_iter().map(|partition| (*topic, partition))
        })
        .collect()
}

/// How many of the partitions each member is to have.
fn sizes(partitions: usize, had: &[usize]) -> Vec<usize> {
    let (least, rest) = (partitions / had.len(), partitions % had.len());
    let mut sizes = vec![least; had.len()];
    let has_more = |member: &usize| had.get(*member).is_some_and(|had| *had > least);
    let with_more = (0..had.len()).filter(has_more);
    let others = (0..had.len()).rev().filter(|member| !has_more(member));
    for member in with_more.chain(others).take(rest) {
        if let Some(size) = sizes.get_mut(member) {
            *size += 1;
        }
    }
    sizes
}

/// What each keeps of what it had, and what all of them give up.
fn divide(mut had: Vec<Vec<Place>>, sizes: &[usize]) -> (Vec<Vec<Place>>, Vec<Place>) {
    let mut given_up = Vec::new();
    for (had, size) in had.iter_mut().zip(sizes) {
        given_up.extend(had.drain((*size).min(had.len())..));
    }
    (had, given_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_is_for_those_who_have_it_and_then_for_the_last() {
        assert_eq!(sizes(11, &[0, 0, 0]), [3, 4, 4]);
        assert_eq!(sizes(11, &[11, 0, 0]), [4, 3, 4]);
        assert_eq!(sizes(11, &[4, 4, 4]), [4, 4, 3]);
        assert_eq!(sizes(2, &[0, 0, 2]), [0, 1, 1]);
        assert_eq!(sizes(0, &[3]), [0]);
    }
}
