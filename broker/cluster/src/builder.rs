//! From batches to images: replays one record after the other and minds the log's transactions, whose records count
//! together or not at all. What a record does to an image is `replay.rs`'s.

use std::sync::Arc;

use ottla_model::{LeaderEpoch, Offset};
use ottla_protocol::metadata::MetadataRecord;

use crate::image::{ImagePosition, MetadataImage};
use crate::replay::ReplayError;

/// Replays batches and hands out an image at every point where no transaction is open.
#[derive(Debug, Clone, Default)]
pub struct ImageBuilder {
    image: MetadataImage,
    /// The image at the begin of the open transaction, to return to if that is aborted.
    begun: Option<MetadataImage>,
}

impl ImageBuilder {
    /// Goes on from an image.
    #[must_use]
    pub fn new(image: MetadataImage) -> Self {
        Self { image, begun: None }
    }

    /// The image with everything replayed so far, also of an open transaction.
    #[must_use]
    pub fn current(&self) -> &MetadataImage {
        &self.image
    }

    /// Replays one batch: its first offset, its epoch and time, its records.
    ///
    /// # Errors
    /// A record that cannot be; the builder is then of no further use.
    pub fn replay_batch<'a>(
        &mut self,
        base: Offset,
        epoch: LeaderEpoch,
        timestamp_ms: i64,
        records: impl IntoIterator<Item = &'a MetadataRecord>,
    ) -> Result<(), (Offset, ReplayError)> {
        let mut offset = base;
        for record in records {
            self.replay(record).map_err(|error| (offset, error))?;
            self.image.position = ImagePosition { offset, epoch, timestamp_ms };
            offset = offset.next();
        }
        Ok(())
    }

    /// Notes that the log has come so far with records that change no metadata (control records).
    pub fn advance(&mut self, position: ImagePosition) {
        self.image.position = position;
    }

    /// Notes what the log's control records say of `kraft.version`.
    pub const fn set_kraft_version(&mut self, level: i16) {
        self.image.kraft_version = level;
    }

    /// Replays one record.
    ///
    /// # Errors
    /// A record that cannot be.
    pub fn replay(&mut self, record: &MetadataRecord) -> Result<(), ReplayError> {
        match record {
            MetadataRecord::BeginTransaction(_) if self.begun.is_some() => Err(ReplayError::Transaction {
                record: "BeginTransactionRecord",
                state: "a transaction is open",
            }),
            MetadataRecord::BeginTransaction(_) => {
                self.begun = Some(self.image.clone());
                Ok(())
            }
            MetadataRecord::EndTransaction(_) => match self.begun.take() {
                Some(_) => Ok(()),
                None => {
                    Err(ReplayError::Transaction { record: "EndTransactionRecord", state: "none is open" })
                }
            },
            MetadataRecord::AbortTransaction(_) => match self.begun.take() {
                Some(image) => {
                    self.image = image;
                    Ok(())
                }
                None => {
                    Err(ReplayError::Transaction { record: "AbortTransactionRecord", state: "none is open" })
                }
            },
            record => self.image.replay(record),
        }
    }

    /// The image to publish: none while a transaction is open.
    #[must_use]
    pub fn committed(&self) -> Option<Arc<MetadataImage>> {
        self.begun.is_none().then(|| Arc::new(self.image.clone()))
    }

    /// Whether a transaction is open: after the last record of a log it means that its writer died within it.
    #[must_use]
    pub fn in_transaction(&self) -> bool {
        self.begun.is_some()
    }
}
