//! Every message by its schema's name, as functions that forget its type.

use bytes::Bytes;
use ottla_protocol::codec::{DecodeError, EncodeError, Message, Reader, VersionRange};
use ottla_protocol::internal::{decode_versioned, encode_versioned};
use ottla_protocol::json::{self, JsonError, JsonStruct, StructSchema};
use serde_json::Value;

/// A message whose type is forgotten.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) key: Option<i16>,
    pub(crate) versions: VersionRange,
    pub(crate) flexible: Option<i16>,
    pub(crate) schema: &'static StructSchema,
    /// Bytes → value; how many bytes are left.
    pub(crate) decode: fn(Bytes, i16) -> Result<usize, DecodeError>,
    /// Bytes → value → JSON.
    pub(crate) to_json: fn(Bytes, i16) -> Value,
    /// Bytes → value → bytes.
    pub(crate) recode: fn(Bytes, i16) -> Result<Bytes, EncodeError>,
    /// JSON → value → bytes.
    pub(crate) encode_json: fn(&Value, i16) -> Result<Bytes, JsonError>,
    /// JSON → value → bytes → value: whether both values are equal and nothing is left of the bytes.
    pub(crate) round_trip: fn(&Value, i16) -> bool,
    /// Bytes with the version in front → value → bytes.
    pub(crate) recode_versioned: fn(Bytes) -> Bytes,
}

fn entry<M: Message + JsonStruct>() -> Entry {
    Entry {
        name: M::NAME,
        key: M::KEY,
        versions: M::VERSIONS,
        flexible: M::FLEXIBLE,
        schema: M::SCHEMA,
        decode: |bytes, version| {
            let mut reader = Reader::new(bytes);
            M::decode_from(&mut reader, version).map(|_| reader.remaining())
        },
        to_json: |bytes, version| {
            let message = M::decode(bytes, version).expect("a golden message decodes");
            json::to_json(&message, version).expect("a decoded message has a JSON form")
        },
        recode: |bytes, version| {
            M::decode(bytes, version).expect("a golden message decodes").to_bytes(version)
        },
        encode_json: |value, version| {
            let message: M = json::from_json(value, version)?;
            Ok(message.to_bytes(version).unwrap_or_else(|error| panic!("{} {version}: {error}", M::NAME)))
        },
        round_trip: |value, version| {
            let message: M = json::from_json(value, version).expect("the JSON form is the message's");
            let mut reader = Reader::new(message.to_bytes(version).expect("the message can be written"));
            M::decode_from(&mut reader, version).as_ref() == Ok(&message) && reader.remaining() == 0
        },
        recode_versioned: |bytes| {
            let (message, version) = decode_versioned::<M>(bytes).expect("a golden value decodes");
            encode_versioned(&message, version).expect("it encodes again")
        },
    }
}

macro_rules! entries {
    ($($($module:ident)::+ { $($message:ident)* })*) => {{
        let mut entries = Vec::new();
        $({
            use ottla_protocol::$($module)::+ as module;
            $(entries.push(entry::<module::$message>());)*
        })*
        entries
    }};
}

