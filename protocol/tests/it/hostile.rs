//! Bytes that no honest peer sends: never a panic, never memory for what is only claimed, and an error that says what,
//! where and in which field.

use std::collections::HashMap;

use bytes::Bytes;
use ottla_model::{LeaderEpoch, Offset};
use ottla_protocol::codec::{DecodeErrorKind, Message as _, Writer};
use ottla_protocol::header::{RequestFrame, RequestFrameError, response_correlation_id};
use ottla_protocol::internal::{ConsumerOffsetsRecord, ConsumerProtocolSubscription, decode_versioned};
use ottla_protocol::messages::fetch::{
    EpochEndOffset, FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData,
};
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_protocol::messages::produce::ProduceRequest;
use ottla_protocol::metadata::{MetadataRecord, MetadataRecordError};
use serde_json::Value;

use crate::data::{bytes, lines, number, text};
use crate::random::XorShift;
use crate::registry::{Entry, all, find};

const FILES: [&str; 5] = [
    "vectors/messages.jsonl.gz",
    "vectors/metadata.jsonl.gz",
    "vectors/group-coordinator.jsonl.gz",
    "vectors/transaction-coordinator.jsonl.gz",
    "vectors/share-coordinator.jsonl.gz",
];
/// Messages up to this length are tried at every byte, longer ones at so many.
const EVERY_BYTE_MAX: usize = 4096;
/// What a decoder may hold for each byte of its input, and for itself: the widest element of an array takes some
/// hundred bytes in memory and as little as one in the input, and a growing array is held twice for a moment.
const HELD_PER_BYTE_MAX: u64 = 1024;
const HELD_MAX: u64 = 16 << 10;

#[test]
fn a_message_cut_at_any_byte_is_an_error_that_says_where_and_in_which_field() {
    each_vector(
        |_| true,
        |entry, version, golden| {
            for at in places(golden.len()) {
                let error = (entry.decode)(golden.slice(..at), version).unwrap_err();
                let what = format!("{} {version} cut at {at}: {error}", entry.name);
                assert!(error.at() <= at, "{what}");
                assert!(!error.field().is_empty(), "{what}");
                assert!(error.to_string().contains("at byte "), "{what}");
            }
        },
    );
}

#[test]
fn one_flipped_byte_is_an_error_or_another_value_and_never_a_panic() {
    each_vector(
        |_| true,
        |entry, version, golden| {
            let mut flipped = golden.to_vec();
            for at in places(golden.len()) {
                flipped[at] ^= 0xff;
                within_memory(entry, version, Bytes::copy_from_slice(&flipped));
                flipped[at] ^= 0xff;
            }
        },
    );
}

#[test]
fn a_claim_of_two_to_the_31_anywhere_takes_no_memory() {
    let claims: [&[u8]; 4] =
        [&i32::MAX.to_be_bytes(), b"\xff\xff\xff\xff\x07", b"\x80\x80\x80\x80\x08", b"\x7f\xff"];
    each_vector(
        |line| text(line, "case") == "full",
        |entry, version, golden| {
            // The other cases of a message have their lengths where this one has them.
            for at in places(golden.len()).step_by(3) {
                for claim in claims {
                    let mut claimed = golden.to_vec();
                    claimed.truncate(at);
                    claimed.extend_from_slice(claim);
                    claimed.extend_from_slice(&golden[at..]);
                    within_memory(entry, version, claimed.into());
                }
            }
        },
    );
}

#[test]
fn random_bytes_are_an_error_or_a_value_and_never_a_panic() {
    let mut random = XorShift::new(0x6f74_746c_6131);
    for entry in all() {
        for version in entry.versions.iter() {
            for _ in 0..100 {
                // Small numbers are more often a length that fits, so the decoder comes further.
                let small = random.below(2) == 0;
                let length = random.below(200);
                let input: Vec<u8> = random
                    .bytes(length)
                    .into_iter()
                    .map(|byte| if small { byte % 4 } else { byte })
                    .collect();
                let _ = MetadataRecord::decode(input.clone().into());
                let _ = ConsumerOffsetsRecord::decode(input.clone().into(), Some(input.clone().into()));
                within_memory(&entry, version, input.into());
            }
        }
    }
}

