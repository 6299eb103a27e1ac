//! The fuzz targets' own functions for a few seconds, without a fuzzer: Kafka's bytes with a few of them changed, the
//! same ones each time. Longer runs are docs/testing.md's.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::data::{bytes, lines, number, text};
use crate::random::XorShift;

#[allow(clippy::duplicate_mod, unreachable_pub, reason = "the fuzz targets compile the same file as a crate")]
#[path = "../../fuzz/src/entry.rs"]
mod entry;

/// Enough for each target to try each seed a few times, and little beside the other tests.
const ROUNDS_MAX: usize = 20;
const TARGET_TIME_MAX: Duration = Duration::from_secs(2);

/// Calls the target with changed seeds, round by round.
fn run(seeds: &[Bytes], target: fn(&[u8])) {
    assert!(!seeds.is_empty());
    let mut random = XorShift::new(0x6f74_746c_6133);
    let started = Instant::now();
    for round in 0..ROUNDS_MAX {
        for seed in seeds {
            let mut input = seed.to_vec();
            for _ in 0..round {
                change(&mut random, &mut input);
            }
            target(&input);
        }
        if started.elapsed() > TARGET_TIME_MAX {
            break;
        }
    }
}

fn change(random: &mut XorShift, input: &mut Vec<u8>) {
    if input.is_empty() {
        input.push(random.byte());
        return;
    }
    let at = random.below(input.len());
    match random.below(5) {
        0 => input[at] = random.byte(),
        1 => input[at] ^= 1 << random.below(8),
        2 => input.truncate(at),
        3 => input.insert(at, random.byte()),
        _ => {
            let extreme: [u8; 4] = [[0xff; 4], [0x7f, 0xff, 0xff, 0xff], [0; 4]][random.below(3)];
            input.splice(at..(at + 4).min(input.len()), extreme);
        }
    }
}

/// The golden bytes of requests or answers, as the targets take them.
fn bodies(kind: &str, front: impl Fn(i16, i16) -> Vec<u8>) -> Vec<Bytes> {
    let keys: std::collections::HashMap<String, i16> = lines("schemas/messages.jsonl.gz")
        .iter()
        .filter(|schema| schema["type"] == kind)
        .map(|schema| (text(schema, "name").to_owned(), number(schema, "apiKey")))
        .collect();
    let lines = lines("vectors/messages.jsonl.gz");
    let lines = lines.iter().filter(|line| matches!(text(line, "case"), "full" | "nulls" | "unknownTags"));
    lines
        .filter_map(|line| {
            let front = front(*keys.get(text(line, "message"))?, number(line, "version"));
            Some([&front[..], &bytes(text(line, "hex"))].concat().into())
        })
        .collect()
}

/// The golden batches that the model's tests have.
fn batches() -> Vec<Bytes> {
    let files = ["batches-v2", "control-batches", "message-sets-v0-v1", "sequences-of-batches"];
    let lines = files.into_iter().flat_map(|file| lines(&format!("../../model/tests/data/{file}.jsonl.gz")));
    lines.map(|line| bytes(text(&line, "hex"))).collect()
}

#[test]
fn changed_requests_do_not_panic() {
    use ottla_protocol::api::ApiKey;

    let seeds = bodies("request", |key, version| {
        let api = ApiKey::from_number(key).expect("a key of the table").api();
        let tags: &[u8] = if api.request_header_version(version) == 2 { b"\0" } else { b"" };
        [&key.to_be_bytes()[..], &version.to_be_bytes(), b"\0\0\0\x01\xff\xff", tags].concat()
    });
    run(&seeds, entry::request);
}

#[test]
fn changed_answers_do_not_panic() {
    use ottla_protocol::api::ApiKey;

    let seeds = bodies("response", |key, version| {
        let api = ApiKey::from_number(key).expect("a key of the table").api();
        let tags: &[u8] = if api.response_header_version(version) == 1 { b"\0" } else { b"" };
        [&key.to_be_bytes()[..], &version.to_be_bytes(), b"\0\0\0\x01", tags].concat()
    });
    run(&seeds, entry::response);
}

#[test]
fn changed_batches_do_not_panic() {
    run(&batches(), entry::batches);
}

#[test]
fn changed_compressed_data_do_not_panic() {
    let compressed = |batch: &Bytes| {
        let [codec, records @ ..] = batch.get(22..).filter(|_| batch.get(16) == Some(&2))? else {
            return None;
        };
        Some([&[codec & 7], records.get(38..)?].concat().into())
    };
    let seeds: Vec<Bytes> = batches().iter().filter_map(compressed).collect();
    run(&seeds, entry::decompression);
}
