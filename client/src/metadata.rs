//! What the cluster says of itself: brokers, topics, leaders. A picture of one moment; nothing here refreshes it.

use std::collections::HashMap;

use ottla_model::{ErrorCode, LeaderEpoch, NodeId, PartitionIndex, TopicName, Uuid};
use ottla_protocol::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponsePartition,
};

use crate::Client;
use crate::error::ClientError;

/// The cluster at one moment.
#[derive(Debug, Clone, Default)]
pub struct ClusterMetadata {
    brokers: HashMap<NodeId, (String, i32)>,
    topics: Vec<TopicMetadata>,
}

/// One topic at one moment.
#[derive(Debug, Clone)]
pub struct TopicMetadata {
    /// The name.
    pub name: TopicName,
    /// The id; zero where the cluster is too old for ids.
    pub id: Uuid,
    /// Whether the cluster uses the topic itself.
    pub is_internal: bool,
    /// Why nothing more is known of it, or none.
    pub error: ErrorCode,
    /// Its partitions, by number.
    pub partitions: Vec<PartitionMetadata>,
}

/// One partition at one moment.
#[derive(Debug, Clone, Copy)]
pub struct PartitionMetadata {
    /// The partition's number.
    pub index: PartitionIndex,
    /// Who leads it, or why nobody does.
    pub leader: Result<Leader, ErrorCode>,
}

/// Who leads a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leader {
    /// The broker.
    pub node: NodeId,
    /// Since which epoch.
    pub epoch: LeaderEpoch,
}

impl ClusterMetadata {
    /// The topics by name.
    #[must_use]
    pub fn topics(&self) -> &[TopicMetadata] {
        &self.topics
    }

    /// A broker's advertised host and port.
    #[must_use]
    pub fn broker(&self, node: NodeId) -> Option<(&str, i32)> {
        self.brokers.get(&node).map(|(host, port)| (host.as_str(), *port))
    }

    pub(crate) fn leader(&self, topic: &TopicName, partition: PartitionIndex) -> Result<Leader, ErrorCode> {
        let topic = self.topics.iter().find(|found| found.name == *topic);
        let topic = topic.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        if !topic.error.is_none() {
            return Err(topic.error);
        }
        let found = topic.partitions.iter().find(|found| found.index == partition);
        found.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?.leader
    }

    fn new(response: MetadataResponse) -> Self {
        let brokers = response.brokers.into_iter();
        let mut topics: Vec<_> = response
            .topics
            .into_iter()
            .filter_map(|topic| {
                let mut partitions: Vec<_> = topic.partitions.iter().map(PartitionMetadata::new).collect();
                partitions.sort_by_key(|partition| partition.index);
                Some(TopicMetadata {
                    name: topic.name?,
                    id: topic.topic_id,
                    is_internal: topic.is_internal,
                    error: topic.error_code,
                    partitions,
                })
            })
            .collect();
        topics.sort_by(|one, other| one.name.cmp(&other.name));
        Self {
            brokers: brokers.map(|broker| (broker.node_id, (broker.host.into(), broker.port))).collect(),
            topics,
        }
    }
}

impl PartitionMetadata {
    /// A partition that lacks only replicas (error 9 beside a leader) can be asked all the same.
    fn new(partition: &MetadataResponsePartition) -> Self {
        let leader = if partition.leader_id == NodeId::NONE {
            Err(match partition.error_code {
                ErrorCode::NONE => ErrorCode::LEADER_NOT_AVAILABLE,
                code => code,
            })
        } else {
            Ok(Leader { node: partition.leader_id, epoch: partition.leader_epoch })
        };
        Self { index: partition.partition_index, leader }
    }
}

impl Client {
    /// Asks for these topics, or for all. Creates none.
    ///
    /// # Errors
    /// When no server answers, or the cluster refuses as a whole; what is wrong with one topic stands in the answer.
    pub async fn metadata(&mut self, topics: Option<&[TopicName]>) -> Result<ClusterMetadata, ClientError> {
        let name = |name: &TopicName| MetadataRequestTopic { name: Some(name.clone()), topic_id: Uuid::ZERO };
        let request = MetadataRequest {
            topics: topics.map(|topics| topics.iter().map(name).collect()),
            allow_auto_topic_creation: false,
            ..MetadataRequest::default()
        };
        let response = self.pool.call_any(&request).await?;
        if response.error_code.is_none() {
            Ok(ClusterMetadata::new(response))
        } else {
            Err(ClientError::Refused { code: response.error_code })
        }
    }
}
