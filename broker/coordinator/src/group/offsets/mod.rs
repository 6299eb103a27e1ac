//! Offsets that groups have committed, and those that an open transaction will commit. This file is what there is and
//! how records change it; who may commit, fetch and delete stands beside it.

mod commit;
mod delete;
mod expiry;
mod fetch;

pub(crate) use delete::Swept;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use compact_str::CompactString;
use ottla_model::{GroupId, LeaderEpoch, Offset, PartitionIndex, ProducerId, TopicName, Uuid};
use ottla_protocol::internal::ConsumerOffsetsRecord;
use ottla_protocol::internal::group::{OffsetCommitKey, OffsetCommitValue};

/// A committed offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The offset of the next record to consume.
    pub offset: Offset,
    /// The leader epoch of the last record consumed; unknown (−1) where the client does not say.
    pub leader_epoch: LeaderEpoch,
    /// What the client adds for itself.
    pub metadata: CompactString,
    /// When it was committed, on the wall clock.
    pub commit_ms: i64,
    /// When it is to be forgotten, where an old client has said so.
    pub expire_ms: Option<i64>,
    /// The topic's id; zero where it was not known.
    pub topic_id: Uuid,
}

impl CommittedOffset {
    fn of_record(value: OffsetCommitValue) -> Self {
        Self {
            offset: value.offset,
            leader_epoch: value.leader_epoch,
            metadata: value.metadata,
            commit_ms: value.commit_timestamp,
            expire_ms: (value.expire_timestamp != -1).then_some(value.expire_timestamp),
            topic_id: value.topic_id,
        }
    }

    fn record(self, group: &GroupId, topic: &TopicName, partition: PartitionIndex) -> ConsumerOffsetsRecord {
        let value = OffsetCommitValue {
            offset: self.offset,
            leader_epoch: self.leader_epoch,
            metadata: self.metadata,
            commit_timestamp: self.commit_ms,
            expire_timestamp: self.expire_ms.unwrap_or(-1),
            topic_id: self.topic_id,
        };
        ConsumerOffsetsRecord::OffsetCommit(key(group, topic, partition), Some(value))
    }
}

/// The record that takes an offset away.
fn tombstone(group: &GroupId, topic: &TopicName, partition: PartitionIndex) -> ConsumerOffsetsRecord {
    ConsumerOffsetsRecord::OffsetCommit(key(group, topic, partition), None)
}

fn key(group: &GroupId, topic: &TopicName, partition: PartitionIndex) -> OffsetCommitKey {
    OffsetCommitKey { group: group.clone(), topic: topic.clone(), partition }
}

/// With its place among all replayed records: of two commits the one that was written later counts, whenever its
/// transaction ended.
#[derive(Debug, Clone)]
struct Entry {
    committed: CommittedOffset,
    serial: u64,
}

type ByPartition = BTreeMap<PartitionIndex, Entry>;
type ByTopic = BTreeMap<TopicName, ByPartition>;

/// The offsets of all groups of a machine.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    committed: HashMap<GroupId, ByTopic>,
    pending: HashMap<ProducerId, HashMap<GroupId, ByTopic>>,
    /// The producers with pending offsets, by group.
    open: HashMap<GroupId, BTreeSet<ProducerId>>,
    /// How many records were replayed.
    serial: u64,
}

impl Offsets {
    /// Takes a record into the state. A tombstone takes pending offsets too.
    pub(crate) fn replay(
        &mut self,
        key: OffsetCommitKey,
        value: Option<OffsetCommitValue>,
        transaction: Option<ProducerId>,
    ) {
        self.serial += 1;
        let Some(value) = value else { return self.remove(&key) };
        let entry = Entry { committed: CommittedOffset::of_record(value), serial: self.serial };
        let by_topic = match transaction {
            None => self.committed.entry(key.group).or_default(),
            Some(producer) => {
                self.open.entry(key.group.clone()).or_default().insert(producer);
                self.pending.entry(producer).or_default().entry(key.group).or_default()
            }
        };
        by_topic.entry(key.topic).or_default().insert(key.partition, entry);
    }

