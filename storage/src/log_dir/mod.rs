//! One log directory: its lock, its identity, the logs in it, their checkpoint files, and how it starts and stops. It
//! decides nothing about topics: which partitions there should be, its caller knows.
//!
//! Life of a directory: [`LogDir::open`] (makes and locks it) → [`LogDir::properties`] / [`LogDir::write_properties`] →
//! [`LogDir::load`] (takes the clean marker away, opens all logs in parallel) → create, remove, checkpoint →
//! [`LogDir::close`] (closes all logs, writes checkpoints and the clean marker).

/// A partition's name, as its folder has it: `orders-0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic.
    pub topic: TopicName,
    /// The partition's number.
    pub partition: PartitionIndex,
}

impl LogDir {
    /// Makes the directory if it is missing, and locks it against every other process, ours or Apache Kafka's.
    pub fn open(path: &Path) -> Result<Self, LogDirError>;
    pub fn path(&self) -> &Path;
    /// Whether nothing was ever stored here (`lost+found` and the lock file aside).
    pub fn is_empty(&self) -> Result<bool, LogDirError>;
    /// `meta.properties`, or none where there is no such file.
    pub fn properties(&self) -> Result<Option<MetaProperties>, LogDirError>;
    pub fn write_properties(&self, properties: &MetaProperties) -> Result<(), LogDirError>;
    /// Opens every partition's log (all but `__cluster_metadata-0`), on `threads` scoped threads. Once only.
    pub fn load(&self, threads: usize, now_ms: i64, config: &(dyn Fn(&TopicPartition) -> LogConfig + Sync)) -> Result<LoadReport, LogDirError>;
    /// Makes a partition's folder with `partition.metadata`, durable, and its empty log.
    pub fn create_log(&self, partition: &TopicPartition, topic_id: Uuid, config: LogConfig, now_ms: i64) -> Result<Arc<DiskLog>, LogDirError>;
    /// Opens or makes a log that is no topic's (`__cluster_metadata-0`); the caller closes it.
    pub fn open_internal(&self, folder: &str, config: LogConfig, now_ms: i64) -> Result<(DiskLog, Recovery), LogDirError>;
    pub fn log(&self, partition: &TopicPartition) -> Option<Arc<DiskLog>>;
    /// Takes a log away: its folder gets a `-delete` name at once; the files go with `purge_removed`.
    pub fn remove_log(&self, partition: &TopicPartition) -> Result<(), LogDirError>;
    /// Folder gets a `-stray` name.
    pub fn set_aside(&self, partition: &TopicPartition) -> Result<(), LogDirError>;
    /// Deletes the files of folders that were removed (also by earlier runs).
    pub fn purge_removed(&self) -> Result<usize, LogDirError>;
    /// Writes `recovery-point-offset-checkpoint` and `log-start-offset-checkpoint`.
    pub fn checkpoint(&self) -> Result<(), LogDirError>;
    /// Writes `replication-offset-checkpoint`.
    pub fn checkpoint_high_watermarks(&self, marks: &[(TopicPartition, Offset)]) -> Result<(), LogDirError>;
    /// Why the directory takes no more writes.
    pub fn failure(&self) -> Option<Arc<DirectoryFailure>>;
    /// Closes every log, writes checkpoints and the clean marker.
    pub fn close(&self, broker_epoch: i64, now_ms: i64) -> Result<(), LogDirError>;
}

/// What a load found.
pub struct LoadReport {
    /// The last stop was a clean one.
    pub clean: bool,
    pub logs: Vec<LoadedLog>,
    pub failed: Vec<(String, LogError)>,
}

pub struct LoadedLog {
    pub partition: TopicPartition,
    /// From `partition.metadata`; none where that file is missing.
    pub topic_id: Option<Uuid>,
    pub log: Arc<DiskLog>,
    /// From `replication-offset-checkpoint`, within log start and log end.
    pub high_watermark: Offset,
    pub recovery: Recovery,
}

pub struct Recovery {
    pub scanned_segments: usize,
    pub scanned_bytes: u64,
    /// Set where bytes were cut off.
    pub cut: Vec<Cut>,
}

pub struct Cut { pub file: PathBuf, pub position: u64, pub damage: Damage, pub bytes: u64, pub segments_deleted: usize }

pub struct MetaProperties { pub cluster_id: String, pub node_id: NodeId, pub directory_id: Option<Uuid> }
