//! What can happen to a group machine: a client's request, news of the cluster, an answer from the pool, the end of a
//! transaction. Requests over several groups come divided: the host gives each machine the groups of its partition and
//! joins the answers. Authorisation, topic ids of unknown topics and unknown partitions are the host's.

use std::fmt;
use std::sync::Arc;

use compact_str::CompactString;
use ottla_model::{GroupId, ProducerEpoch, ProducerId, TopicName};
use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ottla_protocol::messages::heartbeat::HeartbeatRequest;
use ottla_protocol::messages::join_group::JoinGroupRequest;
use ottla_protocol::messages::leave_group::LeaveGroupRequest;
use ottla_protocol::messages::offset_commit::OffsetCommitRequest;
use ottla_protocol::messages::offset_delete::OffsetDeleteRequest;
use ottla_protocol::messages::offset_fetch::OffsetFetchRequestGroup;
use ottla_protocol::messages::sync_group::SyncGroupRequest;
use ottla_protocol::messages::txn_offset_commit::TxnOffsetCommitRequest;

use crate::compute::Computed;
use crate::config::GroupConfig;
use crate::topics::Topics;

/// Names a request that waits for its answer; the host draws them and never twice. Each event that asks something is
/// answered by exactly one reply with its token, at once or by the effects of a later event, `tick` or `unload`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Client {
    /// What the client calls itself; empty where it says nothing.
    pub id: CompactString,
    /// Its address as Kafka writes it: `/127.0.0.1`.
    pub host: CompactString,
    /// The version of its request.
    pub version: i16,
}

/// Something that happens to the groups of one partition of `__consumer_offsets`.
#[derive(Debug, Clone)]
pub enum Event {
    /// JoinGroup 0–9.
    JoinGroup {
        /// Who asks.
        client: Client,
        /// What for.
        request: JoinGroupRequest,
        /// Sixteen random bytes, for the id of a new member.
        random: [u8; 16],
    },
    /// SyncGroup 0–5.
    SyncGroup {
        /// Who asks.
        client: Client,
        /// What for.
        request: SyncGroupRequest,
    },
    /// Heartbeat 0–4.
    Heartbeat {
        /// Who asks.
        client: Client,
        /// What for.
        request: HeartbeatRequest,
    },
    /// LeaveGroup 0–5.
    LeaveGroup {
        /// Who asks.
        client: Client,
        /// What for.
        request: LeaveGroupRequest,
    },
    /// ConsumerGroupHeartbeat 0–1.
    ConsumerGroupHeartbeat {
        /// Who asks.
        client: Client,
        /// What for.
        request: ConsumerGroupHeartbeatRequest,
        /// Sixteen random bytes, for the id of a new member.
        random: [u8; 16],
        /// Whether the client may see a topic that its regular expression matches; none where everybody may.
        may_describe: Option<TopicFilter>,
    },
    /// OffsetCommit 2–10: every topic has its name, and its id where the host knows it.
    OffsetCommit {
        /// Who asks.
        client: Client,
        /// What for.
        request: OffsetCommitRequest,
    },
    /// TxnOffsetCommit 0–6: as above. The host has made sure that the transaction is open.
    TxnOffsetCommit {
        /// Who asks.
        client: Client,
        /// What for.
        request: TxnOffsetCommitRequest,
    },
    /// One group of OffsetFetch 1–10: every topic has its name, and its id where the host knows it.
    OffsetFetch {
        /// Who asks.
        client: Client,
        /// The group; no topics for all.
        request: OffsetFetchRequestGroup,
        /// Whether to fail for offsets that an open transaction may change.
        require_stable: bool,
    },
    /// OffsetDelete 0.
    OffsetDelete {
        /// What to delete.
        request: OffsetDeleteRequest,
    },
    /// DescribeGroups 0–6, this machine's share.
    DescribeGroups {
        /// Who asks.
        client: Client,
        /// The groups.
        groups: Vec<GroupId>,
    },
    /// ConsumerGroupDescribe 0–1, this machine's share.
    ConsumerGroupDescribe {
        /// Who asks.
        client: Client,
        /// The groups.
        groups: Vec<GroupId>,
    },
    /// ListGroups 0–5, this machine's share.
    ListGroups {
        /// The states asked for, in any case; none for all.
        states: Vec<CompactString>,
        /// The types asked for, in any case; none for all.
        types: Vec<CompactString>,
    },
    /// DeleteGroups 0–3, this machine's share.
    DeleteGroups {
        /// The groups.
        groups: Vec<GroupId>,
    },
    /// A transaction that may have offsets here ends: WriteTxnMarkers for this partition.
    EndTransaction {
        /// The producer.
        producer_id: ProducerId,
        /// Its epoch, as the marker says it.
        producer_epoch: ProducerEpoch,
        /// The epoch of the transaction's coordinator.
        coordinator_epoch: i32,
        /// Whether what was written counts.
        committed: bool,
        /// Whether the end of the transaction raised the epoch, as it does from `transaction.version` 2 on (KIP-890).
        epoch_raised: bool,
    },
    /// The cluster's topics are others than before. Not answered.
    TopicsChanged {
        /// All topics from now on.
        topics: Arc<dyn Topics>,
        /// Those that are new, grew, moved or went.
        changed: Arc<[TopicName]>,
    },
    /// Topics are gone, and with them what was committed of them. Not answered.
    TopicsDeleted {
        /// Their names.
        topics: Arc<[TopicName]>,
    },
    /// The settings are others than before. Not answered.
    ConfigChanged {
        /// All settings from now on.
        config: Arc<GroupConfig>,
    },
    /// What the pool has worked out. Not answered.
    Computed(Computed),
}

/// Which topics a client may see.
#[derive(Clone)]
pub struct TopicFilter(pub Arc<dyn Fn(&TopicName) -> bool + Send + Sync>);

impl fmt::Debug for TopicFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TopicFilter")
    }
}
