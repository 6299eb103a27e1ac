//! The segments that a compaction writes, under names that end in `.cleaned`: log, indexes and the index of aborted
//! transactions, made durable before anybody hears of them. Which batches go in is decided elsewhere.

use std::io;
use std::sync::Arc;

use ottla_index::{ActiveIndex, OffsetEntry, RelativeOffset, TimeEntry};
use ottla_model::Offset;
use ottla_model::batch::BatchHeader;

use crate::io::{self as disk, Create, Directory, LogFile};
use crate::log::{AbortedTransaction, LogConfig, LogError};
use crate::segment::LargestTimestamp;
use crate::segment::append::TailState;
use crate::segment::name::{FileKind, SEGMENT_KINDS, Stage, file_name, staged};
use crate::segment::stored::StoredHeader;

/// Positions in an index are numbers of 32 bits, of which Kafka uses those without a sign.
const LOG_BYTES_MAX: u64 = i32::MAX as u64;

/// The segments that take the place of a group. Dropped before they did, they leave no file.
#[derive(Debug)]
pub(crate) struct Output {
    directory: Arc<dyn Directory>,
    index_interval_bytes: u32,
    segment_index_bytes: u32,
    /// How much is gathered before it is written.
    buffer_bytes: usize,
    finished: Vec<NewSegment>,
    growing: Option<Growing>,
    written_bytes: u64,
    is_taken: bool,
}

/// A segment whose files are durable under names that end in `.cleaned`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewSegment {
    pub(crate) base: Offset,
    pub(crate) bytes: u64,
    pub(crate) txn_index_bytes: u64,
    pub(crate) largest: Option<LargestTimestamp>,
    /// The kinds of files that there are.
    pub(crate) kinds: Vec<FileKind>,
}

#[derive(Debug)]
struct Growing {
    base: Offset,
    log: Arc<dyn LogFile>,
    state: TailState,
    offsets: ActiveIndex<OffsetEntry>,
    times: ActiveIndex<TimeEntry>,
    aborted: Vec<AbortedTransaction>,
    /// What is not yet in the file, which ends where it begins.
    buffer: Vec<u8>,
    file_bytes: u64,
}

impl Output {
    /// Begins a segment at this base.
    pub(crate) fn begin(
        directory: &Arc<dyn Directory>,
        base: Offset,
        config: &LogConfig,
        buffer_bytes: usize,
    ) -> Result<Self, LogError> {
        let mut output = Self {
            directory: Arc::clone(directory),
            index_interval_bytes: config.index_interval_bytes,
            segment_index_bytes: config.segment_index_bytes,
            buffer_bytes,
            finished: Vec::new(),
            growing: None,
            written_bytes: 0,
            is_taken: false,
        };
        output.start(base)?;
        Ok(output)
    }

    /// Adds a batch after those before. Where a segment could not name its offset or its place, another one begins.
    pub(crate) fn push(&mut self, header: &BatchHeader, parts: &[&[u8]]) -> Result<(), LogError> {
        if self.growing.as_ref().is_none_or(|growing| !growing.takes(header)) {
            self.finish_growing()?;
            self.start(header.base_offset())?;
        }
        let growing = self.growing.as_mut().expect("a segment was begun");
        growing.note(header, self.index_interval_bytes);
        for part in parts {
            growing.buffer.extend_from_slice(part);
        }
        if growing.buffer.len() >= self.buffer_bytes {
            self.written_bytes += growing.write(&*self.directory)?;
        }
        Ok(())
    }

    /// Adds an entry to the index of aborted transactions.
    pub(crate) fn push_aborted(&mut self, transaction: AbortedTransaction) {
        if let Some(growing) = &mut self.growing {
            growing.aborted.push(transaction);
        }
    }

    /// Bytes that went to the disk since this was last asked.
    pub(crate) fn take_written(&mut self) -> u64 {
        std::mem::take(&mut self.written_bytes)
    }

    /// Makes everything durable, with this as the time of its last change.
    pub(crate) fn finish(&mut self, modified_ms: i64) -> Result<&[NewSegment], LogError> {
        self.finish_growing()?;
        for segment in &self.finished {
            for kind in &segment.kinds {
                let file = self.open(segment.base, *kind, Create::No)?;
                if *kind == FileKind::Log {
                    let set = file.set_modified_ms(modified_ms);
                    set.map_err(|source| self.error("date", segment.base, *kind, source))?;
                }
                file.sync().map_err(|source| self.error("sync", segment.base, *kind, source))?;
            }
        }
        Ok(&self.finished)
    }

    /// The files are somebody else's from now on.
    pub(crate) fn hand_over(mut self) {
        self.is_taken = true;
    }

