//! A consumer group: what its records say, and beside it what a restart may forget. What changes it are records
//! (`replay.rs`) and, for the soft part, the machine; here it is only asked.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use compact_str::CompactString;
use ottla_model::{GroupId, PartitionIndex, TopicName, Uuid};
use ottla_protocol::internal::ConsumerOffsetsRecord;

use super::beat::Waiting;
use super::hash::{self, TopicHashes};
use super::member::Member;
use super::regex::Resolved;
use crate::event::Token;
use crate::group::assignor::Partitions;
use crate::topics::Topics;

/// A new group's epochs, before its first change: that change makes it 2.
pub(crate) const FIRST_EPOCH: i32 = 1;

/// A group of the newer protocol.
#[derive(Debug)]
pub(crate) struct ConsumerGroup {
    pub(crate) id: GroupId,
    /// How often members, subscriptions or topics changed.
    pub(crate) epoch: i32,
    pub(crate) metadata_hash: i64,
    /// The group epoch for which the targets were made.
    pub(crate) assignment_epoch: i32,
    /// When they were made, on the wall clock; 0 if the next ones need not wait.
    pub(crate) assignment_timestamp_ms: i64,
    pub(crate) members: BTreeMap<CompactString, Member>,
    pub(crate) targets: BTreeMap<CompactString, Partitions>,
    pub(crate) regexes: BTreeMap<CompactString, Resolved>,
    /// Whether there is a record of Kafka 4.0's that is to be removed.
    pub(crate) has_topics_record: bool,
    /// Members by instance id.
    static_members: HashMap<CompactString, CompactString>,
    /// The epoch of the member that has a partition, or has to give it up.
    holders: HashMap<(Uuid, PartitionIndex), i32>,
    pub(crate) soft: Soft,
}

/// What a restart may forget of a group.
#[derive(Debug)]
pub(crate) struct Soft {
    /// Whether its topics may be others than those of the hash.
    pub(crate) topics_stale: bool,
    /// Whether there may be topics that its regular expressions have not been held against.
    pub(crate) regexes_stale: bool,
    /// Whether the pool looks at its regular expressions.
    pub(crate) resolving: Option<Token>,
    /// The assignment that the pool works on.
    pub(crate) assigning: Option<Assigning>,
    /// Heartbeats and joins that wait for that assignment.
    pub(crate) waiting: Vec<Waiting>,
}

/// An assignment that is being worked out.
#[derive(Debug)]
pub(crate) struct Assigning {
    /// Tells it from others.
    pub(crate) task: Token,
    /// Static members that have come back under another id since: the old one and the new.
    pub(crate) renamed: Vec<(CompactString, CompactString)>,
}

impl Soft {
    /// As after a restart: whatever it remembers may be old.
    pub(crate) const fn new() -> Self {
        Self {
            topics_stale: true,
            regexes_stale: true,
            resolving: None,
            assigning: None,
            waiting: Vec::new(),
        }
    }
}

/// How many members want a topic by its name, and how many expressions match it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Wanted {
    pub(crate) by_name: usize,
    pub(crate) by_regex: usize,
}

/// A group's subscriptions taken together.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    pub(crate) members: usize,
    pub(crate) topics: BTreeMap<TopicName, Wanted>,
    /// How many members have each expression.
    pub(crate) regexes: BTreeMap<CompactString, usize>,
}

impl ConsumerGroup {
    pub(crate) fn new(id: GroupId) -> Self {
        Self {
            id,
            epoch: FIRST_EPOCH,
            metadata_hash: 0,
            assignment_epoch: FIRST_EPOCH,
            assignment_timestamp_ms: 0,
            members: BTreeMap::new(),
            targets: BTreeMap::new(),
            regexes: BTreeMap::new(),
            has_topics_record: false,
            static_members: HashMap::new(),
            holders: HashMap::new(),
            soft: Soft::new(),
        }
    }

