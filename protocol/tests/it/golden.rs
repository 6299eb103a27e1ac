//! Every message in every version, byte for byte and through JSON.

use std::collections::BTreeSet;

use bytes::Bytes;
use ottla_protocol::internal::{
    ConsumerOffsetsRecord, ConsumerProtocolSubscription, CoordinatorRecordError, ShareGroupStateRecord,
    TransactionStateRecord, decode_versioned, decode_versioned_or_newer,
};
use ottla_protocol::metadata::MetadataRecord;
use serde_json::Value;

use crate::data::{bytes, hex, lines, number, text};
use crate::registry::{Entry, all, find};

const FILES: [&str; 5] = [
    "vectors/messages.jsonl.gz",
    "vectors/metadata.jsonl.gz",
    "vectors/group-coordinator.jsonl.gz",
    "vectors/transaction-coordinator.jsonl.gz",
    "vectors/share-coordinator.jsonl.gz",
];
const COORDINATORS: [&str; 3] = [FILES[2], FILES[3], FILES[4]];

#[test]
fn requests_responses_and_control_records_are_those_of_kafka() {
    check_file("vectors/messages.jsonl.gz");
}

#[test]
fn metadata_records_are_those_of_kafka() {
    check_file("vectors/metadata.jsonl.gz");
}

#[test]
fn coordinators_records_are_those_of_kafka() {
    for file in COORDINATORS {
        check_file(file);
    }
}

#[test]
fn metadata_records_have_the_frame_that_kafka_gives_them() {
    for line in lines("vectors/metadata.jsonl.gz") {
        let framed = bytes(text(&line, "framed"));
        let (record, version) =
            MetadataRecord::decode_with_version(framed.clone()).expect("a framed record decodes");
        assert_eq!(record.name(), text(&line, "message"));
        assert_eq!(version, number::<i16>(&line, "version"));
        if text(&line, "case") != "unknownTags" {
            assert_eq!(record.encode(version).expect("it encodes again"), framed, "{line}");
        }
        for length in 0..framed.len() {
            assert!(MetadataRecord::decode(framed.slice(..length)).is_err(), "{line} cut at {length}");
        }
        let mut longer = framed.to_vec();
        longer.push(0);
        assert!(MetadataRecord::decode(longer.into()).is_err(), "{line} with a byte more");
    }
}

#[test]
fn values_with_their_version_in_front_are_those_of_kafka() {
    let entries = all();
    let mut seen = BTreeSet::new();
    for line in FILES.into_iter().filter(|file| *file != "vectors/metadata.jsonl.gz").flat_map(lines) {
        let Some(framed) = line["framed"].as_str().map(bytes) else { continue };
        let name = text(&line, "message");
        seen.insert(name.to_owned());
        if is_key(name) || text(&line, "case") == "unknownTags" {
            continue;
        }
        assert_eq!(hex(&(find(&entries, name).recode_versioned)(framed.clone())), hex(&framed), "{line}");
    }
    assert_eq!(seen.len(), 50 + 3, "coordinators' keys and values, the consumer protocol and the principal");
}

#[test]
fn coordinators_keys_and_values_belong_together_as_in_kafka() {
    for (file, recode) in COORDINATORS.into_iter().zip([recode_offsets, recode_transactions, recode_shares]) {
        let lines = lines(file);
        let framed = |line: &Value| bytes(text(line, "framed"));
        for value in lines.iter().filter(|line| !is_key(text(line, "message"))) {
            let kind = text(value, "message").strip_suffix("Value").expect("a value");
            let key = lines.iter().find(|line| text(line, "message") == format!("{kind}Key"));
            let (key, version) = (framed(key.expect("each value has a key")), number(value, "version"));
            assert_eq!(recode(key.clone(), None, version), (key.clone(), None), "the tombstone of {kind}");
            let (key_again, value_again) = recode(key.clone(), Some(framed(value)), version);
            assert_eq!(key_again, key, "{value}");
            if text(value, "case") != "unknownTags" {
                assert_eq!(value_again, Some(framed(value)), "{value}");
            }
        }
    }
}

