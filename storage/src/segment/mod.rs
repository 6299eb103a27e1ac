//! One segment: a log file and its indexes. Readers share it; who appends to it, rolls it or deletes it is decided
//! above. `append` grows the active one, `read` finds batches, `recover` scans.

pub(crate) mod append;
pub(crate) mod batches;
pub(crate) mod copy;
mod index_file;
pub(crate) mod name;
pub(crate) mod read;
pub(crate) mod recover;
pub(crate) mod stored;
mod txn_file;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ottla_index::{Entry, OffsetEntry, SealedIndex, TimeEntry};
use ottla_model::Offset;
use parking_lot::Mutex;

use crate::io::{self as disk, Create, Directory, LogFile};
use crate::log::{AbortedTransaction, LogError, ReadMode, SegmentInfo};
use crate::log_dir::Health;
use crate::pool::{Pool, Slot};
use index_file::{IndexFile, Look};
use name::{FileKind, file_name};
use read::ReadFault;
use txn_file::TxnFile;

/// What all logs of a directory share: bounds on open files and maps, and the directory's health.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) files: Arc<Pool<dyn LogFile>>,
    pub(crate) offset_maps: Arc<Pool<SealedIndex<OffsetEntry>>>,
    pub(crate) time_maps: Arc<Pool<SealedIndex<TimeEntry>>>,
    pub(crate) health: Health,
}

impl Shared {
    /// Bounds: so many open files, and as many maps for the two kinds of index together.
    pub(crate) fn new(open_files_max: usize) -> Arc<Self> {
        Arc::new(Self {
            files: Pool::new(open_files_max),
            offset_maps: Pool::new(open_files_max / 2),
            time_maps: Pool::new(open_files_max / 2),
            health: Health::default(),
        })
    }
}

impl Shared {
    /// Closes what was not used since the last call; says how many files and maps that were.
    pub(crate) fn close_idle(&self) -> usize {
        self.files.sweep() + self.offset_maps.sweep() + self.time_maps.sweep()
    }
}

/// A timestamp and the last offset of the first batch that brought it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LargestTimestamp {
    pub(crate) timestamp_ms: i64,
    pub(crate) offset: Offset,
}

/// A segment's files.
///
/// Invariant: `bytes` is the end of the last whole batch. The file may be longer (preallocated, or a write failed) and
/// is cut when the segment is sealed or closed.
#[derive(Debug)]
pub(crate) struct Segment {
    base: Offset,
    directory: Arc<dyn Directory>,
    log_name: String,
    log: Arc<Slot<dyn LogFile>>,
    offsets: IndexFile<OffsetEntry>,
    times: IndexFile<TimeEntry>,
    aborted: TxnFile,
    bytes: AtomicU64,
    /// None until it was looked up.
    largest_timestamp: Mutex<Option<LargestTimestamp>>,
    /// The file, once the segment left the log: its name is then another's, or nobody's.
    pinned: OnceLock<Arc<dyn LogFile>>,
    /// It was sealed and its files are not durable since.
    is_sealed_anew: AtomicBool,
    /// An index entry was met that is not what this log would have written: the indexes are to be made anew.
    is_ill_indexed: AtomicBool,
}

impl Segment {
    /// A segment whose files exist, all of them sealed, with so many bytes of batches and of aborted transactions.
    pub(crate) fn existing(
        directory: &Arc<dyn Directory>,
        shared: &Shared,
        base: Offset,
        bytes: u64,
        txn_index_bytes: u64,
    ) -> Self {
        let log_name = file_name(base, FileKind::Log);
        Self::existing_named(directory, shared, base, log_name, bytes, txn_index_bytes)
    }

