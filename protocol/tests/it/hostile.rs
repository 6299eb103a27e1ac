//! Bytes that no honest peer sends: never a panic, never memory for what is only claimed, and an error that says what,
//! where and in which field.

use bytes::Bytes;
use ottla_protocol::codec::{DecodeErrorKind, Message as _};
use ottla_protocol::messages::fetch::FetchRequest;
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_protocol::messages::produce::ProduceRequest;
use ottla_protocol::metadata::{MetadataRecord, MetadataRecordError};

use crate::data::{bytes, lines, number, text};
use crate::registry::{all, find};

/// Longer messages have this many of their bytes flipped only.
const FLIPS_MAX: usize = 512;

#[test]
fn one_flipped_byte_is_an_error_or_another_value_and_never_a_panic() {
    let entries = all();
    for file in ["vectors/messages.jsonl.gz", "vectors/metadata.jsonl.gz"] {
        for line in lines(file) {
            let entry = find(&entries, text(&line, "message"));
            let version = number(&line, "version");
            let golden = bytes(text(&line, "hex"));
            let step = golden.len().div_ceil(FLIPS_MAX).max(1);
            for at in (0..golden.len()).step_by(step) {
                let mut flipped = golden.to_vec();
                flipped[at] ^= if at % 2 == 0 { 0xff } else { 0x80 };
                let _ = (entry.decode)(flipped.into(), version);
            }
        }
    }
}

#[test]
fn random_bytes_are_an_error_or_a_value_and_never_a_panic() {
    const SEED: u64 = 0x6f74_746c_6131;
    println!("seed {SEED:#x}");
    let mut random = XorShift(SEED);
    for entry in all() {
        for version in entry.versions.iter() {
            for _ in 0..200 {
                // Small numbers are more often a length that fits, so the decoder comes further.
                let small = random.next().is_multiple_of(2);
                let length = random.next() % 200;
                let byte = |random: &mut XorShift| {
                    let [byte, ..] = random.next().to_le_bytes();
                    if small { byte % 4 } else { byte }
                };
                let input: Vec<u8> = (0..length).map(|_| byte(&mut random)).collect();
                let _ = (entry.decode)(input.clone().into(), version);
                let _ = MetadataRecord::decode(input.into());
            }
        }
    }
}

#[test]
fn a_count_above_the_bytes_that_are_left_is_refused_before_anything_is_reserved() {
    // No name in front: version 3 begins with the transactional id, acks and the timeout.
    let head = b"\xff\xff\x00\x01\x00\x00\x00\x64";
    for (count, kind) in [
        (i32::MAX, DecodeErrorKind::ArrayTooLong { count: 0x7fff_ffff, limit: 1_000_000 }),
        (1_000_001, DecodeErrorKind::ArrayTooLong { count: 1_000_001, limit: 1_000_000 }),
        (1_000_000, DecodeErrorKind::Truncated { needed: 1_000_000, left: 0 }),
    ] {
        let input = [&head[..], &count.to_be_bytes()].concat();
        let error = ProduceRequest::decode(input.into(), 3).unwrap_err();
        assert_eq!((error.kind(), error.field().as_str()), (kind, "topicData"));
    }
}

#[test]
fn a_compact_count_of_two_to_the_31_is_refused() {
    let error = MetadataRequest::decode(Bytes::from_static(b"\x80\x80\x80\x80\x08"), 12).unwrap_err();
    assert_eq!(error.kind(), DecodeErrorKind::ArrayTooLong { count: 0x7fff_ffff, limit: 1_000_000 });
    let error = MetadataRequest::decode(Bytes::from_static(b"\xff\xff\xff\xff\x0f"), 12).unwrap_err();
    assert_eq!(error.kind(), DecodeErrorKind::ArrayTooLong { count: 0xffff_fffe, limit: 1_000_000 });
}

