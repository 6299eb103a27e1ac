//! What is built is what is read, for any records and each codec; and a broker accepts it as it is.

use bytes::Bytes;
use ottla_model::batch::{BatchBuilder, BatchRules, NewRecord, RecordBatch, check_batch};
use ottla_model::compression::{Codec, Compression};
use ottla_model::{Offset, ProducerEpoch, ProducerId};
use proptest::prelude::*;

type OwnedHeader = (Vec<u8>, Option<Vec<u8>>);

#[derive(Debug, Clone)]
struct OwnedRecord {
    timestamp_ms: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<OwnedHeader>,
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => proptest::collection::vec(any::<u8>(), 0..40),
        1 => (any::<u8>(), 0..200_000_usize).prop_map(|(byte, times)| vec![byte; times]),
    ]
}

fn any_record() -> impl Strategy<Value = OwnedRecord> {
    let timestamp = prop_oneof![Just(-1), 1_700_000_000_000..1_700_000_100_000_i64, any::<i64>()];
    let header = (proptest::collection::vec(any::<u8>(), 0..10), proptest::option::of(any_bytes()));
    let headers = proptest::collection::vec(header, 0..3);
    (timestamp, proptest::option::of(any_bytes()), proptest::option::of(any_bytes()), headers)
        .prop_map(|(timestamp_ms, key, value, headers)| OwnedRecord { timestamp_ms, key, value, headers })
}

fn any_compression() -> impl Strategy<Value = Compression> {
    proptest::sample::select(Codec::ALL.to_vec()).prop_map(Compression::of)
}

fn build(compression: Compression, records: &[OwnedRecord]) -> BatchBuilder {
    let mut builder = BatchBuilder::new(compression);
    for record in records {
        let headers: Vec<(&[u8], Option<&[u8]>)> =
            record.headers.iter().map(|(key, value)| (key.as_slice(), value.as_deref())).collect();
        let new = NewRecord {
            timestamp_ms: record.timestamp_ms,
            key: record.key.as_deref(),
            value: record.value.as_deref(),
            headers: &headers,
        };
        builder.append(&new).expect("the record fits");
    }
    builder
}

fn assert_records_are(bytes: &Bytes, expected: &[OwnedRecord]) {
    let mut bytes = bytes.clone();
    let batch = RecordBatch::split_first(&mut bytes).expect("a batch").expect("all of it");
    assert!(bytes.is_empty());
    batch.verify_crc().expect("the right checksum");
    let records = batch.records(1 << 30).expect("records");
    let mut count = 0;
    for (record, (at, expected)) in records.iter().zip((0..).zip(expected)) {
        let record = record.expect("a record");
        assert_eq!(record.offset, Offset::new(at));
        assert_eq!(record.timestamp_ms, expected.timestamp_ms);
        assert_eq!(record.key, expected.key.as_deref());
        assert_eq!(record.value, expected.value.as_deref());
        let headers: Vec<OwnedHeader> =
            record.headers.map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))).collect();
        assert_eq!(headers, expected.headers);
        count += 1;
    }
    assert_eq!(count, expected.len());
    assert_eq!(records.iter().count(), expected.len());
}

/// Rules that let any timestamp and any size pass.
fn lenient() -> BatchRules {
    BatchRules {
        max_message_bytes: usize::MAX,
        timestamp_before_max_ms: i64::MAX,
        timestamp_after_max_ms: i64::MAX,
        ..BatchRules::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_is_built_is_what_is_read(
        compression in any_compression(),
        records in proptest::collection::vec(any_record(), 1..12),
        sequence in 0..i32::MAX,
    ) {
        let builder = build(compression, &records)
            .with_producer(ProducerId::new(7), ProducerEpoch::new(1), sequence);
        let bytes = builder.finish_bytes().expect("a batch");
        assert_records_are(&bytes, &records);
    }

    #[test]
    fn what_is_built_is_accepted_as_it_is(
        compression in any_compression(),
        records in proptest::collection::vec(any_record(), 1..12),
    ) {
        // A timestamp that no range check lets pass is −2⁶³ and its like: the distance to it does not fit.
        let records: Vec<OwnedRecord> = records
            .into_iter()
            .map(|record| OwnedRecord { timestamp_ms: record.timestamp_ms.max(-1), ..record })
            .collect();
        let bytes = build(compression, &records).finish_bytes().expect("a batch");
        let checked = check_batch(bytes.clone(), &lenient(), 1_700_000_000_000).expect("it is accepted");
        assert_eq!(checked.to_bytes(), bytes);
        assert_eq!(checked.body().as_ptr(), bytes[61..].as_ptr(), "the records were not copied");
    }

    #[test]
    fn recompressing_keeps_every_record(
        from in any_compression(),
        to in any_compression(),
        records in proptest::collection::vec(any_record(), 1..12),
    ) {
        let records: Vec<OwnedRecord> = records
            .into_iter()
            .map(|record| OwnedRecord { timestamp_ms: record.timestamp_ms.max(-1), ..record })
            .collect();
        let rules = BatchRules {
            compression: ottla_model::batch::CompressionTarget::To(to),
            ..lenient()
        };
        let bytes = build(from, &records).finish_bytes().expect("a batch");
        let checked = check_batch(bytes, &rules, 1_700_000_000_000).expect("it is accepted");
        assert_eq!(checked.header().codec(), Some(to.codec()));
        assert_records_are(&checked.to_bytes(), &records);
    }
}
