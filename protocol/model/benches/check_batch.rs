//! What checking, building and reading a batch costs, beside the checksum alone, which no broker can do without.

#![allow(missing_docs, reason = "criterion's macros make public items")]

use std::hint::black_box;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ottla_model::batch::{
    BatchBuilder, BatchHeader, BatchRules, NewRecord, RecordBatch, check_batch, verify_crc,
};
use ottla_model::compression::{Codec, Compression};

const NOW_MS: i64 = 1_700_000_000_000;

/// Records of 100 bytes that differ a little, as many as given.
fn build(codec: Codec, records: usize) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::of(codec));
    for at in 0..records {
        let value = format!("{at:08} {:.91}", "a line of text that repeats itself ".repeat(3));
        let record = NewRecord {
            timestamp_ms: NOW_MS,
            key: Some(&value.as_bytes()[..8]),
            value: Some(value.as_bytes()),
            headers: &[],
        };
        builder.append(&record).expect("the record fits");
    }
    builder.finish_bytes().expect("a batch")
}

fn batches(criterion: &mut Criterion) {
    for records in [10, 1000] {
        let plain = build(Codec::None, records);
        let header = BatchHeader::parse(&plain).expect("a header");
        let mut group = criterion.benchmark_group(format!("{records} records of 100 B"));
        group.throughput(Throughput::Elements(records as u64));
        group.bench_function("checksum alone", |bench| bench.iter(|| verify_crc(&header, black_box(&plain))));
        for codec in Codec::ALL {
            let batch = build(codec, records);
            group.bench_function(format!("check {codec}"), |bench| {
                bench.iter(|| check_batch(black_box(batch.clone()), &BatchRules::default(), NOW_MS));
            });
        }
        group.bench_function("read", |bench| {
            bench.iter(|| {
                let mut bytes = black_box(plain.clone());
                let batch = RecordBatch::split_first(&mut bytes).expect("a batch").expect("all of it");
                let records = batch.records(0).expect("records");
                records.iter().map(|record| record.map_or(0, |record| record.offset.get())).sum::<i64>()
            });
        });
        group.bench_function("build", |bench| {
            let value = [b'x'; 100];
            let record = NewRecord { timestamp_ms: NOW_MS, value: Some(&value), ..NewRecord::default() };
            bench.iter(|| {
                let mut builder = BatchBuilder::with_capacity(Compression::NONE, records * 120);
                for _ in 0..records {
                    builder.append(black_box(&record)).expect("the record fits");
                }
                builder.finish_bytes().expect("a batch")
            });
        });
    }
}

criterion_group!(benches, batches);
criterion_main!(benches);
