//! What came into a partition and what was read of it. Moved by whoever appends or reads, a batch or an answer at a time;
//! each of them has just taken the partition's lock, so nobody waits for these.

use ottla_model::Offset;

use crate::metrics::Counter;

/// One partition's counters, since its log was opened. How many records came its positions tell: offsets have no gaps
/// where a leader appends.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// Where the log ended when it was opened.
    pub(crate) opened_end: Offset,
    /// Appends that failed.
    pub(crate) appends_failed: Counter,
    /// Batches and bytes that were appended.
    pub(crate) batches_in: Counter,
    pub(crate) bytes_in: Counter,
    /// Answers to fetches that bore records of it or said that there are none.
    pub(crate) fetches: Counter,
    /// Fetches that were refused.
    pub(crate) fetches_failed: Counter,
    /// Bytes of records in answers.
    pub(crate) bytes_out: Counter,
}

impl Traffic {
    /// Of a log that ends here.
    pub(crate) const fn since(opened_end: Offset) -> Self {
        Self {
            opened_end,
            appends_failed: Counter::new(),
            batches_in: Counter::new(),
            bytes_in: Counter::new(),
            fetches: Counter::new(),
            fetches_failed: Counter::new(),
            bytes_out: Counter::new(),
        }
    }
}
