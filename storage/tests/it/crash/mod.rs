//! A log directory on the simulated disk: whatever call the power goes at, what was flushed is there, nothing is there
//! twice, indexes, producers and transactions agree with the records, and the logs go on. Every run has a number that it
//! is made from; a failing one prints it, and `OTTLA_CRASH_RUN=N` in the environment makes that run alone.
//! `OTTLA_CRASH_RUNS=N` makes N times as many runs.

mod check;
mod dice;
mod plan;
mod twin;
mod upkeep;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use ottla_storage::io::sim::{Fault, SimDisk};
use ottla_storage::{DiskLog, Log};

use check::{check_agrees, check_compacted, check_index_files, check_survived, found_batches};
use dice::Dice;
use twin::{Twin, TwinBatch};
use world::{World, partition};

/// Lives, each of which is lived once undisturbed and then again and again with a crash at another call.
const LIVES: u64 = 400;

/// Crashes in each life.
const CRASHES: u64 = 50;

/// Steps of a life.
const STEPS: usize = 40;

/// Calls that make the folder before a life begins.
const FIRST_CALL: u64 = 2;

/// What a call was for: the step, what was asked of the disk, and on what.
type Purpose = (&'static str, &'static str, String);

/// The undisturbed life: the purpose of each call.
fn undisturbed(life: u64) -> Vec<Purpose> {
    let mut dice = Dice(life);
    let disk = SimDisk::new();
    let mut world = World::new(disk.clone(), &mut dice);
    disk.record();
    world.live(&mut dice, STEPS).unwrap();
    let trace = disk.trace();
    for (name, twin) in &world.twins {
        let log = world.log(name);
        let found = found_batches(&log);
        check_compacted(name, &found, twin);
        check_agrees(name, &log, &all_batches(&log, twin, found), twin);
    }
    let step_of = |call: usize| {
        let number = world.steps.partition_point(|(first, _)| *first <= FIRST_CALL + call as u64);
        world.steps[number.saturating_sub(1)].1
    };
    let purpose =
        |(call, made): (usize, ottla_storage::io::sim::Call)| (step_of(call), made.verb, made.on.to_string());
    trace.into_iter().enumerate().map(purpose).collect()
}

/// What is found, and before it what the twin knows of below the log start. A compacted log begins where it always began.
fn all_batches(log: &DiskLog, twin: &Twin, found: Vec<TwinBatch>) -> Vec<TwinBatch> {
    if twin.cleaned_end > 0 {
        return found;
    }
    let start = log.positions().log_start.get();
    let first = found.first().map_or(start, |batch| batch.base).min(start);
    let mut all: Vec<_> = twin.batches.iter().filter(|batch| batch.last < first).cloned().collect();
    all.extend(found);
    all
}

/// A life in which the power goes at a call, and what is found after it.
fn crashed(life: u64, call: u64) {
    let mut dice = Dice(life);
    let disk = SimDisk::new();
    let mut world = World::new(disk.clone(), &mut dice);
    disk.plan(FIRST_CALL + call, Fault::Crash);
    // What only prepares something may fail unheard, also as the last call of a life.
    assert!(world.live(&mut dice, STEPS).is_err() || disk.is_down(), "the power went");
    let mut dice = Dice(life ^ (call << 32));
    lose_power(&mut world, &mut dice);
    find_again(&mut world);
    go_on(&mut world, &mut dice);
    // And once more, without a word of warning.
    lose_power(&mut world, &mut dice);
    find_again(&mut world);
}

fn lose_power(world: &mut World, dice: &mut Dice) {
    world.directory = None;
    world.disk = world.disk.after_crash(dice.below(u64::MAX));
}

/// Starts, and checks all that is found.
fn find_again(world: &mut World) {
    let report = world.open().unwrap();
    let found: BTreeSet<String> = report.logs.iter().map(|log| log.partition.topic.to_string()).collect();
    for name in world.twins.keys() {
        assert!(found.contains(*name), "log {name} is gone");
    }
    for (name, twin) in std::mem::take(&mut world.in_flux) {
        if found.contains(name) {
            world.twins.entry(name).or_insert(twin);
        }
    }
    for name in &found {
        assert!(world.twins.contains_key(name.as_str()), "log {name} has come back");
    }
    for (name, twin) in std::mem::take(&mut world.twins) {
        let log = world.log(name);
        let found = check_survived(name, &log, &twin);
        let positions = log.positions();
        let is_cleaned = twin.cleaned_end > 0;
        let after = if is_cleaned { twin.after(&found) } else { Vec::new() };
        let all = all_batches(&log, &twin, found);
        let known = Twin {
            batches: if is_cleaned { after } else { all.clone() },
            start: positions.log_start.get(),
            start_durable: twin.start_durable,
            flushed: twin.flushed,
            checkpoint: twin.checkpoint,
            is_compacted: twin.is_compacted,
            was_truncated: twin.was_truncated,
            cleaned_end: twin.cleaned_end,
            compacted_to: twin.compacted_to,
            cleaned_ms: twin.cleaned_ms,
            horizons_ms: twin.horizons_ms,
            end_at_least: positions.log_end.offset.get(),
            ..Twin::default()
        };
        check_agrees(name, &log, &all, &known);
        world.twins.insert(name, known);
    }
}

