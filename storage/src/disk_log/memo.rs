//! What is remembered of a log over an orderly stop, so that a start need not open it: where it begins and ends, its
//! segments, its epochs, and a proof that its folder is as it was. Where the proof does not hold nothing is believed. How it
//! is stored is decided elsewhere, and that the stop was the last one, too.

use std::collections::HashMap;

use bytes::{Buf, BufMut, Bytes};
use ottla_model::{LeaderEpoch, Offset, Uuid};

use super::DiskLog;
use crate::checkpoint::LEADER_EPOCHS;
use crate::io::{Directory, Stamp};
use crate::log::{Log, LogError, SegmentInfo};
use crate::segment::name::{FileKind, Stage, file_name, parse};
use crate::segment::{LargestTimestamp, Segment};

/// Which topic a partition's folder belongs to. It is part of the proof, since its content is remembered with the log.
pub(crate) const PARTITION_METADATA: &str = "partition.metadata";

/// A log at an orderly stop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LogMemo {
    /// What the folder says of its topic: known to whoever owns the folder.
    pub(crate) topic_id: Option<Uuid>,
    pub(crate) log_end: Offset,
    /// A snapshot of producers is to be read before anybody asks for one.
    pub(crate) has_producers: bool,
    pub(crate) epochs: Vec<(LeaderEpoch, Offset)>,
    /// The base of the first segment.
    pub(crate) start: Offset,
    /// Bytes of all batches.
    pub(crate) bytes: u64,
    /// The active segment, as the last of `segments`.
    pub(crate) active: ActiveMemo,
    /// None in the memory of no log.
    pub(crate) segments: SegmentMemos,
    pub(crate) proof: Proof,
}

/// What a start asks of the active segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ActiveMemo {
    pub(crate) base: Offset,
    pub(crate) bytes: u64,
}

/// Segments in their order, as they are stored: a start looks at none of them, and of many logs they are one piece of memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SegmentMemos(Bytes);

/// A segment at an orderly stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentMemo {
    pub(crate) base: Offset,
    pub(crate) bytes: u64,
    pub(crate) largest: Option<LargestTimestamp>,
    pub(crate) modified_ms: i64,
    pub(crate) index_bytes: u64,
    pub(crate) time_index_bytes: u64,
    pub(crate) txn_index_bytes: u64,
    /// CRC-32C of that file: unlike the others it has nothing beside it by which its entries could be checked.
    pub(crate) txn_index_crc: u32,
}

/// What a folder and those files in it looked like that no start looks into.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) folder: Stamp,
    /// The log file of the active segment.
    pub(crate) log: Stamp,
    pub(crate) metadata: Option<Stamp>,
    pub(crate) epochs: Option<Stamp>,
}

impl Proof {
    /// How things look now; none where there is no such folder or active segment.
    pub(crate) fn take(directory: &dyn Directory, active: Offset) -> Result<Option<Self>, LogError> {
        let stamp = |name: &str| {
            let stamp = directory.stamp(name);
            stamp.map_err(|source| LogError::Io {
                action: "look at",
                path: directory.path().join(name),
                source,
            })
        };
        let Some(folder) = stamp("")? else { return Ok(None) };
        let Some(log) = stamp(&file_name(active, FileKind::Log))? else { return Ok(None) };
        Ok(Some(Self { folder, log, metadata: stamp(PARTITION_METADATA)?, epochs: stamp(LEADER_EPOCHS)? }))
    }
}

impl Proof {
    /// Whether nothing but the epochs' file, and the folder for its sake, differs.
    pub(crate) fn is_of_same_log(&self, other: &Self) -> bool {
        (self.folder.inode, self.log, self.metadata) == (other.folder.inode, other.log, other.metadata)
    }
}

impl LogMemo {
    /// Whether the log in this folder is, by all that can be seen from outside, still the one that is remembered.
    pub(crate) fn holds(&self, directory: &dyn Directory) -> Result<bool, LogError> {
        Ok(self.active.bytes == self.proof.log.bytes
            && Proof::take(directory, self.active.base)? == Some(self.proof))
    }

    /// The segments as [`Log::segments`] tells them.
    pub(super) fn infos(&self, log_end: Offset) -> Vec<SegmentInfo> {
        let active = self.active.base;
        let ends = self.segments.iter().skip(1).map(|segment| segment.base).chain([log_end.max(active)]);
        let info = |(segment, end): (SegmentMemo, Offset)| SegmentInfo {
            base: segment.base,
            end,
            bytes: segment.bytes,
            largest_timestamp_ms: segment.largest.map(|largest| largest.timestamp_ms),
            modified_ms: segment.modified_ms,
            is_active: segment.base == active,
        };
        self.segments.iter().zip(ends).map(info).collect()
    }
}

impl SegmentMemos {
    /// Bytes of a segment.
    const ONE: usize = 68;

    /// The segments in these bytes.
    pub(crate) fn from_bytes(bytes: Bytes) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len() / Self::ONE
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = SegmentMemo> {
        self.0.chunks_exact(Self::ONE).map(SegmentMemo::read)
    }

    /// The segment with this base.
    pub(crate) fn at(&self, base: Offset) -> Option<SegmentMemo> {
        let (whole, _) = self.0.as_chunks::<{ Self::ONE }>();
        let found = whole.binary_search_by_key(&base, |one| SegmentMemo::read(one).base).ok()?;
        whole.get(found).map(|one| SegmentMemo::read(one))
    }
}

