//! Batches that are written anew take little memory however far they unfold, and a caller that cannot stay long learns
//! in time that one takes long.

use std::io::Write as _;

use bytes::Bytes;
use ottla_model::batch::{
    BATCH_HEADER_BYTES, BatchBuilder, BatchRejection, BatchRules, CheckedBatch, CompressionTarget, NewRecord,
    check_batch, check_batch_within,
};
use ottla_model::compression::{Codec, Compression};
use ottla_model::varint::write_varint;

const NOW_MS: i64 = 1_700_000_000_000;
const MIB: usize = 1 << 20;
/// The output of up to `max.message.bytes` while its buffer grows, the windows, and what a codec of this language has.
const MEMORY_BYTES_MAX: u64 = 4 << 20;
const CODECS: [Codec; 4] = [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

/// A zstd batch of so many records, each with a value of so many zeros, behind a gap of offsets.
fn bomb(count: i32, value_bytes: usize) -> Bytes {
    let record = NewRecord { timestamp_ms: NOW_MS, ..NewRecord::default() };
    let mut builder = BatchBuilder::new(Compression::of(Codec::Zstd));
    for _ in 0..count {
        builder.append(&record).expect("the record fits");
    }
    let mut batch = builder.finish_bytes().expect("a batch")[..BATCH_HEADER_BYTES].to_vec();
    let mut encoder = zstd::stream::write::Encoder::new(&mut batch, 3).expect("memory is there");
    let zeros = vec![0; MIB.min(value_bytes)];
    for index in 0..count {
        let mut head = vec![0, 0];
        write_varint(&mut head, index + 1);
        write_varint(&mut head, -1);
        write_varint(&mut head, i32::try_from(value_bytes).expect("a length"));
        let mut length = Vec::new();
        write_varint(&mut length, i32::try_from(head.len() + value_bytes + 1).expect("a length"));
        encoder.write_all(&[length, head].concat()).expect("memory takes it");
        for _ in 0..value_bytes / zeros.len() {
            encoder.write_all(&zeros).expect("memory takes it");
        }
        encoder.write_all(&[0]).expect("memory takes it");
    }
    encoder.finish().expect("memory takes it");
    let length = i32::try_from(batch.len() - 12).expect("a length").to_be_bytes();
    batch[8..12].copy_from_slice(&length);
    let crc = crc32c::crc32c(&batch[21..]).to_be_bytes();
    batch[17..21].copy_from_slice(&crc);
    batch.into()
}

fn to(codec: Codec) -> BatchRules {
    let compression = CompressionTarget::To(Compression::of(codec));
    BatchRules { compression, ..BatchRules::default() }
}

fn measured(batch: &Bytes, rules: &BatchRules) -> Result<CheckedBatch, BatchRejection> {
    let mut checked = None;
    let allocated = allocation_counter::measure(|| {
        checked = Some(check_batch(batch.clone(), rules, NOW_MS));
    });
    assert!(allocated.bytes_max < MEMORY_BYTES_MAX, "{rules:?}: {allocated:?}");
    checked.expect("it was measured")
}

#[test]
fn what_unfolds_to_256_mib_is_written_anew_in_a_few() {
    for (count, value_bytes) in [(256, MIB), (1, 256 * MIB)] {
        let checked = measured(&bomb(count, value_bytes), &to(Codec::Zstd)).expect("zstd makes it small");
        assert_eq!(checked.header().codec(), Some(Codec::Zstd));
        assert_eq!(checked.header().record_count(), count);
        assert!(checked.size() < MIB);
    }
}

#[test]
fn what_does_not_fit_is_given_up_in_little_memory() {
    for batch in [bomb(64, MIB), bomb(1, 64 * MIB)] {
        for codec in [Codec::None, Codec::Snappy] {
            let rules = BatchRules { max_message_bytes: 100_000, ..to(codec) };
            let rejection = measured(&batch, &rules).expect_err("it does not fit");
            let BatchRejection::TooLarge { size_bytes, limit_bytes } = rejection else {
                panic!("{rejection:?}")
            };
            assert_eq!(limit_bytes, 100_000);
            assert!(size_bytes > limit_bytes);
        }
    }
}

#[test]
fn records_of_all_sizes_are_the_same_after_recompression() {
    let sizes = [0, 1, 1000, 32 << 10, (64 << 10) - 20, 64 << 10, 65 << 10, 200_000, 3, 100_000];
    let text = b"words, 0123456789 and more words; ".repeat(10_000);
    let header: &[(&[u8], Option<&[u8]>)] = &[(b"h", Some(b"1")), (b"none", None)];
    let records = |builder: &mut BatchBuilder| {
        for (at, size) in sizes.into_iter().enumerate() {
            let key = &text[..if at % 3 == 1 { size } else { 4 }];
            let record = NewRecord {
                timestamp_ms: NOW_MS - i64::try_from(at).expect("few") * 1000,
                key: (at % 2 == 1).then_some(key),
                value: (at % 4 != 3).then(|| &text[at..at + size]),
                headers: if at % 5 == 0 { &[] } else { header },
            };
            builder.append(&record).expect("the record fits");
        }
    };
    for from in Codec::ALL {
        let mut builder = BatchBuilder::new(Compression::of(from));
        records(&mut builder);
        let source = builder.finish_bytes().expect("a batch");
        for target in Codec::ALL.into_iter().filter(|target| *target != from) {
            let mut builder = BatchBuilder::new(Compression::of(target));
            records(&mut builder);
            let expected = builder.finish().expect("a batch");
            let checked = check_batch(source.clone(), &to(target), NOW_MS).expect("it is accepted");
            CheckedBatch::from_leader(&checked.to_bytes()).expect("a right checksum");
            assert_eq!(checked.header().max_timestamp_ms(), expected.header().max_timestamp_ms());
            assert_eq!(checked.header().base_timestamp_ms(), expected.header().base_timestamp_ms());
            let block = |batch: &CheckedBatch| batch.records(4 * MIB).expect("records").block().clone();
            assert!(block(&checked) == block(&expected), "{from} to {target}");
        }
    }
}

#[test]
fn each_level_compresses_in_steps() {
    let batch = bomb(3, 100_000);
    for codec in CODECS {
        let levels = match codec {
            Codec::Gzip | Codec::Snappy => continue,
            Codec::Lz4 => vec![1, 3, 9, 12, 17],
            _ => vec![-5, 1, 19],
        };
        for level in levels {
            let compression = Compression::with_level(codec, level).expect("a level");
            let rules =
                BatchRules { compression: CompressionTarget::To(compression), ..BatchRules::default() };
            let checked = check_batch(batch.clone(), &rules, NOW_MS).expect("it is accepted");
            let records = checked.records(MIB).expect("records");
            assert_eq!(records.iter().filter(|record| record.is_ok()).count(), 3, "{codec} at {level}");
        }
    }
}

#[test]
fn a_batch_beyond_the_budget_is_left_undecided_and_what_was_spent_is_gone() {
    let batch = bomb(10, 10_000);
    let unfolded =
        check_batch(batch.clone(), &to(Codec::None), NOW_MS).expect("it fits").size() - BATCH_HEADER_BYTES;
    for rules in [BatchRules::default(), to(Codec::Zstd)] {
        let mut budget = unfolded + 7;
        assert!(check_batch_within(batch.clone(), &rules, NOW_MS, &mut budget).expect("right").is_some());
        assert_eq!(budget, 7);
        assert!(check_batch_within(batch.clone(), &rules, NOW_MS, &mut budget).expect("undecided").is_none());
        assert_eq!(budget, 0);
        let mut budget = unfolded - 1;
        assert!(check_batch_within(batch.clone(), &rules, NOW_MS, &mut budget).expect("undecided").is_none());
    }
    // The topic's own limit is decided, not left to another.
    let tight = BatchRules { decompressed_batch_bytes_max: 5000, ..BatchRules::default() };
    let refused = check_batch_within(batch, &tight, NOW_MS, &mut 5000).expect_err("it is over the limit");
    assert!(matches!(refused, BatchRejection::Compression(_)), "{refused:?}");
}

#[test]
fn uncompressed_records_count_only_when_they_are_compressed() {
    let mut builder = BatchBuilder::new(Compression::NONE);
    let record = NewRecord { timestamp_ms: NOW_MS, value: Some(&[7; 1000]), ..NewRecord::default() };
    builder.append(&record).expect("the record fits");
    let batch = builder.finish_bytes().expect("a batch");
    let mut budget = 900;
    let kept = check_batch_within(batch.clone(), &BatchRules::default(), NOW_MS, &mut budget).expect("right");
    assert!(kept.is_some());
    assert!(check_batch_within(batch, &to(Codec::Gzip), NOW_MS, &mut budget).expect("undecided").is_none());
    assert_eq!(budget, 900);
}
