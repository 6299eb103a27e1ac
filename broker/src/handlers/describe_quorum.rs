//! DescribeQuorum: the quorum of the metadata log, which is this node alone (KIP-595, KIP-836, KIP-853). It tells what this
//! broker has applied, and everything that it has applied is committed.

use compact_str::CompactString;
use ottla_model::{ErrorCode, LeaderEpoch, NodeId, Offset, PartitionIndex, Uuid};
use ottla_network::Outcome;
use ottla_protocol::messages::describe_quorum::{
    DescribeQuorumRequest, DescribeQuorumResponse, Listener, Node, ReplicaState, RequestTopicData,
    ResponsePartitionData, ResponseTopicData,
};

use crate::context::Broker;
use crate::dispatch::Call;

/// The first version that says where the voters are, and in which directories.
const NODES_SINCE: i16 = 2;
const METADATA_TOPIC: &str = "__cluster_metadata";
const UNKNOWN: &str = "This server does not host this topic-partition.";

pub(crate) fn handle(call: &mut Call<'_>, request: DescribeQuorumRequest) -> Outcome {
    let broker = call.broker();
    let (version, is_quorum) = (call.version(), is_quorum(&request.topics));
    let of = |topic: RequestTopicData| ResponseTopicData {
        topic_name: topic.topic_name,
        partitions: topic
            .partitions
            .iter()
            .map(|asked| if is_quorum { quorum(broker, version) } else { unknown(asked.partition_index) })
            .collect(),
    };
    call.reply(&DescribeQuorumResponse {
        error_code: ErrorCode::NONE,
        error_message: nothing_to_say(),
        topics: request.topics.into_iter().map(of).collect(),
        nodes: if is_quorum && version >= NODES_SINCE { vec![node(broker)] } else { Vec::new() },
    })
}

/// The one partition with a quorum, and nothing beside it: Kafka knows none in any other question.
fn is_quorum(topics: &[RequestTopicData]) -> bool {
    match topics {
        [topic] if topic.topic_name.as_str() == METADATA_TOPIC => {
            matches!(topic.partitions.as_slice(), [only] if only.partition_index == PartitionIndex::new(0))
        }
        _ => false,
    }
}

fn quorum(broker: &Broker, version: i16) -> ResponsePartitionData {
    let position = broker.image.peek().position();
    let end = position.offset.next();
    let now_ms = broker.clock.now_ms();
    let voter = ReplicaState {
        replica_id: broker.node_id,
        replica_directory_id: if version >= NODES_SINCE { broker.metadata_directory_id } else { Uuid::ZERO },
        log_end_offset: end,
        last_fetch_timestamp: now_ms,
        last_caught_up_timestamp: now_ms,
    };
    ResponsePartitionData {
        partition_index: PartitionIndex::new(0),
        error_code: ErrorCode::NONE,
        error_message: nothing_to_say(),
        leader_id: broker.node_id,
        leader_epoch: position.epoch,
        high_watermark: end,
        current_voters: vec![voter],
        observers: Vec::new(),
    }
}

fn unknown(partition_index: PartitionIndex) -> ResponsePartitionData {
    ResponsePartitionData {
        partition_index,
        error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        error_message: Some(CompactString::const_new(UNKNOWN)),
        leader_id: NodeId::new(0),
        leader_epoch: LeaderEpoch::new(0),
        high_watermark: Offset::ZERO,
        current_voters: Vec::new(),
        observers: Vec::new(),
    }
}

/// Where the cluster's metadata say that this node's controller is.
fn node(broker: &Broker) -> Node {
    let (name, address) = &broker.config.controller_endpoint;
    let listener = Listener { name: name.clone(), host: address.host.clone(), port: address.port };
    Node { node_id: broker.node_id, listeners: vec![listener] }
}

#[allow(clippy::unnecessary_wraps, reason = "the field is one that may be null")]
fn nothing_to_say() -> Option<CompactString> {
    Some(CompactString::const_new(""))
}