#[test]
fn tagged_fields_within_tagged_fields_are_bounded_like_all_others() {
    // One partition whose diverging epoch, a tagged field, has the most tags that there may be, and one more.
    let mut answer = FetchResponse::default();
    let diverging_epoch = EpochEndOffset { epoch: LeaderEpoch::new(5), end_offset: Offset::new(6) };
    let partition = PartitionData { diverging_epoch, ..PartitionData::default() };
    answer.responses = vec![FetchableTopicResponse { partitions: vec![partition], ..Default::default() }];
    let whole = answer.to_bytes(13).expect("it encodes").to_vec();
    let inner = b"\0\0\0\x05\0\0\0\0\0\0\0\x06";
    let at =
        whole.windows(inner.len()).position(|bytes| bytes == inner).expect("epoch 5, offset 6") + inner.len();
    let with_tags = |count: u32, tags: &[u8]| {
        let mut varint = Writer::new();
        varint.put_unsigned_varint(count);
        let varint = varint.finish().into_bytes().expect("no holes");
        let input = [&whole[..at], &varint, tags, &whole[at + 1..]].concat();
        FetchResponse::decode(input.into(), 13)
    };
    let empty = [0x63, 0].repeat(10_000);
    assert_eq!(with_tags(10_000, &empty).as_ref(), Ok(&answer), "unknown tags are passed over");
    let error = with_tags(10_001, &empty).unwrap_err();
    assert_eq!(error.kind(), DecodeErrorKind::TooManyTags { count: 10_001, limit: 10_000 });
    assert_eq!(error.field(), "responses[0].partitions[0].divergingEpoch.taggedFields");
    // A tag that holds what looks like tags without end is one run of bytes.
    let nest = [&[0x63, 100][..], &[0xff; 100]].concat();
    assert_eq!(with_tags(1, &nest).as_ref(), Ok(&answer));
    let error = with_tags(1, b"\x63\xff\xff\xff\xff\x07").unwrap_err();
    assert!(matches!(error.kind(), DecodeErrorKind::Truncated { needed: 0x7fff_ffff, .. }), "{error}");
    assert_eq!(error.field(), "responses[0].partitions[0].divergingEpoch.tag 99");
}

fn each_vector(wanted: impl Fn(&Value) -> bool, mut check: impl FnMut(&Entry, i16, Bytes)) {
    let entries = all();
    for line in FILES.into_iter().flat_map(lines).filter(wanted) {
        let entry = find(&entries, text(&line, "message"));
        check(entry, number(&line, "version"), bytes(text(&line, "hex")));
    }
}

fn places(length: usize) -> std::iter::StepBy<std::ops::Range<usize>> {
    (0..length).step_by(length.div_ceil(EVERY_BYTE_MAX).max(1))
}

