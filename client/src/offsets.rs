//! Offsets by time: each partition's leader is asked, all partitions of a leader in one request; partitions whose
//! answer may change are asked again, with new metadata, until the call's time is over.

use std::collections::BTreeMap;

use ottla_model::{ErrorCode, LeaderEpoch, NodeId, Offset, PartitionIndex, TopicName};
use ottla_protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic,
};
use tokio::time::{Instant, sleep};

use crate::Client;
use crate::error::ClientError;

/// A partition by its topic's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic.
    pub topic: TopicName,
    /// The partition's number.
    pub partition: PartitionIndex,
}

/// Which offset is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The one after the last record.
    Latest,
    /// The first record's.
    Earliest,
    /// That of the record with the largest timestamp (KIP-734).
    MaxTimestamp,
    /// The first on the broker's own disks (KIP-405).
    EarliestLocal,
    /// The last in remote storage (KIP-1005).
    LatestTiered,
    /// The first that waits for its upload (KIP-1023).
    EarliestPendingUpload,
    /// The first record's whose timestamp is this or later, in milliseconds.
    Time(i64),
}

impl OffsetSpec {
    /// The number that stands for it on the wire; below zero for all but times.
    #[must_use]
    pub const fn timestamp_ms(self) -> i64 {
        match self {
            Self::Latest => -1,
            Self::Earliest => -2,
            Self::MaxTimestamp => -3,
            Self::EarliestLocal => -4,
            Self::LatestTiered => -5,
            Self::EarliestPendingUpload => -6,
            Self::Time(timestamp_ms) => timestamp_ms,
        }
    }
}

/// An offset that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundOffset {
    /// The offset.
    pub offset: Offset,
    /// The record's timestamp in milliseconds; −1 where it was not asked for by time.
    pub timestamp_ms: i64,
    /// The record's leader epoch.
    pub leader_epoch: LeaderEpoch,
}

/// A partition's answer: an offset, none that fits, or why there is no answer.
pub type PartitionOffset = Result<Option<FoundOffset>, ErrorCode>;

type Answers = BTreeMap<TopicPartition, PartitionOffset>;

impl Client {
    /// Looks up one offset in each partition. Every partition has an answer.
    ///
    /// # Errors
    /// When a broker cannot be asked within the call's time.
    pub async fn list_offsets(
        &mut self,
        partitions: &[TopicPartition],
        spec: OffsetSpec,
    ) -> Result<Answers, ClientError> {
        let deadline = Instant::now() + self.config.call_time_max;
        let mut answers = Answers::new();
        let mut open = partitions.to_vec();
        loop {
            let failed = self.try_list_offsets(&open, spec, &mut answers).await.err();
            open.retain(|partition| match answers.get(partition) {
                Some(Err(code)) => code.is_retriable(),
                Some(Ok(_)) => false,
                None => true,
            });
            if open.is_empty() {
                return Ok(answers);
            }
            if Instant::now() + self.config.retry_backoff >= deadline {
                return match failed {
                    Some(error) => Err(ClientError::TimedOut {
                        limit: self.config.call_time_max,
                        last: error.to_string(),
                    }),
                    None => Ok(answers),
                };
            }
            sleep(self.config.retry_backoff).await;
        }
    }

    async fn try_list_offsets(
        &mut self,
        partitions: &[TopicPartition],
        spec: OffsetSpec,
        answers: &mut Answers,
    ) -> Result<(), ClientError> {
        let mut topics: Vec<_> = partitions.iter().map(|partition| partition.topic.clone()).collect();
        topics.dedup();
        let metadata = self.metadata(Some(&topics)).await?;
        let mut requests: BTreeMap<NodeId, ListOffsetsRequest> = BTreeMap::new();
        for partition in partitions {
            match metadata.leader(&partition.topic, partition.partition) {
                Ok(leader) => {
                    let request = requests.entry(leader.node).or_insert_with(request);
                    add(request, partition, leader.epoch, spec);
                }
                Err(code) => {
                    answers.insert(partition.clone(), Err(code));
                }
            }
        }
        for (leader, request) in requests {
            let asked: usize = request.topics.iter().map(|topic| topic.partitions.len()).sum();
            let response = self.pool.call_node(leader, &metadata, &request).await?;
            if take(response, answers) < asked {
                return Err(ClientError::Incomplete);
            }
        }
        Ok(())
    }
}

fn request() -> ListOffsetsRequest {
    ListOffsetsRequest { replica_id: NodeId::NONE, ..ListOffsetsRequest::default() }
}

fn add(request: &mut ListOffsetsRequest, partition: &TopicPartition, epoch: LeaderEpoch, spec: OffsetSpec) {
    let question = ListOffsetsPartition {
        partition_index: partition.partition,
        current_leader_epoch: epoch,
        timestamp: spec.timestamp_ms(),
    };
    match request.topics.iter_mut().find(|topic| topic.name == partition.topic) {
        Some(topic) => topic.partitions.push(question),
        None => request
            .topics
            .push(ListOffsetsTopic { name: partition.topic.clone(), partitions: vec![question] }),
    }
}

/// Takes over the answers and says how many there were.
fn take(response: ListOffsetsResponse, answers: &mut Answers) -> usize {
    let mut taken = 0;
    for topic in response.topics {
        for partition in topic.partitions {
            let key = TopicPartition { topic: topic.name.clone(), partition: partition.partition_index };
            let found = FoundOffset {
                offset: partition.offset,
                timestamp_ms: partition.timestamp,
                leader_epoch: partition.leader_epoch,
            };
            let answer = match partition.error_code {
                code if !code.is_none() => Err(code),
                _ if partition.offset < Offset::ZERO => Ok(None),
                _ => Ok(Some(found)),
            };
            answers.insert(key, answer);
            taken += 1;
        }
    }
    taken
}
