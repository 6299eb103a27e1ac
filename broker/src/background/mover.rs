//! Moves partitions from one log directory to another while they serve (KIP-113), one at a time, no faster than
//! `replica.alter.log.dirs.io.max.bytes.per.second` allows. How a log is copied is storage's affair.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ottla_cluster::ConfigResource;
use ottla_storage::compaction::Throttle;
use ottla_storage::{LogDir, LogDirError, LogMove, MoveProgress, TopicPartition};
use parking_lot::{Condvar, Mutex};

use crate::assignments;
use crate::context::Broker;
use crate::log_dirs::HeldDir;
use crate::partition::{Partition, Place};

/// What limits the copying, a dynamic property of Kafka's.
const THROTTLE: &str = "replica.alter.log.dirs.io.max.bytes.per.second";
/// What is copied between two looks at whether it is still wanted.
const STEP_BYTES: u64 = 1 << 20;
/// The same where little may be copied in a second.
const STEP_BYTES_MIN: u64 = 1 << 10;
/// So little is copied while the partition takes no writes.
const REST_BYTES_MAX: u64 = 256 << 10;
/// A log that grows as fast as it is copied is ended after so many steps of which none brought it nearer.
const STEPS_IN_VAIN_MAX: u32 = 20;
/// A move that failed is tried again after so long.
const RETRY: Duration = Duration::from_secs(60);

/// A partition that is to be elsewhere.
struct Wanted {
    target: Arc<LogDir>,
    progress: Option<MoveProgress>,
    /// Not before this time: the last attempt failed.
    not_before: Option<Instant>,
}

/// A partition on its way, as it is described to others.
#[derive(Debug, Clone)]
pub(crate) struct Moving {
    pub(crate) partition: TopicPartition,
    pub(crate) target: Arc<LogDir>,
    /// None before it has begun.
    pub(crate) progress: Option<MoveProgress>,
}

/// What is to be moved.
#[derive(Default)]
pub(crate) struct Mover {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    wanted: BTreeMap<TopicPartition, Wanted>,
    stopping: bool,
}

/// Why a move did not come to its end.
enum Ended {
    /// It is no longer wanted, or it is time to stop.
    Unwanted,
    Failed(LogDirError),
}

impl From<LogDirError> for Ended {
    fn from(error: LogDirError) -> Self {
        Self::Failed(error)
    }
}

