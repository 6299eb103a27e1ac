//! Opening all logs of a directory at a start, in parallel. A log that cannot be opened is told and left as it is; it
//! does not keep the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ottla_model::{Offset, Uuid};

use super::clean_stop::CleanStop;
use super::name::FolderName;
use super::retired::RetiredFiles;
use super::{Entries, LogDir, LogDirError, TopicPartition, each_in_parallel, properties};
use crate::checkpoint;
use crate::disk_log::{DiskLog, LogMemo, LogOpening, Recovery};
use crate::log::{Log, LogConfig, LogError};

/// The log of the cluster's metadata, which its owner opens.
pub(super) const METADATA_FOLDER: &str = "__cluster_metadata-0";

/// What a load found.
#[derive(Debug)]
pub struct LoadReport {
    /// The last stop was an orderly one, so that no log was scanned.
    pub clean: bool,
    /// The logs, in order of their names.
    pub logs: Vec<LoadedLog>,
    /// The folders whose log could not be opened, and why. They are left as they are.
    pub failed: Vec<(String, LogError)>,
}

/// A log that was opened.
#[derive(Debug)]
pub struct LoadedLog {
    /// Its name.
    pub partition: TopicPartition,
    /// The topic's id from `partition.metadata`; none where that file is missing.
    pub topic_id: Option<Uuid>,
    /// The log.
    pub log: Arc<DiskLog>,
    /// As checkpointed, between log start and log end; the log start without an entry.
    pub high_watermark: Offset,
    /// What opening it did.
    pub recovery: Recovery,
}

/// The checkpoint files of a directory.
struct Checkpoints {
    recovery_points: HashMap<TopicPartition, Offset>,
    log_starts: HashMap<TopicPartition, Offset>,
    high_watermarks: HashMap<TopicPartition, Offset>,
}

impl LogDir {
    /// Takes the clean marker away and opens every log, on so many scoped threads. `config` gives each its settings.
    /// To be called once.
    ///
    /// # Errors
    /// Where the directory itself or a checkpoint file cannot be read; a single log's failure is in the report.
    pub fn load(
        &self,
        threads: usize,
        now_ms: i64,
        config: &(dyn Fn(&TopicPartition) -> LogConfig + Sync),
    ) -> Result<LoadReport, LogDirError> {
        let clean_stop = self.read_clean_stop();
        self.remove_clean_stop()?;
        properties::remove_clean_marker(&*self.directory)?;
        let checkpoints = self.read_checkpoints()?;
        self.cleaned.load(&*self.directory)?;
        let partitions = self.survey(now_ms)?;
        let is_gone = |partition: &TopicPartition| partitions.binary_search(partition).is_err();
        let has_stale_entries =
            checkpoints.recovery_points.keys().chain(checkpoints.log_starts.keys()).any(is_gone);
        self.has_stale_entries.store(has_stale_entries, Ordering::Release);
        let opened = each_in_parallel(&partitions, threads, |partition| {
            self.load_one(partition, &checkpoints, &clean_stop, config(partition), now_ms)
        });
        let mut report = LoadReport { clean: self.was_clean(), logs: Vec::new(), failed: Vec::new() };
        for (partition, opened) in partitions.into_iter().zip(opened) {
            match opened {
                Ok(loaded) => {
                    self.logs.lock().insert(partition, Arc::clone(&loaded.log));
                    report.logs.push(loaded);
                }
                Err(error) => {
                    let of = |map: &HashMap<_, _>| map.get(&partition).copied();
                    let entries = Entries {
                        recovery_point: of(&checkpoints.recovery_points).unwrap_or(Offset::ZERO),
                        log_start: of(&checkpoints.log_starts),
                        high_watermark: of(&checkpoints.high_watermarks),
                    };
                    self.unopened.lock().insert(partition.clone(), entries);
                    report.failed.push((partition.to_string(), error));
                }
            }
        }
        Ok(report)
    }

    fn read_checkpoints(&self) -> Result<Checkpoints, LogDirError> {
        let read = |name| checkpoint::read_offsets(&*self.directory, name).map(HashMap::from_iter);
        Ok(Checkpoints {
            recovery_points: read(checkpoint::RECOVERY_POINTS)?,
            log_starts: read(checkpoint::LOG_STARTS)?,
            high_watermarks: read(checkpoint::HIGH_WATERMARKS)?,
        })
    }

    /// The folders that are live logs. Those of deleted topics have had their time; copies on their way are noted.
    fn survey(&self, now_ms: i64) -> Result<Vec<TopicPartition>, LogDirError> {
        let entries = self.directory.list().map_err(|source| self.error("list", "", source))?;
        let mut partitions = Vec::new();
        for entry in entries.into_iter().filter(|entry| entry.is_folder && entry.name != METADATA_FOLDER) {
            match FolderName::parse(&entry.name) {
                FolderName::Log(partition) => partitions.push(partition),
                FolderName::Deleted => self.add_retired(RetiredFiles::Folder(entry.name), now_ms),
                FolderName::Future(partition) => self.futures.lock().push((partition, entry.name)),
                FolderName::Stray | FolderName::Other => {
                    tracing::info!(folder = entry.name, "a folder in a log directory is left alone");
                }
            }
        }
        partitions.sort_unstable();
        Ok(partitions)
    }

    fn load_one(
        &self,
        partition: &TopicPartition,
        checkpoints: &Checkpoints,
        clean_stop: &CleanStop,
        config: LogConfig,
        now_ms: i64,
    ) -> Result<LoadedLog, LogError> {
        let folder = partition.to_string();
        let directory = self.directory.folder(&folder);
        let of = |map: &HashMap<_, _>| map.get(partition).copied().unwrap_or(Offset::ZERO);
        let opening = LogOpening {
            directory,
            config,
            is_clean: self.was_clean(),
            log_start: of(&checkpoints.log_starts).max(Offset::ZERO),
            recovery_point: of(&checkpoints.recovery_points).max(Offset::ZERO),
            now_ms,
        };
        let remembered = match clean_stop.take(&folder) {
            Some(memo) if is_believed(&memo, &opening)? => Some(memo),
            _ => None,
        };
        let (topic_id, log, recovery) = match remembered {
            Some(memo) => {
                let topic_id = memo.topic_id;
                let log = DiskLog::remembered(opening, Arc::clone(&self.shared), memo);
                (topic_id, log, Recovery::default())
            }
            None => {
                let topic_id = properties::read_partition_metadata(&*opening.directory)?;
                let (log, recovery) = DiskLog::open_shared(opening, Arc::clone(&self.shared))?;
                (topic_id, log, recovery)
            }
        };
        let positions = log.positions();
        let checkpointed = of(&checkpoints.high_watermarks);
        if checkpointed > positions.log_end.offset && recovery.missing_below.is_none() {
            tracing::warn!(
                %partition, end = positions.log_end.offset.get(), high_watermark = checkpointed.get(),
                "a log ends before its high watermark"
            );
        }
        let high_watermark = checkpointed.clamp(positions.log_start, positions.log_end.offset);
        Ok(LoadedLog { partition: partition.clone(), topic_id, log: Arc::new(log), high_watermark, recovery })
    }
}

/// Whether a log is what is remembered of it, and no checkpoint says otherwise.
fn is_believed(memo: &LogMemo, opening: &LogOpening) -> Result<bool, LogError> {
    let is_within = opening.log_start <= memo.log_end && opening.recovery_point <= memo.log_end;
    Ok(opening.is_clean && is_within && memo.holds(&*opening.directory)?)
}
