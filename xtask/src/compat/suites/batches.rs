//! Record batches built by us and read by Kafka's own classes, and the reverse; no broker. Both sides are small programs
//! that speak JSON lines: `protocol/model/examples/batch_lines.rs` and `compat/java/BatchLines.java`.

use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::compat::session::Session;
use crate::process;
use crate::workspace::{cargo, list};

/// Codec and level; none is the codec's default.
const COMPRESSIONS: &[(&str, Option<i64>)] = &[
    ("none", None),
    ("gzip", None),
    ("gzip", Some(1)),
    ("gzip", Some(9)),
    ("snappy", None),
    ("lz4", None),
    ("lz4", Some(1)),
    ("lz4", Some(17)),
    ("zstd", None),
    ("zstd", Some(-5)),
    ("zstd", Some(19)),
];
const NOW_MS: i64 = 1_700_000_000_000;

pub(crate) fn run(session: &mut Session<'_>) -> Result<()> {
    let ours = ours()?;
    let cases = cases();
    let built = [("Ottla", lines(ours("build"), &cases)?), ("Kafka", lines(java(session, "build"), &cases)?)];
    for (builder, built) in &built {
        let read_by_us = lines(ours("read"), built)?;
        let read_by_kafka = lines(java(session, "read"), built)?;
        let mut counts = Vec::new();
        for (case, (us, kafka)) in cases.iter().zip(read_by_us.iter().zip(&read_by_kafka)) {
            let name = case["name"].as_str().unwrap_or_default();
            session.claim(format!("{name}, built by {builder}, means the same to both"), us == kafka);
            if us != kafka {
                println!("{name}, built by {builder}\n  Ottla: {us}\n  Kafka: {kafka}");
            }
            let fault = unlike(case, kafka);
            session.claim(format!("{name}, built by {builder}, is what was asked for"), fault.is_none());
            if let Some(fault) = fault {
                println!("{name}, built by {builder}: {fault}");
            }
            let count = list(&case["records"]).len();
            session.records += count as u64;
            counts.push(format!("{name}: {count} records"));
        }
        session.answer(format!("batches that {builder} built"), &counts.join("\n"));
    }
    Ok(())
}

/// What is in a batch that was not asked for, or the reverse.
fn unlike(case: &Value, read: &Value) -> Option<String> {
    let [batch] = list(&read["batches"]) else { return Some("there is not one batch".to_owned()) };
    let wanted = list(&case["records"]);
    let got = list(&batch["records"]);
    if wanted.len() != got.len() {
        return Some(format!("{} records, not {}", got.len(), wanted.len()));
    }
    for (wanted, got) in wanted.iter().zip(got) {
        for field in ["offset", "key", "value", "headers"] {
            if wanted[field] != got[field] {
                return Some(format!("{field} is {}, not {}", got[field], wanted[field]));
            }
        }
        let timestamp =
            if case["logAppendTime"].is_null() { &wanted["timestamp"] } else { &case["logAppendTime"] };
        if *timestamp != got["timestamp"] {
            return Some(format!("the timestamp is {}, not {timestamp}", got["timestamp"]));
        }
    }
    let fields =
        ["codec", "baseOffset", "lastOffset", "leaderEpoch", "producerId", "producerEpoch", "baseSequence"];
    let fields = fields.into_iter().chain(["transactional", "deleteHorizon"]);
    let differs = |field: &&str| !case[*field].is_null() && case[*field] != batch[*field];
    fields.into_iter().find(differs).map(|field| format!("{field} is {}, not {}", batch[field], case[field]))
}

/// Builds our side's program; what runs it in either direction.
fn ours() -> Result<impl Fn(&str) -> Command> {
    let mut build = cargo();
    build.args(["build", "--locked", "--quiet", "--package", "ottla-model", "--example", "batch_lines"]);
    process::run(&mut build)?;
    Ok(|direction: &str| {
        let mut command = cargo();
        command.args(["run", "--locked", "--quiet", "--package", "ottla-model", "--example", "batch_lines"]);
        command.args(["--", direction]);
        command
    })
}

