//! What a log that is being opened knows of its producers: the newest snapshot, and the batches after it.

use ottla_model::Offset;

use super::Loader;
use crate::log::{LogError, ReadMode};
use crate::producer_state::ProducerStates;
use crate::segment::read::ReadFault;
use crate::segments::Segments;

impl Loader {
    /// The producers as the newest snapshot at or below `limit` has them.
    pub(super) fn load_producers(
        &mut self,
        limit: Offset,
        clean_end: Option<Offset>,
    ) -> Result<(), LogError> {
        let first = self.segments.first().map_or(limit, |segment| segment.base());
        self.producers = match (self.snapshots.load(&*self.opening.directory, limit)?, clean_end) {
            (Some(producers), _) => producers,
            // Without a snapshot the state would cost a scan of the whole log, which a clean start must not.
            (None, Some(end)) => ProducerStates::new(end),
            (None, None) => ProducerStates::new(first.max(self.opening.log_start).min(limit)),
        };
        let expiration_ms = self.opening.config.producer_id_expiration_ms;
        self.producers.expire(self.opening.now_ms, expiration_ms);
        Ok(())
    }

    /// The producers at the base of a segment, as the newest snapshot below and the batches after it have them.
    pub(super) fn producers_at(&self, base: Offset) -> Result<ProducerStates, LogError> {
        let first = self.segments.first().map_or(base, |segment| segment.base());
        let known = self.snapshots.look(&*self.opening.directory, base)?;
        let mut producers = known.unwrap_or_else(|| ProducerStates::new(first));
        for segment in self.segments.iter().filter(|segment| segment.base() < base) {
            let limit = segment.bytes();
            let found = segment.find(producers.end(), limit, ReadMode::MayBlock);
            if let Some(found) = found.map_err(ReadFault::patient)? {
                segment.scan(found.position, limit, segment.base()..Offset::MAX, |batch| {
                    batch.note_in(&mut producers);
                })?;
            }
        }
        Ok(producers)
    }

    /// Feeds the batches from the producers' end up to `end` to them.
    pub(super) fn replay(&mut self, end: Offset) -> Result<(), LogError> {
        let begin = self.producers.end();
        if begin >= end {
            return Ok(());
        }
        for segment in Segments::new(self.segments.clone()).from(begin) {
            if segment.base() >= end {
                break;
            }
            self.take_snapshot_at(segment.base())?;
            let limit = segment.bytes();
            let found = segment.find(self.producers.end(), limit, ReadMode::MayBlock);
            let Some(found) = found.map_err(ReadFault::patient)? else { continue };
            let producers = &mut self.producers;
            segment.scan(found.position, limit, segment.base()..Offset::MAX, |batch| {
                if batch.header.base_offset() < end {
                    batch.note_in(producers);
                }
            })?;
        }
        self.take_snapshot_at(end)
    }

    pub(super) fn take_snapshot_at(&mut self, offset: Offset) -> Result<(), LogError> {
        if self.producers.end() < offset {
            self.producers.set_end(offset);
        }
        self.snapshots.take(&*self.opening.directory, &self.producers)
    }
}
