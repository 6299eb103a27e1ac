//! The one way in which metadata changes: a record of `__cluster_metadata` turns one image into the next. Serving and
//! loading both go through here, so they cannot disagree. Nothing is checked that the controller checked before it
//! wrote the record; what cannot be true of any log is an error.

use std::sync::Arc;

use compact_str::CompactString;
use ottla_model::{LeaderEpoch, NodeId, PartitionIndex, TopicName, Uuid};
use ottla_protocol::metadata as records;
use ottla_protocol::metadata::MetadataRecord;

use crate::features;
use crate::image::{
    BrokerImage, ConfigResource, Endpoint, FeatureRange, MetadataImage, PartitionImage, QuotaKey, TopicImage,
    collision_key,
};

/// The leader field of a change that keeps the leader.
const LEADER_UNCHANGED: NodeId = NodeId::new(-2);

/// What a record says that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// A record speaks of a topic that no earlier one made.
    #[error("{record} names the topic {topic}, which does not exist")]
    UnknownTopic {
        /// The record's type.
        record: &'static str,
        /// The topic's id.
        topic: Uuid,
    },
    /// A record speaks of a topic's name that no earlier one made.
    #[error("{record} names the topic '{topic}', which does not exist")]
    UnknownTopicName {
        /// The record's type.
        record: &'static str,
        /// The topic's name.
        topic: CompactString,
    },
    /// A record speaks of a partition that no earlier one made.
    #[error("{record} names partition {index} of the topic {topic}, which does not exist")]
    UnknownPartition {
        /// The record's type.
        record: &'static str,
        /// The topic's id.
        topic: Uuid,
        /// The partition's number.
        index: PartitionIndex,
    },
    /// A partition's number is negative or beyond what one topic may have.
    #[error("partition {index} of the topic {topic} is outside of 0 to {PARTITIONS_PER_TOPIC_MAX}")]
    PartitionOutOfRange {
        /// The topic's id.
        topic: Uuid,
        /// The partition's number.
        index: PartitionIndex,
    },
    /// A record speaks of a broker that is not registered.
    #[error("{record} names broker {broker}, which is not registered")]
    UnknownBroker {
        /// The record's type.
        record: &'static str,
        /// The broker's id.
        broker: NodeId,
    },
    /// A feature has a level that this version does not understand.
    #[error("the feature {name} has level {level}, and this version understands {min} to {max}")]
    FeatureLevel {
        /// The feature's name.
        name: CompactString,
        /// Its level in the log.
        level: i16,
        /// The lowest level that is understood.
        min: i16,
        /// The highest level that is understood.
        max: i16,
    },
    /// A feature is finalised of which this version knows nothing.
    #[error("the feature {name} has level {level}, and this version does not know the feature")]
    UnknownFeature {
        /// The feature's name.
        name: CompactString,
        /// Its level in the log.
        level: i16,
    },
    /// A transaction begins inside another, or ends outside of one.
    #[error("{record} while {state}")]
    Transaction {
        /// The record's type.
        record: &'static str,
        /// Whether a transaction is open.
        state: &'static str,
    },
}

/// The largest partition number in a log, exclusive: a bound for what a damaged record may claim, far above use.
pub(crate) const PARTITIONS_PER_TOPIC_MAX: i32 = 1_000_000;

impl MetadataImage {
    /// Replays a record that is no part of a transaction's frame.
    pub(crate) fn replay(&mut self, record: &MetadataRecord) -> Result<(), ReplayError> {
        match record {
            MetadataRecord::Topic(record) => self.replay_topic(record),
            MetadataRecord::Partition(record) => self.replay_partition(record)?,
            MetadataRecord::PartitionChange(record) => self.replay_partition_change(record)?,
            MetadataRecord::RemoveTopic(record) => self.replay_remove_topic(record)?,
            MetadataRecord::ClearElr(record) => self.replay_clear_elr(record)?,
            MetadataRecord::Config(record) => self.replay_config(record),
            MetadataRecord::RegisterBroker(record) => self.replay_register_broker(record),
            MetadataRecord::BrokerRegistrationChange(record) => self.replay_registration_change(record)?,
            MetadataRecord::FenceBroker(record) => {
                self.broker_mut(record.id, "FenceBrokerRecord")?.fenced = true;
            }
            MetadataRecord::UnfenceBroker(record) => {
                self.broker_mut(record.id, "UnfenceBrokerRecord")?.fenced = false;
            }
            MetadataRecord::UnregisterBroker(record) => {
                self.broker_mut(record.broker_id, "UnregisterBrokerRecord")?;
                Arc::make_mut(&mut self.brokers).remove(&record.broker_id);
            }
            MetadataRecord::FeatureLevel(record) => self.replay_feature_level(record)?,
            MetadataRecord::ProducerIds(record) => self.next_producer_id = record.next_producer_id,
            kept => self.replay_kept(kept),
        }
        Ok(())
    }