fn java(session: &Session<'_>, direction: &str) -> Command {
    let source = session.peers.steps.join("java/BatchLines.java");
    let mut command = session.peers.java(&source.to_string_lossy(), "tool-log4j2.xml");
    command.arg(direction);
    command
}

/// What a program answers to each of these lines.
fn lines(mut command: Command, input: &[Value]) -> Result<Vec<Value>> {
    let text: String = input.iter().map(|line| format!("{line}\n")).collect();
    let done = process::capture_with_input(&mut command, text.into_bytes())?;
    if !done.success() {
        bail!("{} failed (exit {}):\n{}", process::spelled(&command), done.code(), done.stderr);
    }
    let answers = done.stdout.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    let answers = answers.with_context(|| format!("{} answers in JSON", process::spelled(&command)))?;
    if answers.len() != input.len() {
        bail!("{} answered {} of {} lines", process::spelled(&command), answers.len(), input.len());
    }
    Ok(answers)
}

/// Each shape with each compression, and an empty batch, which nobody compresses.
fn cases() -> Vec<Value> {
    let mut cases = vec![json!({
        "name": "empty after compaction", "codec": "none", "baseOffset": 100, "lastOffset": 120, "leaderEpoch": 4,
        "producerId": 7, "producerEpoch": 2, "baseSequence": 30, "records": [],
    })];
    for (codec, level) in COMPRESSIONS {
        for shape in shapes() {
            let mut case = shape;
            let level_text = level.map_or(String::new(), |level| format!(" {level}"));
            case["name"] =
                json!(format!("{} {codec}{level_text}", case["name"].as_str().unwrap_or_default()));
            case["codec"] = json!(codec);
            if let Some(level) = level {
                case["level"] = json!(level);
            }
            cases.push(case);
        }
    }
    cases
}

fn shapes() -> Vec<Value> {
    let record = |offset: i64, key: Option<&str>, value: Option<&str>| json!({ "offset": offset, "timestamp": NOW_MS + offset, "key": key, "value": value, "headers": [] });
    let many = |count: i64, value: &str| -> Vec<Value> {
        (0..count).map(|at| record(at, Some(&format!("{at:08x}")), Some(value))).collect()
    };
    let mut with_headers = record(0, Some("01"), Some("02"));
    with_headers["headers"] = json!([["6b", "76"], ["6b", null], ["", ""], ["c3a9", "00ff"]]);
    let mut backwards = many(3, "ff");
    for (at, record) in (0_i64..).zip(&mut backwards) {
        record["timestamp"] = json!([NOW_MS, NOW_MS - 86_400_000, -1][usize::try_from(at).unwrap_or(0)]);
    }
    vec![
        json!({ "name": "one", "records": [record(0, Some("6b"), Some("76"))] }),
        json!({ "name": "nulls", "records": [
            record(0, None, Some("76")), record(1, Some("6b"), None), record(2, None, None), record(3, Some(""), Some("")),
        ] }),
        json!({ "name": "headers", "records": [with_headers, record(1, None, None)] }),
        json!({ "name": "three hundred", "records": many(300, &"68656c6c6f20".repeat(20)) }),
        json!({ "name": "larger than blocks", "records": many(3, &"00112233445566778899aabbccddeeff".repeat(12_000)) }),
        json!({ "name": "append time", "logAppendTime": NOW_MS + 77, "records": many(3, "ab") }),
        json!({ "name": "timestamps backwards", "records": backwards }),
        json!({
            "name": "transactional", "producerId": 4_000_000_000_i64, "producerEpoch": 3, "baseSequence": 2_147_483_646,
            "transactional": true, "leaderEpoch": 9, "records": many(4, "cd"),
        }),
        json!({
            "name": "compacted with gaps", "baseOffset": 1_000_000_000_000_i64, "lastOffset": 1_000_000_000_900_i64,
            "leaderEpoch": 12, "deleteHorizon": NOW_MS + 86_400_000, "records": [
                record(1_000_000_000_003, Some("6b"), Some("76")), record(1_000_000_000_400, Some("6c"), None),
            ],
        }),
    ]
}
