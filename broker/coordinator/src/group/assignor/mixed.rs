//! Assignor `uniform` where members subscribe to different topics. First everybody keeps what it had of its topics. Then,
//! topic by topic, what is free goes to the subscriber who has least, and last the topics are gone round: in each,
//! partitions go from those who have most to those who have least, until a whole round moves nothing.

use std::collections::{BTreeMap, BTreeSet};

use compact_str::CompactString;
use ottla_model::{PartitionIndex, Uuid};

use super::{GroupSpec, Partitions};

/// How often the topics are gone round, in Kafka as here. It bounds the work where balance cannot be reached.
const ROUNDS_MAX: usize = 16;

/// How many partitions of all topics each member has, by its number in the group.
#[derive(Debug)]
struct Loads(Vec<usize>);

/// A topic while its partitions are handed out; members are told by their number.
#[derive(Debug)]
struct Topic {
    id: Uuid,
    subscribers: Vec<usize>,
    /// By partition.
    owners: Vec<Option<usize>>,
}

/// The subscribers of a topic by what they have. Of those who have as much, the order of the beginning decides, so that
/// everybody has its turn before somebody has a second.
#[derive(Debug)]
struct Scale {
    /// In the order of the beginning.
    members: Vec<usize>,
    /// What each has, and its place in that order.
    by_load: BTreeSet<(usize, usize)>,
}

pub(super) fn assign(group: &GroupSpec) -> BTreeMap<CompactString, Partitions> {
    let mut topics = subscribed(group);
    let mut loads = Loads(vec![0; group.members.len()]);
    for topic in &mut topics {
        topic.keep(group, &mut loads);
    }
    topics.sort_by(Topic::cmp_need);
    for topic in &mut topics {
        topic.fill(&mut loads);
    }
    go_round(&mut topics, &mut loads);
    collect(group, &topics)
}

fn subscribed(group: &GroupSpec) -> Vec<Topic> {
    let mut subscribers: BTreeMap<Uuid, Vec<usize>> = BTreeMap::new();
    for (number, member) in group.members.iter().enumerate() {
        for topic in &member.topics {
            subscribers.entry(*topic).or_default().push(number);
        }
    }
    let topics = subscribers.into_iter().map(|(id, subscribers)| {
        let partitions = usize::try_from(group.partitions_of(&id)).unwrap_or(0);
        Topic { id, subscribers, owners: vec![None; partitions] }
    });
    topics.collect()
}

/// Levels one topic after the other, until as many as there are have been left as they were.
fn go_round(topics: &mut [Topic], loads: &mut Loads) {
    let mut shared: Vec<&mut Topic> = topics.iter_mut().filter(|topic| topic.subscribers.len() > 1).collect();
    let mut at_rest = 0;
    for _round in 0..ROUNDS_MAX {
        for topic in &mut shared {
            at_rest = if topic.level(loads) > 0 { 0 } else { at_rest + 1 };
        }
        if at_rest >= shared.len() {
            return;
        }
    }
}

fn collect(group: &GroupSpec, topics: &[Topic]) -> BTreeMap<CompactString, Partitions> {
    let mut assigned: Vec<Partitions> = vec![Partitions::new(); group.members.len()];
    for topic in topics {
        for (number, owner) in (0..).zip(&topic.owners) {
            if let Some(partitions) = owner.and_then(|owner| assigned.get_mut(owner)) {
                partitions.entry(topic.id).or_default().insert(PartitionIndex::new(number));
            }
        }
    }
    group.members.iter().map(|member| member.id.clone()).zip(assigned).collect()
}

impl Topic {
    /// Topics of which each subscriber has to take most come first, then those with the fewest subscribers to choose from;
    /// else ids decide, which Java compares as pairs of signed numbers.
    fn cmp_need(&self, other: &Self) -> std::cmp::Ordering {
        let share = |topic: &Self, of: &Self| topic.owners.len() * of.subscribers.len();
        let id = |topic: &Self| {
            let bytes = topic.id.as_bytes();
            let half = |from: usize| {
                bytes.iter().skip(from).take(8).fold(0_u64, |n, byte| n << 8 | u64::from(*byte))
            };
            (half(0).cast_signed(), half(8).cast_signed())
        };
        share(other, self)
            .cmp(&share(self, other))
            .then_with(|| self.subscribers.len().cmp(&other.subscribers.len()))
            .then_with(|| id(self).cmp(&id(other)))
    }

