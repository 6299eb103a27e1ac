//! The file that an orderly stop leaves beside its marker: what the next start would otherwise learn of each log by opening
//! it. Kafka does not look at it. It is believed only beside the very marker that it was written for, so that a stop of
//! anybody else's makes it void, and goes with it before a log is opened; what it says of a log is believed where the log's
//! folder proves it. Where it is void, or is not there, a start opens every log.
//!
//! Numbers are big-endian. The head: eight bytes that name the format, a version, a CRC-32C of what follows, the stamp of the
//! marker, the number of logs.

use std::collections::HashMap;

use bytes::{Buf, BufMut, TryGetError};
use ottla_model::{LeaderEpoch, Offset, Uuid, crc32c};
use parking_lot::Mutex;

use super::{LogDir, each_in_parallel, properties};
use crate::disk_log::{DiskLog, LogMemo, Proof, SegmentMemo};
use crate::io::{self as disk, Stamp};
use crate::log::LogError;
use crate::segment::LargestTimestamp;

/// Its name.
pub(super) const CLEAN_STOP: &str = ".ottla-clean-stop";

const NAME: &[u8; 8] = b"OTTLAcs\n";
const VERSION: u32 = 1;
/// Bytes before those that the checksum covers.
const HEAD_BYTES: usize = 16;

/// All that is remembered, by the partitions' folders.
#[derive(Debug, Default)]
pub(super) struct CleanStop(Mutex<HashMap<String, LogMemo>>);

impl CleanStop {
    /// What is remembered of the log in a folder.
    pub(super) fn take(&self, folder: &str) -> Option<LogMemo> {
        self.0.lock().remove(folder)
    }
}

impl LogDir {
    /// What the last stop left, if it was ours and an orderly one.
    pub(super) fn read_clean_stop(&self) -> CleanStop {
        let directory = &*self.directory;
        let marker = properties::clean_marker_stamp(directory).ok().flatten();
        let content = disk::read_named(directory, CLEAN_STOP).ok().flatten();
        let Some((marker, content)) = marker.filter(|_| self.was_clean()).zip(content) else {
            return CleanStop::default();
        };
        let logs = decode(&content, &marker).unwrap_or_else(|reason| {
            let path = directory.path().join(CLEAN_STOP);
            tracing::info!(path = %path.display(), reason, "every log is opened");
            HashMap::new()
        });
        CleanStop(Mutex::new(logs))
    }

    /// Takes it away. It is durably gone when the marker is.
    pub(super) fn remove_clean_stop(&self) -> Result<(), LogError> {
        let removed = disk::remove_if_there(&*self.directory, CLEAN_STOP);
        removed.map_err(|source| self.error("remove", CLEAN_STOP, source))
    }

    /// Writes down what there is to remember of all logs, beside the marker. A log that cannot be looked at is opened by
    /// the next start, and so are all where the file cannot be written.
    pub(super) fn remember(&self, threads: usize) -> Result<(), LogError> {
        let Some(marker) = properties::clean_marker_stamp(&*self.directory)? else { return Ok(()) };
        let logs = each_in_parallel(&self.logs(), threads, |(partition, log)| {
            let folder = partition.to_string();
            match self.memo_of(&folder, log) {
                Ok(memo) => memo.map(|memo| (folder, memo)),
                Err(error) => {
                    tracing::warn!(%partition, %error, "the next start opens this log");
                    None
                }
            }
        });
        let logs: Vec<_> = logs.into_iter().flatten().collect();
        let written = disk::replace(&*self.directory, CLEAN_STOP, &encode(&logs, &marker));
        written.map_err(|source| self.error("write", CLEAN_STOP, source))
    }

    fn memo_of(&self, folder: &str, log: &DiskLog) -> Result<Option<LogMemo>, LogError> {
        let Some(mut memo) = log.memo()? else { return Ok(None) };
        if !log.is_asleep() {
            memo.topic_id = properties::read_partition_metadata(&*self.directory.folder(folder))?;
        }
        Ok(Some(memo))
    }
}

fn encode(logs: &[(String, LogMemo)], marker: &Stamp) -> Vec<u8> {
    let mut body = Vec::with_capacity(200 * logs.len());
    put_stamp(&mut body, marker);
    body.put_u32(count(logs.len()));
    for (folder, memo) in logs {
        body.put_u32(count(folder.len()));
        body.put_slice(folder.as_bytes());
        put_log(&mut body, memo);
    }
    let mut file = Vec::with_capacity(HEAD_BYTES + body.len());
    file.put_slice(NAME);
    file.put_u32(VERSION);
    file.put_u32(crc32c::checksum(&body));
    file.put_slice(&body);
    file
}

