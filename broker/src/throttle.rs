//! Where an answer says for how long its client is held back: in the first field of nearly every response, which is known
//! only after it was built. Knows no message.

use ottla_protocol::api::ApiKey;

/// The first version of an API whose response begins with the time for which its client is held back; none where it is
/// elsewhere or nowhere.
pub(crate) const fn first_in(api: ApiKey) -> Option<i16> {
    match api {
        ApiKey::Metadata | ApiKey::OffsetCommit | ApiKey::OffsetFetch => Some(3),
        ApiKey::ListOffsets | ApiKey::JoinGroup | ApiKey::OffsetForLeaderEpoch => Some(2),
        ApiKey::FindCoordinator
        | ApiKey::Heartbeat
        | ApiKey::LeaveGroup
        | ApiKey::SyncGroup
        | ApiKey::DescribeGroups
        | ApiKey::ListGroups => Some(1),
        ApiKey::Fetch
        | ApiKey::CreateTopics
        | ApiKey::DeleteTopics
        | ApiKey::DeleteRecords
        | ApiKey::InitProducerId
        | ApiKey::AddPartitionsToTxn
        | ApiKey::AddOffsetsToTxn
        | ApiKey::EndTxn
        | ApiKey::TxnOffsetCommit
        | ApiKey::DescribeConfigs
        | ApiKey::AlterConfigs
        | ApiKey::IncrementalAlterConfigs
        | ApiKey::AlterReplicaLogDirs
        | ApiKey::DescribeLogDirs
        | ApiKey::CreatePartitions
        | ApiKey::DeleteGroups
        | ApiKey::ElectLeaders
        | ApiKey::AlterPartitionReassignments
        | ApiKey::ListPartitionReassignments
        | ApiKey::DescribeClientQuotas
        | ApiKey::AlterClientQuotas
        | ApiKey::UpdateFeatures
        | ApiKey::DescribeCluster
        | ApiKey::DescribeProducers
        | ApiKey::UnregisterBroker
        | ApiKey::DescribeTransactions
        | ApiKey::ListTransactions
        | ApiKey::ConsumerGroupHeartbeat
        | ApiKey::ConsumerGroupDescribe
        | ApiKey::ListConfigResources
        | ApiKey::DescribeTopicPartitions => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ottla_protocol::Message;
    use ottla_protocol::Writer;
    use ottla_protocol::messages::*;

    use super::*;

    fn begins<M: Message>(response: &M, api: ApiKey) {
        let versions = api.api().versions;
        for version in versions.first.max(first_in(api).unwrap())..=versions.last {
            let mut writer = Writer::new();
            response.encode_into(&mut writer, version).unwrap();
            let bytes = writer.finish().into_bytes().unwrap();
            assert_eq!(bytes.get(..4), Some(&[0x12, 0x34, 0x56, 0x78][..]), "{api} {version}");
        }
    }

    #[test]
    fn the_time_is_where_the_table_says() {
        macro_rules! check {
            ($($api:ident: $path:path),* $(,)?) => {$({
                use $path as Response;
                begins(&Response { throttle_time_ms: 0x1234_5678, ..Response::default() }, ApiKey::$api);
            })*};
        }
        check! {
            Metadata: metadata::MetadataResponse,
            OffsetCommit: offset_commit::OffsetCommitResponse,
            ListOffsets: list_offsets::ListOffsetsResponse,
            OffsetForLeaderEpoch: offset_for_leader_epoch::OffsetForLeaderEpochResponse,
            Heartbeat: heartbeat::HeartbeatResponse,
            LeaveGroup: leave_group::LeaveGroupResponse,
            SyncGroup: sync_group::SyncGroupResponse,
            DescribeGroups: describe_groups::DescribeGroupsResponse,
            ListGroups: list_groups::ListGroupsResponse,
            Fetch: fetch::FetchResponse,
            CreateTopics: create_topics::CreateTopicsResponse,
            DeleteTopics: delete_topics::DeleteTopicsResponse,
            DeleteRecords: delete_records::DeleteRecordsResponse,
            InitProducerId: init_producer_id::InitProducerIdResponse,
            AddPartitionsToTxn: add_partitions_to_txn::AddPartitionsToTxnResponse,
            AddOffsetsToTxn: add_offsets_to_txn::AddOffsetsToTxnResponse,
            EndTxn: end_txn::EndTxnResponse,
            TxnOffsetCommit: txn_offset_commit::TxnOffsetCommitResponse,
            DescribeConfigs: describe_configs::DescribeConfigsResponse,
            AlterConfigs: alter_configs::AlterConfigsResponse,
            IncrementalAlterConfigs: incremental_alter_configs::IncrementalAlterConfigsResponse,
            AlterReplicaLogDirs: alter_replica_log_dirs::AlterReplicaLogDirsResponse,
            DescribeLogDirs: describe_log_dirs::DescribeLogDirsResponse,
            CreatePartitions: create_partitions::CreatePartitionsResponse,
            DeleteGroups: delete_groups::DeleteGroupsResponse,
            ElectLeaders: elect_leaders::ElectLeadersResponse,
            AlterPartitionReassignments: alter_partition_reassignments::AlterPartitionReassignmentsResponse,
            ListPartitionReassignments: list_partition_reassignments::ListPartitionReassignmentsResponse,
            DescribeClientQuotas: describe_client_quotas::DescribeClientQuotasResponse,
            AlterClientQuotas: alter_client_quotas::AlterClientQuotasResponse,
            UpdateFeatures: update_features::UpdateFeaturesResponse,
            DescribeCluster: describe_cluster::DescribeClusterResponse,
            DescribeProducers: describe_producers::DescribeProducersResponse,
            UnregisterBroker: unregister_broker::UnregisterBrokerResponse,
            DescribeTransactions: describe_transactions::DescribeTransactionsResponse,
            ListTransactions: list_transactions::ListTransactionsResponse,
            ConsumerGroupHeartbeat: consumer_group_heartbeat::ConsumerGroupHeartbeatResponse,
            ConsumerGroupDescribe: consumer_group_describe::ConsumerGroupDescribeResponse,
            ListConfigResources: list_config_resources::ListConfigResourcesResponse,
            DescribeTopicPartitions: describe_topic_partitions::DescribeTopicPartitionsResponse,
        }
    }
}
