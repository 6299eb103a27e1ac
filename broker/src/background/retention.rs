//! What is too old, or too much, leaves the logs (`cleanup.policy=delete`), and so does what DeleteRecords took away. What
//! that is, storage decides.

use std::collections::HashSet;
use std::time::Duration;

use ottla_model::Offset;
use ottla_storage::{LogDir, RetainedLog, TopicPartition};
use parking_lot::Mutex;

use crate::context::Broker;
use crate::partition_map::PartitionMap;
use ottla_network::RepeatsBy;

/// The shortest time between two events about one failure.
const FAILURES_PAUSE: Duration = Duration::from_secs(600);

/// What retention has let go since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionState {
    /// Looks at all logs.
    pub passes: u64,
    /// Segments that left their log.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Logs, and directories, that could not be dealt with.
    pub failures: u64,
}

/// What is remembered from pass to pass.
#[derive(Debug)]
pub(super) struct Retention {
    /// Segments that are kept by a timestamp in the future, which is told once.
    told: HashSet<(TopicPartition, Offset)>,
    /// What failed and fails again at the next pass.
    failures: RepeatsBy<String>,
}

impl Default for Retention {
    fn default() -> Self {
        Self { told: HashSet::new(), failures: RepeatsBy::every(FAILURES_PAUSE) }
    }
}

impl Retention {
    /// Looks at every log. Waits for disks.
    pub(super) fn pass(&mut self, broker: &Broker, state: &Mutex<RetentionState>) {
        for held in broker.log_dirs.iter() {
            // A directory that is offline keeps what it has.
            if held.dir.failure().is_none() {
                self.pass_directory(broker, &held.dir, state);
            }
        }
        state.lock().passes += 1;
    }

    fn pass_directory(&mut self, broker: &Broker, dir: &LogDir, state: &Mutex<RetentionState>) {
        let bound = |name: &TopicPartition| high_watermark(&broker.partitions, name);
        let report = match dir.apply_retention(&|name, _| bound(name), broker.clock.now_ms()) {
            Ok(report) => report,
            Err(error) => {
                state.lock().failures += 1;
                let path = dir.path().display().to_string();
                if let Some(left_out) = self.failures.due(path.clone()) {
                    tracing::error!(
                        directory = path,
                        %error,
                        left_out,
                        "retention failed for a directory and is tried again at its next pass: look at the disk"
                    );
                }
                return;
            }
        };
        for (partition, error) in &report.failed {
            state.lock().failures += 1;
            if let Some(left_out) = self.failures.due(partition.to_string()) {
                tracing::error!(
                    %partition,
                    %error,
                    left_out,
                    "retention failed for a partition and is tried again at its next pass: look at the disk"
                );
            }
        }
        for retained in report.logs {
            self.retained(broker, &retained, state);
        }
    }

    fn retained(&mut self, broker: &Broker, retained: &RetainedLog, state: &Mutex<RetentionState>) {
        let RetainedLog { partition: name, plan, bytes } = retained;
        if let Some(future) = plan.future
            && self.told.insert((name.clone(), future.base))
        {
            tracing::warn!(
                partition = %name,
                segment = %future.base,
                timestamp_ms = future.timestamp_ms,
                "a record is dated in the future: its segment and all after it are kept until retention.ms after that"
            );
        }
        let Some(end) = plan.end else { return };
        let held = broker.partitions.topic(&name.topic);
        if let Some(partition) = held.as_ref().and_then(|held| held.partition(name.partition)) {
            partition.log_start_moved();
        }
        let segments = plan.segments();
        tracing::info!(
            partition = %name,
            segments,
            bytes,
            log_start = %end,
            below_start = plan.by_start,
            too_large = plan.by_size,
            too_old = plan.by_time,
            "old segments left the log"
        );
        let mut state = state.lock();
        state.segments += segments as u64;
        state.bytes += bytes;
    }
}

/// How far records of a partition may go: none above its high watermark, none of a partition that is not held.
fn high_watermark(partitions: &PartitionMap, name: &TopicPartition) -> Option<Offset> {
    let held = partitions.topic(&name.topic)?;
    Some(held.partition(name.partition)?.positions().high_watermark)
}
