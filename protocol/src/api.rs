//! The one table of requests: key, messages, listeners, whether it comes before authentication. What a broker serves,
//! what ApiVersions answers and what the docs list all come from here. Handlers are the broker's.

use crate::codec::{Message, VersionRange};
use crate::messages::{
    allocate_producer_ids, api_versions, broker_registration, create_topics, delete_topics, describe_cluster,
    describe_configs, describe_topic_partitions, fetch, init_producer_id, list_offsets, metadata,
    offset_for_leader_epoch, produce,
};

/// A request message, tied to its place in the table and to its answer.
pub trait Request: Message {
    /// Its place in the table.
    const API: ApiKey;
    /// What it is answered with.
    type Response: Message;
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

            /// Its row of the table.
            #[must_use]
            pub const fn api(self) -> &'static Api {
                match self {
                    $(Self::$key => {
                        const API: &Api = &Api {
                            key: ApiKey::$key,
                            name: stringify!($key),
                            versions: stable($module::$request::VERSIONS, &[$($unstable)?]),
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
    ApiVersions = 18, api_versions::{ApiVersionsRequest, ApiVersionsResponse}, Both, before_auth = true;
    CreateTopics = 19, create_topics::{CreateTopicsRequest, CreateTopicsResponse}, Both;
    DeleteTopics = 20, delete_topics::{DeleteTopicsRequest, DeleteTopicsResponse}, Both;
    InitProducerId = 22, init_producer_id::{InitProducerIdRequest, InitProducerIdResponse}, Broker, unstable = 6;
    OffsetForLeaderEpoch = 23,
        offset_for_leader_epoch::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse}, Broker;
    DescribeConfigs = 32, describe_configs::{DescribeConfigsRequest, DescribeConfigsResponse}, Both;
    DescribeCluster = 60, describe_cluster::{DescribeClusterRequest, DescribeClusterResponse}, Both;
    BrokerRegistration = 62, broker_registration::{BrokerRegistrationRequest, BrokerRegistrationResponse}, Controller;
    AllocateProducerIds = 67,
        allocate_producer_ids::{AllocateProducerIdsRequest, AllocateProducerIdsResponse}, Controller;
    DescribeTopicPartitions = 75,
        describe_topic_partitions::{DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse}, Broker;
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

/// The versions below the first unstable one.
const fn stable(versions: VersionRange, unstable: &[i16]) -> VersionRange {
    match unstable {
        [first, ..] => VersionRange::new(versions.first, *first - 1),
        [] => versions,
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
        fn check<R: Request>() {
            assert_eq!(R::KEY, Some(R::API.number()));
            assert_eq!(R::Response::KEY, R::KEY);
            assert_eq!(R::Response::VERSIONS, R::VERSIONS);
            assert_eq!(R::Response::FLEXIBLE, R::FLEXIBLE);
        }
        check::<produce::ProduceRequest>();
        check::<fetch::FetchRequest>();
        check::<init_producer_id::InitProducerIdRequest>();
    }

    #[test]
    fn unstable_versions_are_not_in_the_table_and_produce_is_advertised_from_zero() {
        assert_eq!(ApiKey::InitProducerId.api().versions, VersionRange::new(0, 5));
        let produce = ApiKey::Produce.api();
        assert_eq!(produce.advertised(produce.versions), VersionRange::new(0, 13));
        assert_eq!(produce.advertised(VersionRange::new(5, 9)), VersionRange::new(5, 9));
    }
}