    fn start(&mut self, base: Offset) -> Result<(), LogError> {
        let log = self.open(base, FileKind::Log, Create::Empty)?;
        self.growing = Some(Growing {
            base,
            log,
            state: TailState::default(),
            offsets: ActiveIndex::new(self.segment_index_bytes),
            times: ActiveIndex::new(self.segment_index_bytes),
            aborted: Vec::new(),
            buffer: Vec::new(),
            file_bytes: 0,
        });
        Ok(())
    }

    fn finish_growing(&mut self) -> Result<(), LogError> {
        let Some(mut growing) = self.growing.take() else { return Ok(()) };
        growing.enter_largest_timestamp();
        let mut indexes = vec![
            (FileKind::OffsetIndex, growing.offsets.bytes_from(0).to_vec()),
            (FileKind::TimeIndex, growing.times.bytes_from(0).to_vec()),
        ];
        if !growing.aborted.is_empty() {
            indexes.push((
                FileKind::TxnIndex,
                growing.aborted.iter().flat_map(AbortedTransaction::to_bytes).collect(),
            ));
        }
        let kinds = indexes.iter().map(|(kind, _)| *kind);
        let base = growing.base;
        // Known before anything can fail, so that its files go then.
        self.finished.push(NewSegment {
            base,
            bytes: growing.state.bytes,
            txn_index_bytes: (growing.aborted.len() * AbortedTransaction::BYTES) as u64,
            largest: growing.state.largest,
            kinds: [FileKind::Log].into_iter().chain(kinds).collect(),
        });
        self.written_bytes += growing.write(&*self.directory)?;
        for (kind, bytes) in indexes {
            let file = self.open(base, kind, Create::Empty)?;
            let written = file.write_at(&[&bytes], 0);
            written.map_err(|source| self.error("write", base, kind, source))?;
            self.written_bytes += bytes.len() as u64;
        }
        Ok(())
    }

    fn open(&self, base: Offset, kind: FileKind, create: Create) -> Result<Arc<dyn LogFile>, LogError> {
        let opened = self.directory.open(&cleaned_name(base, kind), create);
        opened.map_err(|source| self.error("open", base, kind, source))
    }

    fn error(&self, action: &'static str, base: Offset, kind: FileKind, source: io::Error) -> LogError {
        LogError::Io { action, path: self.directory.path().join(cleaned_name(base, kind)), source }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.is_taken {
            return;
        }
        let bases = self.finished.iter().map(|segment| segment.base);
        for base in bases.chain(self.growing.iter().map(|growing| growing.base)) {
            for kind in SEGMENT_KINDS {
                // What stays is removed by the next start.
                let _ = disk::remove_if_there(&*self.directory, &cleaned_name(base, kind));
            }
        }
    }
}

impl Growing {
    fn takes(&self, header: &BatchHeader) -> bool {
        let is_full = self.state.bytes + header.size() as u64 > LOG_BYTES_MAX
            || self.offsets.is_full()
            || self.times.is_full();
        RelativeOffset::of(header.last_offset(), self.base).is_some() && (self.state.bytes == 0 || !is_full)
    }

    /// Counts a batch that comes next, and enters it into the indexes where that is due, as an append does.
    fn note(&mut self, header: &BatchHeader, index_interval_bytes: u32) {
        let before = self.state;
        self.state.add(&StoredHeader::Batch(*header));
        if before.bytes_since_entry > u64::from(index_interval_bytes) {
            let offset = RelativeOffset::of(header.last_offset(), self.base);
            if let (Some(offset), Ok(position)) = (offset, u32::try_from(before.bytes)) {
                let entered = self.offsets.push(OffsetEntry { offset, position });
                debug_assert_eq!(entered, Ok(()), "offsets go up in a log");
                self.enter_largest_timestamp();
            }
            self.state.bytes_since_entry = header.size() as u64;
        }
    }

    fn enter_largest_timestamp(&mut self) {
        let Some(largest) = self.state.largest else { return };
        let Some(offset) = RelativeOffset::of(largest.offset, self.base) else { return };
        let entered = self.times.push_if_later(largest.timestamp_ms, offset);
        debug_assert!(entered.is_ok(), "the largest timestamp never goes down");
    }

    fn write(&mut self, directory: &dyn Directory) -> Result<u64, LogError> {
        let bytes = self.buffer.len() as u64;
        if bytes > 0 {
            let written = self.log.write_at(&[&self.buffer], self.file_bytes);
            written.map_err(|source| LogError::Io {
                action: "write",
                path: directory.path().join(cleaned_name(self.base, FileKind::Log)),
                source,
            })?;
            self.file_bytes += bytes;
            self.buffer.clear();
        }
        Ok(bytes)
    }
}

/// The name of a file that a compaction is writing.
pub(crate) fn cleaned_name(base: Offset, kind: FileKind) -> String {
    staged(&file_name(base, kind), Stage::Cleaned)
}
