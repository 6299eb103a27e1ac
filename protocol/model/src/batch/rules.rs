//! What a topic's settings demand of a batch that a client wants appended, as typed values. Where they come from and
//! how Kafka names them is the broker's affair.

use super::attributes::TimestampType;
use crate::compression::{Codec, Compression};

/// What the records of one batch may take once decompressed. Kafka has no such bound; without one, a megabyte of zstd
/// keeps a core busy with terabytes. A thousand times the default `max.message.bytes`.
pub const DECOMPRESSED_BATCH_BYTES_MAX: usize = 1 << 30;

/// What a log wants the records of a batch compressed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CompressionTarget {
    /// Whatever the producer chose.
    #[default]
    Producer,
    /// This; a batch that comes with another codec is written anew.
    To(Compression),
}

impl CompressionTarget {
    /// What a batch that came with `codec` is to be stored with.
    pub(crate) fn for_source(self, codec: Codec) -> Compression {
        match self {
            Self::Producer => Compression::of(codec),
            Self::To(compression) => compression,
        }
    }
}

/// The demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRules {
    /// The largest batch, header included, compressed as it is stored.
    pub max_message_bytes: usize,
    /// Whose clock the stored timestamps are from.
    pub timestamp_type: TimestampType,
    /// How far before now a producer's timestamp may lie.
    pub timestamp_before_max_ms: i64,
    /// How far after now a producer's timestamp may lie.
    pub timestamp_after_max_ms: i64,
    /// Whether each record needs a key: so on compacted topics.
    pub key_required: bool,
    /// What the records are to be compressed with.
    pub compression: CompressionTarget,
    /// The largest record of a compressed batch, without its own length field. Uncompressed ones are exempt.
    pub max_decompressed_message_bytes: usize,
    /// The most that all records of a compressed batch may take together.
    pub decompressed_batch_bytes_max: usize,
}

impl Default for BatchRules {
    /// Kafka's defaults.
    fn default() -> Self {
        Self {
            max_message_bytes: 1_048_588,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: 3_600_000,
            key_required: false,
            compression: CompressionTarget::Producer,
            max_decompressed_message_bytes: 2_147_483_639,
            decompressed_batch_bytes_max: DECOMPRESSED_BATCH_BYTES_MAX,
        }
    }
}
