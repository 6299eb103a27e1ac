//! Every message by its schema's name, as functions that forget its type.

use bytes::Bytes;
use ottla_protocol::codec::{DecodeError, EncodeError, Message, Reader, VersionRange};
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
        messages::api_versions { ApiVersionsRequest ApiVersionsResponse }
        messages::create_topics { CreateTopicsRequest CreateTopicsResponse }
        messages::delete_topics { DeleteTopicsRequest DeleteTopicsResponse }
        messages::init_producer_id { InitProducerIdRequest InitProducerIdResponse }
        messages::offset_for_leader_epoch { OffsetForLeaderEpochRequest OffsetForLeaderEpochResponse }
        messages::describe_configs { DescribeConfigsRequest DescribeConfigsResponse }
        messages::describe_cluster { DescribeClusterRequest DescribeClusterResponse }
        messages::broker_registration { BrokerRegistrationRequest BrokerRegistrationResponse }
        messages::allocate_producer_ids { AllocateProducerIdsRequest AllocateProducerIdsResponse }
        messages::describe_topic_partitions { DescribeTopicPartitionsRequest DescribeTopicPartitionsResponse }
        control {
            EndTxnMarker LeaderChangeMessage SnapshotHeaderRecord SnapshotFooterRecord KRaftVersionRecord VotersRecord
        }
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
