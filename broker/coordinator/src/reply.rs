//! The answers of a group machine, and those that a host gives in its place: while a partition is loading (error 14),
//! when there is no coordinator at all (15) or it is elsewhere (16).

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};
use ottla_protocol::messages::consumer_group_describe::DescribedGroup as DescribedConsumerGroup;
use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatResponse;
use ottla_protocol::messages::delete_groups::DeletableGroupResult;
use ottla_protocol::messages::describe_groups::DescribedGroup;
use ottla_protocol::messages::heartbeat::HeartbeatResponse;
use ottla_protocol::messages::join_group::JoinGroupResponse;
use ottla_protocol::messages::leave_group::LeaveGroupResponse;
use ottla_protocol::messages::list_groups::ListedGroup;
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use ottla_protocol::messages::offset_delete::OffsetDeleteResponse;
use ottla_protocol::messages::offset_fetch::OffsetFetchResponseGroup;
use ottla_protocol::messages::sync_group::SyncGroupResponse;
use ottla_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
};

use crate::event::Event;

/// An answer to one event. Throttle times are 0; the host sets its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// To JoinGroup.
    JoinGroup(JoinGroupResponse),
    /// To SyncGroup.
    SyncGroup(SyncGroupResponse),
    /// To Heartbeat.
    Heartbeat(HeartbeatResponse),
    /// To LeaveGroup.
    LeaveGroup(LeaveGroupResponse),
    /// To ConsumerGroupHeartbeat.
    ConsumerGroupHeartbeat(ConsumerGroupHeartbeatResponse),
    /// To OffsetCommit.
    OffsetCommit(OffsetCommitResponse),
    /// To TxnOffsetCommit.
    TxnOffsetCommit(TxnOffsetCommitResponse),
    /// To one group of OffsetFetch.
    OffsetFetch(OffsetFetchResponseGroup),
    /// To OffsetDelete.
    OffsetDelete(OffsetDeleteResponse),
    /// To DescribeGroups. Authorised operations are the host's.
    DescribeGroups(Vec<DescribedGroup>),
    /// To ConsumerGroupDescribe. Authorised operations are the host's.
    ConsumerGroupDescribe(Vec<DescribedConsumerGroup>),
    /// To ListGroups: the groups, or why there is no list.
    ListGroups(Result<Vec<ListedGroup>, ErrorCode>),
    /// To DeleteGroups.
    DeleteGroups(Vec<DeletableGroupResult>),
    /// To the end of a transaction.
    EndTransaction(ErrorCode),
}

/// The most bytes of an answer to a request of few: as many as clients take by default. librdkafka's
/// `receive.message.max.bytes` is the lowest, and the limit of requests (`socket.request.max.bytes`) is near it.
pub const ANSWER_BYTES_MAX: usize = 100_000_000;

/// About as many bytes as a partition's offset takes in an answer beside its metadata.
pub(crate) const FETCHED_OFFSET_BYTES: usize = 24;

impl Reply {
    /// About as many bytes as it takes in an answer, for the kinds that can be much larger than what asked for them; of
    /// others nothing.
    #[must_use]
    pub fn bytes(&self) -> usize {
        /// About what a group or a member takes beside its texts and partitions.
        const FIELDS_BYTES: usize = 64;
        match self {
            Self::OffsetFetch(group) => {
                let partitions = group.topics.iter().flat_map(|topic| &topic.partitions);
                let metadata = |text: &Option<CompactString>| text.as_ref().map_or(0, CompactString::len);
                let each = partitions.map(|partition| FETCHED_OFFSET_BYTES + metadata(&partition.metadata));
                let topics = group.topics.iter().map(|topic| topic.name.as_str().len() + FIELDS_BYTES);
                FIELDS_BYTES + group.group_id.as_str().len() + each.sum::<usize>() + topics.sum::<usize>()
            }
            Self::DescribeGroups(groups) => {
                let members = groups.iter().flat_map(|group| &group.members).map(|member| {
                    let texts = member.member_id.len() + member.client_id.len() + member.client_host.len();
                    FIELDS_BYTES + texts + member.member_metadata.len() + member.member_assignment.len()
                });
                groups.iter().map(|group| FIELDS_BYTES + group.group_id.as_str().len()).sum::<usize>()
                    + members.sum::<usize>()
            }
            Self::ConsumerGroupDescribe(groups) => {
                let members = groups.iter().flat_map(|group| &group.members).map(|member| {
                    let assigned = [&member.assignment, &member.target_assignment];
                    let assigned = assigned.iter().flat_map(|assignment| &assignment.topic_partitions);
                    let assigned = assigned.map(|topic| {
                        FIELDS_BYTES
                            + topic.topic_name.as_str().len()
                            + size_of::<i32>() * topic.partitions.len()
                    });
                    let topics = member.subscribed_topic_names.iter().map(|name| name.as_str().len() + 1);
                    let texts = member.member_id.len() + member.client_id.len() + member.client_host.len();
                    FIELDS_BYTES + texts + assigned.sum::<usize>() + topics.sum::<usize>()
                });
                groups.iter().map(|group| FIELDS_BYTES + group.group_id.as_str().len()).sum::<usize>()
                    + members.sum::<usize>()
            }
            _ => 0,
        }
    }
}