impl Mover {
    /// The partition is to be in this directory. One that is there already is not moved, and no longer to another.
    pub(crate) fn request(&self, partition: &Partition, target: &Arc<LogDir>) {
        let mut state = self.state.lock();
        if Arc::ptr_eq(&partition.directory(), target) {
            state.wanted.remove(partition.name());
        } else {
            let known = state.wanted.get(partition.name());
            if known.is_none_or(|known| !Arc::ptr_eq(&known.target, target)) {
                let wanted = Wanted { target: Arc::clone(target), progress: None, not_before: None };
                state.wanted.insert(partition.name().clone(), wanted);
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// A move that the last stop interrupted goes on.
    pub(crate) fn resume(&self, partition: TopicPartition, target: Arc<LogDir>) {
        tracing::info!(%partition, directory = %target.path().display(), "a move goes on that a stop had interrupted");
        let wanted = Wanted { target, progress: None, not_before: None };
        self.state.lock().wanted.insert(partition, wanted);
    }

    /// The partition is gone.
    pub(crate) fn forget(&self, partition: &TopicPartition) {
        if self.state.lock().wanted.remove(partition).is_some() {
            self.changed.notify_all();
        }
    }

    /// Everything that is to be moved, by partition.
    pub(crate) fn moving(&self) -> Vec<Moving> {
        let state = self.state.lock();
        let moving = |(partition, wanted): (&TopicPartition, &Wanted)| Moving {
            partition: partition.clone(),
            target: Arc::clone(&wanted.target),
            progress: wanted.progress,
        };
        state.wanted.iter().map(moving).collect()
    }

    pub(crate) fn stop(&self) {
        self.state.lock().stopping = true;
        self.changed.notify_all();
    }

    /// What the thread does until it is stopped or the broker is gone.
    pub(crate) fn run(&self, broker: &Weak<Broker>) {
        while let Some((name, target)) = self.next() {
            let Some(broker) = broker.upgrade() else { return };
            let ended = self.bring(&broker, &name, &target);
            let mut state = self.state.lock();
            let same = state.wanted.get_mut(&name).filter(|wanted| Arc::ptr_eq(&wanted.target, &target));
            match (ended, same) {
                (Ok(()), Some(_)) => {
                    state.wanted.remove(&name);
                }
                (Err(Ended::Failed(error)), Some(wanted)) => {
                    tracing::error!(partition = %name, %error, "a move to another log directory failed; it is tried again");
                    wanted.progress = None;
                    wanted.not_before = Instant::now().checked_add(RETRY);
                }
                _ => {}
            }
        }
    }

    /// Waits for something to move; none when it is time to stop.
    fn next(&self) -> Option<(TopicPartition, Arc<LogDir>)> {
        let mut state = self.state.lock();
        loop {
            if state.stopping {
                return None;
            }
            let now = Instant::now();
            let due = |wanted: &Wanted| wanted.not_before.is_none_or(|time| time <= now);
            if let Some((name, wanted)) = state.wanted.iter().find(|(_, wanted)| due(wanted)) {
                return Some((name.clone(), Arc::clone(&wanted.target)));
            }
            match state.wanted.values().filter_map(|wanted| wanted.not_before).min() {
                Some(time) => {
                    self.changed.wait_until(&mut state, time);
                }
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// Moves one partition, from begin to end.
    fn bring(&self, broker: &Broker, name: &TopicPartition, target: &Arc<LogDir>) -> Result<(), Ended> {
        let topic = broker.partitions.topic(&name.topic);
        let partition = topic.as_ref().and_then(|topic| topic.partition(name.partition)).cloned();
        let (Some(partition), Some(held)) = (partition, broker.log_dirs.find(target)) else {
            self.forget(name);
            return Err(Ended::Unwanted);
        };
        if Arc::ptr_eq(&partition.directory(), target) {
            return Ok(());
        }
        let mut moving = broker.log_dirs.begin_move(name, held)?;
        let begun = Instant::now();
        match self.copy(broker, name, &mut moving) {
            Ok(()) => {}
            Err(Ended::Unwanted) if self.state.lock().stopping => return Err(Ended::Unwanted),
            Err(ended) => {
                if let Err(error) = moving.cancel() {
                    tracing::warn!(partition = %name, %error, "the copy of a move that was given up stays");
                }
                return Err(ended);
            }
        }
        finish(broker, &partition, held, moving)?;
        tracing::info!(
            partition = %name,
            directory = %target.path().display(),
            ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            "a partition moved to another log directory"
        );
        Ok(())
    }

    /// Copies until little is missing, or nothing more is gained.
    fn copy(&self, broker: &Broker, name: &TopicPartition, moving: &mut LogMove) -> Result<(), Ended> {
        let begin = Instant::now();
        let mut rate = throttle(broker);
        let mut pace = pace(rate, Duration::ZERO);
        let (mut least_missing, mut in_vain, mut copied_before) = (u64::MAX, 0, 0);
        loop {
            let step = (rate / 4).clamp(STEP_BYTES_MIN, STEP_BYTES);
            let progress = moving.copy(step)?;
            self.note(name, moving.target(), progress)?;
            if progress.missing_bytes <= REST_BYTES_MAX.min(step) {
                return Ok(());
            }
            in_vain = if progress.missing_bytes < least_missing { 0 } else { in_vain + 1 };
            least_missing = least_missing.min(progress.missing_bytes);
            if in_vain > STEPS_IN_VAIN_MAX {
                return Ok(());
            }
            if throttle(broker) != rate {
                rate = throttle(broker);
                pace = self::pace(rate, begin.elapsed());
            }
            let bytes = progress.copied_bytes.saturating_sub(copied_before);
            copied_before = progress.copied_bytes;
            let rest = pace.rest_after(bytes, begin.elapsed());
            self.rest(name, moving.target(), rest)?;
        }
    }

    /// Writes down how far it is; fails where it is no longer wanted.
    fn note(&self, name: &TopicPartition, target: &Arc<LogDir>, progress: MoveProgress) -> Result<(), Ended> {
        let mut state = self.state.lock();
        if state.stopping {
            return Err(Ended::Unwanted);
        }
        let wanted = state.wanted.get_mut(name).filter(|wanted| Arc::ptr_eq(&wanted.target, target));
        wanted.ok_or(Ended::Unwanted)?.progress = Some(progress);
        Ok(())
    }

    /// Rests for so long, or until it is no longer wanted.
    fn rest(&self, name: &TopicPartition, target: &Arc<LogDir>, time: Duration) -> Result<(), Ended> {
        let until = Instant::now() + time;
        let mut state = self.state.lock();
        loop {
            let same = state.wanted.get(name).is_some_and(|wanted| Arc::ptr_eq(&wanted.target, target));
            if state.stopping || !same {
                return Err(Ended::Unwanted);
            }
            if self.changed.wait_until(&mut state, until).timed_out() {
                return Ok(());
            }
        }
    }
}

/// Puts the copy in the log's place.
fn finish(
    broker: &Broker,
    partition: &Arc<Partition>,
    held: &HeldDir,
    moving: LogMove,
) -> Result<(), LogDirError> {
    let now_ms = broker.clock.now_ms();
    let due_ms = now_ms.saturating_add(partition.settings().log.file_delete_delay_ms);
    let log = moving.finish(now_ms, due_ms)?;
    partition.moved(Place { log, directory: Arc::clone(&held.dir), flush: Arc::clone(&held.queue) });
    broker.background.schedule_deletion();
    let moved = [(partition.topic_id(), partition.index())];
    assignments::tell(broker, &broker.image.load(), moved.into_iter());
    Ok(())
}

/// Bytes a second that may be copied.
fn throttle(broker: &Broker) -> u64 {
    let image = broker.image.peek();
    let of = |resource: &ConfigResource| {
        image.configs(resource).and_then(|values| values.get(THROTTLE)?.parse::<u64>().ok())
    };
    let set = of(&ConfigResource::broker(broker.node_id)).or_else(|| of(&ConfigResource::default_broker()));
    set.filter(|rate| *rate > 0).unwrap_or(u64::MAX)
}

#[allow(clippy::cast_precision_loss, reason = "a rate needs no more than a double has")]
fn pace(bytes_per_second: u64, now: Duration) -> Throttle {
    Throttle::new(bytes_per_second as f64, now)
}
