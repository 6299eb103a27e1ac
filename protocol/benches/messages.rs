//! How long messages and batches take, beside crate kafka-protocol on the same inputs.

#![allow(missing_docs, reason = "criterion's macros make public items")]

#[allow(unreachable_pub, dead_code, reason = "two programs share the file")]
mod cases;

use criterion::{Criterion, criterion_group, criterion_main};

fn messages(criterion: &mut Criterion) {
    for case in cases::all() {
        let mut work = (case.make)();
        let mut group = criterion.benchmark_group(&case.name);
        group.bench_function("ottla", |bench| bench.iter(&mut work.ours));
        group.bench_function("kafka-protocol", |bench| bench.iter(&mut work.theirs));
    }
}

criterion_group!(benches, messages);
criterion_main!(benches);