/// The answer to this event where the coordinator cannot say more than an error; none where the event has no answer.
///
/// A heartbeat of the classic protocol to a coordinator that is loading is answered without error, as Kafka does: the
/// member is to go on.
#[must_use]
pub fn refusal(event: &Event, error: ErrorCode) -> Option<Reply> {
    Some(match event {
        Event::JoinGroup { request, client, .. } => {
            Reply::JoinGroup(join_refused(request.member_id.clone(), error, client.version))
        }
        Event::SyncGroup { .. } => Reply::SyncGroup(sync_refused(error)),
        Event::Heartbeat { .. } => Reply::Heartbeat(HeartbeatResponse {
            throttle_time_ms: 0,
            error_code: if error == ErrorCode::COORDINATOR_LOAD_IN_PROGRESS {
                ErrorCode::NONE
            } else {
                error
            },
        }),
        Event::LeaveGroup { .. } => Reply::LeaveGroup(LeaveGroupResponse {
            throttle_time_ms: 0,
            error_code: error,
            members: Vec::new(),
        }),
        Event::ConsumerGroupHeartbeat { .. } => {
            Reply::ConsumerGroupHeartbeat(consumer_heartbeat_refused(error, None))
        }
        Event::OffsetCommit { request, .. } => Reply::OffsetCommit(commit_refused(request, error)),
        Event::TxnOffsetCommit { request, .. } => Reply::TxnOffsetCommit(txn_commit_refused(request, error)),
        Event::OffsetFetch { request, .. } => {
            Reply::OffsetFetch(fetch_refused(request.group_id.clone(), error))
        }
        Event::OffsetDelete { .. } => Reply::OffsetDelete(OffsetDeleteResponse {
            error_code: error,
            throttle_time_ms: 0,
            topics: Vec::new(),
        }),
        Event::DescribeGroups { groups, .. } => {
            Reply::DescribeGroups(groups.iter().map(|group| described_refused(group, error)).collect())
        }
        Event::ConsumerGroupDescribe { groups, .. } => Reply::ConsumerGroupDescribe(
            groups.iter().map(|group| consumer_described_refused(group, error, None)).collect(),
        ),
        Event::ListGroups { .. } => Reply::ListGroups(Err(error)),
        Event::DeleteGroups { groups } => {
            Reply::DeleteGroups(groups.iter().map(|group| deleted(group, error, None)).collect())
        }
        Event::EndTransaction { .. } => Reply::EndTransaction(error),
        Event::TopicsChanged { .. }
        | Event::TopicsDeleted { .. }
        | Event::ConfigChanged { .. }
        | Event::Computed(_) => return None,
    })
}

/// A join that failed. Until version 7 the protocol's name cannot be null.
pub(crate) fn join_refused(member_id: CompactString, error: ErrorCode, version: i16) -> JoinGroupResponse {
    JoinGroupResponse {
        throttle_time_ms: 0,
        error_code: error,
        generation_id: -1,
        protocol_type: None,
        protocol_name: (version < 7).then(CompactString::default),
        leader: CompactString::default(),
        skip_assignment: false,
        member_id,
        members: Vec::new(),
    }
}

pub(crate) fn sync_refused(error: ErrorCode) -> SyncGroupResponse {
    SyncGroupResponse {
        throttle_time_ms: 0,
        error_code: error,
        protocol_type: None,
        protocol_name: None,
        assignment: Bytes::new(),
    }
}

pub(crate) fn consumer_heartbeat_refused(
    error: ErrorCode,
    message: Option<CompactString>,
) -> ConsumerGroupHeartbeatResponse {
    ConsumerGroupHeartbeatResponse {
        throttle_time_ms: 0,
        error_code: error,
        error_message: message,
        member_id: None,
        member_epoch: 0,
        heartbeat_interval_ms: 0,
        assignment: None,
    }
}

