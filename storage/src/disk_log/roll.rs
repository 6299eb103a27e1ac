//! Beginning a new segment: the old one is sealed, the producers' state at this offset is kept in a file. Nothing is
//! synced here; the recovery point stays until a flush has made all of it durable.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ottla_model::Offset;

use super::{DiskLog, Writer};
use crate::log::{Log, LogConfig, LogError};
use crate::segment::Segment;
use crate::segment::append::Tail;

impl DiskLog {
    /// Where it fails, the old segment stays the active one, and the next append tries again.
    pub(super) fn begin_segment(
        &self,
        writer: &mut Writer,
        base: Offset,
        config: &LogConfig,
        now_ms: i64,
    ) -> Result<(), LogError> {
        writer.tail.seal()?;
        writer.producers.set_end(base);
        writer.snapshots.take(&*self.directory, &writer.producers)?;
        let tail = self.new_tail(base, config, now_ms)?;
        self.segments.store(Arc::new(self.segments.load().with(Arc::clone(tail.segment()))));
        writer.tail = tail;
        self.publish(writer.tail.position(base));
        Ok(())
    }

    pub(super) fn roll_if_not_empty(&self, now_ms: i64) -> Result<Option<Offset>, LogError> {
        let mut writer = self.writer.lock();
        self.check_writable(&writer)?;
        if writer.tail.is_empty() {
            return Ok(None);
        }
        let base = self.positions().log_end.offset;
        self.begin_segment(&mut writer, base, &self.config(), now_ms)?;
        Ok(Some(base))
    }

    /// Makes the files of an empty segment and the writer's end of it.
    pub(super) fn new_tail(&self, base: Offset, config: &LogConfig, now_ms: i64) -> Result<Tail, LogError> {
        self.names_dirty.store(true, Ordering::Release);
        let preallocate = config.preallocate.then_some(u64::from(config.segment_bytes));
        let segment =
            Segment::create(&self.directory, &self.shared, base, config.segment_index_bytes, preallocate)?;
        Ok(Tail::new(Arc::new(segment), config.preallocate, now_ms))
    }

    /// What this segment's share of `segment.jitter.ms` is: spread over logs and segments, and the same whenever it is
    /// asked for.
    pub(super) fn jitter_ms(&self, writer: &Writer, config: &LogConfig) -> i64 {
        let bound = config.segment_jitter_ms.min(config.segment_ms);
        if bound <= 0 {
            return 0;
        }
        let path = self.directory.path();
        let base = writer.tail.segment().base().get().to_be_bytes();
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in path.as_os_str().as_encoded_bytes().iter().chain(&base) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        (hash >> 1).cast_signed() % bound
    }
}
