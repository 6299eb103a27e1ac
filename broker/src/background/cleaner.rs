//! Compaction (`cleanup.policy=compact`): each thread takes the log of which most is new, compacts it, and looks again;
//! where no log is due it rests. How a log is compacted is storage's affair.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ottla_storage::compaction::{
    CleanError, CleanPlan, CleanReport, Cleaner, CleanerLimits, Cleaning, Step, Throttle, dirtiest,
};
use ottla_storage::{DiskLog, LogError, RemovedFiles};
use parking_lot::{Condvar, Mutex};

use crate::config::CleanerConfig;
use crate::context::Broker;
use crate::identity;
use crate::partition::Partition;
use crate::partition::waiters::PartitionKey;
use ottla_network::RepeatsBy;

/// The shortest time between two events about one log's failures.
const FAILURES_PAUSE: Duration = Duration::from_secs(600);

/// What was compacted since the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CleanerState {
    /// Rounds that were brought to their end.
    pub rounds: u64,
    /// Bytes of the segments that were written anew.
    pub bytes_before: u64,
    /// Bytes of those that took their place.
    pub bytes_after: u64,
    /// Rounds that failed and are tried again.
    pub failures: u64,
    /// Logs that cannot be compacted.
    pub uncleanable: Vec<Uncleanable>,
}

/// A log whose content stands in the way: it is left alone until the next start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncleanable {
    /// The partition.
    pub partition: String,
    /// Why.
    pub reason: String,
}

/// The threads' common ground.
pub(crate) struct Cleaners {
    begin: Instant,
    control: Mutex<Control>,
    /// Told when the control has changed.
    changed: Condvar,
    broker: OnceLock<Weak<Broker>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    throttle: Mutex<Throttle>,
    work: Mutex<Work>,
    /// Logs that are tried again after each rest, and fail again.
    failures: RepeatsBy<PartitionKey>,
}

/// What the threads obey.
struct Control {
    config: CleanerConfig,
    /// Raised with every change of the configuration.
    generation: u64,
    /// The numbers of the threads that run.
    running: BTreeSet<usize>,
    stopping: bool,
}

#[derive(Default)]
struct Work {
    /// Logs that a thread is at.
    taken: HashSet<PartitionKey>,
    uncleanable: HashMap<PartitionKey, Uncleanable>,
    state: CleanerState,
}

/// A log that is due.
struct Due {
    partition: Arc<Partition>,
    log: Arc<DiskLog>,
    plan: CleanPlan,
}

