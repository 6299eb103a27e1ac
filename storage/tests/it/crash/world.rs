//! A log directory on the simulated disk and the random steps of its life.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ottla_model::batch::{BatchBuilder, CheckedBatch, EndTxnMarker, NewRecord};
use ottla_model::compression::Compression;
use ottla_model::{LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, TopicName, Uuid};
use ottla_storage::compaction::CleanError;
use ottla_storage::io::sim::SimDisk;
use ottla_storage::io::{Create, Directory};
use ottla_storage::{
    DirectoryFailure, DiskLog, Log, LogConfig, LogDir, LogDirError, LogError, TopicPartition,
};

use super::dice::Dice;
use super::twin::{Kind, Twin, TwinBatch, TwinRecord};
use super::upkeep;
use crate::support::NOW_MS;

/// A log with deletion, a compacted one, and one that comes and goes.
const LASTING: [&str; 2] = ["t", COMPACTED];
pub(super) const COMPACTED: &str = "c";
const PASSING: &str = "x";

const TOPIC_ID: Uuid = Uuid::from_bytes([7; 16]);

/// Producers: one that is only idempotent, and two with transactions.
const IDEMPOTENT: i64 = 5;
const TRANSACTIONAL: [i64; 2] = [6, 7];

pub(super) const EPOCH_OF_PRODUCERS: i16 = 0;

/// How many kinds of steps there are that call the disk.
pub(super) const STEP_KINDS: usize = 16;

/// How many logs were not opened by a start after an orderly stop.
pub(super) static REMEMBERED: AtomicU64 = AtomicU64::new(0);

/// What an orderly stop leaves beside its marker.
const MEMORY: &str = ".ottla-clean-stop";
const MARKER: &str = ".kafka_cleanshutdown";

