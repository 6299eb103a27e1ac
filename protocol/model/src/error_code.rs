//! Kafka's error codes, all of those of 4.4. A code that this list does not know survives: it travels and prints.

use std::fmt;

/// An error code as it stands on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ErrorCode(i16);

macro_rules! codes {
    ($($code:literal $name:ident $retriable:literal $stale:literal)*) => {
        impl ErrorCode {
            $(
                #[doc = concat!("Code ", stringify!($code), ".")]
                pub const $name: Self = Self($code);
            )*

            /// Every code that Kafka 4.4 defines, ascending.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The code's name in Kafka's list, if it has one.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some(stringify!($name)),)*
                    _ => None,
                }
            }

            /// Whether the same request may succeed later. Unknown codes may not.
            #[must_use]
            pub const fn is_retriable(self) -> bool {
                match self.0 {
                    $($code => $retriable,)*
                    _ => false,
                }
            }

            /// Whether the client should ask for new metadata before it tries again.
            #[must_use]
            pub const fn is_stale_metadata(self) -> bool {
                match self.0 {
                    $($code => $stale,)*
                    _ => false,
                }
            }
        }
    };
}

impl ErrorCode {
    /// The code with this number.
    #[must_use]
    pub const fn new(code: i16) -> Self {
        Self(code)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> i16 {
        self.0
    }

    /// Whether it is [`NONE`](Self::NONE).
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl From<i16> for ErrorCode {
    fn from(code: i16) -> Self {
        Self(code)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "unknown error code {}", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

codes! {
    -1 UNKNOWN_SERVER_ERROR false false
    0 NONE false false
    1 OFFSET_OUT_OF_RANGE false false
    2 CORRUPT_MESSAGE true false
    3 UNKNOWN_TOPIC_OR_PARTITION true true
    4 INVALID_FETCH_SIZE false false
    5 LEADER_NOT_AVAILABLE true true
    6 NOT_LEADER_OR_FOLLOWER true true
    7 REQUEST_TIMED_OUT true false
    8 BROKER_NOT_AVAILABLE false false
    9 REPLICA_NOT_AVAILABLE true true
    10 MESSAGE_TOO_LARGE false false
    11 STALE_CONTROLLER_EPOCH false false
    12 OFFSET_METADATA_TOO_LARGE false false
    13 NETWORK_EXCEPTION true true
    14 COORDINATOR_LOAD_IN_PROGRESS true false
    15 COORDINATOR_NOT_AVAILABLE true false
    16 NOT_COORDINATOR true false
    17 INVALID_TOPIC_EXCEPTION false false
    18 RECORD_LIST_TOO_LARGE false false
    19 NOT_ENOUGH_REPLICAS true false
    20 NOT_ENOUGH_REPLICAS_AFTER_APPEND true false
    21 INVALID_REQUIRED_ACKS false false
    22 ILLEGAL_GENERATION false false
    23 INCONSISTENT_GROUP_PROTOCOL false false
    24 INVALID_GROUP_ID false false
    25 UNKNOWN_MEMBER_ID false false
    26 INVALID_SESSION_TIMEOUT false false
    27 REBALANCE_IN_PROGRESS false false
    28 INVALID_COMMIT_OFFSET_SIZE false false
    29 TOPIC_AUTHORIZATION_FAILED false false
    30 GROUP_AUTHORIZATION_FAILED false false
    31 CLUSTER_AUTHORIZATION_FAILED false false
    32 INVALID_TIMESTAMP false false
    33 UNSUPPORTED_SASL_MECHANISM false false
    34 ILLEGAL_SASL_STATE false false
    35 UNSUPPORTED_VERSION false false
    36 TOPIC_ALREADY_EXISTS false false
    37 INVALID_PARTITIONS false false
    38 INVALID_REPLICATION_FACTOR false false
    39 INVALID_REPLICA_ASSIGNMENT false false
    40 INVALID_CONFIG false false
    41 NOT_CONTROLLER true false
    42 INVALID_REQUEST false false
    43 UNSUPPORTED_FOR_MESSAGE_FORMAT false false
    44 POLICY_VIOLATION false false
    45 OUT_OF_ORDER_SEQUENCE_NUMBER false false
    46 DUPLICATE_SEQUENCE_NUMBER false false
    47 INVALID_PRODUCER_EPOCH false false
    48 INVALID_TXN_STATE false false
    49 INVALID_PRODUCER_ID_MAPPING false false
    50 INVALID_TRANSACTION_TIMEOUT false false
    51 CONCURRENT_TRANSACTIONS true false
    52 TRANSACTION_COORDINATOR_FENCED false false
    53 TRANSACTIONAL_ID_AUTHORIZATION_FAILED false false
    54 SECURITY_DISABLED false false
    55 OPERATION_NOT_ATTEMPTED false false
    56 KAFKA_STORAGE_ERROR true true
    57 LOG_DIR_NOT_FOUND false false
    58 SASL_AUTHENTICATION_FAILED false false
    59 UNKNOWN_PRODUCER_ID false false
    60 REASSIGNMENT_IN_PROGRESS false false
    61 DELEGATION_TOKEN_AUTH_DISABLED false false
    62 DELEGATION_TOKEN_NOT_FOUND false false
    63 DELEGATION_TOKEN_OWNER_MISMATCH false false
    64 DELEGATION_TOKEN_REQUEST_NOT_ALLOWED false false
    65 DELEGATION_TOKEN_AUTHORIZATION_FAILED false false
    66 DELEGATION_TOKEN_EXPIRED false false
    67 INVALID_PRINCIPAL_TYPE false false
    68 NON_EMPTY_GROUP false false
    69 GROUP_ID_NOT_FOUND false false
    70 FETCH_SESSION_ID_NOT_FOUND true false
    71 INVALID_FETCH_SESSION_EPOCH true false
    72 LISTENER_NOT_FOUND true true
    73 TOPIC_DELETION_DISABLED false false
    74 FENCED_LEADER_EPOCH true true
    75 UNKNOWN_LEADER_EPOCH true false
    76 UNSUPPORTED_COMPRESSION_TYPE false false
    77 STALE_BROKER_EPOCH false false
    78 OFFSET_NOT_AVAILABLE true false
    79 MEMBER_ID_REQUIRED false false
    80 PREFERRED_LEADER_NOT_AVAILABLE true true
    81 GROUP_MAX_SIZE_REACHED false false
    82 FENCED_INSTANCE_ID false false
    83 ELIGIBLE_LEADERS_NOT_AVAILABLE true true
    84 ELECTION_NOT_NEEDED true true
    85 NO_REASSIGNMENT_IN_PROGRESS false false
    86 GROUP_SUBSCRIBED_TO_TOPIC false false
    87 INVALID_RECORD false false
    88 UNSTABLE_OFFSET_COMMIT true false
    89 THROTTLING_QUOTA_EXCEEDED true false
    90 PRODUCER_FENCED false false
    91 RESOURCE_NOT_FOUND false false
    92 DUPLICATE_RESOURCE false false
    93 UNACCEPTABLE_CREDENTIAL false false
    94 INCONSISTENT_VOTER_SET false false
    95 INVALID_UPDATE_VERSION false false
    96 FEATURE_UPDATE_FAILED false false
    97 PRINCIPAL_DESERIALIZATION_FAILURE false false
    98 SNAPSHOT_NOT_FOUND false false
    99 POSITION_OUT_OF_RANGE false false
    100 UNKNOWN_TOPIC_ID true true
    101 DUPLICATE_BROKER_REGISTRATION false false
    102 BROKER_ID_NOT_REGISTERED false false
    103 INCONSISTENT_TOPIC_ID true true
    104 INCONSISTENT_CLUSTER_ID false false
    105 TRANSACTIONAL_ID_NOT_FOUND false false
    106 FETCH_SESSION_TOPIC_ID_ERROR true false
    107 INELIGIBLE_REPLICA false false
    108 NEW_LEADER_ELECTED false false
    109 OFFSET_MOVED_TO_TIERED_STORAGE false false
    110 FENCED_MEMBER_EPOCH false false
    111 UNRELEASED_INSTANCE_ID false false
    112 UNSUPPORTED_ASSIGNOR false false
    113 STALE_MEMBER_EPOCH false false
    114 MISMATCHED_ENDPOINT_TYPE false false
    115 UNSUPPORTED_ENDPOINT_TYPE false false
    116 UNKNOWN_CONTROLLER_ID false false
    117 UNKNOWN_SUBSCRIPTION_ID false false
    118 TELEMETRY_TOO_LARGE false false
    119 INVALID_REGISTRATION false false
    120 TRANSACTION_ABORTABLE false false
    121 INVALID_RECORD_STATE false false
    122 SHARE_SESSION_NOT_FOUND true false
    123 INVALID_SHARE_SESSION_EPOCH true false
    124 FENCED_STATE_EPOCH false false
    125 INVALID_VOTER_KEY false false
    126 DUPLICATE_VOTER false false
    127 VOTER_NOT_FOUND false false
    128 INVALID_REGULAR_EXPRESSION false false
    129 REBOOTSTRAP_REQUIRED false false
    130 STREAMS_INVALID_TOPOLOGY false false
    131 STREAMS_INVALID_TOPOLOGY_EPOCH false false
    132 STREAMS_TOPOLOGY_FENCED false false
    133 SHARE_SESSION_LIMIT_REACHED true false
    134 GROUP_DELETION_FAILED false false
    135 STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED false false
    136 CONTROLLER_ID_NOT_REGISTERED false false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_without_a_gap_and_print_their_names() {
        let numbers: Vec<i16> = ErrorCode::ALL.iter().map(|code| code.get()).collect();
        assert_eq!(numbers, (-1..=136).collect::<Vec<i16>>());
        assert_eq!(ErrorCode::CORRUPT_MESSAGE.to_string(), "CORRUPT_MESSAGE (2)");
        assert!(ErrorCode::NONE.is_none() && ErrorCode::NOT_LEADER_OR_FOLLOWER.is_stale_metadata());
    }

    #[test]
    fn a_code_of_a_newer_peer_survives() {
        let unknown = ErrorCode::from(999);
        assert_eq!((unknown.get(), unknown.name()), (999, None));
        assert_eq!(unknown.to_string(), "unknown error code 999");
        assert!(!unknown.is_retriable());
    }
}