    fn replay_topic(&mut self, record: &records::TopicRecord) {
        let topic = TopicImage { name: record.name.clone(), id: record.topic_id, partitions: Vec::new() };
        if let Some(key) = collision_key(&record.name) {
            let mut names = self.collidable.get(&key).cloned().unwrap_or_default();
            names.push(record.name.clone());
            self.collidable.insert(key, names);
        }
        self.topic_ids.insert(record.name.clone(), record.topic_id);
        self.topics.insert(record.topic_id, Arc::new(topic));
    }

    fn replay_partition(&mut self, record: &records::PartitionRecord) -> Result<(), ReplayError> {
        let out_of_range =
            || ReplayError::PartitionOutOfRange { topic: record.topic_id, index: record.partition_id };
        if !(0..PARTITIONS_PER_TOPIC_MAX).contains(&record.partition_id.get()) {
            return Err(out_of_range());
        }
        let index = usize::try_from(record.partition_id.get()).map_err(|_| out_of_range())?;
        let topic = self.topic_mut(&record.topic_id, "PartitionRecord")?;
        let had = topic.partitions.len();
        // A snapshot may list a topic's partitions in any order; the gaps are filled before it ends.
        if had <= index {
            topic.partitions.resize_with(index + 1, PartitionImage::vacant);
        }
        let grown = topic.partitions.len() - had;
        if let Some(partition) = topic.partitions.get_mut(index) {
            *partition = PartitionImage::from_record(record);
        }
        self.partition_count += grown;
        Ok(())
    }

    fn replay_partition_change(
        &mut self,
        record: &records::PartitionChangeRecord,
    ) -> Result<(), ReplayError> {
        const NAME: &str = "PartitionChangeRecord";
        let topic = self.topic_mut(&record.topic_id, NAME)?;
        let index = usize::try_from(record.partition_id.get()).ok();
        match index.and_then(|index| topic.partitions.get_mut(index)) {
            Some(partition) => {
                partition.change(record);
                Ok(())
            }
            None => Err(ReplayError::UnknownPartition {
                record: NAME,
                topic: record.topic_id,
                index: record.partition_id,
            }),
        }
    }

    fn replay_remove_topic(&mut self, record: &records::RemoveTopicRecord) -> Result<(), ReplayError> {
        let removed = self.topics.remove(&record.topic_id);
        let topic = removed
            .ok_or(ReplayError::UnknownTopic { record: "RemoveTopicRecord", topic: record.topic_id })?;
        self.forget_collidable(&topic.name);
        self.topic_ids.remove(&topic.name);
        self.configs.remove(&ConfigResource::topic(&topic.name));
        self.partition_count -= topic.partitions.len();
        Ok(())
    }

    fn forget_collidable(&mut self, name: &TopicName) {
        let Some(key) = collision_key(name) else { return };
        let mut names = self.collidable.remove(&key).unwrap_or_default();
        names.retain(|taken| taken != name);
        if !names.is_empty() {
            self.collidable.insert(key, names);
        }
    }

