//! Beginning a new segment. On the path of an append its log file, which a flush made before, only gets its name; what is
//! left to write of the old one, and
//! the producers' state at this offset, wait in memory for the flush that every roll asks for. The recovery point stays
//! until that has made all of it durable.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ottla_model::Offset;

use super::asleep::Body;
use super::snapshots::PendingSnapshot;
use super::{DiskLog, Writer};
use crate::io::{self as disk, Directory};
use crate::log::{Log, LogConfig, LogError};
use crate::segment::Segment;
use crate::segment::append::Tail;
use crate::segment::name::PREPARED;

/// So many segments wait to be sealed at most; who rolls another one seals the oldest.
const UNSEALED_MAX: usize = 4;

impl DiskLog {
    /// Where it fails, the old segment stays the active one, and the next append tries again.
    pub(super) fn begin_segment(
        &self,
        body: &Body,
        writer: &mut Writer,
        base: Offset,
        config: &LogConfig,
        now_ms: i64,
    ) -> Result<(), LogError> {
        if writer.unsealed.len() >= UNSEALED_MAX {
            self.seal_rolled(writer)?;
        }
        // Nothing may lie between its last batch and the next segment's first: that would end a recovery there.
        writer.tail.cut_to_batches()?;
        let is_prepared = std::mem::take(&mut writer.is_prepared);
        let tail = self.new_tail(base, config, is_prepared, now_ms)?;
        writer.producers.set_end(base);
        writer.snapshots.note(&writer.producers);
        body.segments.store(Arc::new(body.segments.load().with(Arc::clone(tail.segment()))));
        let rolled = std::mem::replace(&mut writer.tail, tail);
        writer.unsealed.push(rolled);
        self.publish(writer.tail.position(base));
        Ok(())
    }

    pub(super) fn roll_if_not_empty(&self, now_ms: i64) -> Result<Option<Offset>, LogError> {
        let body = self.body()?;
        let mut writer = body.writer.lock();
        self.check_writable(&writer)?;
        if writer.tail.is_empty() {
            return Ok(None);
        }
        let base = self.positions().log_end.offset;
        self.begin_segment(body, &mut writer, base, &self.config(), now_ms)?;
        Ok(Some(base))
    }

    /// Writes what rolls left to write, under the append lock: before segments go or change places.
    pub(super) fn seal_rolled(&self, writer: &mut Writer) -> Result<(), LogError> {
        let mut rolled = Rolled::take(writer);
        let written = rolled.write(&*self.directory);
        rolled.put_back(writer);
        self.names_dirty.store(true, Ordering::Release);
        written
    }

    /// The same for a flush, which appends do not wait for. The caller holds `flushing`.
    pub(super) fn seal_rolled_aside(&self, body: &Body) -> Result<(), LogError> {
        let mut rolled = Rolled::take(&mut body.writer.lock());
        if rolled.is_empty() {
            return Ok(());
        }
        let written = rolled.write(&*self.directory);
        rolled.put_back(&mut body.writer.lock());
        self.names_dirty.store(true, Ordering::Release);
        written
    }

    /// Makes the file of the next segment ahead, where the active one is half full: a log that hardly grows has none. The
    /// caller holds `flushing`.
    pub(super) fn prepare_next(&self, body: &Body) -> Result<(), LogError> {
        let config = self.config();
        let is_wanted = |writer: &Writer| {
            let bytes = writer.tail.segment().bytes();
            !writer.is_prepared && !writer.is_closed && bytes >= u64::from(config.segment_bytes) / 2
        };
        if !is_wanted(&body.writer.lock()) {
            return Ok(());
        }
        Segment::prepare(&*self.directory, preallocated(&config))?;
        body.writer.lock().is_prepared = true;
        Ok(())
    }

    /// Takes the file of the next segment away again.
    pub(super) fn forget_next(&self, writer: &mut Writer) -> Result<(), LogError> {
        if std::mem::take(&mut writer.is_prepared) {
            let path = || self.directory.path().join(PREPARED);
            disk::remove_if_there(&*self.directory, PREPARED).map_err(|source| LogError::Io {
                action: "remove",
                path: path(),
                source,
            })?;
        }
        Ok(())
    }

    /// Sets room aside behind the log's end.
    pub(super) fn reserve_room(&self, bytes: u64) -> Result<(), LogError> {
        // Nobody seals the segment meanwhile, which takes such room back.
        let _no_flush = self.flushing.lock();
        let (segment, position) = {
            let mut writer = self.body()?.writer.lock();
            self.check_writable(&writer)?;
            let position = writer.tail.expect_room();
            (Arc::clone(writer.tail.segment()), position)
        };
        let bytes = bytes.min(u64::from(self.config().segment_bytes).saturating_sub(position));
        if bytes == 0 { Ok(()) } else { segment.reserve(position, bytes) }
    }

    /// Makes the files of an empty segment and the writer's end of it.
    pub(super) fn new_tail(
        &self,
        base: Offset,
        config: &LogConfig,
        is_prepared: bool,
        now_ms: i64,
    ) -> Result<Tail, LogError> {
        self.names_dirty.store(true, Ordering::Release);
        let segment = Segment::create(
            &self.directory,
            &self.shared,
            base,
            config.segment_index_bytes,
            preallocated(config),
            is_prepared,
        )?;
        // What was prepared with other settings may be longer than it is now wanted.
        Ok(Tail::new(Arc::new(segment), config.preallocate || is_prepared, now_ms))
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

fn preallocated(config: &LogConfig) -> Option<u64> {
    config.preallocate.then_some(u64::from(config.segment_bytes))
}

/// What rolls left to write.
struct Rolled {
    tails: Vec<Tail>,
    snapshots: Vec<PendingSnapshot>,
    written: Vec<Offset>,
}

impl Rolled {
    fn take(writer: &mut Writer) -> Self {
        let tails = std::mem::take(&mut writer.unsealed);
        Self { tails, snapshots: writer.snapshots.take_pending(), written: Vec::new() }
    }

    fn is_empty(&self) -> bool {
        self.tails.is_empty() && self.snapshots.is_empty()
    }

    /// Oldest first, up to the first error.
    fn write(&mut self, directory: &dyn Directory) -> Result<(), LogError> {
        while let Some(tail) = self.tails.first_mut() {
            tail.seal()?;
            self.tails.remove(0);
        }
        while let Some(snapshot) = self.snapshots.first() {
            snapshot.write(directory)?;
            self.written.push(self.snapshots.remove(0).offset);
        }
        Ok(())
    }

    /// What was not written waits on.
    fn put_back(self, writer: &mut Writer) {
        writer.unsealed.splice(..0, self.tails);
        writer.snapshots.put_back(self.snapshots, &self.written);
    }
}
