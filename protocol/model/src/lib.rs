//! The floor of the workspace: identifiers, positions, record batches, compression, the clock. It names no other
//! crate of ours, opens no file and no socket.

pub mod batch;
mod clock;
pub mod compression;
pub mod crc32c;
mod error_code;
mod ids;
mod offset;
pub mod varint;

pub use clock::{Clock, ManualClock, SystemClock};
pub use error_code::ErrorCode;
pub use ids::{
    GroupId, LeaderEpoch, NodeId, PartitionIndex, ProducerEpoch, ProducerId, TOPIC_NAME_CHARS_MAX, TopicName,
    TopicNameError, TransactionalId, Uuid, UuidError,
};
pub use offset::Offset;