    fn remove(&mut self, key: &OffsetCommitKey) {
        take(&mut self.committed, key);
        for producer in self.open.get(&key.group).into_iter().flatten() {
            if let Some(pending) = self.pending.get_mut(producer) {
                take(pending, key);
            }
        }
    }

    /// A transaction ends: its offsets count from now on, or never did.
    pub(crate) fn end_transaction(&mut self, producer: ProducerId, committed: bool) {
        if let Some(pending) = self.pending.remove(&producer)
            && committed
        {
            for (group, by_topic) in pending {
                self.materialise(&group, by_topic);
            }
        }
        // Tombstones may have emptied what was pending of a group, which leaves it open all the same.
        self.open.retain(|_, producers| {
            producers.remove(&producer);
            !producers.is_empty()
        });
    }

    fn materialise(&mut self, group: &GroupId, by_topic: ByTopic) {
        let present = self.committed.entry(group.clone()).or_default();
        for (topic, partitions) in by_topic {
            let present = present.entry(topic).or_default();
            for (partition, entry) in partitions {
                if present.get(&partition).is_none_or(|before| before.serial < entry.serial) {
                    present.insert(partition, entry);
                }
            }
        }
    }

    /// The offset of a partition.
    pub(crate) fn get(
        &self,
        group: &GroupId,
        topic: &TopicName,
        partition: PartitionIndex,
    ) -> Option<&CommittedOffset> {
        Some(&self.committed.get(group)?.get(topic)?.get(&partition)?.committed)
    }

    /// All offsets of a group, by topic and partition.
    pub(crate) fn of_group(
        &self,
        group: &GroupId,
    ) -> impl Iterator<Item = (&TopicName, PartitionIndex, &CommittedOffset)> {
        self.committed.get(group).into_iter().flatten().flat_map(|(topic, partitions)| {
            partitions.iter().map(move |(partition, entry)| (topic, *partition, &entry.committed))
        })
    }

    fn topics_of(&self, group: &GroupId) -> Option<&ByTopic> {
        self.committed.get(group)
    }

    /// Whether a transaction that has not ended will change the offset.
    fn is_pending(&self, group: &GroupId, topic: &TopicName, partition: PartitionIndex) -> bool {
        self.open.get(group).into_iter().flatten().any(|producer| {
            let by_topic = self.pending.get(producer).and_then(|groups| groups.get(group));
            by_topic.and_then(|topics| topics.get(topic)).is_some_and(|found| found.contains_key(&partition))
        })
    }

    /// Whether a transaction that has not ended has offsets of the group.
    fn is_open(&self, group: &GroupId) -> bool {
        self.open.contains_key(group)
    }

    /// Everything known of a group's offsets, pending ones too.
    fn partitions_of(&self, group: &GroupId) -> BTreeSet<(TopicName, PartitionIndex)> {
        let pending = self
            .open
            .get(group)
            .into_iter()
            .flatten()
            .filter_map(|producer| self.pending.get(producer).and_then(|groups| groups.get(group)));
        let all = self.committed.get(group).into_iter().chain(pending);
        all.flatten()
            .flat_map(|(topic, partitions)| partitions.keys().map(|partition| (topic.clone(), *partition)))
            .collect()
    }

    /// The groups that have offsets of a topic, pending ones too.
    fn groups_with(&self, topic: &TopicName) -> BTreeSet<GroupId> {
        let pending = self.pending.values().flatten();
        self.committed
            .iter()
            .chain(pending)
            .filter(|(_, topics)| topics.contains_key(topic))
            .map(|(group, _)| group.clone())
            .collect()
    }

    /// How many offsets are committed.
    pub(crate) fn len(&self) -> usize {
        self.committed.values().flat_map(BTreeMap::values).map(BTreeMap::len).sum()
    }
}

fn take(groups: &mut HashMap<GroupId, ByTopic>, key: &OffsetCommitKey) {
    let Some(topics) = groups.get_mut(&key.group) else { return };
    let Some(partitions) = topics.get_mut(&key.topic) else { return };
    partitions.remove(&key.partition);
    if partitions.is_empty() {
        topics.remove(&key.topic);
    }
    if topics.is_empty() {
        groups.remove(&key.group);
    }
}