fn put_log(into: &mut Vec<u8>, log: &LogMemo) {
    put_optional(into, log.topic_id.as_ref(), |into, id| into.put_slice(id.as_bytes()));
    into.put_i64(log.log_end.get());
    into.put_u8(u8::from(log.has_producers));
    into.put_u32(count(log.epochs.len()));
    for (epoch, start) in &log.epochs {
        into.put_i32(epoch.get());
        into.put_i64(start.get());
    }
    into.put_u32(count(log.segments.len()));
    for segment in &log.segments {
        into.put_i64(segment.base.get());
        into.put_u64(segment.bytes);
        into.put_i64(segment.largest.map_or(-1, |largest| largest.timestamp_ms));
        into.put_i64(segment.largest.map_or(-1, |largest| largest.offset.get()));
        into.put_i64(segment.modified_ms);
        into.put_u64(segment.index_bytes);
        into.put_u64(segment.time_index_bytes);
        into.put_u64(segment.txn_index_bytes);
    }
    let Proof { folder, log, metadata, epochs } = &log.proof;
    put_stamp(into, folder);
    put_stamp(into, log);
    put_optional(into, metadata.as_ref(), put_stamp);
    put_optional(into, epochs.as_ref(), put_stamp);
}

fn put_stamp(into: &mut Vec<u8>, stamp: &Stamp) {
    into.put_u64(stamp.inode);
    into.put_u64(stamp.bytes);
    into.put_i128(stamp.modified_ns);
    into.put_i128(stamp.changed_ns);
}

fn put_optional<T>(into: &mut Vec<u8>, value: Option<&T>, put: impl FnOnce(&mut Vec<u8>, &T)) {
    into.put_u8(u8::from(value.is_some()));
    if let Some(value) = value {
        put(into, value);
    }
}

/// A number of things in memory, of which there are never so many.
fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn decode(content: &[u8], marker: &Stamp) -> Result<HashMap<String, LogMemo>, &'static str> {
    let body = content.get(HEAD_BYTES..).ok_or("the file is too short")?;
    let mut head = content;
    if head.split_off(..NAME.len()) != Some(NAME) {
        return Err("the file is of another format");
    }
    let cut = |_: TryGetError| "the file is cut";
    if head.try_get_u32().map_err(cut)? != VERSION {
        return Err("the file is of another version");
    }
    if head.try_get_u32().map_err(cut)? != crc32c::checksum(body) {
        return Err("the file has a wrong checksum");
    }
    let mut fields = Fields(body);
    if fields.stamp().map_err(cut)? != *marker {
        return Err("the file is of an earlier stop");
    }
    fields.logs().map_err(cut)
}

/// What is left of the file.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn logs(&mut self) -> Result<HashMap<String, LogMemo>, TryGetError> {
        let logs = self.0.try_get_u32()?;
        let mut all = HashMap::new();
        for _ in 0..logs {
            let length = self.0.try_get_u32()? as usize;
            let name = self.bytes(length)?;
            let folder = String::from_utf8_lossy(name).into_owned();
            all.insert(folder, self.log()?);
        }
        Ok(all)
    }

    fn log(&mut self) -> Result<LogMemo, TryGetError> {
        let topic_id = self.optional(|fields| {
            let mut id = [0; 16];
            fields.0.try_copy_to_slice(&mut id)?;
            Ok(Uuid::from_bytes(id))
        })?;
        let log_end = Offset::new(self.0.try_get_i64()?);
        let has_producers = self.0.try_get_u8()? != 0;
        let epochs = self.list(|fields| {
            Ok((LeaderEpoch::new(fields.0.try_get_i32()?), Offset::new(fields.0.try_get_i64()?)))
        })?;
        let segments = self.list(Self::segment)?.into();
        let proof = Proof {
            folder: self.stamp()?,
            log: self.stamp()?,
            metadata: self.optional(Self::stamp)?,
            epochs: self.optional(Self::stamp)?,
        };
        Ok(LogMemo { topic_id, log_end, has_producers, epochs, segments, proof })
    }

    fn segment(&mut self) -> Result<SegmentMemo, TryGetError> {
        let base = Offset::new(self.0.try_get_i64()?);
        let bytes = self.0.try_get_u64()?;
        let (timestamp_ms, offset) = (self.0.try_get_i64()?, Offset::new(self.0.try_get_i64()?));
        Ok(SegmentMemo {
            base,
            bytes,
            largest: (timestamp_ms >= 0).then_some(LargestTimestamp { timestamp_ms, offset }),
            modified_ms: self.0.try_get_i64()?,
            index_bytes: self.0.try_get_u64()?,
            time_index_bytes: self.0.try_get_u64()?,
            txn_index_bytes: self.0.try_get_u64()?,
        })
    }

    fn stamp(&mut self) -> Result<Stamp, TryGetError> {
        Ok(Stamp {
            inode: self.0.try_get_u64()?,
            bytes: self.0.try_get_u64()?,
            modified_ns: self.0.try_get_i128()?,
            changed_ns: self.0.try_get_i128()?,
        })
    }

    fn optional<T>(
        &mut self,
        get: impl FnOnce(&mut Self) -> Result<T, TryGetError>,
    ) -> Result<Option<T>, TryGetError> {
        if self.0.try_get_u8()? == 0 { Ok(None) } else { get(self).map(Some) }
    }

    fn list<T>(
        &mut self,
        mut get: impl FnMut(&mut Self) -> Result<T, TryGetError>,
    ) -> Result<Vec<T>, TryGetError> {
        let length = self.0.try_get_u32()?;
        let mut list = Vec::new();
        for _ in 0..length {
            list.push(get(self)?);
        }
        Ok(list)
    }

    fn bytes(&mut self, length: usize) -> Result<&[u8], TryGetError> {
        let available = self.0.len();
        self.0.split_off(..length).ok_or(TryGetError { requested: length, available })
    }
}
