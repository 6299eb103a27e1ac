//! The one table of requests: key, messages, listeners, whether it comes before authentication. What a broker serves,
//! what ApiVersions answers and what the docs list all come from here. Handlers are the broker's.

use crate::codec::{Message, VersionRange};
use crate::messages::{
    add_offsets_to_txn, add_partitions_to_txn, add_raft_voter, allocate_producer_ids, alter_client_quotas,
    alter_configs, alter_partition, alter_partition_reassignments, alter_replica_log_dirs,
    alter_share_group_offsets, alter_user_scram_credentials, api_versions, assign_replicas_to_dirs,
    begin_quorum_epoch, broker_heartbeat, broker_registration, consumer_group_describe,
    consumer_group_heartbeat, controller_registration, create_acls, create_delegation_token,
    create_partitions, create_topics, delete_acls, delete_groups, delete_records, delete_share_group_offsets,
    delete_share_group_state, delete_topics, describe_acls, describe_client_quotas, describe_cluster,
    describe_configs, describe_delegation_token, describe_groups, describe_log_dirs, describe_producers,
    describe_quorum, describe_share_group_offsets, describe_topic_partitions, describe_transactions,
    describe_user_scram_credentials, elect_leaders, end_quorum_epoch, end_txn, envelope,
    expire_delegation_token, fetch, fetch_snapshot, find_coordinator, get_telemetry_subscriptions, heartbeat,
    incremental_alter_configs, init_producer_id, initialize_share_group_state, join_group, leave_group,
    list_config_resources, list_groups, list_offsets, list_partition_reassignments, list_transactions,
    metadata, offset_commit, offset_delete, offset_fetch, offset_for_leader_epoch, produce, push_telemetry,
    read_share_group_state, read_share_group_state_summary, remove_raft_voter, renew_delegation_token,
    sasl_authenticate, sasl_handshake, share_acknowledge, share_fetch, share_group_describe,
    share_group_heartbeat, streams_group_describe, streams_group_heartbeat,
    streams_group_topology_description_update, sync_group, txn_offset_commit, unregister_broker,
    unregister_controller, update_features, update_raft_voter, vote, write_share_group_state,
    write_txn_markers,
};

/// A request message, tied to its place in the table and to its answer.
pub trait Request: Message {
    /// Its place in the table.
    const API: ApiKey;
    /// What it is answered with.
    type Response: Message;
}

/// Something to be done with a request's type where only its key is known.
pub trait RequestVisitor {
    /// What comes of it.
    type Output;

    /// Does it.
    fn visit<R: Request>(self) -> Self::Output;
}

/// The listeners on which Kafka serves a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Listeners {
    /// Brokers'.
    Broker,
    /// Controllers'.
    Controller,
    /// Brokers' and controllers'.
    Both,
}

impl Listeners {
    /// Whether brokers serve it.
    #[must_use]
    pub const fn has_broker(self) -> bool {
        matches!(self, Self::Broker | Self::Both)
    }

