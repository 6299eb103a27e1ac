//! Assignor `uniform` where members subscribe to different topics: what is free goes to the least loaded subscriber, and
//! then partitions move from the most to the least loaded, topic by topic, until none moves or the rounds are used up.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use compact_str::CompactString;
use ottla_model::{PartitionIndex, Uuid};

use super::balancer::Balancer;
use super::{GroupSpec, Partitions};

/// How often the topics are gone through, in Kafka as here. It bounds the work where balance cannot be reached.
const ROUNDS_MAX: usize = 16;

/// A topic while its partitions are handed out. Members are told by their number in the group.
#[derive(Debug)]
struct Topic {
    id: Uuid,
    subscribers: Vec<usize>,
    /// By partition.
    owners: Vec<Option<usize>>,
}

pub(super) fn assign(group: &GroupSpec) -> BTreeMap<CompactString, Partitions> {
    let mut loads = vec![0; group.members.len()];
    let mut topics = subscribed_topics(group);
    for topic in &mut topics {
        keep_owned(group, topic, &mut loads);
    }
    topics.sort_by(busiest_first);
    for topic in &mut topics {
        fill(topic, &mut loads);
    }
    balance(&mut topics, &mut loads);
    collect(group, &topics)
}

fn subscribed_topics(group: &GroupSpec) -> Vec<Topic> {
    let mut topics: BTreeMap<Uuid, Topic> = BTreeMap::new();
    for (number, member) in group.members.iter().enumerate() {
        for id in &member.topics {
            let topic = topics.entry(*id).or_insert_with(|| {
                let partitions = usize::try_from(group.partitions_of(id)).unwrap_or(0);
                Topic { id: *id, subscribers: Vec::new(), owners: vec![None; partitions] }
            });
            topic.subscribers.push(number);
        }
    }
    topics.into_values().collect()
}

fn keep_owned(group: &GroupSpec, topic: &mut Topic, loads: &mut [usize]) {
    for &number in &topic.subscribers {
        let owned = group.members.get(number).and_then(|member| member.owned.get(&topic.id));
        for partition in owned.into_iter().flatten() {
            if let Some(owner) = place(*partition).and_then(|place| topic.owners.get_mut(place)) {
                *owner = Some(number);
                add(loads, number);
            }
        }
    }
}

/// Most partitions for each subscriber first, then fewest subscribers, then by id as Java compares it.
fn busiest_first(a: &Topic, b: &Topic) -> Ordering {
    let products = (b.owners.len() * a.subscribers.len()).cmp(&(a.owners.len() * b.subscribers.len()));
    products
        .then_with(|| a.subscribers.len().cmp(&b.subscribers.len()))
        .then_with(|| as_java(&a.id).cmp(&as_java(&b.id)))
}

/// Java compares ids as two signed numbers.
fn as_java(id: &Uuid) -> (i64, i64) {
    let mut halves = id
        .as_bytes()
        .chunks(8)
        .map(|half| half.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)).cast_signed());
    (halves.next().unwrap_or(0), halves.next().unwrap_or(0))
}

fn fill(topic: &mut Topic, loads: &mut [usize]) {
    let Some(mut balancer) = Balancer::new(loads, &topic.subscribers) else { return };
    for owner in topic.owners.iter_mut().filter(|owner| owner.is_none()) {
        *owner = balancer.next_light(loads);
        if let Some(number) = *owner {
            add(loads, number);
        }
    }
}

fn balance(topics: &mut [Topic], loads: &mut [usize]) {
    let mut last_changed = None;
    for _round in 0..ROUNDS_MAX {
        for (place, topic) in topics.iter_mut().filter(|topic| topic.subscribers.len() >= 2).enumerate() {
            if last_changed == Some(place) {
                // Once around since a partition moved: none will.
                return;
            }
            if balance_topic(topic, loads) || last_changed.is_none() {
                last_changed = Some(place);
            }
        }
    }
}

/// Whether a partition of the topic moved.
fn balance_topic(topic: &mut Topic, loads: &mut [usize]) -> bool {
    let Some(mut balancer) = Balancer::new(loads, &topic.subscribers) else { return false };
    if balancer.spread() <= 1 {
        return false;
    }
    // What each has of the topic now, the highest partition last: that goes first. What it gets below is not moved on.
    let mut to_give: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (partition, owner) in topic.owners.iter().enumerate() {
        if let Some(owner) = owner {
            to_give.entry(*owner).or_default().push(partition);
        }
    }
    let mut moved = false;
    while !balancer.is_balanced() {
        let Some((giver, partition)) = next_gift(&mut balancer, loads, &mut to_give) else { break };
        let Some(taker) = balancer.next_light(loads) else { break };
        if balancer.is_balanced() {
            break;
        }
        if let Some(owner) = topic.owners.get_mut(partition) {
            *owner = Some(taker);
        }
        if let Some(load) = loads.get_mut(giver) {
            *load -= 1;
        }
        add(loads, taker);
        moved = true;
    }
    moved
}

/// The most loaded subscriber that has a partition of the topic, and that partition.
fn next_gift(
    balancer: &mut Balancer,
    loads: &[usize],
    to_give: &mut BTreeMap<usize, Vec<usize>>,
) -> Option<(usize, usize)> {
    loop {
        let giver = balancer.next_heavy(loads)?;
        match to_give.get_mut(&giver).and_then(Vec::pop) {
            Some(partition) => return Some((giver, partition)),
            None => balancer.exclude_heavy(),
        }
    }
}

fn collect(group: &GroupSpec, topics: &[Topic]) -> BTreeMap<CompactString, Partitions> {
    let mut assigned: Vec<Partitions> = vec![Partitions::new(); group.members.len()];
    for topic in topics {
        for (partition, owner) in topic.owners.iter().enumerate() {
            let number = i32::try_from(partition).ok();
            if let Some((partitions, number)) = owner.and_then(|owner| assigned.get_mut(owner)).zip(number) {
                partitions.entry(topic.id).or_default().insert(PartitionIndex::new(number));
            }
        }
    }
    group.members.iter().map(|member| member.id.clone()).zip(assigned).collect()
}

fn place(partition: PartitionIndex) -> Option<usize> {
    usize::try_from(partition.get()).ok()
}

fn add(loads: &mut [usize], number: usize) {
    if let Some(load) = loads.get_mut(number) {
        *load += 1;
    }
}
