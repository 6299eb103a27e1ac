//! The file that an orderly stop leaves beside its marker: what the next start would otherwise learn of each log by opening
//! it. Kafka does not look at it. It is believed only beside the very marker that it was written for, so that a stop of
//! anybody else's makes it void, and goes with it before a log is opened; what it says of a log is believed where the log's
//! folder proves it. Where it is void, or is not there, a start opens every log.
//!
//! Numbers are big-endian. The head: eight bytes that name the format, a version, a CRC-32C of what follows, the stamp of the
//! marker, the number of logs.

use std::collections::HashMap;

use bytes::{Buf, BufMut, Bytes, TryGetError};
use ottla_model::{LeaderEpoch, Offset, Uuid, crc32c};
use parking_lot::Mutex;

use super::{LogDir, each_in_parallel, properties};
use crate::disk_log::{ActiveMemo, DiskLog, LogMemo, Proof, SegmentMemos};
use crate::io::{self as disk, Stamp};
use crate::log::LogError;

/// Its name.
pub(super) const CLEAN_STOP: &str = ".ottla-clean-stop";

const NAME: &[u8; 8] = b"OTTLAcs\n";
const VERSION: u32 = 2;
/// Bytes before those that the checksum covers.
const HEAD_BYTES: usize = 16;

/// All that is remembered, by the partitions' folders. Each is looked at when it is taken.
#[derive(Debug, Default)]
pub(super) struct CleanStop(Mutex<HashMap<Bytes, Bytes>>);

impl CleanStop {
    /// What is remembered of the log in a folder.
    pub(super) fn take(&self, folder: &str) -> Option<LogMemo> {
        let mut memo = self.0.lock().remove(folder.as_bytes())?;
        get_log(&mut memo).ok()
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
        let logs = decode(Bytes::from(content), &marker).unwrap_or_else(|reason| {
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
        let mut log = Vec::with_capacity(300);
        put_log(&mut log, memo);
        put_piece(&mut body, folder.as_bytes());
        put_piece(&mut body, &log);
    }
    let mut file = Vec::with_capacity(HEAD_BYTES + body.len());
    file.put_slice(NAME);
    file.put_u32(VERSION);
    file.put_u32(crc32c::checksum(&body));
    file.put_slice(&body);
    file
}

fn put_piece(into: &mut Vec<u8>, piece: &[u8]) {
    into.put_u32(count(piece.len()));
    into.put_slice(piece);
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
    into.put_i64(log.start.get());
    into.put_u64(log.bytes);
    into.put_i64(log.active.base.get());
    into.put_u64(log.active.bytes);
    let Proof { folder, log: active, metadata, epochs } = &log.proof;
    put_stamp(into, folder);
    put_stamp(into, active);
    put_optional(into, metadata.as_ref(), put_stamp);
    put_optional(into, epochs.as_ref(), put_stamp);
    put_piece(into, log.segments.bytes());
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

fn decode(content: Bytes, marker: &Stamp) -> Result<HashMap<Bytes, Bytes>, &'static str> {
    let cut = |_: TryGetError| "the file is cut";
    let mut rest = content;
    if get_bytes(&mut rest, NAME.len()).map_err(cut)?[..] != NAME[..] {
        return Err("the file is of another format");
    }
    if rest.try_get_u32().map_err(cut)? != VERSION {
        return Err("the file is of another version");
    }
    if rest.try_get_u32().map_err(cut)? != crc32c::checksum(&rest) {
        return Err("the file has a wrong checksum");
    }
    if get_stamp(&mut rest).map_err(cut)? != *marker {
        return Err("the file is of an earlier stop");
    }
    get_logs(&mut rest).map_err(cut)
}

fn get_logs(from: &mut Bytes) -> Result<HashMap<Bytes, Bytes>, TryGetError> {
    let logs = from.try_get_u32()?;
    let mut all = HashMap::new();
    for _ in 0..logs {
        let folder = get_piece(from)?;
        all.insert(folder, get_piece(from)?);
    }
    Ok(all)
}

fn get_log(from: &mut Bytes) -> Result<LogMemo, TryGetError> {
    let topic_id = get_optional(from, |from| {
        let mut id = [0; 16];
        from.try_copy_to_slice(&mut id)?;
        Ok(Uuid::from_bytes(id))
    })?;
    let log_end = Offset::new(from.try_get_i64()?);
    let has_producers = from.try_get_u8()? != 0;
    let mut epochs = Vec::new();
    for _ in 0..from.try_get_u32()? {
        epochs.push((LeaderEpoch::new(from.try_get_i32()?), Offset::new(from.try_get_i64()?)));
    }
    Ok(LogMemo {
        topic_id,
        log_end,
        has_producers,
        epochs,
        start: Offset::new(from.try_get_i64()?),
        bytes: from.try_get_u64()?,
        active: ActiveMemo { base: Offset::new(from.try_get_i64()?), bytes: from.try_get_u64()? },
        proof: Proof {
            folder: get_stamp(from)?,
            log: get_stamp(from)?,
            metadata: get_optional(from, get_stamp)?,
            epochs: get_optional(from, get_stamp)?,
        },
        segments: SegmentMemos::from_bytes(get_piece(from)?),
    })
}

fn get_stamp(from: &mut Bytes) -> Result<Stamp, TryGetError> {
    Ok(Stamp {
        inode: from.try_get_u64()?,
        bytes: from.try_get_u64()?,
        modified_ns: from.try_get_i128()?,
        changed_ns: from.try_get_i128()?,
    })
}

fn get_optional<T>(
    from: &mut Bytes,
    get: impl FnOnce(&mut Bytes) -> Result<T, TryGetError>,
) -> Result<Option<T>, TryGetError> {
    if from.try_get_u8()? == 0 { Ok(None) } else { get(from).map(Some) }
}

fn get_piece(from: &mut Bytes) -> Result<Bytes, TryGetError> {
    let length = from.try_get_u32()? as usize;
    get_bytes(from, length)
}

fn get_bytes(from: &mut Bytes, length: usize) -> Result<Bytes, TryGetError> {
    let available = from.len();
    if length > available {
        return Err(TryGetError { requested: length, available });
    }
    Ok(from.split_to(length))
}
