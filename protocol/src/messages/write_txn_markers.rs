//! WriteTxnMarkers (key 27), versions 1–2. From a transaction coordinator to the leaders of its partitions.
//!
//! * 1: flexible.
//! * 2: the transaction's version, so that a leader can tell late markers (KIP-1228).

use ottla_model::{ErrorCode, PartitionIndex, ProducerEpoch, ProducerId, TopicName};

use crate::Message;

/// Ends of transactions to write to the log.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 27, versions = 1..=2, flexible = 1)]
pub struct WriteTxnMarkersRequest {
    /// The ends of transactions.
    pub markers: Vec<WritableTxnMarker>,
}

/// The end of one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct WritableTxnMarker {
    /// The producer's id.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// Whether it is committed rather than aborted.
    pub transaction_result: bool,
    /// The partitions, by topic.
    pub topics: Vec<WritableTxnMarkerTopic>,
    /// The epoch of the transaction coordinator.
    pub coordinator_epoch: i32,
    /// The transaction's version: from 2 on, each transaction has an epoch of its own.
    #[field(versions = 2.., ignorable)]
    pub transaction_version: i8,
}

/// One topic's partitions in the transaction.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct WritableTxnMarkerTopic {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partition_indexes: Vec<PartitionIndex>,
}

/// Which ends were written.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 27, versions = 1..=2, flexible = 1)]
pub struct WriteTxnMarkersResponse {
    /// The answers, by producer.
    pub markers: Vec<WritableTxnMarkerResult>,
}

/// What became of one transaction's end.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct WritableTxnMarkerResult {
    /// The producer's id.
    pub producer_id: ProducerId,
    /// The partitions, by topic.
    pub topics: Vec<WritableTxnMarkerTopicResult>,
}

/// One topic's share of a [`WritableTxnMarkerResult`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct WritableTxnMarkerTopicResult {
    /// The topic's name.
    pub name: TopicName,
    /// The partitions.
    pub partitions: Vec<WritableTxnMarkerPartitionResult>,
}

/// Whether the end was written to one partition.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct WritableTxnMarkerPartitionResult {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
}