    fn replay_clear_elr(&mut self, record: &records::ClearElrRecord) -> Result<(), ReplayError> {
        const NAME: &str = "ClearElrRecord";
        let ids: Vec<Uuid> = if record.topic_name.is_empty() {
            self.topics.iter().map(|(id, _)| *id).collect()
        } else {
            let id = self.topic_ids.get(record.topic_name.as_str()).ok_or_else(|| {
                ReplayError::UnknownTopicName { record: NAME, topic: record.topic_name.as_str().into() }
            })?;
            vec![*id]
        };
        for id in ids {
            let cleared =
                |p: &PartitionImage| p.eligible_leader_replicas.is_empty() && p.last_known_elr.is_empty();
            if self.topics.get(&id).is_some_and(|topic| topic.partitions.iter().all(cleared)) {
                continue;
            }
            for partition in &mut self.topic_mut(&id, NAME)?.partitions {
                partition.eligible_leader_replicas.clear();
                partition.last_known_elr.clear();
            }
        }
        Ok(())
    }

    fn replay_config(&mut self, record: &records::ConfigRecord) {
        let resource = ConfigResource { kind: record.resource_type, name: record.resource_name.clone() };
        let mut values = self.configs.get(&resource).cloned().unwrap_or_default();
        match &record.value {
            Some(value) => Arc::make_mut(&mut values).insert(record.name.clone(), value.clone()),
            None => Arc::make_mut(&mut values).remove(&record.name),
        };
        if values.is_empty() {
            self.configs.remove(&resource);
        } else {
            self.configs.insert(resource, values);
        }
    }

    fn replay_register_broker(&mut self, record: &records::RegisterBrokerRecord) {
        let broker = BrokerImage {
            id: record.broker_id,
            epoch: record.broker_epoch,
            incarnation_id: record.incarnation_id,
            endpoints: record.end_points.iter().map(Endpoint::from).collect(),
            features: record.features.iter().map(FeatureRange::from).collect(),
            rack: record.rack.clone(),
            fenced: record.fenced,
            in_controlled_shutdown: record.in_controlled_shutdown,
            log_dirs: record.log_dirs.clone(),
            cordoned_log_dirs: record.cordoned_log_dirs.clone().unwrap_or_default(),
        };
        Arc::make_mut(&mut self.brokers).insert(record.broker_id, Arc::new(broker));
    }

    fn replay_registration_change(
        &mut self,
        record: &records::BrokerRegistrationChangeRecord,
    ) -> Result<(), ReplayError> {
        let broker = self.broker_mut(record.broker_id, "BrokerRegistrationChangeRecord")?;
        match record.fenced {
            -1 => broker.fenced = false,
            1 => broker.fenced = true,
            _ => {}
        }
        if record.in_controlled_shutdown == 1 {
            broker.in_controlled_shutdown = true;
        }
        if !record.log_dirs.is_empty() {
            broker.log_dirs.clone_from(&record.log_dirs);
        }
        if let Some(cordoned) = &record.cordoned_log_dirs {
            broker.cordoned_log_dirs.clone_from(cordoned);
        }
        Ok(())
    }

    fn replay_feature_level(&mut self, record: &records::FeatureLevelRecord) -> Result<(), ReplayError> {
        features::check(&record.name, record.feature_level)?;
        let levels = Arc::make_mut(&mut self.features);
        match record.feature_level {
            0 => levels.remove(&record.name),
            level => levels.insert(record.name.clone(), level),
        };
        Ok(())
    }

    fn replay_kept(&mut self, record: &MetadataRecord) {
        let kept = Arc::make_mut(&mut self.kept);
        match record {
            MetadataRecord::RegisterController(record) => {
                kept.controllers.insert(record.controller_id, record.clone());
            }
            MetadataRecord::UnregisterController(record) => {
                kept.controllers.remove(&record.controller_id);
            }
            MetadataRecord::UserScramCredential(record) => {
                kept.scram.insert((record.name.clone(), record.mechanism), record.clone());
            }
            MetadataRecord::RemoveUserScramCredential(record) => {
                kept.scram.remove(&(record.name.clone(), record.mechanism));
            }
            MetadataRecord::ClientQuota(record) => {
                let key = QuotaKey::of(record);
                if record.remove {
                    kept.quotas.remove(&key);
                } else {
                    kept.quotas.insert(key, record.clone());
                }
            }
            MetadataRecord::AccessControlEntry(record) => {
                kept.acls.insert(record.id, record.clone());
            }
            MetadataRecord::RemoveAccessControlEntry(record) => {
                kept.acls.remove(&record.id);
            }
            MetadataRecord::DelegationToken(record) => {
                kept.delegation_tokens.insert(record.token_id.clone(), record.clone());
            }
            MetadataRecord::RemoveDelegationToken(record) => {
                kept.delegation_tokens.remove(&record.token_id);
            }
            // NoOp and the ZooKeeper migration's state say nothing about the cluster; the others are handled above.
            _ => {}
        }
    }

