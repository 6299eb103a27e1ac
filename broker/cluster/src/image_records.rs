//! An image as the records that make it: what a snapshot holds. Replaying them on nothing gives the image again, and
//! the same image always gives the same records.

use std::sync::Arc;

use ottla_model::{NodeId, PartitionIndex};
use ottla_protocol::metadata as records;
use ottla_protocol::metadata::MetadataRecord;

use crate::features::METADATA_VERSION;
use crate::image::{BrokerImage, Endpoint, FeatureRange, MetadataImage, PartitionImage, TopicImage};

impl MetadataImage {
    /// The records, in the order in which Kafka lists them: the metadata version before what depends on it, brokers
    /// before what they hold, topics before their configs.
    #[must_use]
    pub fn to_records(&self) -> Vec<MetadataRecord> {
        let mut out = Vec::with_capacity(self.topic_count() + self.partition_count() + 64);
        self.feature_records(&mut out);
        out.extend(self.brokers().map(|broker| MetadataRecord::RegisterBroker(broker.to_record())));
        out.extend(self.kept.controllers.values().cloned().map(MetadataRecord::RegisterController));
        self.topic_records(&mut out);
        self.config_records(&mut out);
        out.extend(self.kept.quotas.values().cloned().map(MetadataRecord::ClientQuota));
        if self.next_producer_id.get() > 0 {
            out.push(MetadataRecord::ProducerIds(records::ProducerIdsRecord {
                broker_id: NodeId::NONE,
                broker_epoch: -1,
                next_producer_id: self.next_producer_id,
            }));
        }
        out.extend(self.kept.acls.values().cloned().map(MetadataRecord::AccessControlEntry));
        out.extend(self.kept.scram.values().cloned().map(MetadataRecord::UserScramCredential));
        out.extend(self.kept.delegation_tokens.values().cloned().map(MetadataRecord::DelegationToken));
        out
    }

    fn feature_records(&self, out: &mut Vec<MetadataRecord>) {
        let (version, others): (Vec<_>, Vec<_>) =
            self.features().partition(|(name, _)| name.as_str() == METADATA_VERSION);
        out.extend(version.into_iter().chain(others).map(|(name, level)| {
            MetadataRecord::FeatureLevel(records::FeatureLevelRecord {
                name: name.clone(),
                feature_level: level,
            })
        }));
    }

    fn topic_records(&self, out: &mut Vec<MetadataRecord>) {
        let mut topics: Vec<&TopicImage> = self.topics().map(Arc::as_ref).collect();
        topics.sort_by(|a, b| a.name.cmp(&b.name));
        for topic in topics {
            out.push(MetadataRecord::Topic(records::TopicRecord {
                name: topic.name.clone(),
                topic_id: topic.id,
            }));
            let partitions = (0..).map(PartitionIndex::new).zip(&topic.partitions);
            out.extend(
                partitions
                    .map(|(index, partition)| MetadataRecord::Partition(partition.to_record(topic, index))),
            );
        }
    }

    fn config_records(&self, out: &mut Vec<MetadataRecord>) {
        let mut resources: Vec<_> = self.config_resources().collect();
        resources.sort_by(|a, b| a.0.cmp(b.0));
        for (resource, values) in resources {
            out.extend(values.iter().map(|(name, value)| {
                MetadataRecord::Config(records::ConfigRecord {
                    resource_type: resource.kind,
                    resource_name: resource.name.clone(),
                    name: name.clone(),
                    value: Some(value.clone()),
                })
            }));
        }
    }
}

impl PartitionImage {
    fn to_record(&self, topic: &TopicImage, index: PartitionIndex) -> records::PartitionRecord {
        let filled = |list: &Vec<NodeId>| (!list.is_empty()).then(|| list.clone());
        records::PartitionRecord {
            partition_id: index,
            topic_id: topic.id,
            replicas: self.replicas.clone(),
            isr: self.isr.clone(),
            removing_replicas: self.removing_replicas.clone(),
            adding_replicas: self.adding_replicas.clone(),
            leader: self.leader,
            leader_recovery_state: self.leader_recovery_state,
            leader_epoch: self.leader_epoch,
            partition_epoch: self.partition_epoch,
            directories: self.directories.clone(),
            eligible_leader_replicas: filled(&self.eligible_leader_replicas),
            last_known_elr: filled(&self.last_known_elr),
        }
    }
}

impl BrokerImage {
    fn to_record(&self) -> records::RegisterBrokerRecord {
        records::RegisterBrokerRecord {
            broker_id: self.id,
            incarnation_id: self.incarnation_id,
            broker_epoch: self.epoch,
            end_points: self.endpoints.iter().map(Endpoint::to_record).collect(),
            features: self.features.iter().map(FeatureRange::to_record).collect(),
            rack: self.rack.clone(),
            fenced: self.fenced,
            in_controlled_shutdown: self.in_controlled_shutdown,
            log_dirs: self.log_dirs.clone(),
            cordoned_log_dirs: (!self.cordoned_log_dirs.is_empty()).then(|| self.cordoned_log_dirs.clone()),
            ..records::RegisterBrokerRecord::default()
        }
    }
}

impl Endpoint {
    pub(crate) fn to_record(&self) -> records::BrokerEndpoint {
        records::BrokerEndpoint {
            name: self.listener.clone(),
            host: self.host.clone(),
            port: self.port,
            security_protocol: self.security_protocol,
        }
    }
}

impl FeatureRange {
    fn to_record(&self) -> records::BrokerFeature {
        records::BrokerFeature {
            name: self.name.clone(),
            min_supported_version: self.min,
            max_supported_version: self.max,
        }
    }
}
