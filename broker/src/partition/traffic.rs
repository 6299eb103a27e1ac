//! What came into a partition and what was read of it. Moved by whoever appends or reads, a batch or an answer at a time;
//! each of them has just taken the partition's lock, so nobody waits for these.

use crate::metrics::Counter;

/// One partition's counters, since its log was opened.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// Appends that were tried.
    pub(crate) appends: Counter,
    /// Those of them that failed.
    pub(crate) appends_failed: Counter,
    /// Batches, records and bytes that were appended. Records are what their offsets tell.
    pub(crate) batches_in: Counter,
    pub(crate) records_in: Counter,
    pub(crate) bytes_in: Counter,
    /// Answers to fetches that bore records of it or said that there are none.
    pub(crate) fetches: Counter,
    /// Fetches that were refused.
    pub(crate) fetches_failed: Counter,
    /// Bytes of records in answers.
    pub(crate) bytes_out: Counter,
}
