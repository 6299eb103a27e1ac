//! Random lives of a compacted log beside a twin that knows every record that was ever appended. A failing run prints its
//! number; `OTTLA_COMPACTION_RUNS=N` makes N times as many.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_model::compression::Codec;
use ottla_model::{Offset, ProducerId};
use ottla_storage::compaction::CleanerLimits;
use ottla_storage::{DiskLog, Log, LogConfig};

use super::support::{Dice, Found, From, LIMITS, append, begin, finish, keyed, marker, newest, records};
use crate::support::{NOW_MS, open};

const RETENTION_MS: i64 = 500;
const PRODUCERS: usize = 4;

struct Life {
    folder: tempfile::TempDir,
    log: Arc<DiskLog>,
    config: LogConfig,
    dice: Dice,
    now_ms: i64,
    twin: Twin,
    checkpoint: i64,
    steps: usize,
}

#[derive(Default)]
struct Twin {
    /// All records but markers.
    written: BTreeMap<i64, Found>,
    /// Of each key, what committed readers must find.
    newest: BTreeMap<String, (i64, Option<String>)>,
    /// Of each producer, what it wrote in the open transaction.
    open: [Vec<Found>; PRODUCERS],
    sequences: [i32; PRODUCERS],
    /// When a compaction first saw a tombstone.
    first_seen_ms: BTreeMap<i64, i64>,
}

impl Twin {
    fn commit(&mut self, records: Vec<Found>) {
        for (offset, key, value) in records {
            let Some(key) = key else { continue };
            if self.newest.get(&key).is_none_or(|(newest, _)| *newest < offset) {
                self.newest.insert(key, (offset, value));
            }
        }
    }
}

impl Life {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let config = LogConfig {
            segment_bytes: 600 + u32::try_from(dice.below(3000)).unwrap(),
            segment_index_bytes: 96 + u32::try_from(dice.below(4000)).unwrap(),
            index_interval_bytes: 100,
            is_compacted: true,
            delete_retention_ms: RETENTION_MS,
            producer_id_expiration_ms: i64::MAX,
            preallocate: dice.below(4) == 0,
            ..LogConfig::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let log = Arc::new(open(folder.path(), &config, false, 0).unwrap().0);
        let twin = Twin::default();
        Self { folder, log, config, dice, now_ms: NOW_MS, twin, checkpoint: 0, steps: 0 }
    }

    fn append(&mut self) {
        self.steps += 1;
        let who = usize::try_from(self.dice.below(PRODUCERS as u64 + 1)).unwrap();
        // The first two producers write transactions, the others do not, and one is not idempotent.
        let is_transactional = who < 2;
        let mut texts = Vec::new();
        for place in 0..1 + self.dice.below(4) {
            let key = (self.dice.below(20) > 0).then(|| format!("k{}", self.dice.below(15)));
            let value = (self.dice.below(5) > 0).then(|| format!("{}.{place}", self.steps));
            texts.push((key, value));
        }
        let pairs: Vec<_> = texts.iter().map(|(key, value)| (key.as_deref(), value.as_deref())).collect();
        let codec = Codec::ALL[usize::try_from(self.dice.below(5)).unwrap()];
        let producer =
            self.twin.sequences.get(who).map(|sequence| (i64::try_from(who).unwrap(), 0, *sequence));
        let from = From { producer, transactional: is_transactional, codec, timestamp_ms: self.now_ms };
        let base = append(&self.log, keyed(&pairs, from));
        let records: Vec<_> =
            (base..).zip(texts).map(|(offset, (key, value))| (offset, key, value)).collect();
        self.twin.written.extend(records.iter().map(|found| (found.0, found.clone())));
        if let Some(sequence) = self.twin.sequences.get_mut(who) {
            *sequence += i32::try_from(records.len()).unwrap();
        }
        if is_transactional {
            self.twin.open[who].extend(records);
        } else {
            self.twin.commit(records);
        }
    }

    fn end_transaction(&mut self) {
        let who = usize::try_from(self.dice.below(2)).unwrap();
        let commits = self.dice.below(2) == 0;
        append(&self.log, marker(i64::try_from(who).unwrap(), 0, commits));
        let records = std::mem::take(&mut self.twin.open[who]);
        if commits {
            self.twin.commit(records);
        }
    }