/// Decodes; what is held meanwhile goes with the input's length, not with what it claims.
fn within_memory(entry: &Entry, version: i16, input: Bytes) {
    let limit = HELD_MAX + HELD_PER_BYTE_MAX * input.len() as u64;
    let held = allocation_counter::measure(|| {
        let _ = (entry.decode)(input.clone(), version);
    });
    assert!(held.bytes_max <= limit, "{} {version}: {held:?} for {input:02x?}", entry.name);
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
fn a_known_tag_in_a_version_that_lacks_it_is_refused() {
    // The replica state, from version 15 on. Kafka: "Tag 1 is not valid for version 12".
    let body = FetchRequest::default().to_bytes(12).expect("it encodes");
    let with_tag = |tag: u8| {
        let input = [&body[..body.len() - 1], &[1, tag], b"\x0d\0\0\0\x07\0\0\0\0\0\0\0\x09\0"].concat();
        FetchRequest::decode(input.into(), 12)
    };
    let error = with_tag(1).unwrap_err();
    assert_eq!(error.kind(), DecodeErrorKind::TagNotInVersion { tag: 1, version: 12 });
    assert_eq!(error.field(), "replicaState");
    assert!(error.to_string().ends_with(": tag 1 is not valid for version 12"), "{error}");
    assert_eq!(with_tag(9), Ok(FetchRequest::default()), "one that no version has is passed over");
}

#[test]
fn each_messages_own_tags_are_refused_in_flexible_versions_that_lack_them() {
    let shortest = shortest();
    let mut refused = 0;
    for entry in all() {
        for version in entry.versions.iter() {
            let flexible = entry.flexible.is_some_and(|first| version >= first);
            let golden = shortest.get(&(entry.name.to_owned(), version)).filter(|_| flexible);
            let Some(golden) = golden else { continue };
            for field in entry.schema.fields.iter().filter(|field| !field.versions.contains(version)) {
                let Some(tag) = field.tag else { continue };
                let tag = u8::try_from(tag).expect("tags are small");
                let input = [&golden[..golden.len() - 1], &[1, tag, 0]].concat();
                let error = (entry.decode)(input.into(), version).unwrap_err();
                assert_eq!(
                    (error.kind(), error.field().as_str()),
                    (DecodeErrorKind::TagNotInVersion { tag: tag.into(), version }, field.name),
                    "{} {version}",
                    entry.name
                );
                refused += 1;
            }
        }
    }
    assert!(refused >= 10, "{refused} tags of other versions were tried");
}

/// The shortest vector of each message and version without tagged fields, and so with a zero at its end.
fn shortest() -> HashMap<(String, i16), Bytes> {
    let mut shortest = HashMap::new();
    for line in FILES.into_iter().flat_map(lines) {
        let golden = bytes(text(&line, "hex"));
        if golden.last() == Some(&0) {
            let key = (text(&line, "message").to_owned(), number(&line, "version"));
            let least: &mut Bytes = shortest.entry(key).or_insert_with(|| golden.clone());
            if golden.len() < least.len() {
                *least = golden;
            }
        }
    }
    shortest
}

#[test]
fn errors_in_what_has_no_field_of_a_schema_name_the_place_nevertheless() {
    let decode = |bytes: &'static [u8]| {
        let error = MetadataRequest::decode(Bytes::from_static(bytes), 12).unwrap_err();
        (error.field(), error.kind())
    };
    let cut = DecodeErrorKind::Truncated { needed: 1, left: 0 };
    let section = "taggedFields".to_owned();
    assert_eq!(decode(b"\0\x01\x01"), (section.clone(), cut));
    assert_eq!(decode(b"\0\x01\x01\x01"), (section.clone(), cut));
    assert_eq!(decode(b"\0\x01\x01\xff\xff\xff\xff\xff"), (section, DecodeErrorKind::VarintTooLong));
    assert_eq!(decode(b"\0\x01\x01\x01\x63"), ("tag 99".to_owned(), cut));
    let cut = DecodeErrorKind::Truncated { needed: 2, left: 1 };
    assert_eq!(decode(b"\0\x01\x01\x01\x63\x02a"), ("tag 99".to_owned(), cut));

    let head = b"\0\x03\0\x0c\0\0\0\x01";
    for (length, field) in [(0, "requestApiKey"), (3, "requestApiVersion"), (7, "correlationId")] {
        let frame = Bytes::from_static(&head[..length]);
        let error = RequestFrame::parse(frame.clone(), |_| None).unwrap_err();
        assert!(matches!(&error, RequestFrameError::Header(error) if error.field() == field), "{error}");
    }
    let error = response_correlation_id(&Bytes::from_static(&[0; 3])).unwrap_err();
    assert_eq!(error.to_string(), "correlationId at byte 0: 4 bytes are needed, 3 are left");
    let error = decode_versioned::<ConsumerProtocolSubscription>(Bytes::from_static(&[0])).unwrap_err();
    assert_eq!(error.to_string(), "version at byte 0: 2 bytes are needed, 1 are left");
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