    /// The same, where the log file has another name than the usual.
    pub(crate) fn existing_named(
        directory: &Arc<dyn Directory>,
        shared: &Shared,
        base: Offset,
        log_name: String,
        bytes: u64,
        txn_index_bytes: u64,
    ) -> Self {
        let name = |kind| file_name(base, kind);
        Self {
            base,
            directory: Arc::clone(directory),
            log_name,
            log: Slot::new(&shared.files),
            offsets: IndexFile::sealed(name(FileKind::OffsetIndex), &shared.files, &shared.offset_maps),
            times: IndexFile::sealed(name(FileKind::TimeIndex), &shared.files, &shared.time_maps),
            aborted: TxnFile::new(name(FileKind::TxnIndex), &shared.files, txn_index_bytes),
            bytes: AtomicU64::new(bytes),
            largest_timestamp: Mutex::new(None),
            pinned: OnceLock::new(),
            is_sealed_anew: AtomicBool::new(false),
            is_ill_indexed: AtomicBool::new(false),
        }
    }

    /// Makes an empty segment, ready to grow. `preallocate` is the size that its file gets at once. `is_prepared` says that
    /// the file is there already, as [`name::PREPARED`].
    pub(crate) fn create(
        directory: &Arc<dyn Directory>,
        shared: &Shared,
        base: Offset,
        index_bytes_max: u32,
        preallocate: Option<u64>,
        is_prepared: bool,
    ) -> Result<Self, LogError> {
        let segment = Self::existing(directory, shared, base, 0, 0);
        segment.start_indexes(index_bytes_max)?;
        segment.set_largest_timestamp(None);
        // The log file comes last: it alone makes a segment to whoever opens the folder again.
        if is_prepared && directory.rename(name::PREPARED, &segment.log_name).is_ok() {
            return Ok(segment);
        }
        let log = segment.log.get_or(|| directory.open(&segment.log_name, Create::Empty));
        let log = log.map_err(|error| segment.error("create", FileKind::Log, error))?;
        if let Some(Err(error)) = preallocate.map(|bytes| log.set_bytes(bytes)) {
            segment.remove()?;
            return Err(segment.error("preallocate", FileKind::Log, error));
        }
        Ok(segment)
    }

    /// Makes the file of a segment to come, under a name that is no segment's.
    pub(crate) fn prepare(directory: &dyn Directory, preallocate: Option<u64>) -> Result<(), LogError> {
        let made = directory.open(name::PREPARED, Create::Empty);
        let made = made.and_then(|file| preallocate.map_or(Ok(()), |bytes| file.set_bytes(bytes)));
        made.map_err(|source| LogError::Io {
            action: "prepare",
            path: directory.path().join(name::PREPARED),
            source,
        })
    }

    pub(crate) fn base(&self) -> Offset {
        self.base
    }