    fn clean(&mut self) {
        self.now_ms += i64::try_from(self.dice.below(400)).unwrap();
        if self.dice.below(3) > 0 {
            self.log.roll(self.now_ms).unwrap();
        }
        self.log.flush_up_to(Offset::MAX, self.now_ms).unwrap();
        let keys = 5 + self.dice.below(40);
        let limits = CleanerLimits {
            dedupe_buffer_bytes: 24 * keys,
            io_buffer_bytes: 100 + usize::try_from(self.dice.below(2000)).unwrap(),
            ..LIMITS
        };
        for (offset, (_, _, value)) in &self.twin.written {
            if value.is_none() {
                self.twin.first_seen_ms.entry(*offset).or_insert(self.now_ms);
            }
        }
        let mut cleaning = begin(&self.log, self.checkpoint, self.now_ms, limits).unwrap();
        if self.dice.below(5) == 0 {
            for _ in 0..self.dice.below(10) {
                cleaning.step().unwrap();
            }
            return;
        }
        let report = finish(cleaning).unwrap();
        assert!(report.cleaned_up_to.get() >= self.checkpoint);
        self.checkpoint = report.cleaned_up_to.get();
        for removed in report.removed {
            removed.delete().unwrap();
        }
    }

    fn restart(&mut self) {
        let end = self.log.positions().log_end.offset.get();
        let before = self.producers();
        let kind = self.dice.below(3);
        if kind == 0 {
            self.log.close(self.now_ms).unwrap();
        } else {
            self.log.flush_up_to(Offset::MAX, self.now_ms).unwrap();
        }
        // From the recovery point, or the whole log, its producers included.
        let recovery_point = if kind == 2 { 0 } else { end };
        let opened = open(self.folder.path(), &self.config, kind == 0, recovery_point).unwrap().0;
        self.log = Arc::new(opened);
        assert_eq!(self.log.positions().log_end.offset.get(), end);
        assert_eq!(self.producers(), before, "producers go on");
    }

    fn producers(&self) -> Vec<(ProducerId, Option<i32>, bool)> {
        let infos = self.log.producers();
        infos
            .iter()
            .map(|info| (info.producer_id, info.last_sequence, info.transaction_start.is_some()))
            .collect()
    }

    fn check(&self) {
        for found in records(&self.log, false) {
            assert_eq!(self.twin.written.get(&found.0), Some(&found), "a record is what it was");
        }
        let with_value = |(key, (offset, value)): (&String, &(i64, Option<String>))| {
            Some((key.clone(), (*offset, value.clone()?)))
        };
        let mut expected: BTreeMap<_, _> = self.twin.newest.iter().filter_map(with_value).collect();
        let mut found = newest(&self.log);
        // What is undecided may hide nothing; it is shown by this reader all the same.
        for key in self.twin.open.iter().flatten().filter_map(|(_, key, _)| key.as_ref()) {
            expected.remove(key);
            found.remove(key);
        }
        assert_eq!(found, expected);
        let committed = records(&self.log, true);
        for (key, (offset, value)) in &self.twin.newest {
            let first_ms = self.twin.first_seen_ms.get(offset).copied().unwrap_or(self.now_ms);
            if value.is_none() && self.now_ms < first_ms + RETENTION_MS {
                let is_there = committed.iter().any(|(at, _, _)| at == offset);
                assert!(is_there, "the tombstone of {key} at {offset} is not due");
            }
        }
    }

    fn live(&mut self) {
        for _ in 0..120 {
            match self.dice.below(30) {
                0..=19 => self.append(),
                20..=23 => self.end_transaction(),
                24..=27 => {
                    self.clean();
                    self.check();
                }
                28 => self.restart(),
                _ => {
                    self.log.roll(self.now_ms).unwrap();
                }
            }
        }
        self.restart();
        self.check();
    }
}

#[test]
fn whatever_happens_every_key_has_its_newest_committed_value() {
    let times = std::env::var("OTTLA_COMPACTION_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    for seed in 0..12 * times {
        let outcome = std::panic::catch_unwind(|| Life::new(seed).live());
        assert!(outcome.is_ok(), "seed {seed}");
    }
}