#[test]
fn a_text_or_byte_string_longer_than_the_frame_is_refused() {
    let error = ProduceRequest::decode(Bytes::from_static(b"\x7f\xff"), 3).unwrap_err();
    assert_eq!(error.kind(), DecodeErrorKind::Truncated { needed: 32_767, left: 0 });
    let input = b"\xff\xff\x00\x01\x00\x00\x00\x64\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01\x00\x00\x00\x00\x7f\xff\xff\xff";
    let error = ProduceRequest::decode(Bytes::from_static(input), 3).unwrap_err();
    assert_eq!(error.kind(), DecodeErrorKind::Truncated { needed: 0x7fff_ffff, left: 0 });
    assert_eq!(
        error.to_string(),
        "topicData[0].partitionData[0].records at byte 27: 2147483647 bytes are needed, 0 are left"
    );
}

#[test]
fn a_section_of_more_than_10_000_tags_is_refused() {
    // Topics null, then three flags and the tags.
    let error = MetadataRequest::decode(Bytes::from_static(b"\x00\x01\x01\x91\x4e"), 12).unwrap_err();
    assert_eq!(error.kind(), DecodeErrorKind::TooManyTags { count: 10_001, limit: 10_000 });

    let mut input = b"\x00\x01\x01\x90\x4e".to_vec();
    input.extend([0x63, 0x00].repeat(10_000));
    MetadataRequest::decode(input.into(), 12).expect("ten thousand unknown tags are skipped");
}

#[test]
fn a_known_tag_ends_where_its_value_ends_whatever_size_was_announced() {
    let mut fetch = FetchRequest { cluster_id: Some("abc".into()), ..FetchRequest::default() };
    let input = fetch.to_bytes(13).expect("it encodes").to_vec();
    let at = input.windows(5).position(|bytes| bytes == b"\x00\x04\x04ab").expect("tag 0, four bytes") + 1;
    // All of these are read so by Kafka, too; its tagged fields are followed by nothing here.
    for size in [4, 3, 0, 5, 100, 127] {
        let mut input = input.clone();
        input[at] = size;
        assert_eq!(FetchRequest::decode(input.into(), 13), Ok(fetch.clone()), "announced as {size}");
    }

    fetch.cluster_id = None;
    assert_eq!(fetch.to_bytes(13).expect("it encodes").last(), Some(&0), "a default is not written");
}

#[test]
fn tags_out_of_order_or_twice_are_accepted() {
    let head = FetchRequest::default().to_bytes(15).expect("it encodes");
    let head = &head[..head.len() - 1];
    let state = b"\x01\x0d\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x09\x00";
    let input = [head, b"\x03", state, b"\x00\x02\x02a", b"\x00\x02\x02b"].concat();
    let fetch = FetchRequest::decode(input.into(), 15).expect("Kafka accepts it, too");
    assert_eq!(fetch.cluster_id.as_deref(), Some("b"));
    assert_eq!(fetch.replica_state.replica_id.get(), 7);
}

#[test]
fn null_where_it_is_not_allowed_is_refused() {
    // The topic list of version 0 cannot be null, that of version 1 can.
    let null = Bytes::from_static(b"\xff\xff\xff\xff");
    let error = MetadataRequest::decode(null.clone(), 0).unwrap_err();
    assert_eq!((error.kind(), error.at(), error.field().as_str()), (DecodeErrorKind::Null, 0, "topics"));
    assert_eq!(MetadataRequest::decode(null, 1).map(|request| request.topics), Ok(None));
}

#[test]
fn a_message_has_no_other_versions_than_its_own() {
    for version in [2, 14, -1] {
        let error = ProduceRequest::decode(Bytes::new(), version).unwrap_err();
        assert_eq!(error.kind(), DecodeErrorKind::UnsupportedVersion { version, first: 3, last: 13 });
    }
}

#[test]
fn a_metadata_record_of_a_newer_kafka_is_named_in_the_error() {
    let decode = |bytes: &'static [u8]| MetadataRecord::decode(Bytes::from_static(bytes)).unwrap_err();
    assert_eq!(decode(b"\x02\x02\x00"), MetadataRecordError::FrameVersion { version: 2 });
    assert_eq!(decode(b"\x01\x7f\x00"), MetadataRecordError::UnknownType { kind: 127 });
    assert_eq!(decode(b"\x01\x02\x09").to_string(), "TopicRecord has the versions 0..0, not 9",);
}

/// Enough randomness for tests, and the same each time.
struct XorShift(u64);

impl XorShift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
