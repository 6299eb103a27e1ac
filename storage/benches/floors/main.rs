//! `cargo bench -p ottla-storage --bench floors [append|lookup|recovery|start|compaction]`: the log beside a floor, the least
//! that any program must do for the same work, in pairs that follow each other at once. The figure is the median of the
//! pairs' ratios, in processor time where the work has a core to itself: what else the machine does matters little then.
//! It decides nothing; docs/performance.md says what was seen.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench tells, and stops where it cannot go on"
)]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

mod append;
mod compaction;
mod lookup;
mod recovery;
mod start;

use std::time::Duration;

use bytes::Bytes;
use ottla_model::batch::{BatchBuilder, NewRecord};
use ottla_model::compression::Compression;

/// Any time will do; all timestamps of a bench lie around it.
const NOW_MS: i64 = 1_700_000_000_000;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let scenarios: [(&str, fn()); 5] = [
        ("append", append::run),
        ("lookup", lookup::run),
        ("recovery", recovery::run),
        ("start", start::run),
        ("compaction", compaction::run),
    ];
    for (name, run) in scenarios {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            run();
        }
    }
}

/// How long the processor has worked for this thread.
fn thread_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// What a piece of work takes this thread.
fn cost(work: impl FnOnce()) -> Duration {
    let before = thread_time();
    work();
    thread_time() - before
}

/// Prints the median of both sides and of the pairs' ratios, with the ratios' range.
fn report(name: &str, unit: &str, per: f64, pairs: &[(Duration, Duration)], goal: &str) {
    let figure = |duration: &Duration| duration.as_secs_f64() / per;
    let median = |mut figures: Vec<f64>| {
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    let ours = median(pairs.iter().map(|(ours, _)| figure(ours)).collect());
    let floor = median(pairs.iter().map(|(_, floor)| figure(floor)).collect());
    let ratios: Vec<f64> = pairs.iter().map(|(ours, floor)| figure(ours) / figure(floor)).collect();
    let (low, high) =
        (ratios.iter().copied().fold(f64::MAX, f64::min), ratios.iter().copied().fold(0.0, f64::max));
    let ratio = median(ratios);
    println!(
        "{name}: {ours:.3} {unit}, floor {floor:.3} {unit}, ratio {ratio:.2} ({low:.2} to {high:.2}), goal {goal}"
    );
}

/// An uncompressed batch of about `bytes`, of records of `value_bytes`.
fn batch(bytes: usize, value_bytes: usize) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::NONE);
    let mut noise = 1_u64;
    for _ in 0..bytes / value_bytes {
        let value: Vec<u8> = (0..value_bytes)
            .map(|_| {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                noise.to_be_bytes()[0]
            })
            .collect();
        let record = NewRecord { timestamp_ms: NOW_MS, value: Some(&value), ..NewRecord::default() };
        builder.append(&record).unwrap();
    }
    builder.finish_bytes().unwrap()
}
