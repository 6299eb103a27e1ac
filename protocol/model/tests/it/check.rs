//! What a broker accepts of a client, what it changes, and what it refuses, for each rule that Kafka has.

use bytes::Bytes;
use ottla_model::batch::{
    Attributes, BatchBuilder, BatchHeader, BatchRejection, BatchRules, CheckedBatch, CompressionTarget,
    NewRecord, RECORD_FAULTS_MAX, RecordFaultCause, TimestampType, check_batch, check_framing,
};
use ottla_model::compression::{Codec, Compression, CompressionError};
use ottla_model::varint::write_varint;
use ottla_model::{Offset, ProducerEpoch, ProducerId};

const NOW_MS: i64 = 1_700_000_000_000;
const CODECS: [Codec; 4] = [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

fn check(bytes: Vec<u8>) -> Result<CheckedBatch, BatchRejection> {
    check_with(&BatchRules::default(), bytes)
}

fn check_with(rules: &BatchRules, bytes: Vec<u8>) -> Result<CheckedBatch, BatchRejection> {
    check_batch(Bytes::from(bytes), rules, NOW_MS)
}

/// A batch of records `k0`/`v0`, `k1`/`v1`, … with these timestamps.
fn batch_of(compression: Compression, timestamps: &[i64]) -> Vec<u8> {
    let mut builder = BatchBuilder::new(compression);
    for (at, timestamp_ms) in timestamps.iter().enumerate() {
        let (key, value) = (format!("k{at}"), format!("v{at}"));
        let record = NewRecord {
            timestamp_ms: *timestamp_ms,
            key: Some(key.as_bytes()),
            value: Some(value.as_bytes()),
            headers: &[(b"h", Some(b"1"))],
        };
        builder.append(&record).expect("the record fits");
    }
    builder.finish_bytes().expect("a batch").to_vec()
}

fn plain() -> Vec<u8> {
    batch_of(Compression::NONE, &[NOW_MS, NOW_MS + 1, NOW_MS + 2])
}

/// Overwrites the bytes at `at` and makes the checksum right again.
fn with(mut batch: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    batch[at..at + bytes.len()].copy_from_slice(bytes);
    signed(batch)
}

fn signed(mut batch: Vec<u8>) -> Vec<u8> {
    let crc = crc32c::crc32c(&batch[21..]).to_be_bytes();
    batch[17..21].copy_from_slice(&crc);
    batch
}

/// The same header around another body, compressed as the header says.
fn with_body(batch: &[u8], count: i32, records: &[u8]) -> Vec<u8> {
    let codec = BatchHeader::parse(batch).expect("a header").codec().expect("a codec");
    let mut changed = batch[..61].to_vec();
    Compression::of(codec).compress(records, &mut changed).expect("it compresses");
    let length = i32::try_from(changed.len() - 12).expect("short").to_be_bytes();
    changed[8..12].copy_from_slice(&length);
    changed[23..27].copy_from_slice(&(count - 1).to_be_bytes());
    changed[57..61].copy_from_slice(&count.to_be_bytes());
    signed(changed)
}

/// A record with these fields in order, behind its length.
fn record(offset_delta: i32, fields: &[u8]) -> Vec<u8> {
    let mut body = vec![0, 0];
    write_varint(&mut body, offset_delta);
    body.extend_from_slice(fields);
    let mut record = Vec::new();
    write_varint(&mut record, i32::try_from(body.len()).expect("short"));
    record.extend(body);
    record
}

/// Key `k`, value `v`, no headers.
const FIELDS: &[u8] = &[2, b'k', 2, b'v', 0];

macro_rules! assert_rejected {
    ($found:expr, $pattern:pat $(if $guard:expr)?) => {
        match $found {
            Err($pattern) $(if $guard)? => {}
            other => panic!("expected {}: {other:?}", stringify!($pattern $(if $guard)?)),
        }
    };
}

#[track_caller]
fn assert_kept(rules: &BatchRules, bytes: &[u8]) {
    let checked = check_with(rules, bytes.to_vec()).expect("it is accepted");
    assert_eq!(checked.to_bytes(), bytes, "not a byte was changed");
}

#[test]
fn a_good_batch_is_kept_as_it_is_whatever_its_codec() {
    for codec in Codec::ALL {
        assert_kept(&BatchRules::default(), &batch_of(Compression::of(codec), &[NOW_MS, NOW_MS - 7, NOW_MS]));
        assert_kept(&BatchRules::default(), &batch_of(Compression::of(codec), &[-1, -1]));
    }
}

#[test]
fn no_batch_or_one_cut_short_is_none() {
    assert_rejected!(check(Vec::new()), BatchRejection::NoBatch { present_bytes: 0 });
    let batch = plain();
    for cut in 0..batch.len() {
        assert_rejected!(check(batch[..cut].to_vec()), BatchRejection::NoBatch { present_bytes } if present_bytes == cut);
    }
}

#[test]
fn of_two_batches_none_is_taken() {
    assert_rejected!(check([plain(), plain()].concat()), BatchRejection::SeveralBatches);
    let mut old = plain();
    old[16] = 1;
    assert_rejected!(check([plain(), old].concat()), BatchRejection::SeveralBatches);
}

#[test]
fn what_follows_a_batch_does_not_matter_unless_it_cannot_be_one() {
    for surplus in [&[0, 0, 0][..], &plain()[..60], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
        let checked = check([&plain(), surplus].concat()).expect("it is accepted");
        assert_eq!(checked.to_bytes(), plain(), "the surplus is not kept");
    }
    assert_rejected!(check([plain(), vec![0; 20]].concat()), BatchRejection::Length { length: 0 });
    let mut odd = plain();
    odd[16] = 3;
    assert_rejected!(check([plain(), odd].concat()), BatchRejection::UnknownMagic { magic: 3 });
}

#[test]
fn only_magic_2_is_taken() {
    for magic in [0, 1] {
        assert_rejected!(check(with(plain(), 16, &[magic])), BatchRejection::OldMagic { .. });
    }
    assert_rejected!(check(with(plain(), 16, &[3])), BatchRejection::UnknownMagic { magic: 3 });
    assert_rejected!(check(with(plain(), 16, &[0xff])), BatchRejection::UnknownMagic { magic: -1 });
}

#[test]
fn lengths_that_no_batch_has_are_told_apart() {
    let length = |length: i32| with(plain(), 8, &length.to_be_bytes());
    for small in [13, 0, -1, i32::MIN] {
        assert_rejected!(check(length(small)), BatchRejection::Length { length } if length == small);
    }
    // Long enough to have a magic, too short for the header: Kafka calls it damaged.
    assert_rejected!(check(length(14)[..26].to_vec()), BatchRejection::ShorterThanHeader { size_bytes: 26 });
    assert_rejected!(check(length(48)[..60].to_vec()), BatchRejection::ShorterThanHeader { size_bytes: 60 });
    assert_rejected!(check(length(i32::MAX)), BatchRejection::LengthOverflow { length: i32::MAX });
    assert_rejected!(check(length(i32::MAX - 12)), BatchRejection::NoBatch { .. });
}

#[test]
fn faults_are_found_in_the_order_of_kafka() {
    let tight = BatchRules { max_message_bytes: 100, ..BatchRules::default() };
    // Wrong in every way: base offset, size, checksum, count.
    let mut batch = plain();
    batch[7] = 1;
    batch[60] = 9;
    assert_rejected!(check_with(&tight, batch.clone()), BatchRejection::BaseOffset { base_offset } if base_offset == Offset::new(1));
    batch[7] = 0;
    let size = batch.len();
    assert_rejected!(
        check_with(&tight, batch.clone()),
        BatchRejection::TooLarge { size_bytes, limit_bytes: 100 } if size_bytes == size
    );
    assert_rejected!(check(batch.clone()), BatchRejection::Crc(mismatch) if mismatch.stored != mismatch.computed);
    assert_rejected!(
        check(signed(batch)),
        BatchRejection::OffsetsAndCount { record_count: 9, last_offset_delta: 2 }
    );
}

#[test]
fn a_batch_of_exactly_the_largest_size_is_taken() {
    let size = plain().len();
    let rules = |max_message_bytes| BatchRules { max_message_bytes, ..BatchRules::default() };
    assert_kept(&rules(size), &plain());
    assert_rejected!(check_with(&rules(size - 1), plain()), BatchRejection::TooLarge { .. });
}

#[test]
fn offsets_and_number_of_records_must_agree() {
    let delta = |delta: i32| with(plain(), 23, &delta.to_be_bytes());
    let count = |count: i32| with(plain(), 57, &count.to_be_bytes());
    assert_rejected!(check(delta(-1)), BatchRejection::OffsetRange { last_offset_delta: -1 });
    assert_rejected!(check(delta(i32::MIN)), BatchRejection::OffsetRange { .. });
    assert_rejected!(
        check(delta(1)),
        BatchRejection::OffsetsAndCount { record_count: 3, last_offset_delta: 1 }
    );
    for none in [0, -1, i32::MIN] {
        assert_rejected!(check(count(none)), BatchRejection::RecordCount { record_count } if record_count == none);
    }
    assert_rejected!(check(count(4)), BatchRejection::OffsetsAndCount { .. });
    assert_rejected!(check(delta(i32::MAX)), BatchRejection::OffsetsAndCount { .. });
}

#[test]
fn control_batches_and_missing_sequences_are_refused() {
    let control = with(plain(), 21, &Attributes::new(0).with_control(true).get().to_be_bytes());
    assert_rejected!(check(control), BatchRejection::ControlBatch);
    let unnumbered = with(plain(), 43, &5_i64.to_be_bytes());
    assert_rejected!(check(unnumbered), BatchRejection::Sequence { base_sequence: -1, .. });
    let numbered = |sequence: i32| {
        let mut fields = 5_i64.to_be_bytes().to_vec();
        fields.extend(0_i16.to_be_bytes());
        fields.extend(sequence.to_be_bytes());
        with(plain(), 43, &fields)
    };
    assert_rejected!(check(numbered(-2)), BatchRejection::Sequence { base_sequence: -2, .. });
    for sequence in [0, i32::MAX] {
        assert_kept(&BatchRules::default(), &numbered(sequence));
    }
}

#[test]
fn oddities_that_kafka_takes_are_taken_and_kept() {
    let rules = BatchRules::default();
    // Attribute bits 6, 7 and 15; a producer id without an epoch; a sequence without a producer id.
    assert_kept(&rules, &with(plain(), 21, &0x40_i16.to_be_bytes()));
    assert_kept(&rules, &with(plain(), 21, &0x80_i16.to_be_bytes()));
    assert_kept(&rules, &with(plain(), 21, &i16::MIN.to_be_bytes()));
    let mut without_epoch = 5_i64.to_be_bytes().to_vec();
    without_epoch.extend([0xff, 0xff, 0, 0, 0, 0]);
    assert_kept(&rules, &with(plain(), 43, &without_epoch));
    assert_kept(&rules, &with(plain(), 53, &77_i32.to_be_bytes()));
    // A leader epoch, which nobody looks at.
    let mut with_epoch = plain();
    with_epoch[12..16].copy_from_slice(&7_i32.to_be_bytes());
    assert_kept(&rules, &with_epoch);
    // Attribute bits of a record, and a value of length −5.
    let mut odd = record(0, FIELDS);
    odd[1] = 0x7f;
    let at_now = batch_of(Compression::NONE, &[NOW_MS]);
    assert_kept(&rules, &with_body(&at_now, 1, &odd));
    assert_kept(&rules, &with_body(&at_now, 1, &record(0, &[2, b'k', 9, 0])));
    // Offsets of records that are not compressed.
    assert_kept(&rules, &with_body(&at_now, 2, &[record(5, FIELDS), record(3, FIELDS)].concat()));
}

#[test]
fn records_must_be_as_many_and_as_long_as_the_batch_says() {
    let good = record(0, FIELDS);
    let second = record(1, FIELDS);
    for codec in Codec::ALL {
        let base = batch_of(Compression::of(codec), &[NOW_MS]);
        let malformed = |count: i32, records: &[u8]| {
            let found = check(with_body(&base, count, records));
            assert_rejected!(found, BatchRejection::Malformed { .. });
        };
        malformed(2, &good);
        malformed(1, &[good.clone(), second.clone()].concat());
        malformed(1, &[&good[..], &[0]].concat());
        malformed(1, &[]);
        malformed(i32::MAX, &good);
        for cut in 1..good.len() {
            malformed(1, &good[..cut]);
        }
        // A length one too small and one too large; a header count without headers, and a negative one; a header
        // whose key has a negative length; a key that is longer than its record.
        let with_length = |by: u8| [&[good[0].wrapping_add(by)], &good[1..]].concat();
        malformed(1, &with_length(2));
        malformed(1, &with_length(0xfe));
        malformed(1, &record(0, &[2, b'k', 2, b'v', 2]));
        malformed(1, &record(0, &[2, b'k', 2, b'v', 1]));
        malformed(1, &record(0, &[2, b'k', 2, b'v', 2, 1, 1]));
        malformed(1, &record(0, &[40, b'k', 2, b'v', 0]));
        assert_kept(&BatchRules::default(), &with_body(&base, 2, &[good.clone(), second.clone()].concat()));
    }
}

#[test]
fn records_larger_than_the_window_are_walked_too() {
    let large = vec![b'x'; 200_000];
    let headers: [(&[u8], Option<&[u8]>); 2] = [(b"first", Some(&large)), (b"second", None)];
    for codec in Codec::ALL {
        let mut builder = BatchBuilder::new(Compression::of(codec));
        for (key, value) in [(None, Some(&large[..])), (Some(&large[..]), None), (Some(b"k"), Some(b"v"))] {
            let record = NewRecord { timestamp_ms: NOW_MS, key, value, headers: &headers };
            builder.append(&record).expect("the record fits");
        }
        let bytes = builder.finish_bytes().expect("a batch");
        let rules = BatchRules { max_message_bytes: 1 << 21, ..BatchRules::default() };
        assert_kept(&rules, &bytes);
        let compacted = BatchRules { key_required: true, ..rules };
        let rejection = check_with(&compacted, bytes.to_vec()).expect_err("the first record has no key");
        let indexes: Vec<i32> = rejection.record_faults().iter().map(|fault| fault.index).collect();
        assert_eq!(indexes, [0], "{codec}");
    }
}

#[test]
fn a_large_record_that_is_cut_or_lies_about_its_fields_is_refused() {
    let mut fields = Vec::new();
    write_varint(&mut fields, -1);
    write_varint(&mut fields, 150_000);
    fields.extend(vec![b'x'; 150_000]);
    fields.push(0);
    let good = record(0, &fields);
    for codec in CODECS {
        let base = batch_of(Compression::of(codec), &[NOW_MS]);
        assert_kept(&BatchRules::default(), &with_body(&base, 1, &good));
        for records in [
            good[..good.len() - 1].to_vec(),
            good[..100_000].to_vec(),
            record(0, &[&fields[..], &[7]].concat()),
            record(0, &[&fields[..fields.len() - 1], &[0x7f]].concat()),
            record(0, &[&fields[..fields.len() - 1], &[2, 1, 1]].concat()),
        ] {
            let found = check(with_body(&base, 1, &records));
            assert_rejected!(found, BatchRejection::Malformed { .. });
        }
    }
}

#[test]
fn a_compacted_topic_names_each_record_without_a_key() {
    let rules = BatchRules { key_required: true, ..BatchRules::default() };
    let keyless = |delta: i32| record(delta, &[1, 2, b'v', 0]);
    for codec in Codec::ALL {
        let base = batch_of(Compression::of(codec), &[NOW_MS]);
        let records = [record(0, FIELDS), keyless(1), record(2, FIELDS), keyless(3)].concat();
        let batch = with_body(&base, 4, &records);
        let rejection = check_with(&rules, batch.clone()).expect_err("it is refused");
        assert!(matches!(rejection, BatchRejection::MissingKeys { .. }), "{rejection:?}");
        let faults: Vec<(i32, RecordFaultCause)> =
            rejection.record_faults().iter().map(|fault| (fault.index, fault.cause)).collect();
        assert_eq!(faults, [(1, RecordFaultCause::MissingKey), (3, RecordFaultCause::MissingKey)]);
        assert_kept(&BatchRules::default(), &batch);
        // An empty key is a key; a tombstone is welcome.
        assert_kept(&rules, &with_body(&base, 1, &record(0, &[0, 1, 0])));
    }
}

#[test]
fn timestamps_too_far_from_now_are_named_with_the_range() {
    let rules =
        BatchRules { timestamp_before_max_ms: 1000, timestamp_after_max_ms: 50, ..BatchRules::default() };
    for codec in Codec::ALL {
        let compression = Compression::of(codec);
        assert_kept(&rules, &batch_of(compression, &[NOW_MS - 1000, NOW_MS + 50, -1]));
        let batch = batch_of(compression, &[NOW_MS - 1001, NOW_MS, NOW_MS + 51, -2]);
        let rejection = check_with(&rules, batch).expect_err("it is refused");
        assert!(matches!(rejection, BatchRejection::Timestamps { .. }), "{rejection:?}");
        let faults: Vec<(i32, RecordFaultCause)> =
            rejection.record_faults().iter().map(|fault| (fault.index, fault.cause)).collect();
        let outside = |timestamp_ms| RecordFaultCause::TimestampOutOfRange {
            timestamp_ms,
            earliest_ms: NOW_MS - 1000,
            latest_ms: NOW_MS + 50,
        };
        assert_eq!(faults, [(0, outside(NOW_MS - 1001)), (2, outside(NOW_MS + 51)), (3, outside(-2))]);
        let text = rejection.record_faults()[0].to_string();
        assert_eq!(text, "timestamp 1699999998999 lies outside of 1699999999000 to 1700000000050");
    }
}

#[test]
fn by_default_the_past_is_open_and_the_future_an_hour() {
    let hour = 3_600_000;
    assert_kept(&BatchRules::default(), &batch_of(Compression::NONE, &[0, NOW_MS + hour]));
    let late = batch_of(Compression::NONE, &[NOW_MS + hour + 1]);
    assert_rejected!(check(late), BatchRejection::Timestamps { .. });
    assert_rejected!(check(batch_of(Compression::NONE, &[i64::MAX])), BatchRejection::Timestamps { .. });
    // The distance wraps, in Kafka too.
    assert_rejected!(check(batch_of(Compression::NONE, &[i64::MIN])), BatchRejection::Timestamps { .. });
}

#[test]
fn among_mixed_faults_the_timestamp_decides() {
    let rules = BatchRules { key_required: true, ..BatchRules::default() };
    let base = batch_of(Compression::NONE, &[NOW_MS + 3_600_000]);
    let mut late = record(0, FIELDS);
    late[2] = 2;
    let keyless = record(1, &[1, 2, b'v', 0]);
    let rejection =
        check_with(&rules, with_body(&base, 2, &[late, keyless].concat())).expect_err("it is refused");
    assert!(matches!(rejection, BatchRejection::Timestamps { .. }), "{rejection:?}");
    assert_eq!(rejection.record_faults().len(), 2);
}

#[test]
fn a_rejection_names_a_limited_number_of_records() {
    let rules = BatchRules { key_required: true, ..BatchRules::default() };
    let count = i32::try_from(RECORD_FAULTS_MAX).expect("small") + 1;
    let records: Vec<u8> = (0..count).flat_map(|delta| record(delta, &[1, 1, 0])).collect();
    let batch = with_body(&batch_of(Compression::of(Codec::Zstd), &[NOW_MS]), count, &records);
    let rejection = check_with(&rules, batch).expect_err("it is refused");
    assert_eq!(rejection.record_faults().len(), RECORD_FAULTS_MAX);
}

/// A batch that claims LogAppendTime at this time.
fn claiming(compression: Compression, time_ms: i64) -> Vec<u8> {
    let mut builder = BatchBuilder::new(compression).with_log_append_time(time_ms);
    builder.append(&NewRecord { timestamp_ms: NOW_MS - 5, ..NewRecord::default() }).expect("the record fits");
    builder.finish_bytes().expect("a batch").to_vec()
}

#[test]
fn a_claim_of_log_append_time_is_dropped_or_refused() {
    let appended = BatchRules { timestamp_type: TimestampType::LogAppendTime, ..BatchRules::default() };
    for codec in Codec::ALL {
        let compression = Compression::of(codec);
        // CreateTime topic: the bit is cleared, the largest timestamp is the one that was claimed for all records.
        let checked = check(claiming(compression, NOW_MS - 1)).expect("it is accepted");
        assert_eq!(checked.header().timestamp_type(), TimestampType::CreateTime);
        assert_eq!(checked.max_timestamp_ms(), NOW_MS - 1);
        CheckedBatch::from_leader(&checked.to_bytes()).expect("the checksum was renewed");
        // Without a timestamp, or on a topic that sets the time itself, the claim is refused.
        let refused = check(claiming(compression, -1)).expect_err("it is refused");
        assert_eq!(refused.record_faults()[0].cause, RecordFaultCause::ClaimsLogAppendTime);
        let refused = check_with(&appended, claiming(compression, NOW_MS)).expect_err("it is refused");
        assert_eq!(refused.record_faults()[0].cause, RecordFaultCause::ClaimsLogAppendTime);
        assert!(matches!(refused, BatchRejection::Timestamps { .. }));
    }
}

#[test]
fn a_topic_with_log_append_time_stamps_the_batch() {
    let rules = BatchRules {
        timestamp_type: TimestampType::LogAppendTime,
        timestamp_before_max_ms: 0,
        timestamp_after_max_ms: 0,
        ..BatchRules::default()
    };
    for codec in Codec::ALL {
        // The producer's own times are not looked at.
        let batch = batch_of(Compression::of(codec), &[1, NOW_MS * 2, -1]);
        let checked = check_with(&rules, batch.clone()).expect("it is accepted");
        assert_eq!(checked.header().timestamp_type(), TimestampType::LogAppendTime);
        assert_eq!(checked.max_timestamp_ms(), NOW_MS);
        assert_eq!(checked.body(), &batch[61..], "the records keep their bytes");
        CheckedBatch::from_leader(&checked.to_bytes()).expect("the checksum was renewed");
    }
}

#[test]
fn a_wrong_largest_timestamp_is_put_right() {
    for codec in Codec::ALL {
        let good = batch_of(Compression::of(codec), &[NOW_MS, NOW_MS - 3]);
        let wrong = with(with(good.clone(), 35, &5_i64.to_be_bytes()), 21, &{
            let odd = Attributes::new(i16::MIN | 0x80).with_codec(codec);
            odd.get().to_be_bytes()
        });
        let checked = check(wrong).expect("it is accepted");
        assert_eq!(checked.to_bytes(), good, "bits that mean nothing fall when the field is written");
    }
}

#[test]
fn a_codec_that_does_not_exist_is_refused_before_the_count() {
    for id in 5..8_i16 {
        let batch = with(with(plain(), 57, &9_i32.to_be_bytes()), 21, &id.to_be_bytes());
        assert_rejected!(check(batch), BatchRejection::UnknownCodec { id: found } if i16::from(found) == id);
    }
}

#[test]
fn records_that_do_not_decompress_are_refused() {
    for codec in CODECS {
        let plain_but_says_otherwise =
            with(plain(), 21, &Attributes::new(0).with_codec(codec).get().to_be_bytes());
        assert_rejected!(
            check(plain_but_says_otherwise),
            BatchRejection::Compression(CompressionError::Codec { .. })
        );
    }
    for codec in [Codec::Gzip, Codec::Lz4, Codec::Zstd] {
        let batch = batch_of(Compression::of(codec), &[NOW_MS; 3]);
        let cut = batch.len() - 2;
        let mut short = batch[..cut].to_vec();
        short[8..12].copy_from_slice(&i32::try_from(cut - 12).expect("short").to_be_bytes());
        assert_rejected!(check(signed(short)), BatchRejection::Compression(CompressionError::Codec { .. }));
    }
}

#[test]
fn decompressed_sizes_have_a_limit_each_and_together() {
    let mut fields = vec![2, b'k'];
    write_varint(&mut fields, 1000);
    fields.extend(vec![b'x'; 1000]);
    fields.push(0);
    let large = record(1, &fields);
    let records = [record(0, FIELDS), large.clone()].concat();
    let size_bytes = large.len() - 2;
    let each = |limit| BatchRules { max_decompressed_message_bytes: limit, ..BatchRules::default() };
    let together = |limit| BatchRules { decompressed_batch_bytes_max: limit, ..BatchRules::default() };
    for codec in CODECS {
        let batch = with_body(&batch_of(Compression::of(codec), &[NOW_MS]), 2, &records);
        assert_kept(&each(size_bytes), &batch);
        assert_rejected!(
            check_with(&each(size_bytes - 1), batch.clone()),
            BatchRejection::RecordTooLarge { index: 1, size_bytes: found, limit_bytes }
                if found == size_bytes && limit_bytes == size_bytes - 1
        );
        assert_kept(&together(records.len()), &batch);
        assert_rejected!(
            check_with(&together(records.len() - 1), batch),
            BatchRejection::Compression(CompressionError::TooLarge { limit_bytes, .. })
                if limit_bytes == records.len() - 1
        );
    }
    let uncompressed = with_body(&batch_of(Compression::NONE, &[NOW_MS]), 2, &records);
    assert_kept(&each(1), &uncompressed);
}

#[test]
fn a_bomb_is_refused_before_it_unfolds() {
    let mut fields = vec![1];
    write_varint(&mut fields, 60 << 20);
    fields.extend(vec![0; 60 << 20]);
    fields.push(0);
    let bomb = with_body(&batch_of(Compression::of(Codec::Zstd), &[NOW_MS]), 1, &record(0, &fields));
    assert!(bomb.len() < 10_000);
    let rules = BatchRules { decompressed_batch_bytes_max: 1 << 20, ..BatchRules::default() };
    assert_rejected!(
        check_with(&rules, bomb),
        BatchRejection::Compression(CompressionError::TooLarge { limit_bytes: 1_048_576, .. })
    );
}

fn values(batch: &CheckedBatch) -> Vec<(i64, i64, String, usize)> {
    let records = batch.records(1 << 20).expect("records");
    let described = records.iter().map(|record| {
        let record = record.expect("a record");
        let value = String::from_utf8_lossy(record.value.unwrap_or_default()).into_owned();
        (record.offset.get(), record.timestamp_ms, value, record.headers.count())
    });
    described.collect()
}

#[test]
fn a_topic_with_its_own_codec_has_batches_written_anew() {
    for from in Codec::ALL {
        let mut builder = BatchBuilder::new(Compression::of(from))
            .with_producer(ProducerId::new(9), ProducerEpoch::new(2), 30)
            .with_transactional(true);
        for (timestamp_ms, value) in [(NOW_MS, b"one"), (NOW_MS - 9, b"two")] {
            let record = NewRecord { timestamp_ms, value: Some(value), ..NewRecord::default() };
            builder.append(&record).expect("the record fits");
        }
        let bytes = builder.finish_bytes().expect("a batch").to_vec();
        for to in Codec::ALL {
            let compression = CompressionTarget::To(Compression::of(to));
            let rules = BatchRules { compression, ..BatchRules::default() };
            if from == to {
                assert_kept(&rules, &bytes);
                continue;
            }
            let checked = check_with(&rules, bytes.clone()).expect("it is accepted");
            let header = checked.header();
            assert_eq!(header.codec(), Some(to));
            assert_eq!((header.producer_id().get(), header.producer_epoch().get()), (9, 2));
            assert_eq!((header.base_sequence(), header.last_sequence()), (30, 31));
            assert!(header.is_transactional());
            assert_eq!(header.max_timestamp_ms(), NOW_MS);
            assert_eq!(
                values(&checked),
                [(0, NOW_MS, "one".to_owned(), 0), (1, NOW_MS - 9, "two".to_owned(), 0)]
            );
            CheckedBatch::from_leader(&checked.to_bytes()).expect("a right checksum");

            let stamped = BatchRules { timestamp_type: TimestampType::LogAppendTime, ..rules };
            let checked = check_batch(bytes.clone().into(), &stamped, NOW_MS + 5).expect("it is accepted");
            assert_eq!(checked.header().timestamp_type(), TimestampType::LogAppendTime);
            assert_eq!(checked.max_timestamp_ms(), NOW_MS + 5);
        }
    }
}

#[test]
fn gaps_between_compressed_records_are_closed() {
    for codec in CODECS {
        let base = batch_of(Compression::of(codec), &[NOW_MS]);
        let batch = with_body(&base, 2, &[record(4, FIELDS), record(9, FIELDS)].concat());
        let checked = check(batch).expect("it is accepted");
        assert_eq!(checked.header().codec(), Some(codec));
        assert_eq!(values(&checked), [(0, NOW_MS, "v".to_owned(), 0), (1, NOW_MS, "v".to_owned(), 0)]);
    }
}

#[test]
fn the_size_counts_again_after_recompression() {
    let text = b"always the same words, ".repeat(400);
    let mut builder = BatchBuilder::new(Compression::of(Codec::Gzip));
    let record = NewRecord { timestamp_ms: NOW_MS, value: Some(&text), ..NewRecord::default() };
    builder.append(&record).expect("the record fits");
    let bytes = builder.finish_bytes().expect("a batch").to_vec();
    let rules = |codec, max_message_bytes| BatchRules {
        compression: CompressionTarget::To(Compression::of(codec)),
        max_message_bytes,
        ..BatchRules::default()
    };
    assert!(bytes.len() < 300, "compressed it is small");
    let plain_size = check_with(&rules(Codec::None, 20_000), bytes.clone()).expect("it fits").size();
    assert!(check_with(&rules(Codec::None, plain_size), bytes.clone()).is_ok());
    assert_rejected!(
        check_with(&rules(Codec::None, plain_size - 1), bytes.clone()),
        BatchRejection::TooLarge { size_bytes, limit_bytes } if size_bytes == plain_size && limit_bytes == plain_size - 1
    );
    // Snappy is the worse codec here.
    let snappy_size = check_with(&rules(Codec::Snappy, 20_000), bytes.clone()).expect("it fits").size();
    assert!(snappy_size > bytes.len());
    assert_rejected!(
        check_with(&rules(Codec::Snappy, snappy_size - 1), bytes),
        BatchRejection::TooLarge { size_bytes, .. } if size_bytes == snappy_size
    );
}

#[test]
fn framing_alone_can_be_checked_before_anything_is_known_of_the_topic() {
    let batch = plain();
    assert_eq!(check_framing(&batch).expect("one batch").size(), batch.len());
    assert!(check_framing(&batch[..70]).is_err());
    // The checksum is not looked at.
    let mut damaged = batch;
    damaged[70] ^= 1;
    assert!(check_framing(&damaged).is_ok());
}

#[test]
fn a_record_with_overlong_numbers_is_kept_or_made_short() {
    // The key's length, 1, in two bytes.
    let overlong = record(0, &[0x82, 0, b'k', 2, b'v', 0]);
    for codec in Codec::ALL {
        let batch = with_body(&batch_of(Compression::of(codec), &[NOW_MS]), 1, &overlong);
        assert_kept(&BatchRules::default(), &batch);
        let to = if codec == Codec::None { Codec::Gzip } else { Codec::None };
        let rules =
            BatchRules { compression: CompressionTarget::To(Compression::of(to)), ..BatchRules::default() };
        let checked = check_with(&rules, batch).expect("it is accepted");
        let records = checked.records(1000).expect("records");
        assert_eq!(records.block().as_ref(), record(0, FIELDS));
    }
}