    /// Whether controllers serve it.
    #[must_use]
    pub const fn has_controller(self) -> bool {
        matches!(self, Self::Controller | Self::Both)
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Api {
    /// Which request.
    pub key: ApiKey,
    /// Its name.
    pub name: &'static str,
    /// The versions that the messages have and that are stable: the most that anybody may serve.
    pub versions: VersionRange,
    /// The version above those that the messages have, too, but whose form may still change: never advertised.
    pub unstable: Option<i16>,
    /// The oldest version that an ApiVersions answer names, if the request is served from `versions.first` on.
    pub advertised_min: i16,
    /// The first version with compact lengths and tagged fields, and so with the newer headers.
    pub flexible: Option<i16>,
    /// Where Kafka serves it.
    pub listeners: Listeners,
    /// Whether a client may send it before it has authenticated.
    pub before_auth: bool,
}

impl Api {
    /// Whether this version has compact lengths and tagged fields.
    #[must_use]
    pub fn is_flexible(&self, version: i16) -> bool {
        self.flexible.is_some_and(|first| version >= first)
    }

    /// The version of the header before a request.
    #[must_use]
    pub fn request_header_version(&self, version: i16) -> i16 {
        if self.is_flexible(version) { 2 } else { 1 }
    }

    /// The version of the header before an answer. That of ApiVersions is always 0: its reader does not know yet what
    /// the broker speaks.
    #[must_use]
    pub fn response_header_version(&self, version: i16) -> i16 {
        i16::from(self.is_flexible(version) && self.key != ApiKey::ApiVersions)
    }

    /// What an ApiVersions answer names where these versions are served.
    #[must_use]
    pub fn advertised(&self, served: VersionRange) -> VersionRange {
        let first = if served.first == self.versions.first { self.advertised_min } else { served.first };
        VersionRange::new(first, served.last)
    }
}

macro_rules! apis {
    ($($key:ident = $number:literal, $module:ident::{$request:ident, $response:ident}, $listeners:ident
        $(, unstable = $unstable:literal)? $(, before_auth = $before_auth:literal)?;)*) => {
        /// The kinds of requests that there are messages for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i16)]
        pub enum ApiKey {
            $(
                #[doc = concat!("[`", stringify!($request), "`](", stringify!($module), "::", stringify!($request), ").")]
                $key = $number,
            )*
        }

        impl ApiKey {
            /// All of them, by number.
            pub const ALL: &'static [Self] = &[$(Self::$key),*];

            /// The key with this number, if there are messages for it.
            #[must_use]
            pub const fn from_number(number: i16) -> Option<Self> {
                match number {
                    $($number => Some(Self::$key),)*
                    _ => None,
                }
            }

            /// Hands the request's type to the visitor.
            pub fn visit<V: RequestVisitor>(self, visitor: V) -> V::Output {
                match self {
                    $(Self::$key => visitor.visit::<$module::$request>(),)*
                }
            }

            /// Its row of the table.
            #[must_use]
            pub const fn api(self) -> &'static Api {
                match self {
                    $(Self::$key => {
                        const UNSTABLE: Option<i16> = unstable(&[$($unstable)?]);
                        const API: &Api = &Api {
                            key: ApiKey::$key,
                            name: stringify!($key),
                            versions: stable($module::$request::VERSIONS, UNSTABLE),
                            unstable: UNSTABLE,
                            advertised_min: $module::$request::ADVERTISED_MIN,
                            flexible: $module::$request::FLEXIBLE,
                            listeners: Listeners::$listeners,
                            before_auth: false $(| $before_auth)?,
                        };
                        API
                    })*
                }
            }
        }

        $(
            impl Request for $module::$request {
                const API: ApiKey = ApiKey::$key;
                type Response = $module::$response;
            }
        )*
    };
}

apis! {
    Produce = 0, produce::{ProduceRequest, ProduceResponse}, Broker;
    Fetch = 1, fetch::{FetchRequest, FetchResponse}, Both;
    ListOffsets = 2, list_offsets::{ListOffsetsRequest, ListOffsetsResponse}, Broker;
    Metadata = 3, metadata::{MetadataRequest, MetadataResponse}, Broker;
    OffsetCommit = 8, offset_commit::{OffsetCommitRequest, OffsetCommitResponse}, Broker;
    OffsetFetch = 9, offset_fetch::{OffsetFetchRequest, OffsetFetchResponse}, Broker;
    FindCoordinator = 10, find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse}, Broker;
    JoinGroup = 11, join_group::{JoinGroupRequest, JoinGroupResponse}, Broker;
    Heartbeat = 12, heartbeat::{HeartbeatRequest, HeartbeatResponse}, Broker;
    LeaveGroup = 13, leave_group::{LeaveGroupRequest, LeaveGroupResponse}, Broker;
    SyncGroup = 14, sync_group::{SyncGroupRequest, SyncGroupResponse}, Broker;
    DescribeGroups = 15, describe_groups::{DescribeGroupsRequest, DescribeGroupsResponse}, Broker;
    ListGroups = 16, list_groups::{ListGroupsRequest, ListGroupsResponse}, Broker;
    SaslHandshake = 17,
        sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse}, Both, before_auth = true;
    ApiVersions = 18, api_versions::{ApiVersionsRequest, ApiVersionsResponse}, Both, before_auth = true;
    CreateTopics = 19, create_topics::{CreateTopicsRequest, CreateTopicsResponse}, Both;
    DeleteTopics = 20, delete_topics::{DeleteTopicsRequest, DeleteTopicsResponse}, Both;
    DeleteRecords = 21, delete_records::{DeleteRecordsRequest, DeleteRecordsResponse}, Broker;
    InitProducerId = 22,
        init_producer_id::{InitProducerIdRequest, InitProducerIdResponse}, Broker, unstable = 6;
    OffsetForLeaderEpoch = 23,
        offset_for_leader_epoch::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse}, Broker;
    AddPartitionsToTxn = 24,
        add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse}, Broker;
    AddOffsetsToTxn = 25, add_offsets_to_txn::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse}, Broker;
    EndTxn = 26, end_txn::{EndTxnRequest, EndTxnResponse}, Broker;
    WriteTxnMarkers = 27, write_txn_markers::{WriteTxnMarkersRequest, WriteTxnMarkersResponse}, Broker;
    TxnOffsetCommit = 28, txn_offset_commit::{TxnOffsetCommitRequest, TxnOffsetCommitResponse}, Broker;
    DescribeAcls = 29, describe_acls::{DescribeAclsRequest, DescribeAclsResponse}, Both;
    CreateAcls = 30, create_acls::{CreateAclsRequest, CreateAclsResponse}, Both;
    DeleteAcls = 31, delete_acls::{DeleteAclsRequest, DeleteAclsResponse}, Both;
    DescribeConfigs = 32, describe_configs::{DescribeConfigsRequest, DescribeConfigsResponse}, Both;
    AlterConfigs = 33, alter_configs::{AlterConfigsRequest, AlterConfigsResponse}, Both;
    AlterReplicaLogDirs = 34,
        alter_replica_log_dirs::{AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse}, Broker;
    DescribeLogDirs = 35, describe_log_dirs::{DescribeLogDirsRequest, DescribeLogDirsResponse}, Broker;
    SaslAuthenticate = 36,
        sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse}, Both, before_auth = true;
    CreatePartitions = 37, create_partitions::{CreatePartitionsRequest, CreatePartitionsResponse}, Both;
    CreateDelegationToken = 38,
        create_delegation_token::{CreateDelegationTokenRequest, CreateDelegationTokenResponse}, Both;
    RenewDelegationToken = 39,
        renew_delegation_token::{RenewDelegationTokenRequest, RenewDelegationTokenResponse}, Both;
    ExpireDelegationToken = 40,
        expire_delegation_token::{ExpireDelegationTokenRequest, ExpireDelegationTokenResponse}, Both;
    DescribeDelegationToken = 41,
        describe_delegation_token::{DescribeDelegationTokenRequest, DescribeDelegationTokenResponse}, Both;
    DeleteGroups = 42, delete_groups::{DeleteGroupsRequest, DeleteGroupsResponse}, Broker;
    ElectLeaders = 43, elect_leaders::{ElectLeadersRequest, ElectLeadersResponse}, Both;
    IncrementalAlterConfigs = 44,
        incremental_alter_configs::{IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse}, Both;
    AlterPartitionReassignments = 45,
        alter_partition_reassignments::{AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse}, Both;
    ListPartitionReassignments = 46,
        list_partition_reassignments::{ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse}, Both;
    OffsetDelete = 47, offset_delete::{OffsetDeleteRequest, OffsetDeleteResponse}, Broker;
    DescribeClientQuotas = 48,
        describe_client_quotas::{DescribeClientQuotasRequest, DescribeClientQuotasResponse}, Broker;
    AlterClientQuotas = 49, alter_client_quotas::{AlterClientQuotasRequest, AlterClientQuotasResponse}, Both;
    DescribeUserScramCredentials = 50,
        describe_user_scram_credentials::{DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse}, Both;
    AlterUserScramCredentials = 51,
        alter_user_scram_credentials::{AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse}, Both;
    Vote = 52, vote::{VoteRequest, VoteResponse}, Controller;
    BeginQuorumEpoch = 53,
        begin_quorum_epoch::{BeginQuorumEpochRequest, BeginQuorumEpochResponse}, Controller;
    EndQuorumEpoch = 54, end_quorum_epoch::{EndQuorumEpochRequest, EndQuorumEpochResponse}, Controller;
    DescribeQuorum = 55, describe_quorum::{DescribeQuorumRequest, DescribeQuorumResponse}, Both;
    AlterPartition = 56, alter_partition::{AlterPartitionRequest, AlterPartitionResponse}, Controller;
    UpdateFeatures = 57, update_features::{UpdateFeaturesRequest, UpdateFeaturesResponse}, Both;
    Envelope = 58, envelope::{EnvelopeRequest, EnvelopeResponse}, Controller;
    FetchSnapshot = 59, fetch_snapshot::{FetchSnapshotRequest, FetchSnapshotResponse}, Controller;
    DescribeCluster = 60, describe_cluster::{DescribeClusterRequest, DescribeClusterResponse}, Both;
    DescribeProducers = 61, describe_producers::{DescribeProducersRequest, DescribeProducersResponse}, Broker;
    BrokerRegistration = 62,
        broker_registration::{BrokerRegistrationRequest, BrokerRegistrationResponse}, Controller;
    BrokerHeartbeat = 63, broker_heartbeat::{BrokerHeartbeatRequest, BrokerHeartbeatResponse}, Controller;
    UnregisterBroker = 64, unregister_broker::{UnregisterBrokerRequest, UnregisterBrokerResponse}, Both;
    DescribeTransactions = 65,
        describe_transactions::{DescribeTransactionsRequest, DescribeTransactionsResponse}, Broker;
    ListTransactions = 66, list_transactions::{ListTransactionsRequest, ListTransactionsResponse}, Broker;
    AllocateProducerIds = 67,
        allocate_producer_ids::{AllocateProducerIdsRequest, AllocateProducerIdsResponse}, Controller;
    ConsumerGroupHeartbeat = 68,
        consumer_group_heartbeat::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse}, Broker;
    ConsumerGroupDescribe = 69,
        consumer_group_describe::{ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse}, Broker;
    ControllerRegistration = 70,
        controller_registration::{ControllerRegistrationRequest, ControllerRegistrationResponse}, Controller;
    GetTelemetrySubscriptions = 71,
        get_telemetry_subscriptions::{GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse}, Broker;
    PushTelemetry = 72, push_telemetry::{PushTelemetryRequest, PushTelemetryResponse}, Broker;
    AssignReplicasToDirs = 73,
        assign_replicas_to_dirs::{AssignReplicasToDirsRequest, AssignReplicasToDirsResponse}, Controller;
    ListConfigResources = 74,
        list_config_resources::{ListConfigResourcesRequest, ListConfigResourcesResponse}, Broker;
    DescribeTopicPartitions = 75,
        describe_topic_partitions::{DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse}, Broker;
    ShareGroupHeartbeat = 76,
        share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse}, Broker;
    ShareGroupDescribe = 77,
        share_group_describe::{ShareGroupDescribeRequest, ShareGroupDescribeResponse}, Broker;
    ShareFetch = 78, share_fetch::{ShareFetchRequest, ShareFetchResponse}, Broker;
    ShareAcknowledge = 79, share_acknowledge::{ShareAcknowledgeRequest, ShareAcknowledgeResponse}, Broker;
    AddRaftVoter = 80, add_raft_voter::{AddRaftVoterRequest, AddRaftVoterResponse}, Both;
    RemoveRaftVoter = 81, remove_raft_voter::{RemoveRaftVoterRequest, RemoveRaftVoterResponse}, Both;
    UpdateRaftVoter = 82, update_raft_voter::{UpdateRaftVoterRequest, UpdateRaftVoterResponse}, Controller;
    InitializeShareGroupState = 83,
        initialize_share_group_state::{InitializeShareGroupStateRequest, InitializeShareGroupStateResponse}, Broker;
    ReadShareGroupState = 84,
        read_share_group_state::{ReadShareGroupStateRequest, ReadShareGroupStateResponse}, Broker;
    WriteShareGroupState = 85,
        write_share_group_state::{WriteShareGroupStateRequest, WriteShareGroupStateResponse}, Broker;
    DeleteShareGroupState = 86,
        delete_share_group_state::{DeleteShareGroupStateRequest, DeleteShareGroupStateResponse}, Broker;
    ReadShareGroupStateSummary = 87,
        read_share_group_state_summary::{ReadShareGroupStateSummaryRequest, ReadShareGroupStateSummaryResponse}, Broker;
    StreamsGroupHeartbeat = 88,
        streams_group_heartbeat::{StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse}, Broker;
    StreamsGroupDescribe = 89,
        streams_group_describe::{StreamsGroupDescribeRequest, StreamsGroupDescribeResponse}, Broker;
    DescribeShareGroupOffsets = 90,
        describe_share_group_offsets::{DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse}, Broker;
    AlterShareGroupOffsets = 91,
        alter_share_group_offsets::{AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse}, Broker;
    DeleteShareGroupOffsets = 92,
        delete_share_group_offsets::{DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse}, Broker;
    StreamsGroupTopologyDescriptionUpdate = 93,
        streams_group_topology_description_update::{StreamsGroupTopologyDescriptionUpdateRequest, StreamsGroupTopologyDescriptionUpdateResponse}, Broker;
    UnregisterController = 94,
        unregister_controller::{UnregisterControllerRequest, UnregisterControllerResponse}, Both;
}