/// The life after: appends, an orderly stop, and more steps.
fn go_on(world: &mut World, dice: &mut Dice) {
    for name in world.make_lasting() {
        for _ in 0..4 {
            world.append(name, dice).unwrap();
        }
    }
    world.stop_and_start(dice).unwrap();
    for (name, twin) in &world.twins {
        let log = world.log(name);
        let all = all_batches(&log, twin, found_batches(&log));
        check_agrees(name, &log, &all, twin);
        let folder = world.disk.root().folder("d").folder(&partition(name).to_string());
        check_index_files(name, &*folder, &all);
    }
    world.steps(dice, 10).unwrap();
}

/// Which calls a crash came at.
#[derive(Default)]
struct Coverage {
    runs: u64,
    seen: BTreeMap<Purpose, (u64, u64)>,
    hit: BTreeSet<Purpose>,
    numbers: BTreeSet<u64>,
    shortest: u64,
}

impl Coverage {
    fn merge(mut self, other: Self) -> Self {
        self.runs += other.runs;
        self.seen.extend(other.seen);
        self.hit.extend(other.hit);
        self.numbers.extend(other.numbers);
        self.shortest = self.shortest.min(other.shortest);
        self
    }

    /// Some call of each purpose that no crash came at.
    fn missed(&self) -> Vec<(u64, u64)> {
        let missed = self.seen.iter().filter(|(purpose, _)| !self.hit.contains(*purpose));
        missed.map(|(_, place)| *place).collect()
    }
}

/// A run's number: the life and the call at which the power goes.
fn run_number(life: u64, call: u64) -> u64 {
    life * 100_000 + call
}

fn run(life: u64, call: u64) {
    let outcome = catch_unwind(AssertUnwindSafe(|| crashed(life, call)));
    assert!(outcome.is_ok(), "OTTLA_CRASH_RUN={}", run_number(life, call));
}

/// One life with a crash at each of some calls, spread so that all lives together come to every one.
fn crash_often(life: u64, lives: u64) -> Coverage {
    let calls = undisturbed(life);
    let count = calls.len() as u64;
    let mut coverage = Coverage { shortest: count, ..Coverage::default() };
    for number in 0..CRASHES {
        let call = (number * lives + life) * count / (CRASHES * lives);
        run(life, call);
        coverage.runs += 1;
        coverage.numbers.insert(call);
        coverage.hit.extend(calls.get(usize::try_from(call).unwrap()).cloned());
    }
    let places = calls.into_iter().zip(0..).map(|(purpose, call)| (purpose, (life, call)));
    coverage.seen.extend(places);
    coverage
}

/// Every life below a number, on two threads.
fn in_parallel(lives: u64) -> Coverage {
    let next = AtomicU64::new(0);
    let work = || {
        let mut coverage = Coverage { shortest: u64::MAX, ..Coverage::default() };
        loop {
            let life = next.fetch_add(1, Ordering::Relaxed);
            if life >= lives {
                return coverage;
            }
            coverage = coverage.merge(crash_often(life, lives));
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(work);
        let coverage = work();
        coverage.merge(other.join().unwrap())
    })
}

#[test]
fn after_a_loss_of_power_at_any_call_all_that_was_flushed_is_there_and_nothing_twice() {
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(number) = variable("OTTLA_CRASH_RUN") {
        crashed(number / 100_000, number % 100_000);
        return;
    }
    let coverage = in_parallel(LIVES * variable("OTTLA_CRASH_RUNS").unwrap_or(1));
    let missed = coverage.missed();
    for (life, call) in &missed {
        run(*life, *call);
    }
    let runs = coverage.runs + missed.len() as u64;
    println!(
        "{runs} crashes, at each of the first {} calls and for each of {} purposes",
        coverage.shortest,
        coverage.seen.len()
    );
    let remembered = world::REMEMBERED.load(Ordering::Relaxed);
    assert!(remembered > runs / 3, "{remembered} logs were not opened by the {runs} starts after a stop");
    assert!(runs >= 20_000);
    for call in 0..coverage.shortest {
        assert!(coverage.numbers.contains(&call), "no crash at call {call}");
    }
    let steps: BTreeSet<_> = coverage.seen.keys().map(|(step, ..)| *step).collect();
    assert_eq!(steps.len(), world::STEP_KINDS, "{steps:?}");
}