    fn keep(&mut self, group: &GroupSpec, loads: &mut Loads) {
        for number in &self.subscribers {
            let owned = group.members.get(*number).and_then(|member| member.owned.get(&self.id));
            for partition in owned.into_iter().flatten() {
                let place = usize::try_from(partition.get()).ok();
                if let Some(owner) = place.and_then(|place| self.owners.get_mut(place)) {
                    *owner = Some(*number);
                    loads.add(*number);
                }
            }
        }
    }

    fn fill(&mut self, loads: &mut Loads) {
        let mut scale = Scale::new(&self.subscribers, loads);
        for owner in self.owners.iter_mut().filter(|owner| owner.is_none()) {
            let Some(least) = scale.by_load.pop_first() else { return };
            *owner = scale.members.get(least.1).copied();
            scale.by_load.insert((least.0 + 1, least.1));
            owner.iter().for_each(|number| loads.add(*number));
        }
    }

    /// Moves partitions from who has most to who has least, and says how many. What somebody is given here it keeps.
    fn level(&mut self, loads: &mut Loads) -> usize {
        let mut scale = Scale::new(&self.subscribers, loads);
        // By place on the scale, those partitions last that go first.
        let mut to_give: Vec<Vec<usize>> = vec![Vec::new(); scale.members.len()];
        for (place, member) in scale.members.iter().enumerate() {
            let theirs = (0..).zip(&self.owners).filter(|(_, owner)| **owner == Some(*member));
            if let Some(list) = to_give.get_mut(place) {
                list.extend(theirs.map(|(partition, _): (usize, _)| partition));
            }
        }
        let can_give =
            |to_give: &[Vec<usize>], place: usize| to_give.get(place).is_some_and(|list| !list.is_empty());
        let mut givers: BTreeSet<(usize, usize)> =
            scale.by_load.iter().copied().filter(|(_, place)| can_give(&to_give, *place)).collect();
        let mut moved = 0;
        while let (Some(most), Some(least)) = (givers.last().copied(), scale.by_load.first().copied()) {
            if most.0 <= least.0 + 1 {
                break;
            }
            let (Some(partition), Some(taker)) =
                (to_give.get_mut(most.1).and_then(Vec::pop), scale.members.get(least.1).copied())
            else {
                break;
            };
            if let Some(owner) = self.owners.get_mut(partition) {
                owner.iter().for_each(|giver| loads.remove(*giver));
                *owner = Some(taker);
                loads.add(taker);
            }
            for (before, after) in [(most, (most.0 - 1, most.1)), (least, (least.0 + 1, least.1))] {
                scale.by_load.remove(&before);
                scale.by_load.insert(after);
                if givers.remove(&before) && can_give(&to_give, after.1) {
                    givers.insert(after);
                }
            }
            moved += 1;
        }
        moved
    }
}

impl Scale {
    fn new(subscribers: &[usize], loads: &Loads) -> Self {
        let mut members = subscribers.to_vec();
        members.sort_by_key(|member| (loads.of(*member), *member));
        let by_load = members.iter().enumerate().map(|(place, member)| (loads.of(*member), place)).collect();
        Self { members, by_load }
    }
}

impl Loads {
    fn of(&self, member: usize) -> usize {
        self.0.get(member).copied().unwrap_or(0)
    }

    fn add(&mut self, member: usize) {
        if let Some(load) = self.0.get_mut(member) {
            *load += 1;
        }
    }

    fn remove(&mut self, member: usize) {
        if let Some(load) = self.0.get_mut(member) {
            *load = load.saturating_sub(1);
        }
    }
}