    /// Kafka's name of its state.
    pub(crate) fn state(&self) -> &'static str {
        if self.members.is_empty() {
            "Empty"
        } else if self.epoch > self.assignment_epoch {
            "Assigning"
        } else if self.members.values().all(|member| member.is_reconciled_to(self.assignment_epoch)) {
            "Stable"
        } else {
            "Reconciling"
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// How many members it has.
    pub(crate) fn member_count(&self) -> usize {
        self.members.len()
    }

    /// The records that take the group away.
    pub(crate) fn tombstones(&self, records: &mut Vec<ConsumerOffsetsRecord>) {
        records.extend(super::records::group_gone(&self.id, self.members.keys(), self.regexes.keys()));
    }

    /// The member with this instance id.
    pub(crate) fn static_member(&self, instance: Option<&str>) -> Option<&Member> {
        self.members.get(self.static_members.get(instance?)?)
    }

    /// What a member is to have; a static one that has just come back is to have what it had under its id before.
    pub(crate) fn target(&self, member: &Member) -> Partitions {
        let before =
            self.static_member(member.instance_id.as_deref()).map_or(&member.id, |before| &before.id);
        let target = self.targets.get(&member.id).or_else(|| self.targets.get(before));
        target.cloned().unwrap_or_default()
    }

    /// Whether a member has the partition, or has to give it up.
    pub(crate) fn is_held(&self, topic: &Uuid, partition: PartitionIndex) -> bool {
        self.holders.contains_key(&(*topic, partition))
    }

    /// The topics that a member subscribes to and that exist.
    pub(crate) fn topics_of(&self, member: &Member, topics: &dyn Topics) -> BTreeSet<Uuid> {
        let matched = member.regex().and_then(|regex| self.regexes.get(regex));
        let names = member.topics.iter().chain(matched.into_iter().flat_map(|resolved| &resolved.topics));
        names.filter_map(|name| topics.by_name(name.as_str())).map(|topic| topic.id).collect()
    }

    /// Whether a member subscribes to the topic, by name or expression.
    pub(crate) fn is_subscribed_to(&self, name: &TopicName) -> bool {
        self.members.values().any(|member| member.topics.contains(name))
            || self.regexes.values().any(|resolved| resolved.topics.contains(name))
    }

    /// How many members subscribe by this expression.
    pub(crate) fn subscribers_of(&self, regex: &str) -> usize {
        self.members.values().filter(|member| member.regex().is_some_and(|own| own == regex)).count()
    }

    /// The subscriptions, with some members gone and one come or changed.
    pub(crate) fn subscriptions(&self, gone: &[&str], changed: Option<&Member>) -> Subscriptions {
        let stay = self.members.values().filter(|member| {
            !gone.contains(&member.id.as_str()) && changed.is_none_or(|changed| changed.id != member.id)
        });
        let mut all = Subscriptions::default();
        for member in stay.chain(changed) {
            all.members += 1;
            for name in &member.topics {
                all.topics.entry(name.clone()).or_default().by_name += 1;
            }
            if let Some(regex) = member.regex() {
                *all.regexes.entry(regex.clone()).or_default() += 1;
            }
        }
        let matched = self.regexes.iter().filter(|(regex, _)| all.regexes.contains_key(*regex));
        for name in matched.flat_map(|(_, resolved)| &resolved.topics) {
            all.topics.entry(name.clone()).or_default().by_regex += 1;
        }
        all
    }

    /// The assignor that most members want; if as many want another, the one that Kafka's map lists first. None if
    /// nobody says.
    pub(crate) fn preferred_assignor(&self, changed: Option<&Member>) -> Option<CompactString> {
        let stay =
            self.members.values().filter(|member| changed.is_none_or(|changed| changed.id != member.id));
        let mut counts: BTreeMap<&CompactString, usize> = BTreeMap::new();
        for name in stay.chain(changed).filter_map(|member| member.assignor.as_ref()) {
            *counts.entry(name).or_default() += 1;
        }
        // `uniform` before `range`: of equal counts the last is taken.
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(name, _)| name.clone())
    }

    /// Takes a member, whole, in the place of the one of its id.
    pub(crate) fn put_member(&mut self, member: Member) {
        let before = self.take_member(&member.id);
        drop(before);
        if let Some(instance) = &member.instance_id {
            self.static_members.insert(instance.clone(), member.id.clone());
        }
        for partition in member.holds() {
            let holder = self.holders.entry(partition).or_insert(member.epoch);
            // While a log is loaded that was compacted, two may seem to have it: the newer one does.
            *holder = (*holder).max(member.epoch);
        }
        self.members.insert(member.id.clone(), member);
    }

    /// Takes a member out.
    pub(crate) fn take_member(&mut self, id: &str) -> Option<Member> {
        let member = self.members.remove(id)?;
        if let Some(instance) = &member.instance_id
            && self.static_members.get(instance).is_some_and(|holder| *holder == member.id)
        {
            self.static_members.remove(instance);
        }
        for partition in member.holds() {
            if self.holders.get(&partition) == Some(&member.epoch) {
                self.holders.remove(&partition);
            }
        }
        Some(member)
    }

    /// Whether a member that waits for partitions does so in vain: each is held by another still.
    pub(crate) fn waits_for_others(&self, member: &Member) -> bool {
        let Some(target) = self.targets.get(&member.id) else { return false };
        target.iter().any(|(topic, numbers)| {
            let has = |number| member.assigned.get(topic).is_some_and(|owned| owned.contains_key(number));
            numbers.iter().any(|number| !has(number) && self.is_held(topic, *number))
        })
    }
}

impl Subscriptions {
    /// Whether all members subscribe to the same.
    pub(crate) fn are_the_same(&self) -> bool {
        if self.regexes.is_empty() {
            return self.topics.values().all(|wanted| wanted.by_name == self.members);
        }
        self.regexes.values().all(|count| *count == self.members)
            && self.topics.values().all(|wanted| wanted.by_regex == 1 && wanted.by_name == 0)
    }

    /// The hash of the topics that exist.
    pub(crate) fn hash(&self, topics: &dyn Topics, hashes: &TopicHashes) -> i64 {
        let known = self.topics.keys().filter_map(|name| topics.by_name(name.as_str()));
        hash::of_group(known.map(|topic| hashes.of(&topic, topics)))
    }
}