#[test]
fn a_coordinators_record_of_a_newer_kafka_is_named_in_the_error() {
    let decode = |key: &'static [u8], value: &'static [u8]| {
        ConsumerOffsetsRecord::decode(Bytes::from_static(key), Some(Bytes::from_static(value))).unwrap_err()
    };
    assert_eq!(decode(b"\x01\0", b""), CoordinatorRecordError::UnknownType { kind: 256 });
    let error = decode(b"\0\x02\0\x01g", b"\0\x09");
    assert_eq!(error.to_string(), "GroupMetadataValue has the versions 0..4, not 9");
    let error = decode(b"\0", b"");
    assert!(matches!(error, CoordinatorRecordError::KeyType(_)), "{error}");
    let error = decode(b"\0\x02\0\x02g", b"");
    assert_eq!(error.to_string(), "GroupMetadataKey: group at byte 4: 2 bytes are needed, 1 are left");
}

#[test]
fn a_newer_subscription_is_read_as_far_as_it_is_known() {
    // Version 4, which nobody knows: as version 3, and something more.
    let newer = b"\0\x04\0\0\0\x01\0\x01t\xff\xff\xff\xff\0\0\0\0\0\0\0\x07\xff\xffmore";
    let newer = Bytes::from_static(newer);
    let (subscription, version) =
        decode_versioned_or_newer::<ConsumerProtocolSubscription>(newer.clone()).expect("it is read");
    assert_eq!((subscription.topics[0].as_str(), subscription.generation_id, version), ("t", 7, 4));
    assert!(decode_versioned::<ConsumerProtocolSubscription>(newer).is_err());
}

#[test]
fn every_version_of_every_message_has_golden_bytes() {
    let mut seen = BTreeSet::new();
    for file in FILES {
        seen.extend(
            lines(file).iter().map(|line| (text(line, "message").to_owned(), number::<i16>(line, "version"))),
        );
    }
    for entry in all() {
        for version in entry.versions.iter() {
            assert!(seen.contains(&(entry.name.to_owned(), version)), "{} {version} has none", entry.name);
        }
    }
}

fn is_key(name: &str) -> bool {
    name.ends_with("Key")
}

type Framed = (Bytes, Option<Bytes>);

fn recode_offsets(key: Bytes, value: Option<Bytes>, version: i16) -> Framed {
    let record = ConsumerOffsetsRecord::decode(key, value).expect("a golden record decodes");
    record.encode(version).expect("it encodes again")
}

fn recode_transactions(key: Bytes, value: Option<Bytes>, version: i16) -> Framed {
    let record = TransactionStateRecord::decode(key, value).expect("a golden record decodes");
    record.encode(version).expect("it encodes again")
}

fn recode_shares(key: Bytes, value: Option<Bytes>, version: i16) -> Framed {
    let record = ShareGroupStateRecord::decode(key, value).expect("a golden record decodes");
    record.encode(version).expect("it encodes again")
}

fn check_file(name: &str) {
    let entries = all();
    for line in lines(name) {
        check(find(&entries, text(&line, "message")), &line);
    }
}

fn check(entry: &Entry, line: &Value) {
    let version = number(line, "version");
    let what = format!("{} {version} {}", entry.name, text(line, "case"));
    let golden = bytes(text(line, "hex"));
    let json = &line["json"];

    assert_eq!((entry.decode)(golden.clone(), version), Ok(0), "{what}: bytes are left");
    assert_eq!(&(entry.to_json)(golden.clone(), version), json, "{what}: JSON");
    if text(line, "case") != "unknownTags" {
        let again = (entry.recode)(golden.clone(), version).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(hex(&again), hex(&golden), "{what}: encoded again");
        let made = (entry.encode_json)(json, version).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(hex(&made), hex(&golden), "{what}: made from JSON");
    }
}