impl ApiKey {
    /// The number on the wire.
    #[must_use]
    pub const fn number(self) -> i16 {
        self as i16
    }

    /// The request's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.api().name
    }
}

impl std::fmt::Display for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// At most one version may be unstable.
const fn unstable(versions: &[i16]) -> Option<i16> {
    match versions {
        [version, ..] => Some(*version),
        [] => None,
    }
}

/// The versions below the unstable one.
const fn stable(versions: VersionRange, unstable: Option<i16>) -> VersionRange {
    match unstable {
        Some(unstable) => VersionRange::new(versions.first, unstable - 1),
        None => versions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_ascending_and_agrees_with_its_messages() {
        assert!(ApiKey::ALL.is_sorted());
        for key in ApiKey::ALL {
            assert_eq!(ApiKey::from_number(key.number()), Some(*key));
            assert_eq!(key.api().key, *key);
        }
    }

    #[test]
    fn a_request_and_its_answer_have_the_same_key_and_versions() {
        struct Check;

        impl RequestVisitor for Check {
            type Output = ();

            fn visit<R: Request>(self) {
                assert_eq!(R::KEY, Some(R::API.number()));
                assert_eq!(R::Response::KEY, R::KEY);
                assert_eq!(R::Response::VERSIONS, R::VERSIONS);
                assert_eq!(R::Response::FLEXIBLE, R::FLEXIBLE);
            }
        }

        for key in ApiKey::ALL {
            key.visit(Check);
        }
    }

    #[test]
    fn unstable_versions_are_not_in_the_table_and_produce_is_advertised_from_zero() {
        let init = ApiKey::InitProducerId.api();
        assert_eq!((init.versions, init.unstable), (VersionRange::new(0, 5), Some(6)));
        let produce = ApiKey::Produce.api();
        assert_eq!(produce.advertised(produce.versions), VersionRange::new(0, 13));
        assert_eq!(produce.advertised(VersionRange::new(5, 9)), VersionRange::new(5, 9));
    }
}