    fn topic_mut(&mut self, id: &Uuid, record: &'static str) -> Result<&mut TopicImage, ReplayError> {
        let topic = self.topics.get_mut(id).ok_or(ReplayError::UnknownTopic { record, topic: *id })?;
        Ok(Arc::make_mut(topic))
    }

    fn broker_mut(&mut self, id: NodeId, record: &'static str) -> Result<&mut BrokerImage, ReplayError> {
        let broker = Arc::make_mut(&mut self.brokers).get_mut(&id);
        broker.map(Arc::make_mut).ok_or(ReplayError::UnknownBroker { record, broker: id })
    }
}

impl QuotaKey {
    fn of(record: &records::ClientQuotaRecord) -> Self {
        let parts = record.entity.iter();
        let mut entity: Vec<_> =
            parts.map(|part| (part.entity_type.clone(), part.entity_name.clone())).collect();
        entity.sort();
        Self { entity, key: record.key.clone() }
    }
}

impl PartitionImage {
    /// Stands where a partition's record has not come yet.
    fn vacant() -> Self {
        Self {
            replicas: Vec::new(),
            directories: Vec::new(),
            isr: Vec::new(),
            removing_replicas: Vec::new(),
            adding_replicas: Vec::new(),
            eligible_leader_replicas: Vec::new(),
            last_known_elr: Vec::new(),
            leader: NodeId::NONE,
            leader_recovery_state: 0,
            leader_epoch: LeaderEpoch::new(0),
            partition_epoch: 0,
        }
    }

    fn from_record(record: &records::PartitionRecord) -> Self {
        Self {
            replicas: record.replicas.clone(),
            directories: record.directories.clone(),
            isr: record.isr.clone(),
            removing_replicas: record.removing_replicas.clone(),
            adding_replicas: record.adding_replicas.clone(),
            eligible_leader_replicas: record.eligible_leader_replicas.clone().unwrap_or_default(),
            last_known_elr: record.last_known_elr.clone().unwrap_or_default(),
            leader: record.leader,
            leader_recovery_state: record.leader_recovery_state,
            leader_epoch: record.leader_epoch,
            partition_epoch: record.partition_epoch,
        }
    }

    fn change(&mut self, record: &records::PartitionChangeRecord) {
        let lists = [
            (&mut self.replicas, &record.replicas),
            (&mut self.isr, &record.isr),
            (&mut self.removing_replicas, &record.removing_replicas),
            (&mut self.adding_replicas, &record.adding_replicas),
            (&mut self.eligible_leader_replicas, &record.eligible_leader_replicas),
            (&mut self.last_known_elr, &record.last_known_elr),
        ];
        for (list, change) in lists {
            if let Some(change) = change {
                list.clone_from(change);
            }
        }
        if let Some(directories) = &record.directories {
            self.directories.clone_from(directories);
        }
        if record.leader != LEADER_UNCHANGED {
            self.leader = record.leader;
            self.leader_epoch = LeaderEpoch::new(self.leader_epoch.get() + 1);
        }
        if record.leader_recovery_state >= 0 {
            self.leader_recovery_state = record.leader_recovery_state;
        }
        self.partition_epoch += 1;
    }
}

impl From<&records::BrokerEndpoint> for Endpoint {
    fn from(record: &records::BrokerEndpoint) -> Self {
        Self {
            listener: record.name.clone(),
            host: record.host.clone(),
            port: record.port,
            security_protocol: record.security_protocol,
        }
    }
}

impl From<&records::BrokerFeature> for FeatureRange {
    fn from(record: &records::BrokerFeature) -> Self {
        Self {
            name: record.name.clone(),
            min: record.min_supported_version,
            max: record.max_supported_version,
        }
    }
}