impl FromIterator<SegmentMemo> for SegmentMemos {
    fn from_iter<I: IntoIterator<Item = SegmentMemo>>(segments: I) -> Self {
        let mut bytes = Vec::new();
        for segment in segments {
            segment.write(&mut bytes);
        }
        Self(bytes.into())
    }
}

impl SegmentMemo {
    fn write(&self, into: &mut Vec<u8>) {
        into.put_i64(self.base.get());
        into.put_u64(self.bytes);
        into.put_i64(self.largest.map_or(-1, |largest| largest.timestamp_ms));
        into.put_i64(self.largest.map_or(-1, |largest| largest.offset.get()));
        into.put_i64(self.modified_ms);
        into.put_u64(self.index_bytes);
        into.put_u64(self.time_index_bytes);
        into.put_u64(self.txn_index_bytes);
        into.put_u32(self.txn_index_crc);
    }

    /// Of exactly the bytes of one.
    fn read(mut from: &[u8]) -> Self {
        let (base, bytes) = (Offset::new(from.get_i64()), from.get_u64());
        let (timestamp_ms, offset) = (from.get_i64(), Offset::new(from.get_i64()));
        Self {
            base,
            bytes,
            largest: (timestamp_ms >= 0).then_some(LargestTimestamp { timestamp_ms, offset }),
            modified_ms: from.get_i64(),
            index_bytes: from.get_u64(),
            time_index_bytes: from.get_u64(),
            txn_index_bytes: from.get_u64(),
            txn_index_crc: from.get_u32(),
        }
    }
}

/// The sizes of a log folder's live files.
struct Sizes(HashMap<(Offset, FileKind), u64>);

impl Sizes {
    /// None where there is a file that waits for something, or one that nobody here knows.
    fn look(directory: &dyn Directory) -> Result<Option<Self>, LogError> {
        let listed = directory.list();
        let path = || directory.path();
        let listed = listed.map_err(|source| LogError::Io { action: "list", path: path(), source })?;
        let mut sizes = HashMap::new();
        for entry in listed {
            match parse(&entry.name) {
                Some(name) if name.stage == Stage::Live => {
                    sizes.insert((name.base, name.kind), entry.bytes);
                }
                None if entry.name == PARTITION_METADATA || entry.name == LEADER_EPOCHS => {}
                _ => return Ok(None),
            }
        }
        Ok(Some(Self(sizes)))
    }

    fn memo_of(&self, directory: &dyn Directory, segment: &Segment) -> Result<Option<SegmentMemo>, LogError> {
        let base = segment.base();
        let bytes = |kind| self.0.get(&(base, kind)).copied();
        let (Some(log), Some(index_bytes), Some(time_index_bytes)) =
            (bytes(FileKind::Log), bytes(FileKind::OffsetIndex), bytes(FileKind::TimeIndex))
        else {
            return Ok(None);
        };
        let name = file_name(base, FileKind::Log);
        let stamp =
            directory.stamp(&name).map_err(|source| segment.error("look at", FileKind::Log, source))?;
        let Some(stamp) = stamp.filter(|_| log == segment.bytes()) else { return Ok(None) };
        Ok(Some(SegmentMemo {
            base,
            bytes: log,
            largest: segment.largest_timestamp()?,
            modified_ms: stamp.modified_ms(),
            index_bytes,
            time_index_bytes,
            txn_index_bytes: bytes(FileKind::TxnIndex).unwrap_or_default(),
            txn_index_crc: segment.aborted_crc()?,
        }))
    }

    fn segments(&self) -> usize {
        self.0.keys().filter(|(_, kind)| *kind == FileKind::Log).count()
    }
}

impl DiskLog {
    /// What to remember of a log that was closed in good order; none of one that the next start has to open: there is
    /// something to do in its folder, or a transaction is open.
    pub(crate) fn memo(&self) -> Result<Option<LogMemo>, LogError> {
        let Some(body) = self.body.get() else {
            let asleep = self.asleep.lock();
            let is_remembered = asleep.is_closed && !asleep.is_suspect && !asleep.memo.segments.is_empty();
            return Ok(is_remembered.then(|| asleep.memo.clone()));
        };
        let has_producers = {
            let writer = body.writer.lock();
            if !writer.is_closed || writer.producers.first_open().is_some() {
                return Ok(None);
            }
            !writer.producers.is_empty()
        };
        let directory = &*self.directory;
        let Some(sizes) = Sizes::look(directory)? else { return Ok(None) };
        let list = body.segments.load_full();
        let memos: Result<Option<Vec<SegmentMemo>>, _> =
            list.iter().map(|segment| sizes.memo_of(directory, segment)).collect();
        let Some(memos) = memos?.filter(|memos| memos.len() == sizes.segments()) else { return Ok(None) };
        let Some((first, last)) = memos.first().zip(memos.last()) else { return Ok(None) };
        let Some(proof) = Proof::take(directory, list.active().base())? else { return Ok(None) };
        let log_end = self.positions().log_end.offset;
        let epochs = self.epochs.lock().entries();
        Ok(Some(LogMemo {
            topic_id: None,
            log_end,
            has_producers,
            epochs,
            start: first.base,
            bytes: memos.iter().map(|segment| segment.bytes).sum(),
            active: ActiveMemo { base: last.base, bytes: last.bytes },
            segments: memos.into_iter().collect(),
            proof,
        }))
    }
}
