//! DescribeLogDirs (key 35), versions 1–5 (KIP-113).
//!
//! * 1: nothing; the throttle time is acted on after the answer was sent.
//! * 2: flexible.
//! * 3: an error code for the whole answer (KIP-784).
//! * 4: the volume's size and free space (KIP-827).
//! * 5: whether a directory takes no new replicas (KIP-1066).

use compact_str::CompactString;
use ottla_model::{ErrorCode, PartitionIndex, TopicName};

use crate::Message;

/// A question for a broker's log directories.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 35, versions = 1..=5, flexible = 2)]
pub struct DescribeLogDirsRequest {
    /// The partitions asked for, by topic; null for all.
    #[field(nullable, default = empty)]
    pub topics: Option<Vec<DescribableLogDirTopic>>,
}

/// One topic's share of a [`DescribeLogDirsRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribableLogDirTopic {
    /// The topic's name.
    pub topic: TopicName,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}

/// Log directories and the replicas in them.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 35, versions = 1..=5, flexible = 2)]
pub struct DescribeLogDirsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why the whole request failed, or none.
    #[field(versions = 3.., ignorable)]
    pub error_code: ErrorCode,
    /// The directories.
    pub results: Vec<DescribeLogDirsResult>,
}

/// One log directory.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeLogDirsResult {
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The directory's path.
    pub log_dir: CompactString,
    /// The partitions, by topic.
    pub topics: Vec<DescribeLogDirsTopic>,
    /// The size of the volume, in bytes; −1 if it is unknown.
    #[field(versions = 4.., default = -1, ignorable)]
    pub total_bytes: i64,
    /// The free space of the volume, in bytes; −1 if it is unknown.
    #[field(versions = 4.., default = -1, ignorable)]
    pub usable_bytes: i64,
    /// Whether it takes no new replicas.
    #[field(versions = 5.., ignorable)]
    pub is_cordoned: bool,
}

/// One topic's replicas in the directory.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeLogDirsTopic {
    /// The topic's name.
    pub name: TopicName,
    /// The replicas.
    pub partitions: Vec<DescribeLogDirsPartition>,
}

/// One replica.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct DescribeLogDirsPartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The size of the log, in bytes.
    pub partition_size: i64,
    /// How far the log is behind: the high watermark minus the log's end, or the present log's end minus the future
    /// one's.
    pub offset_lag: i64,
    /// Whether the replica is moving to this directory.
    pub is_future_key: bool,
}