pub(crate) fn commit_refused(request: &OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse {
    let topics = request.topics.iter().map(|topic| OffsetCommitResponseTopic {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: topic
            .partitions
            .iter()
            .map(|partition| OffsetCommitResponsePartition {
                partition_index: partition.partition_index,
                error_code: error,
            })
            .collect(),
    });
    OffsetCommitResponse { throttle_time_ms: 0, topics: topics.collect() }
}

pub(crate) fn txn_commit_refused(
    request: &TxnOffsetCommitRequest,
    error: ErrorCode,
) -> TxnOffsetCommitResponse {
    let topics = request.topics.iter().map(|topic| TxnOffsetCommitResponseTopic {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: topic
            .partitions
            .iter()
            .map(|partition| TxnOffsetCommitResponsePartition {
                partition_index: partition.partition_index,
                error_code: error,
            })
            .collect(),
    });
    TxnOffsetCommitResponse { throttle_time_ms: 0, topics: topics.collect() }
}

pub(crate) fn fetch_refused(group_id: GroupId, error: ErrorCode) -> OffsetFetchResponseGroup {
    OffsetFetchResponseGroup { group_id, topics: Vec::new(), error_code: error }
}

pub(crate) fn described_refused(group: &GroupId, error: ErrorCode) -> DescribedGroup {
    DescribedGroup {
        error_code: error,
        error_message: None,
        group_id: group.clone(),
        group_state: CompactString::default(),
        protocol_type: CompactString::default(),
        protocol_data: CompactString::default(),
        members: Vec::new(),
        authorized_operations: i32::MIN,
    }
}

pub(crate) fn consumer_described_refused(
    group: &GroupId,
    error: ErrorCode,
    message: Option<CompactString>,
) -> DescribedConsumerGroup {
    DescribedConsumerGroup {
        error_code: error,
        error_message: message,
        group_id: group.clone(),
        group_state: CompactString::default(),
        group_epoch: 0,
        assignment_epoch: 0,
        assignor_name: CompactString::default(),
        members: Vec::new(),
        authorized_operations: i32::MIN,
    }
}

pub(crate) fn deleted(
    group: &GroupId,
    error: ErrorCode,
    message: Option<CompactString>,
) -> DeletableGroupResult {
    DeletableGroupResult { group_id: group.clone(), error_code: error, error_message: message }
}

impl Reply {
    /// Makes it a refusal: what it told of was not written.
    pub fn refuse(&mut self, error: ErrorCode) {
        match self {
            Self::JoinGroup(join) => {
                let version = if join.protocol_name.is_some() { 6 } else { 7 };
                *join = join_refused(CompactString::default(), error, version);
            }
            Self::SyncGroup(sync) => *sync = sync_refused(error),
            Self::Heartbeat(heartbeat) => heartbeat.error_code = error,
            Self::LeaveGroup(leave) => {
                leave.error_code = error;
                leave.members.clear();
            }
            Self::ConsumerGroupHeartbeat(heartbeat) => *heartbeat = consumer_heartbeat_refused(error, None),
            Self::OffsetCommit(commit) => {
                commit
                    .topics
                    .iter_mut()
                    .flat_map(|topic| &mut topic.partitions)
                    .for_each(|partition| set_where_none(&mut partition.error_code, error));
            }
            Self::TxnOffsetCommit(commit) => {
                commit
                    .topics
                    .iter_mut()
                    .flat_map(|topic| &mut topic.partitions)
                    .for_each(|partition| set_where_none(&mut partition.error_code, error));
            }
            Self::OffsetFetch(fetch) => *fetch = fetch_refused(std::mem::take(&mut fetch.group_id), error),
            Self::OffsetDelete(delete) => {
                delete.error_code = error;
                delete.topics.clear();
            }
            Self::DescribeGroups(groups) => {
                groups.iter_mut().for_each(|group| *group = described_refused(&group.group_id, error));
            }
            Self::ConsumerGroupDescribe(groups) => groups
                .iter_mut()
                .for_each(|group| *group = consumer_described_refused(&group.group_id, error, None)),
            Self::ListGroups(groups) => *groups = Err(error),
            Self::DeleteGroups(groups) => {
                groups.iter_mut().for_each(|group| set_where_none(&mut group.error_code, error));
            }
            Self::EndTransaction(code) => *code = error,
        }
    }
}

/// What was refused for a reason of its own keeps that.
fn set_where_none(code: &mut ErrorCode, error: ErrorCode) {
    if code.is_none() {
        *code = error;
    }
}
