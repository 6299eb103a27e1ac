//! Believing the files of a log that was closed in good order, and making those indexes anew that cannot be believed, or
//! are missing. Batches stay as they are.

use std::sync::Arc;

use ottla_model::Offset;

use super::{Loader, RestoredTail};
use crate::log::{LogError, ReadMode};
use crate::segment::Segment;
use crate::segment::append::{Tail, TailState};
use crate::segment::read::ReadFault;
use crate::segment::recover::ScannedBatch;

impl Loader {
    /// Believes the active segment of a log that was closed cleanly: its end is looked for from its last index entry
    /// on. None where the files contradict that.
    pub(super) fn adopt(&mut self, segment: &Arc<Segment>) -> Result<Option<RestoredTail>, LogError> {
        let last_entry = segment.adopt_indexes(self.opening.config.segment_index_bytes)?;
        let start = last_entry.map_or(0, |entry| u64::from(entry.position));
        let mut walk = segment.walk(segment.bytes(), ReadMode::MayBlock).map_err(ReadFault::patient)?;
        let Ok(first) = walk.checked_header_at(0).map_err(ReadFault::patient)? else { return Ok(None) };
        let indexed = segment.indexed_timestamp()?;
        let mut state = TailState {
            bytes: start,
            bytes_since_entry: 0,
            largest: indexed,
            first_timestamp_ms: first.map(|header| header.max_timestamp_ms()),
            file_is_longer: false,
        };
        let mut next = segment.base();
        loop {
            let header = match walk.checked_header_at(state.bytes).map_err(ReadFault::patient)? {
                Ok(Some(header)) => header,
                Ok(None) => break,
                Err(_) => return Ok(None),
            };
            let is_entrys = last_entry.is_none_or(|entry| {
                state.bytes > start || entry.offset.at(segment.base()) == header.last_offset()
            });
            if header.base_offset() < next || !is_entrys {
                return Ok(None);
            }
            state.add(&header);
            next = header.next_offset();
        }
        if last_entry.is_some() && state.bytes == start {
            return Ok(None);
        }
        if let Some(largest) = indexed
            && (largest.offset >= next || !segment.has_timestamp(largest)?)
        {
            return Ok(None);
        }
        let tail = Tail::resume(Arc::clone(segment), state, self.opening.now_ms);
        Ok(Some(RestoredTail { tail, next }))
    }

    /// Makes the missing indexes of segments that are not scanned anyway. Their batches stay as they are.
    pub(super) fn reindex_sealed(&mut self, scan_from: Option<Offset>) -> Result<(), LogError> {
        for segment in self.segments.clone() {
            let is_scanned = scan_from.is_some_and(|from| segment.base() >= from);
            if self.unindexed.contains(&segment.base()) && !is_scanned {
                let file_bytes = segment.bytes();
                tracing::warn!(file = %segment.log_path().display(), "the segment's indexes are made anew");
                let mut producers = self.producers_at(segment.base())?;
                let note = |_: &mut Self, batch: &ScannedBatch<'_>| batch.note_in(&mut producers);
                let (mut tail, _) = self.scan_segment(&segment, file_bytes, note)?;
                tail.seal()?;
                segment.set_bytes(file_bytes);
                self.names_changed = true;
            }
        }
        Ok(())
    }
}
