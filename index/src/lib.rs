//! Kafka's index files as values: entries, searching, the growing index of an active segment and the fixed one of a
//! sealed segment, the list of aborted transactions. It opens no file, writes none, and knows nothing of logs: storage hands
//! it bytes, an open file, or a function that reads.

mod active;
mod entry;
mod error;
mod mmap;
mod sealed;
mod search;
mod txn_index;

pub use active::ActiveIndex;
pub use entry::{Entry, OffsetEntry, RelativeOffset, TimeEntry};
pub use error::IndexError;
pub use sealed::SealedIndex;
pub use txn_index::{AbortedTransaction, TxnIndex};