impl Cleaners {
    pub(crate) fn new(config: CleanerConfig) -> Arc<Self> {
        Arc::new(Self {
            begin: Instant::now(),
            throttle: Mutex::new(Throttle::new(config.bytes_per_second, Duration::ZERO)),
            control: Mutex::new(Control { config, generation: 0, running: BTreeSet::new(), stopping: false }),
            changed: Condvar::new(),
            broker: OnceLock::new(),
            threads: Mutex::default(),
            work: Mutex::default(),
            failures: RepeatsBy::every(FAILURES_PAUSE),
        })
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// When the system gives none.
    pub(crate) fn start(self: &Arc<Self>, broker: &Arc<Broker>) -> std::io::Result<()> {
        self.broker.get_or_init(|| Arc::downgrade(broker));
        self.start_missing()
    }

    /// Takes over other settings: threads beyond the new number end after the log they are at, those that are missing
    /// begin, and each of the others works by the new ones from its next log on.
    pub(crate) fn configure(self: &Arc<Self>, config: CleanerConfig) {
        {
            let mut control = self.control.lock();
            if control.config == config {
                return;
            }
            let now = self.begin.elapsed();
            *self.throttle.lock() = Throttle::new(config.bytes_per_second, now);
            control.config = config;
            control.generation += 1;
        }
        self.changed.notify_all();
        if let Err(error) = self.start_missing() {
            tracing::error!(%error, "a thread of the log cleaner cannot be started: fewer compact");
        }
    }

    fn start_missing(self: &Arc<Self>) -> std::io::Result<()> {
        let missing: Vec<usize> = {
            let mut control = self.control.lock();
            let wanted = if control.stopping { 0 } else { control.config.threads };
            let missing = (0..wanted).filter(|number| !control.running.contains(number)).collect::<Vec<_>>();
            control.running.extend(&missing);
            missing
        };
        for number in missing {
            let cleaners = Arc::clone(self);
            let thread = std::thread::Builder::new().name(format!("ottla-cleaner-{number}"));
            match thread.spawn(move || cleaners.run(number)) {
                Ok(thread) => {
                    let mut threads = self.threads.lock();
                    threads.retain(|thread| !thread.is_finished());
                    threads.push(thread);
                }
                Err(error) => {
                    self.control.lock().running.remove(&number);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    pub(crate) fn state(&self) -> CleanerState {
        let work = self.work.lock();
        let mut uncleanable: Vec<_> = work.uncleanable.values().cloned().collect();
        uncleanable.sort_by(|a, b| a.partition.cmp(&b.partition));
        CleanerState { uncleanable, ..work.state.clone() }
    }

    /// Ends the threads and waits for them.
    pub(crate) fn stop(&self) {
        self.control.lock().stopping = true;
        self.changed.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // One that panicked has said so; its log is as it was.
            let _ = thread.join();
        }
    }

    /// What each thread does until it is stopped or the broker is gone.
    fn run(&self, number: usize) {
        while let Some((config, generation)) = self.settings_of(number) {
            match Cleaner::new(limits(&config)) {
                Ok(cleaner) => self.run_with(&cleaner, &config, generation),
                Err(error) => {
                    tracing::error!(%error, "no log is compacted by a thread of the cleaner until its settings change");
                    self.rest_until_changed(generation);
                }
            }
        }
    }

    /// What the thread of this number works by; none when it is to end.
    fn settings_of(&self, number: usize) -> Option<(CleanerConfig, u64)> {
        let mut control = self.control.lock();
        let is_gone = self.broker.get().is_none_or(|broker| broker.strong_count() == 0);
        if control.stopping || is_gone || number >= control.config.threads {
            control.running.remove(&number);
            return None;
        }
        Some((control.config.clone(), control.generation))
    }

    /// Compacts until the settings are others, or it is time to stop.
    fn run_with(&self, cleaner: &Cleaner, config: &CleanerConfig, generation: u64) {
        while !self.has_changed(generation) {
            let Some(broker) = self.broker.get().and_then(Weak::upgrade) else { return };
            let due = self.take(&broker);
            let is_done = due.as_ref().is_some_and(|due| self.clean(&broker, cleaner, due));
            if let Some(due) = due {
                self.work.lock().taken.remove(&due.partition.key());
            }
            drop(broker);
            if !is_done {
                self.rest(config.backoff, Some(generation));
            }
        }
    }

    fn has_changed(&self, generation: u64) -> bool {
        let control = self.control.lock();
        control.stopping || control.generation != generation
    }

    fn rest_until_changed(&self, generation: u64) {
        while !self.has_changed(generation) {
            self.rest(Duration::MAX, Some(generation));
        }
    }

    /// Takes the log of which most is new among those that are due and that nobody is at.
    fn take(&self, broker: &Broker) -> Option<Due> {
        let failures = &self.failures;
        let candidates = broker.partitions.all().into_iter().filter(|partition| {
            let is_compacted = partition.settings().log.is_compacted;
            is_compacted && partition.check_writable().is_ok() && self.is_free(partition.key())
        });
        let planned: Vec<Due> =
            candidates.filter_map(|partition| plan(broker, partition, failures)).collect();
        let chosen = dirtiest(planned.iter().enumerate().map(|(place, due)| (place, &due.plan)))?;
        let due = planned.into_iter().nth(chosen)?;
        self.work.lock().taken.insert(due.partition.key()).then_some(due)
    }

    fn is_free(&self, key: PartitionKey) -> bool {
        let work = self.work.lock();
        !work.taken.contains(&key) && !work.uncleanable.contains_key(&key)
    }

    /// Compacts a log; false if it came to nothing.
    fn clean(&self, broker: &Broker, cleaner: &Cleaner, due: &Due) -> bool {
        let name = due.partition.name();
        match self.rounds_of(broker, cleaner, due) {
            Ok(None) => false,
            Ok(Some(report)) => {
                self.done(broker, due, *report);
                true
            }
            Err(error) if error.is_lasting() => {
                tracing::error!(partition = %name, %error, "a log cannot be compacted and is left as it is");
                let reason = error.to_string();
                let uncleanable = Uncleanable { partition: name.to_string(), reason };
                self.work.lock().uncleanable.insert(due.partition.key(), uncleanable);
                false
            }
            // Its topic was deleted, or its segments went by retention.
            Err(CleanError::Busy | CleanError::Changed | CleanError::Log(LogError::Closed)) => false,
            Err(error) => {
                self.work.lock().state.failures += 1;
                if let Some(left_out) = self.failures.due(due.partition.key()) {
                    tracing::error!(
                        partition = %name,
                        %error,
                        left_out,
                        "a log was not compacted and is tried again after log.cleaner.backoff.ms: a compaction needs \
                         room for what it keeps beside what it takes away"
                    );
                }
                false
            }
        }
    }

    /// One round, in pieces with rests between them; none when it is time to stop.
    fn rounds_of(
        &self,
        broker: &Broker,
        cleaner: &Cleaner,
        due: &Due,
    ) -> Result<Option<Box<CleanReport>>, CleanError> {
        let mut cleaning = cleaner.begin(&due.log, &due.plan, broker.clock.now_ms(), seed())?;
        let ended = self.work_off(&mut cleaning);
        if !matches!(ended, Ok(Some(_))) {
            retire(broker, due, cleaning.take_removed());
        }
        ended
    }

    fn work_off(&self, cleaning: &mut Cleaning) -> Result<Option<Box<CleanReport>>, CleanError> {
        loop {
            match cleaning.step()? {
                Step::Done(report) => return Ok(Some(report)),
                Step::More { bytes } => {
                    let rest = self.throttle.lock().rest_after(bytes, self.begin.elapsed());
                    if self.is_stopping() || !rest.is_zero() && !self.rest(rest, None) {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn done(&self, broker: &Broker, due: &Due, report: CleanReport) {
        let (name, dir) = (due.partition.name(), due.partition.directory());
        if let Err(error) = dir.set_cleaner_offset(name, report.cleaned_up_to) {
            tracing::error!(partition = %name, %error, "how far a log was compacted could not be noted");
        }
        retire(broker, due, report.removed);
        tracing::info!(
            partition = %name,
            up_to = %report.cleaned_up_to,
            keys = report.keys,
            records_before = report.records_before,
            records_after = report.records_after,
            bytes_before = report.bytes_before,
            bytes_after = report.bytes_after,
            segments_before = report.segments_before,
            segments_after = report.segments_after,
            partial = report.is_partial,
            "log compacted"
        );
        let state = &mut self.work.lock().state;
        state.rounds += 1;
        state.bytes_before += report.bytes_before;
        state.bytes_after += report.bytes_after;
    }

    fn is_stopping(&self) -> bool {
        self.control.lock().stopping
    }

    /// Rests for so long, or until the settings are no longer of this generation; false when it is time to stop.
    fn rest(&self, time: Duration, generation: Option<u64>) -> bool {
        let until = Instant::now().checked_add(time);
        let mut control = self.control.lock();
        while !control.stopping && generation.is_none_or(|generation| generation == control.generation) {
            match until {
                Some(until) if self.changed.wait_until(&mut control, until).timed_out() => break,
                Some(_) => {}
                None => self.changed.wait(&mut control),
            }
        }
        !control.stopping
    }
}

/// A thread's share.
fn limits(config: &CleanerConfig) -> CleanerLimits {
    let threads = config.threads.max(1);
    CleanerLimits {
        dedupe_buffer_bytes: config.dedupe_bytes / threads as u64,
        load_factor: config.load_factor,
        // Half of it to read and half to write, as Kafka divides it.
        io_buffer_bytes: config.io_buffer_bytes / threads / 2,
    }
}

/// The files that a compaction took out of a log go after their delay.
fn retire(broker: &Broker, due: &Due, removed: Vec<RemovedFiles>) {
    if removed.is_empty() {
        return;
    }
    let delay_ms = due.partition.settings().log.file_delete_delay_ms;
    let due_ms = broker.clock.now_ms().saturating_add(delay_ms);
    for files in removed {
        due.partition.directory().retire(files, due_ms);
    }
    broker.background.schedule_deletion();
}

fn plan(broker: &Broker, partition: Arc<Partition>, failures: &RepeatsBy<PartitionKey>) -> Option<Due> {
    let (name, dir) = (partition.name(), partition.directory());
    let log = dir.log(name)?;
    let high_watermark = partition.positions().high_watermark;
    match log.plan_cleaning(high_watermark, dir.cleaner_offset(name), broker.clock.now_ms()) {
        Ok(plan) => Some(Due { log, plan, partition }),
        Err(LogError::Closed) => None,
        Err(error) => {
            if let Some(left_out) = failures.due(partition.key()) {
                tracing::error!(
                    partition = %name,
                    %error,
                    left_out,
                    "a log cannot be looked at for compaction and is tried again: look at the file that is named"
                );
            }
            None
        }
    }
}

/// Keys are told apart by a hash that nobody can foresee.
fn seed() -> u64 {
    let [a, b, c, d, e, f, g, h, ..] =
        identity::random_bytes().expect("the system has given random bytes before");
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}
