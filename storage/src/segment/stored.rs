//! What stands one after the other in a log: record batches, and in logs that are old enough the messages that Kafka wrote
//! before it knew batches. Walks, scans and indexes go over both alike; only batches are ever written.

use ottla_model::batch::{BatchError, BatchFrame, BatchHeader, LEGACY_CRC_FROM, LegacyHeader, MAGIC};
use ottla_model::{LeaderEpoch, Offset};

/// The checksum covers a batch from here on.
const BATCH_CRC_FROM: usize = 21;

/// The front of a batch or an older message.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StoredHeader {
    Batch(BatchHeader),
    /// A message of format 0 or 1, with others inside where it is compressed.
    Message(LegacyHeader),
}

impl StoredHeader {
    /// Reads what begins at the first byte; 61 bytes are always enough.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, BatchError> {
        if BatchFrame::peek(bytes)?.is_some_and(|frame| frame.magic() < MAGIC) {
            let cut = BatchError::HeaderCut { present: bytes.len() };
            return LegacyHeader::parse(bytes)?.map(Self::Message).ok_or(cut);
        }
        BatchHeader::parse(bytes).map(Self::Batch)
    }

    /// The batch's header, if it is one.
    pub(crate) fn batch(&self) -> Option<&BatchHeader> {
        match self {
            Self::Batch(header) => Some(header),
            Self::Message(_) => None,
        }
    }

    /// The size of the whole.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Batch(header) => header.size(),
            Self::Message(header) => header.size(),
        }
    }

    /// The offset of the first record; of an older message that of the last, the only one that it tells.
    pub(crate) fn base_offset(&self) -> Offset {
        match self {
            Self::Batch(header) => header.base_offset(),
            Self::Message(header) => header.last_offset(),
        }
    }

    /// The offset of the last record.
    pub(crate) fn last_offset(&self) -> Offset {
        match self {
            Self::Batch(header) => header.last_offset(),
            Self::Message(header) => header.last_offset(),
        }
    }

    /// The offset that may come next.
    pub(crate) fn next_offset(&self) -> Offset {
        Offset::new(self.last_offset().get().saturating_add(1))
    }

    /// The largest timestamp of the records, −1 if they have none.
    pub(crate) fn max_timestamp_ms(&self) -> i64 {
        match self {
            Self::Batch(header) => header.max_timestamp_ms(),
            Self::Message(header) => header.max_timestamp_ms(),
        }
    }

    /// The leader's epoch, none in older messages.
    pub(crate) fn leader_epoch(&self) -> Option<LeaderEpoch> {
        self.batch().map(BatchHeader::leader_epoch)
    }

    /// The checksum that it carries.
    pub(crate) fn crc(&self) -> u32 {
        match self {
            Self::Batch(header) => header.crc(),
            Self::Message(header) => header.crc(),
        }
    }

    /// From which byte on the checksum covers it.
    pub(crate) fn crc_from(&self) -> u64 {
        let from = match self {
            Self::Batch(_) => BATCH_CRC_FROM,
            Self::Message(_) => LEGACY_CRC_FROM,
        };
        from as u64
    }
}
