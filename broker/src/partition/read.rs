//! The fetch walk's last step above the log: epoch fence, divergence, the bound that the reader may see up to, and the
//! read itself. Copies no record; waits for nothing.

use std::sync::Arc;

use ottla_model::{LeaderEpoch, Offset};
use ottla_storage::{
    AbortedTransaction, CommittedRead, EpochEnd, LogError, ReadEnd, ReadMode, ReadOutcome, ReadRequest,
    ReadSlice,
};

use super::{Partition, PartitionError, Positions};

/// How far a reader may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// Up to the high watermark.
    ReadUncommitted,
    /// Up to the last stable offset.
    ReadCommitted,
}

impl Isolation {
    /// The bound at these positions.
    pub(crate) const fn end(self, positions: &Positions) -> Offset {
        match self {
            Self::ReadUncommitted => positions.high_watermark,
            Self::ReadCommitted => positions.last_stable,
        }
    }
}

/// A number that no isolation level has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownIsolation;

impl TryFrom<i8> for Isolation {
    type Error = UnknownIsolation;

    fn try_from(level: i8) -> Result<Self, UnknownIsolation> {
        match level {
            0 => Ok(Self::ReadUncommitted),
            1 => Ok(Self::ReadCommitted),
            _ => Err(UnknownIsolation),
        }
    }
}

/// What a fetch wants of one partition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FetchFrom {
    pub(crate) offset: Offset,
    /// The epoch that the fetcher takes for the current one; −1 for none.
    pub(crate) current_epoch: LeaderEpoch,
    /// The epoch of the last record that the fetcher has; −1 for none.
    pub(crate) last_epoch: LeaderEpoch,
    pub(crate) max_bytes: u64,
}

/// What a fetch got of one partition.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) positions: Positions,
    pub(crate) records: Option<ReadSlice>,
    /// The transactions whose records a reader of committed ones has to leave out.
    pub(crate) aborted: Vec<AbortedTransaction>,
    /// Set where the fetcher's log and ours part: it has to cut there.
    pub(crate) diverging: Option<EpochEnd>,
}

/// What a read came to.
#[derive(Debug)]
pub(crate) enum ReadResult {
    /// An answer.
    Fetched(Fetched),
    /// The bytes are not in memory: read again where one may wait.
    WouldBlock,
}

impl Partition {
    /// Whether an append finds its log open: a start leaves logs closed.
    pub(crate) fn is_ready(&self) -> bool {
        self.place().log.is_ready()
    }

    /// Opens the log if the start left it closed. Waits for the disk: whoever is on a reactor, or holds a lock, has it done
    /// before on a thread that may wait. A read need not ask; it is told to come again from such a thread.
    pub(crate) fn ready(&self) -> Result<(), PartitionError> {
        let log = Arc::clone(&self.place().log);
        log.ready().map_err(PartitionError::from).inspect_err(|error| self.tell_read_error(error))
    }

    /// Reads what `from` asks for, at most `max_bytes` (the partition's own limit already applied), or one whole batch
    /// however large with `at_least_one_batch`.
    pub(crate) fn read(
        &self,
        from: &FetchFrom,
        isolation: Isolation,
        max_bytes: u64,
        at_least_one_batch: bool,
        mode: ReadMode,
    ) -> Result<ReadResult, PartitionError> {
        let read = self.read_log(from, isolation, max_bytes, at_least_one_batch, mode);
        read.inspect_err(|error| self.tell_read_error(error))
    }

    /// What is the disk's fault, not the request's, is told in the log too: the client gets no more than a code.
    fn tell_read_error(&self, error: &PartitionError) {
        use LogError::{Damaged, DirectoryFailed, Io};
        if matches!(error, PartitionError::Log(Io { .. } | Damaged { .. } | DirectoryFailed(_))) {
            let place = self.place();
            place.flush.errors.of_read(&place.directory.path(), &self.name, error);
        }
    }

    fn read_log(
        &self,
        from: &FetchFrom,
        isolation: Isolation,
        max_bytes: u64,
        at_least_one_batch: bool,
        mode: ReadMode,
    ) -> Result<ReadResult, PartitionError> {
        self.check_leader(from.current_epoch)?;
        let positions = self.positions();
        if let Some(diverging) = self.divergence(from, &positions)? {
            let aborted = Vec::new();
            let fetched = Fetched { positions, records: None, aborted, diverging: Some(diverging) };
            return Ok(ReadResult::Fetched(fetched));
        }
        let request = ReadRequest {
            from: from.offset,
            max_bytes,
            end: ReadEnd::Before(isolation.end(&positions)),
            at_least_one_batch,
            mode,
        };
        if from.offset < positions.log_start {
            let Positions { log_start: start, log_end: end, .. } = positions;
            return Err(LogError::OffsetOutOfRange { wanted: from.offset, start, end }.into());
        }
        let place = self.place();
        let CommittedRead { outcome, aborted } = match isolation {
            Isolation::ReadUncommitted => {
                CommittedRead { outcome: place.log.read(&request)?, aborted: Vec::new() }
            }
            Isolation::ReadCommitted => place.log.read_committed(&request)?,
        };
        let records = match outcome {
            ReadOutcome::WouldBlock => return Ok(ReadResult::WouldBlock),
            ReadOutcome::Empty => None,
            ReadOutcome::Found(slice) => Some(slice),
        };
        Ok(ReadResult::Fetched(Fetched { positions, records, aborted, diverging: None }))
    }

    /// Where the fetcher's log parts from ours, if the epoch of its last record says so (KIP-595).
    fn divergence(
        &self,
        from: &FetchFrom,
        positions: &Positions,
    ) -> Result<Option<EpochEnd>, PartitionError> {
        if from.last_epoch == LeaderEpoch::UNKNOWN {
            return Ok(None);
        }
        let Some(end) = self.place().log.end_offset_for_epoch(from.last_epoch) else {
            let Positions { log_start: start, log_end: end, .. } = *positions;
            return Err(LogError::OffsetOutOfRange { wanted: from.offset, start, end }.into());
        };
        let parted = end.epoch < from.last_epoch || end.end_offset < from.offset;
        Ok(parted.then_some(end))
    }
}