    /// The end of the last whole batch.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    pub(crate) fn set_bytes(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Release);
    }

    /// The largest timestamp in it, or none while it has no batch with one.
    pub(crate) fn largest_timestamp(&self) -> Result<Option<LargestTimestamp>, LogError> {
        let mut largest = self.largest_timestamp.lock();
        if largest.is_none() {
            let indexed = self.indexed_timestamp()?;
            let sound = indexed.map_or(Ok(None), |indexed| self.sound_timestamp(indexed))?;
            *largest = Some(sound.unwrap_or(self.no_timestamp()));
        }
        Ok(largest.filter(|largest| largest.timestamp_ms >= 0))
    }

    /// What the time index has for the largest timestamp.
    pub(crate) fn indexed_timestamp(&self) -> Result<Option<LargestTimestamp>, LogError> {
        let last = self.times.last(&*self.directory, ReadMode::MayBlock);
        let Look::Seen(last) = last.map_err(|error| self.error("read", FileKind::TimeIndex, error))? else {
            return Ok(None);
        };
        let largest = |last: TimeEntry| LargestTimestamp {
            timestamp_ms: last.timestamp_ms,
            offset: last.offset.at(self.base),
        };
        Ok(last.map(largest).filter(|largest| largest.timestamp_ms >= 0))
    }

    /// An entry of a file of index entries is wrong. Answers are right without it, and slower. Said once.
    fn note_wrong_entry(&self, kind: FileKind) {
        if self.offsets.is_sealed() && !self.is_ill_indexed.swap(true, Ordering::AcqRel) {
            let path = self.directory.path().join(file_name(self.base, kind));
            tracing::warn!(path = %path.display(), "an index does not fit its log and is not used: it is made anew at the next start");
        }
    }

    /// Removes the offset index of a sealed segment in which a wrong entry was met: where it is missing, opening the log
    /// makes all indexes of the segment anew. Who has one mapped goes on with it. Says whether it was so.
    pub(crate) fn give_up_indexes(&self) -> Result<bool, LogError> {
        if !self.is_ill_indexed.swap(false, Ordering::AcqRel) {
            return Ok(false);
        }
        disk::remove_if_there(&*self.directory, &file_name(self.base, FileKind::OffsetIndex))
            .map_err(|error| self.error("remove", FileKind::OffsetIndex, error))?;
        Ok(true)
    }

    pub(crate) fn set_largest_timestamp(&self, largest: Option<LargestTimestamp>) {
        *self.largest_timestamp.lock() = Some(largest.unwrap_or(self.no_timestamp()));
    }

    fn forget_largest_timestamp(&self) {
        *self.largest_timestamp.lock() = None;
    }

    /// Makes the log file durable.
    pub(crate) fn sync_log(&self) -> io::Result<()> {
        self.log_file()?.sync()
    }

    /// Makes the indexes durable.
    pub(crate) fn sync_indexes(&self) -> io::Result<()> {
        let directory = &*self.directory;
        self.offsets.sync(directory)?;
        self.times.sync(directory)?;
        self.aborted.sync(directory)
    }

    /// Whether the segment was sealed, or closed, since this was last asked.
    pub(crate) fn take_sealed(&self) -> bool {
        self.is_sealed_anew.swap(false, Ordering::AcqRel)
    }

    /// Removes the files. Readers that hold them go on.
    pub(crate) fn remove(&self) -> Result<(), LogError> {
        self.release();
        for kind in name::SEGMENT_KINDS {
            disk::remove_if_there(&*self.directory, &file_name(self.base, kind))
                .map_err(|error| self.error("remove", kind, error))?;
        }
        Ok(())
    }

    /// Lets go of open files and maps; the next use opens them again.
    pub(crate) fn release(&self) {
        self.log.clear();
        self.offsets.release();
        self.times.release();
        self.aborted.release();
    }

    /// Empties the indexes, in memory and on the disk, and makes them grow.
    pub(crate) fn start_indexes(&self, index_bytes_max: u32) -> Result<(), LogError> {
        let directory = &*self.directory;
        let started = self.offsets.start(directory, index_bytes_max);
        started.map_err(|error| self.error("remove", FileKind::OffsetIndex, error))?;
        let started = self.times.start(directory, index_bytes_max);
        started.map_err(|error| self.error("remove", FileKind::TimeIndex, error))?;
        let started = self.aborted.start(directory);
        started.map_err(|error| self.error("remove", FileKind::TxnIndex, error))
    }

    /// Takes over the indexes of the active segment of a log that was closed cleanly; gives the last entry.
    pub(crate) fn adopt_indexes(&self, index_bytes_max: u32) -> Result<Option<OffsetEntry>, LogError> {
        let directory = &*self.directory;
        let adopted = self.offsets.adopt(directory, index_bytes_max);
        adopted.map_err(|error| self.error("read", FileKind::OffsetIndex, error))?;
        let adopted = self.times.adopt(directory, index_bytes_max);
        adopted.map_err(|error| self.error("read", FileKind::TimeIndex, error))?;
        self.last_offset_entry()
    }

    /// The offset after the last one that the offset index names; the base where it names none or does not read.
    pub(crate) fn indexed_end(&self) -> Offset {
        let entry = self.last_offset_entry().ok().flatten();
        entry.map_or(self.base, |entry| entry.offset.at(self.base).next())
    }

    /// Whether the end of the time index can be right: entries in order, within offsets below `end`, and some at all
    /// where there are batches. Without that, a segment would count as older than it is.
    pub(crate) fn has_sound_times(&self, end: Offset, index_bytes: u64) -> bool {
        let opened = self.directory.open(&file_name(self.base, FileKind::TimeIndex), Create::No);
        let Ok(index) = opened.and_then(|file| end_of_index::<TimeEntry>(&*file, index_bytes)) else {
            return false;
        };
        let Some(last) = index.last() else { return self.bytes() == 0 || self.begins_without_time() };
        let before = index.len().checked_sub(2).and_then(|number| index.get(number));
        let follows =
            |before: TimeEntry| before.timestamp_ms < last.timestamp_ms && before.offset <= last.offset;
        last.timestamp_ms >= 0 && last.offset.at(self.base) < end && before.is_none_or(follows)
    }

    /// Whether its first batch has no timestamp: then none need stand in the time index. One header is read.
    fn begins_without_time(&self) -> bool {
        let first =
            self.walk(self.bytes(), ReadMode::MayBlock).and_then(|mut walk| walk.checked_header_at(0));
        matches!(first, Ok(Ok(Some(header))) if header.max_timestamp_ms() < 0)
    }

    /// Whether the end of the transaction index can be right, if there is one.
    pub(crate) fn has_sound_aborted(&self, end: Offset) -> Result<bool, LogError> {
        let sound = self.aborted.is_sound(&*self.directory, self.base, end);
        sound.map_err(|error| self.error("read", FileKind::TxnIndex, error))
    }

    /// The checksum of the transaction index; 0 where there is none.
    pub(crate) fn aborted_crc(&self) -> Result<u32, LogError> {
        let crc = self.aborted.crc(&*self.directory);
        crc.map_err(|error| self.error("read", FileKind::TxnIndex, error))
    }

    /// Whether a marker of an aborted transaction lies here.
    pub(crate) fn has_aborted(&self) -> bool {
        !self.aborted.is_empty()
    }

    /// Adds the aborted transactions whose marker lies here and of which a reader of `from` up to `end` may meet records;
    /// says whether no later segment need be asked.
    pub(crate) fn collect_aborted(
        &self,
        from: Offset,
        end: Offset,
        mode: ReadMode,
        found: &mut Vec<AbortedTransaction>,
    ) -> Result<bool, ReadFault> {
        match self.aborted.collect(&*self.directory, from, end, mode, found) {
            Ok(is_complete) => Ok(is_complete),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(ReadFault::WouldBlock),
            Err(error) => Err(self.error("read", FileKind::TxnIndex, error).into()),
        }
    }

    /// Enters the transaction of an aborting marker that lies in the segment already.
    pub(crate) fn enter_aborted(&self, entry: &AbortedTransaction) -> Result<(), LogError> {
        self.prepare_aborted(entry)?;
        self.aborted.count_next();
        Ok(())
    }

    fn prepare_aborted(&self, entry: &AbortedTransaction) -> Result<(), LogError> {
        let written = self.aborted.write_next(&*self.directory, entry);
        written.map_err(|error| self.error("write", FileKind::TxnIndex, error))
    }

    fn last_offset_entry(&self) -> Result<Option<OffsetEntry>, LogError> {
        match self.offsets.last(&*self.directory, ReadMode::MayBlock) {
            Ok(Look::Seen(last)) => Ok(last),
            Ok(Look::WouldBlock) => Ok(None),
            Err(error) => Err(self.error("read", FileKind::OffsetIndex, error)),
        }
    }

    /// Has the disk set so many bytes aside for the log file, beyond its size too, which stays.
    pub(crate) fn reserve(&self, position: u64, bytes: u64) -> Result<(), LogError> {
        let reserved = self.log_file().and_then(|file| file.reserve(position, bytes));
        reserved.map_err(|error| self.error("reserve room for", FileKind::Log, error))
    }

    /// Cuts the log file.
    pub(crate) fn cut_file(&self, bytes: u64) -> Result<(), LogError> {
        let cut = self.log_file().and_then(|file| file.set_bytes(bytes));
        cut.map_err(|error| self.error("truncate", FileKind::Log, error))
    }

    fn no_timestamp(&self) -> LargestTimestamp {
        LargestTimestamp { timestamp_ms: -1, offset: self.base }
    }

    /// Where the log file is, for messages.
    pub(crate) fn log_path(&self) -> PathBuf {
        self.directory.path().join(&self.log_name)
    }

    /// Before the segment leaves the log: whoever reads in it goes on with these very files, whatever becomes of their
    /// names. An index that nobody had mapped yet is no longer looked for.
    pub(crate) fn pin(&self) -> Result<(), LogError> {
        let file = self.log_file().map_err(|error| self.error("open", FileKind::Log, error))?;
        self.pinned.get_or_init(|| file);
        self.offsets.detach();
        self.times.detach();
        let pinned = self.aborted.pin(&*self.directory);
        pinned.map_err(|error| self.error("open", FileKind::TxnIndex, error))
    }

    /// What retention and compaction are told; the caller knows what comes after.
    pub(crate) fn info(&self, end: Offset, is_active: bool) -> Result<SegmentInfo, LogError> {
        // A look at the file opens none: retention comes by often.
        let modified_ms = match self.directory.stamp(&self.log_name) {
            Ok(Some(stamp)) if self.pinned.get().is_none() => Ok(stamp.modified_ms()),
            _ => self.log_file().and_then(|file| file.modified_ms()),
        };
        Ok(SegmentInfo {
            base: self.base,
            end,
            bytes: self.bytes(),
            largest_timestamp_ms: self.largest_timestamp()?.map(|largest| largest.timestamp_ms),
            modified_ms: modified_ms.map_err(|error| self.error("look at", FileKind::Log, error))?,
            is_active,
        })
    }

    /// Bytes of the offset index and of the time index.
    pub(crate) fn index_bytes(&self) -> Result<(u64, u64), LogError> {
        let offsets = self.offsets.bytes(&*self.directory);
        let offsets = offsets.map_err(|error| self.error("read", FileKind::OffsetIndex, error))?;
        let times = self.times.bytes(&*self.directory);
        Ok((offsets, times.map_err(|error| self.error("read", FileKind::TimeIndex, error))?))
    }

    fn log_file(&self) -> io::Result<Arc<dyn LogFile>> {
        if let Some(file) = self.pinned.get() {
            return Ok(Arc::clone(file));
        }
        let file = self.log.get_or(|| self.directory.open(&self.log_name, Create::No));
        // The segment may have left the log meanwhile, and the name be that of its successor.
        self.pinned.get().map_or(file, |pinned| Ok(Arc::clone(pinned)))
    }

    pub(crate) fn error(&self, action: &'static str, kind: FileKind, source: io::Error) -> LogError {
        LogError::Io { action, path: self.directory.path().join(file_name(self.base, kind)), source }
    }
}

/// The last entries of an index file of so many bytes: two of them where there are two and the file ends with one, or all.
fn end_of_index<E: Entry>(file: &dyn LogFile, bytes: u64) -> io::Result<SealedIndex<E>> {
    let mut end = vec![0; 2 * E::BYTES];
    let start = bytes.saturating_sub(end.len() as u64);
    let filled = disk::read_full(file, &mut end, start)?;
    end.truncate(filled);
    let index = SealedIndex::from_bytes(end);
    if start == 0 || index.len() == 2 { Ok(index) } else { disk::seal(file) }
}

/// Removes segments, the newest first and durably, so that a crash leaves a log without its end and never one with a
/// hole; says how many there were.
pub(crate) fn remove_newest_first<'a>(
    directory: &dyn Directory,
    segments: impl DoubleEndedIterator<Item = &'a Arc<Segment>>,
) -> Result<usize, LogError> {
    let mut removed = 0;
    for segment in segments.rev() {
        segment.remove()?;
        removed += 1;
    }
    if removed > 0 {
        let path = directory.path();
        directory.sync().map_err(|source| LogError::Io { action: "sync", path, source })?;
    }
    Ok(removed)
}