/// Every message there is.
pub(crate) fn all() -> Vec<Entry> {
    entries! {
        header { RequestHeader ResponseHeader }
        messages::produce { ProduceRequest ProduceResponse }
        messages::fetch { FetchRequest FetchResponse }
        messages::list_offsets { ListOffsetsRequest ListOffsetsResponse }
        messages::metadata { MetadataRequest MetadataResponse }
        messages::offset_commit { OffsetCommitRequest OffsetCommitResponse }
        messages::offset_fetch { OffsetFetchRequest OffsetFetchResponse }
        messages::find_coordinator { FindCoordinatorRequest FindCoordinatorResponse }
        messages::join_group { JoinGroupRequest JoinGroupResponse }
        messages::heartbeat { HeartbeatRequest HeartbeatResponse }
        messages::leave_group { LeaveGroupRequest LeaveGroupResponse }
        messages::sync_group { SyncGroupRequest SyncGroupResponse }
        messages::describe_groups { DescribeGroupsRequest DescribeGroupsResponse }
        messages::list_groups { ListGroupsRequest ListGroupsResponse }
        messages::sasl_handshake { SaslHandshakeRequest SaslHandshakeResponse }
        messages::api_versions { ApiVersionsRequest ApiVersionsResponse }
        messages::create_topics { CreateTopicsRequest CreateTopicsResponse }
        messages::delete_topics { DeleteTopicsRequest DeleteTopicsResponse }
        messages::delete_records { DeleteRecordsRequest DeleteRecordsResponse }
        messages::init_producer_id { InitProducerIdRequest InitProducerIdResponse }
        messages::offset_for_leader_epoch { OffsetForLeaderEpochRequest OffsetForLeaderEpochResponse }
        messages::add_partitions_to_txn { AddPartitionsToTxnRequest AddPartitionsToTxnResponse }
        messages::add_offsets_to_txn { AddOffsetsToTxnRequest AddOffsetsToTxnResponse }
        messages::end_txn { EndTxnRequest EndTxnResponse }
        messages::write_txn_markers { WriteTxnMarkersRequest WriteTxnMarkersResponse }
        messages::txn_offset_commit { TxnOffsetCommitRequest TxnOffsetCommitResponse }
        messages::describe_acls { DescribeAclsRequest DescribeAclsResponse }
        messages::create_acls { CreateAclsRequest CreateAclsResponse }
        messages::delete_acls { DeleteAclsRequest DeleteAclsResponse }
        messages::describe_configs { DescribeConfigsRequest DescribeConfigsResponse }
        messages::alter_configs { AlterConfigsRequest AlterConfigsResponse }
        messages::alter_replica_log_dirs { AlterReplicaLogDirsRequest AlterReplicaLogDirsResponse }
        messages::describe_log_dirs { DescribeLogDirsRequest DescribeLogDirsResponse }
        messages::sasl_authenticate { SaslAuthenticateRequest SaslAuthenticateResponse }
        messages::create_partitions { CreatePartitionsRequest CreatePartitionsResponse }
        messages::create_delegation_token { CreateDelegationTokenRequest CreateDelegationTokenResponse }
        messages::renew_delegation_token { RenewDelegationTokenRequest RenewDelegationTokenResponse }
        messages::expire_delegation_token { ExpireDelegationTokenRequest ExpireDelegationTokenResponse }
        messages::describe_delegation_token { DescribeDelegationTokenRequest DescribeDelegationTokenResponse }
        messages::delete_groups { DeleteGroupsRequest DeleteGroupsResponse }
        messages::elect_leaders { ElectLeadersRequest ElectLeadersResponse }
        messages::incremental_alter_configs { IncrementalAlterConfigsRequest IncrementalAlterConfigsResponse }
        messages::alter_partition_reassignments { AlterPartitionReassignmentsRequest AlterPartitionReassignmentsResponse }
        messages::list_partition_reassignments { ListPartitionReassignmentsRequest ListPartitionReassignmentsResponse }
        messages::offset_delete { OffsetDeleteRequest OffsetDeleteResponse }
        messages::describe_client_quotas { DescribeClientQuotasRequest DescribeClientQuotasResponse }
        messages::alter_client_quotas { AlterClientQuotasRequest AlterClientQuotasResponse }
        messages::describe_user_scram_credentials { DescribeUserScramCredentialsRequest DescribeUserScramCredentialsResponse }
        messages::alter_user_scram_credentials { AlterUserScramCredentialsRequest AlterUserScramCredentialsResponse }
        messages::vote { VoteRequest VoteResponse }
        messages::begin_quorum_epoch { BeginQuorumEpochRequest BeginQuorumEpochResponse }
        messages::end_quorum_epoch { EndQuorumEpochRequest EndQuorumEpochResponse }
        messages::describe_quorum { DescribeQuorumRequest DescribeQuorumResponse }
        messages::alter_partition { AlterPartitionRequest AlterPartitionResponse }
        messages::update_features { UpdateFeaturesRequest UpdateFeaturesResponse }
        messages::envelope { EnvelopeRequest EnvelopeResponse }
        messages::fetch_snapshot { FetchSnapshotRequest FetchSnapshotResponse }
        messages::describe_cluster { DescribeClusterRequest DescribeClusterResponse }
        messages::describe_producers { DescribeProducersRequest DescribeProducersResponse }
        messages::broker_registration { BrokerRegistrationRequest BrokerRegistrationResponse }
        messages::broker_heartbeat { BrokerHeartbeatRequest BrokerHeartbeatResponse }
        messages::unregister_broker { UnregisterBrokerRequest UnregisterBrokerResponse }
        messages::describe_transactions { DescribeTransactionsRequest DescribeTransactionsResponse }
        messages::list_transactions { ListTransactionsRequest ListTransactionsResponse }
        messages::allocate_producer_ids { AllocateProducerIdsRequest AllocateProducerIdsResponse }
        messages::consumer_group_heartbeat { ConsumerGroupHeartbeatRequest ConsumerGroupHeartbeatResponse }
        messages::consumer_group_describe { ConsumerGroupDescribeRequest ConsumerGroupDescribeResponse }
        messages::controller_registration { ControllerRegistrationRequest ControllerRegistrationResponse }
        messages::get_telemetry_subscriptions { GetTelemetrySubscriptionsRequest GetTelemetrySubscriptionsResponse }
        messages::push_telemetry { PushTelemetryRequest PushTelemetryResponse }
        messages::assign_replicas_to_dirs { AssignReplicasToDirsRequest AssignReplicasToDirsResponse }
        messages::list_config_resources { ListConfigResourcesRequest ListConfigResourcesResponse }
        messages::describe_topic_partitions { DescribeTopicPartitionsRequest DescribeTopicPartitionsResponse }
        messages::share_group_heartbeat { ShareGroupHeartbeatRequest ShareGroupHeartbeatResponse }
        messages::share_group_describe { ShareGroupDescribeRequest ShareGroupDescribeResponse }
        messages::share_fetch { ShareFetchRequest ShareFetchResponse }
        messages::share_acknowledge { ShareAcknowledgeRequest ShareAcknowledgeResponse }
        messages::add_raft_voter { AddRaftVoterRequest AddRaftVoterResponse }
        messages::remove_raft_voter { RemoveRaftVoterRequest RemoveRaftVoterResponse }
        messages::update_raft_voter { UpdateRaftVoterRequest UpdateRaftVoterResponse }
        messages::initialize_share_group_state { InitializeShareGroupStateRequest InitializeShareGroupStateResponse }
        messages::read_share_group_state { ReadShareGroupStateRequest ReadShareGroupStateResponse }
        messages::write_share_group_state { WriteShareGroupStateRequest WriteShareGroupStateResponse }
        messages::delete_share_group_state { DeleteShareGroupStateRequest DeleteShareGroupStateResponse }
        messages::read_share_group_state_summary { ReadShareGroupStateSummaryRequest ReadShareGroupStateSummaryResponse }
        messages::streams_group_heartbeat { StreamsGroupHeartbeatRequest StreamsGroupHeartbeatResponse }
        messages::streams_group_describe { StreamsGroupDescribeRequest StreamsGroupDescribeResponse }
        messages::describe_share_group_offsets { DescribeShareGroupOffsetsRequest DescribeShareGroupOffsetsResponse }
        messages::alter_share_group_offsets { AlterShareGroupOffsetsRequest AlterShareGroupOffsetsResponse }
        messages::delete_share_group_offsets { DeleteShareGroupOffsetsRequest DeleteShareGroupOffsetsResponse }
        messages::streams_group_topology_description_update { StreamsGroupTopologyDescriptionUpdateRequest StreamsGroupTopologyDescriptionUpdateResponse }
        messages::unregister_controller { UnregisterControllerRequest UnregisterControllerResponse }
        control {
            ControlRecordTypeSchema EndTxnMarker LeaderChangeMessage SnapshotHeaderRecord SnapshotFooterRecord
            KRaftVersionRecord VotersRecord
        }
        internal { AbortedTxn ConsumerProtocolAssignment ConsumerProtocolSubscription DefaultPrincipalData }
        internal::group {
            ConsumerGroupCurrentMemberAssignmentKey
            ConsumerGroupCurrentMemberAssignmentValue
            ConsumerGroupMemberMetadataKey
            ConsumerGroupMemberMetadataValue
            ConsumerGroupMetadataKey
            ConsumerGroupMetadataValue
            ConsumerGroupPartitionMetadataKey
            ConsumerGroupPartitionMetadataValue
            ConsumerGroupRegularExpressionKey
            ConsumerGroupRegularExpressionValue
            ConsumerGroupTargetAssignmentMemberKey
            ConsumerGroupTargetAssignmentMemberValue
            ConsumerGroupTargetAssignmentMetadataKey
            ConsumerGroupTargetAssignmentMetadataValue
            GroupMetadataKey
            GroupMetadataValue
            LegacyOffsetCommitKey
            LegacyOffsetCommitValue
            OffsetCommitKey
            OffsetCommitValue
            ShareGroupCurrentMemberAssignmentKey
            ShareGroupCurrentMemberAssignmentValue
            ShareGroupMemberMetadataKey
            ShareGroupMemberMetadataValue
            ShareGroupMetadataKey
            ShareGroupMetadataValue
            ShareGroupStatePartitionMetadataKey
            ShareGroupStatePartitionMetadataValue
            ShareGroupTargetAssignmentMemberKey
            ShareGroupTargetAssignmentMemberValue
            ShareGroupTargetAssignmentMetadataKey
            ShareGroupTargetAssignmentMetadataValue
            StreamsGroupCurrentMemberAssignmentKey
            StreamsGroupCurrentMemberAssignmentValue
            StreamsGroupMemberMetadataKey
            StreamsGroupMemberMetadataValue
            StreamsGroupMetadataKey
            StreamsGroupMetadataValue
            StreamsGroupTargetAssignmentMemberKey
            StreamsGroupTargetAssignmentMemberValue
            StreamsGroupTargetAssignmentMetadataKey
            StreamsGroupTargetAssignmentMetadataValue
            StreamsGroupTopologyKey
            StreamsGroupTopologyValue
        }
        internal::share_state { ShareSnapshotKey ShareSnapshotValue ShareUpdateKey ShareUpdateValue }
        internal::transaction_log { TransactionLogKey TransactionLogValue }
        metadata {
            AbortTransactionRecord AccessControlEntryRecord BeginTransactionRecord BrokerRegistrationChangeRecord
            ClearElrRecord ClientQuotaRecord ConfigRecord DelegationTokenRecord EndTransactionRecord
            FeatureLevelRecord FenceBrokerRecord NoOpRecord PartitionChangeRecord PartitionRecord ProducerIdsRecord
            RegisterBrokerRecord RegisterControllerRecord RemoveAccessControlEntryRecord RemoveDelegationTokenRecord
            RemoveTopicRecord RemoveUserScramCredentialRecord TopicRecord UnfenceBrokerRecord UnregisterBrokerRecord
            UnregisterControllerRecord UserScramCredentialRecord ZkMigrationStateRecord
        }
    }
}

/// The message with this name.
pub(crate) fn find<'a>(entries: &'a [Entry], name: &str) -> &'a Entry {
    entries.iter().find(|entry| entry.name == name).unwrap_or_else(|| panic!("there is no message {name}"))
}
