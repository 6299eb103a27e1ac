//! What Kafka writes outside requests: keys and values of its internal topics, the blobs that members of a group pass
//! each other through the coordinator, and the other values that carry their version in front. What they mean for a
//! group or transaction is not decided here.

pub mod aborted_txn;
pub mod consumer_protocol;
pub mod default_principal;
pub mod group;
mod record;
pub mod share_state;
pub mod transaction_log;
mod versioned;

pub use aborted_txn::AbortedTxn;
pub use consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
pub use default_principal::DefaultPrincipalData;
pub use record::{
    ConsumerOffsetsRecord, CoordinatorRecordError, ShareGroupStateRecord, TransactionStateRecord,
};
pub use versioned::{decode_versioned, decode_versioned_or_newer, encode_versioned};
