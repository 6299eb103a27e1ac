//! Kafka's logs on disk: segments, indexes, producer state, leader epochs, recovery, and the directories that hold them.
//! Synchronous; it starts no thread of its own (scoped ones for the length of a load or a close aside), knows no error
//! code of the protocol, and is given the time.
//!
//! Lock order: a [`LogDir`]'s list of logs is never held while a log is used. Within a log: `disk_log/mod.rs`.

mod checkpoint;
pub mod compaction;
#[cfg(feature = "test-util")]
pub mod conformance;
mod disk_log;
mod epoch_cache;
pub mod io;
mod log;
mod log_dir;
mod log_dirs;
#[cfg(feature = "test-util")]
mod memory_log;
mod pool;
mod producer_state;
pub mod retention;
mod segment;
mod segments;

pub use disk_log::{Cut, DiskLog, Hole, InnerDamage, Inspection, LogOpening, Recovery, RemovedFiles};
pub use log::{
    AbortedTransaction, AppendInfo, CommittedRead, Damage, EpochEnd, FollowerAppend, Log, LogConfig,
    LogError, LogPosition, LogPositions, MarkerRule, ProducerInfo, ReadEnd, ReadMode, ReadOutcome,
    ReadRequest, ReadSlice, SegmentInfo, SliceSource, TimestampedOffset,
};
pub use log_dir::{
    Deleted, DirectoryFailure, LoadReport, LoadedLog, LogDir, LogDirError, MetaProperties, OPEN_FILES_MAX,
    RetainedLog, RetentionReport, TopicPartition, VolumeSpace, is_locked,
};
pub use log_dirs::{LogDirs, LogDirsReport, LogMove, MoveProgress, UnusableDir};
#[cfg(feature = "test-util")]
pub use memory_log::MemoryLog;