/// Why a step went no further.
pub(super) struct Stop(String);

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<LogError> for Stop {
    fn from(error: LogError) -> Self {
        Self(error.to_string())
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<CleanError> for Stop {
    fn from(error: CleanError) -> Self {
        Self(error.to_string())
    }
}

impl From<LogDirError> for Stop {
    fn from(error: LogDirError) -> Self {
        Self(error.to_string())
    }
}

/// The disk, the directory on it while there is power, and what should be there.
pub(super) struct World {
    pub(super) disk: SimDisk,
    pub(super) directory: Option<LogDir>,
    pub(super) twins: BTreeMap<&'static str, Twin>,
    /// A log is being made or taken away: after a crash it may be there or not.
    pub(super) in_flux: BTreeMap<&'static str, Twin>,
    /// A call may fail once.
    pub(super) may_fail: bool,
    /// What the stop before the last one left.
    older_memory: Vec<u8>,
    preallocate: bool,
    appends: u64,
    /// The time of compactions.
    pub(super) clock_ms: i64,
    /// The name of each step, with the number of its first call.
    pub(super) steps: Vec<(u64, &'static str)>,
}

pub(super) fn partition(name: &str) -> TopicPartition {
    TopicPartition { topic: TopicName::from(name), partition: PartitionIndex::new(0) }
}

pub(super) fn offset(number: i64) -> Offset {
    Offset::new(number)
}

impl World {
    /// Nothing but a durable folder.
    pub(super) fn new(disk: SimDisk, dice: &mut Dice) -> Self {
        disk.root().folder("d").create().unwrap();
        disk.root().sync().unwrap();
        Self {
            disk,
            directory: None,
            twins: BTreeMap::new(),
            in_flux: BTreeMap::new(),
            may_fail: false,
            older_memory: Vec::new(),
            preallocate: dice.below(4) == 0,
            appends: 0,
            clock_ms: NOW_MS,
            steps: Vec::new(),
        }
    }

    fn config(&self, name: &str) -> LogConfig {
        LogConfig {
            segment_bytes: 1500,
            index_interval_bytes: 200,
            preallocate: self.preallocate,
            is_compacted: name == COMPACTED,
            deletes: name != COMPACTED,
            retention_ms: Some(upkeep::RETENTION_MS),
            retention_bytes: (name == "t").then_some(upkeep::RETENTION_BYTES),
            file_delete_delay_ms: upkeep::FILE_DELETE_DELAY_MS,
            delete_retention_ms: upkeep::DELETE_RETENTION_MS,
            ..LogConfig::default()
        }
    }

    pub(super) fn log(&self, name: &str) -> Arc<DiskLog> {
        self.directory.as_ref().unwrap().log(&partition(name)).unwrap()
    }

    pub(super) fn failure(&self) -> Option<Arc<DirectoryFailure>> {
        self.directory.as_ref()?.failure()
    }

    pub(super) fn twin(&mut self, name: &'static str) -> &mut Twin {
        self.twins.get_mut(name).unwrap()
    }

    /// Opens the directory with all logs in it.
    pub(super) fn open(&mut self) -> Result<ottla_storage::LoadReport, Stop> {
        self.directory = None;
        let directory = LogDir::open_unlocked(self.disk.root().folder("d"))?;
        let report = directory.load(1, NOW_MS, &|partition| self.config(partition.topic.as_str()))?;
        match report.failed.into_iter().next() {
            Some((_, error)) => Err(error.into()),
            None => {
                self.directory = Some(directory);
                Ok(ottla_storage::LoadReport { failed: Vec::new(), ..report })
            }
        }
    }

    fn create(&mut self, name: &'static str) -> Result<(), Stop> {
        self.in_flux.entry(name).or_insert_with(|| Self::new_twin(name));
        let config = self.config(name);
        let directory = self.directory.as_ref().unwrap();
        directory.create_log(&partition(name), TOPIC_ID, config, NOW_MS)?;
        self.in_flux.remove(name);
        self.twins.insert(name, Self::new_twin(name));
        Ok(())
    }

    pub(super) fn new_twin(name: &str) -> Twin {
        Twin { is_compacted: name == COMPACTED, ..Twin::default() }
    }

    fn remove(&mut self, name: &'static str) -> Result<(), Stop> {
        let twin = self.twins.remove(name).unwrap();
        self.in_flux.insert(name, twin);
        self.directory.as_ref().unwrap().remove_log(&partition(name), NOW_MS)?;
        self.in_flux.remove(name);
        Ok(())
    }

    /// Steps until the power goes, the directory fails, or there were enough. A failed call is no reason to stop.
    pub(super) fn live(&mut self, dice: &mut Dice, steps: usize) -> Result<(), Stop> {
        self.begin("open");
        self.open()?;
        for name in LASTING {
            self.begin("create");
            self.create(name)?;
        }
        self.steps(dice, steps)
    }

    /// Makes what a crash prevented from being made, and names all logs.
    pub(super) fn make_lasting(&mut self) -> Vec<&'static str> {
        for name in LASTING {
            if !self.twins.contains_key(name) {
                self.create(name).unwrap();
            }
        }
        self.twins.keys().copied().collect()
    }

    pub(super) fn steps(&mut self, dice: &mut Dice, steps: usize) -> Result<(), Stop> {
        for _ in 0..steps {
            if let Err(stop) = self.step(dice)
                && (self.disk.is_down() || self.directory.is_none() || self.failure().is_some())
            {
                return Err(stop);
            }
        }
        Ok(())
    }

    pub(super) fn begin(&mut self, step: &'static str) {
        self.steps.push((self.disk.calls(), step));
    }

    fn step(&mut self, dice: &mut Dice) -> Result<(), Stop> {
        let names: Vec<&'static str> = self.twins.keys().copied().collect();
        let name = names[dice.index(names.len())];
        match dice.below(45) {
            0..=19 => {
                self.begin("append");
                self.append(name, dice)
            }
            20..=22 => {
                self.begin("end transaction");
                self.end_transaction(name, dice)
            }
            23..=26 => {
                self.begin("flush");
                self.flush(name, dice)
            }
            27..=28 => {
                self.begin("checkpoint");
                self.checkpoint()
            }
            29 => {
                self.begin("truncate");
                self.truncate(["t", "t", COMPACTED][dice.index(3)], dice)
            }
            30 => {
                self.begin("roll");
                Ok(self.log(name).roll(NOW_MS).map(|_| ())?)
            }
            31 => {
                self.begin("raise start");
                self.raise_start("t", dice)
            }
            32 => {
                self.begin("delete segments");
                self.delete_segments("t", dice)
            }
            33 => {
                self.begin("epoch");
                self.log(name).begin_epoch(self.epoch());
                Ok(())
            }
            34..=35 if self.twins.contains_key(PASSING) => {
                self.begin("remove log");
                self.remove(PASSING)
            }
            34..=35 => {
                self.begin("create");
                self.create(PASSING)
            }
            36 => {
                self.begin("purge");
                self.purge(dice)
            }
            37 => {
                self.begin("kill and start");
                self.kill_and_start()
            }
            38..=39 => {
                self.begin("retention");
                self.apply_retention(dice)
            }
            40..=42 => self.compact(dice),
            _ => {
                self.begin("stop and start");
                self.stop_and_start(dice)
            }
        }
    }

    fn epoch(&self) -> LeaderEpoch {
        LeaderEpoch::new(i32::try_from(self.appends / 20).unwrap())
    }

    /// A batch of one to three records, with what it is in the twin.
    fn batch(&mut self, name: &'static str, dice: &mut Dice) -> (CheckedBatch, TwinBatch) {
        self.appends += 1;
        let producer = [IDEMPOTENT, IDEMPOTENT, TRANSACTIONAL[0], TRANSACTIONAL[1]][dice.index(4)];
        // What it was told last, unless nothing of that is left: then it begins anew.
        let known = self.log(name).producer(ProducerId::new(producer));
        let sequence = known.and_then(|known| known.last_sequence).map_or(0, |last| last + 1);
        let (appends, twin) = (self.appends, self.twin(name));
        let mut builder = BatchBuilder::new(Compression::NONE);
        let mut kind = Kind::Plain;
        if producer != IDEMPOTENT || dice.below(3) > 0 {
            builder = builder
                .with_producer(ProducerId::new(producer), ProducerEpoch::new(EPOCH_OF_PRODUCERS), sequence)
                .with_transactional(producer != IDEMPOTENT);
            kind = if producer == IDEMPOTENT {
                Kind::Sequenced(sequence)
            } else {
                Kind::Transactional(sequence)
            };
        }
        let mut records = Vec::new();
        for offset in twin.end()..=twin.end() + dice.number(3) {
            let mut value = format!("{appends}.{offset}").into_bytes();
            value.resize(value.len() + dice.index(200), b'.');
            let key = format!("k{}", dice.below(8)).into_bytes();
            let value = (name != COMPACTED || dice.below(4) > 0).then_some(value);
            let timestamp_ms = NOW_MS + dice.number(1000);
            let record =
                NewRecord { timestamp_ms, key: Some(&key), value: value.as_deref(), ..NewRecord::default() };
            builder.append(&record).unwrap();
            records.push(TwinRecord { offset, timestamp_ms, key, value });
        }
        let (base, last) = (records[0].offset, records[records.len() - 1].offset);
        (builder.finish().unwrap(), TwinBatch { producer, kind, base, last, records })
    }

    pub(super) fn append(&mut self, name: &'static str, dice: &mut Dice) -> Result<(), Stop> {
        // Its producers are asked for, and who asks learns of no failure.
        self.log(name).ready()?;
        let (batch, twin) = self.batch(name, dice);
        self.append_as(name, batch, twin)
    }

    fn append_as(&mut self, name: &'static str, batch: CheckedBatch, new: TwinBatch) -> Result<(), Stop> {
        let epoch = self.epoch();
        match self.log(name).append_as_leader(batch, epoch, NOW_MS) {
            Ok(info) => {
                assert_eq!((info.base_offset.get(), info.last_offset.get()), (new.base, new.last));
                assert!(!info.duplicate, "{name}: {new:?}");
                self.twin(name).batches.push(new);
                Ok(())
            }
            Err(error) => {
                let is_ours = matches!(error, LogError::Io { .. } | LogError::DirectoryFailed(_));
                assert!(is_ours, "{name}: {error} for {new:?}");
                self.twin(name).unacknowledged.push(new);
                Err(error.into())
            }
        }
    }

    fn end_transaction(&mut self, name: &'static str, dice: &mut Dice) -> Result<(), Stop> {
        let producer = TRANSACTIONAL[dice.index(2)];
        let (committed, timestamp_ms) = (dice.below(2) == 0, NOW_MS + dice.number(1000));
        let twin = self.twin(name);
        if twin.open_since(producer).is_none() {
            return Ok(());
        }
        let marker = EndTxnMarker { committed, coordinator_epoch: 1 };
        let epoch = ProducerEpoch::new(EPOCH_OF_PRODUCERS);
        let batch = marker.to_batch(ProducerId::new(producer), epoch, timestamp_ms).unwrap();
        let base = twin.end();
        let record = TwinRecord { offset: base, timestamp_ms, key: Vec::new(), value: Some(Vec::new()) };
        let kind = Kind::Marker(committed);
        self.append_as(name, batch, TwinBatch { producer, kind, base, last: base, records: vec![record] })
    }

    fn flush(&mut self, name: &'static str, dice: &mut Dice) -> Result<(), Stop> {
        let end = self.twin(name).end();
        let target = if dice.below(2) == 0 { end } else { dice.number(end + 1) };
        let reached = self.log(name).flush_up_to(offset(target), NOW_MS)?.get();
        assert!(reached >= target);
        let twin = self.twin(name);
        twin.flushed = twin.flushed.max(reached);
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), Stop> {
        self.directory.as_ref().unwrap().checkpoint()?;
        for (name, twin) in &mut self.twins {
            let log = self.directory.as_ref().unwrap().log(&partition(name)).unwrap();
            twin.checkpoint = log.positions().recovery_point.get();
            twin.start_durable = twin.start;
        }
        Ok(())
    }

    /// A truncation, and the checkpoint that must follow it.
    fn truncate(&mut self, name: &'static str, dice: &mut Dice) -> Result<(), Stop> {
        let twin = self.twin(name);
        let kept = twin.batches.len().saturating_sub(dice.index(6));
        let to = twin.batches.get(kept).map_or(twin.end(), |batch| batch.base);
        // Nothing is compacted that may still be truncated.
        if to < twin.start.max(twin.cleaned_end) {
            return Ok(());
        }
        twin.was_truncated = true;
        let gone = twin.batches.split_off(kept);
        twin.truncated.extend(gone);
        twin.flushed = twin.flushed.min(to);
        twin.end_at_least = to;
        twin.checkpoint = twin.checkpoint.min(to);
        let done = self.log(name).truncate_to(offset(to), NOW_MS);
        let has_failed = self.disk.is_down() || self.failure().is_some();
        let twin = self.twin(name);
        if done.is_err() && !has_failed {
            // Nothing was changed.
            let back = std::mem::take(&mut twin.truncated);
            twin.batches.extend(back);
        }
        done?;
        twin.truncated.clear();
        self.checkpoint()
    }

    fn raise_start(&mut self, name: &'static str, dice: &mut Dice) -> Result<(), Stop> {
        let twin = self.twin(name);
        let to = twin.start + dice.number(10);
        if to > twin.end() {
            return Ok(());
        }
        twin.start = to;
        assert_eq!(self.log(name).raise_log_start(offset(to))?.get(), to);
        Ok(())
    }

    fn delete_segments(&mut self, name: &'static str, dice: &mut Dice) -> Result<(), Stop> {
        let log = self.log(name);
        let segments = log.segments()?;
        let number = dice.index(segments.len());
        let below = segments[number].base.get();
        let twin = self.twin(name);
        twin.start = twin.start.max(below);
        let files = log.remove_segments(offset(below));
        if files.is_err() && !self.disk.is_down() {
            self.twin(name).start = log.positions().log_start.get();
        }
        let files = files?;
        assert_eq!(log.positions().log_start.get(), self.twin(name).start);
        match dice.below(3) {
            0 => files.delete()?,
            1 => self.directory.as_ref().unwrap().retire(files, NOW_MS),
            _ => {}
        }
        Ok(())
    }

    /// The process ends, and the disk loses nothing: only a log start that was not checkpointed is forgotten.
    fn kill_and_start(&mut self) -> Result<(), Stop> {
        self.open()?;
        for (name, twin) in &mut self.twins {
            let log = self.directory.as_ref().unwrap().log(&partition(name)).unwrap();
            let positions = log.positions();
            assert_eq!(positions.log_end.offset.get(), twin.end());
            assert!((twin.start_durable..=twin.start).contains(&positions.log_start.get()));
            twin.start = positions.log_start.get();
        }
        Ok(())
    }

    pub(super) fn stop_and_start(&mut self, dice: &mut Dice) -> Result<(), Stop> {
        let stopped = self.stop();
        self.directory = None;
        stopped?;
        self.begin("disturb");
        self.disturb(dice)?;
        self.begin("stop and start");
        let report = self.open()?;
        assert!(report.clean);
        let asleep = report.logs.iter().filter(|loaded| loaded.log.is_asleep()).count();
        REMEMBERED.fetch_add(asleep as u64, Ordering::Relaxed);
        for loaded in &report.logs {
            // A log that could not be made in full may be half there, and one whose index cannot be read is scanned.
            if !self.may_fail {
                assert_eq!(loaded.recovery.scanned_segments, 0, "{}", loaded.partition);
            }
        }
        Ok(())
    }

    /// What others may do to a directory while nobody runs. No record is touched, and all is durable.
    fn disturb(&mut self, dice: &mut Dice) -> Result<(), Stop> {
        let folder = self.disk.root().folder("d");
        // Where the disk failed it may be missing.
        let Ok(memory) = content(&*folder, MEMORY) else { return Ok(()) };
        match dice.below(9) {
            0 => folder.remove(MEMORY)?,
            1 => write(&*folder, MEMORY, &memory[..dice.index(memory.len())])?,
            2 => {
                let mut changed = memory.clone();
                changed[dice.index(memory.len())] ^= 1;
                write(&*folder, MEMORY, &changed)?;
            }
            3 => write(&*folder, MEMORY, &self.older_memory)?,
            4 => {
                // Somebody else's stop.
                let marker = content(&*folder, MARKER)?;
                write(&*folder, "marker", &marker)?;
                folder.rename("marker", MARKER)?;
            }
            5 => restore(&*folder, &partition("t").to_string())?,
            6 => {
                let log = folder.folder(&partition(COMPACTED).to_string());
                write(&*log, "README", b"seen")?;
                log.sync()?;
                log.remove("README")?;
                log.sync()?;
            }
            _ => {}
        }
        folder.sync()?;
        self.older_memory = memory;
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Stop> {
        // One after the other, so that the order of calls is always the same.
        for name in self.twins.keys() {
            self.log(name).close(NOW_MS)?;
        }
        self.directory.as_ref().unwrap().close(1, NOW_MS)?;
        for twin in self.twins.values_mut() {
            twin.flushed = twin.end();
            twin.checkpoint = twin.end();
            twin.start_durable = twin.start;
        }
        Ok(())
    }
}

fn content(folder: &dyn Directory, name: &str) -> io::Result<Vec<u8>> {
    let file = folder.open(name, Create::No)?;
    let mut bytes = vec![0; usize::try_from(file.bytes()?).unwrap()];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// Writes a file durably; its name is durable once its folder is.
fn write(folder: &dyn Directory, name: &str, bytes: &[u8]) -> io::Result<()> {
    let file = folder.open(name, Create::Empty)?;
    file.write_at(&[bytes], 0)?;
    file.sync()
}

/// Puts a copy of a folder in its place, as a backup would.
fn restore(above: &dyn Directory, name: &str) -> io::Result<()> {
    let (folder, copy) = (above.folder(name), above.folder("restored"));
    if above.list()?.iter().any(|entry| entry.name == "restored") {
        above.remove_folder("restored")?;
    }
    copy.create()?;
    for entry in folder.list()? {
        write(&*copy, &entry.name, &content(&*folder, &entry.name)?)?;
    }
    copy.sync()?;
    above.rename("restored", name)
}
