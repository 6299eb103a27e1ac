//! Every message in every version, byte for byte and through JSON.

use std::collections::BTreeSet;

use ottla_protocol::metadata::MetadataRecord;
use serde_json::Value;

use crate::data::{bytes, hex, lines, number, text};
use crate::registry::{Entry, all, find};

/// Longer messages are cut at this many places only.
const CUTS_MAX: usize = 4096;

#[test]
fn requests_responses_and_control_records_are_those_of_kafka() {
    check_file("vectors/messages.jsonl.gz");
}

#[test]
fn metadata_records_are_those_of_kafka() {
    check_file("vectors/metadata.jsonl.gz");
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
fn every_version_of_every_message_has_golden_bytes() {
    let mut seen = BTreeSet::new();
    for file in ["vectors/messages.jsonl.gz", "vectors/metadata.jsonl.gz"] {
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

    let step = golden.len().div_ceil(CUTS_MAX).max(1);
    for length in (0..golden.len()).step_by(step) {
        let cut = (entry.decode)(golden.slice(..length), version);
        assert!(cut.is_err(), "{what}: cut at {length} of {} bytes, it still decodes", golden.len());
    }
}
