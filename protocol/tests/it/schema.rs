//! Each struct's declaration against Kafka's published schema: names, order, types, versions, nullability, tags,
//! defaults.

use std::collections::HashMap;

use ottla_protocol::api::ApiKey;
use ottla_protocol::codec::VersionRange;
use ottla_protocol::json::{FieldKind, FieldSchema, StructSchema};
use serde_json::{Value, json};

use crate::data::{lines, number, text};
use crate::registry::{Entry, all};

/// Every folder of schemas that Kafka has.
const FOLDERS: [&str; 8] = [
    "messages",
    "metadata",
    "group-coordinator",
    "transaction-coordinator",
    "share-coordinator",
    "raft",
    "storage",
    "streams",
];

/// Schemas that have no struct here, and why.
const EXEMPT: [(&str, &str); 15] = [
    ("LeaderAndIsrRequest", REMOVED),
    ("LeaderAndIsrResponse", REMOVED),
    ("StopReplicaRequest", REMOVED),
    ("StopReplicaResponse", REMOVED),
    ("UpdateMetadataRequest", REMOVED),
    ("UpdateMetadataResponse", REMOVED),
    ("ControlledShutdownRequest", REMOVED),
    ("ControlledShutdownResponse", REMOVED),
    ("QuorumStateData", "a file with JSON text, which the cluster crate reads"),
    ("SubscriptionInfoData", "opaque to brokers: what Kafka Streams puts into its subscriptions"),
    ("ProducerSnapshot", IN_STORAGE),
    ("RemoteLogSegmentMetadataRecord", IN_STORAGE),
    ("RemoteLogSegmentMetadataSnapshotRecord", IN_STORAGE),
    ("RemoteLogSegmentMetadataUpdateRecord", IN_STORAGE),
    ("RemotePartitionDeleteMetadataRecord", IN_STORAGE),
];
const REMOVED: &str = "removed in 4.0: it has no versions";
const IN_STORAGE: &str = "a format of the storage crate's";

#[test]
fn every_message_is_declared_as_kafka_declares_it() {
    let mut schemas: HashMap<String, Value> = FOLDERS
        .into_iter()
        .flat_map(|folder| lines(&format!("schemas/{folder}.jsonl.gz")))
        .map(|schema| (text(&schema, "name").to_owned(), schema))
        .collect();
    for (name, why) in EXEMPT {
        let schema = schemas.remove(name).unwrap_or_else(|| panic!("{name} is exempt and has no schema"));
        assert_eq!(text(&schema, "validVersions") == "none", why == REMOVED, "{name}: {why}");
    }
    for entry in all() {
        let schema = schemas.remove(entry.name).unwrap_or_else(|| panic!("{} has no schema", entry.name));
        check_message(&entry, &schema);
    }
    assert!(schemas.is_empty(), "schemas without a struct: {:?}", schemas.keys());
}

#[test]
fn the_table_of_requests_is_that_of_kafka() {
    let requests: Vec<Value> = lines("schemas/messages.jsonl.gz")
        .into_iter()
        .filter(|schema| text(schema, "type") == "request" && text(schema, "validVersions") != "none")
        .collect();
    assert_eq!(requests.len(), ApiKey::ALL.len());
    for schema in requests {
        let key = ApiKey::from_number(number(&schema, "apiKey")).expect("the request is in the table");
        let api = key.api();
        assert_eq!(format!("{}Request", api.name), text(&schema, "name"));
        let mut versions = versions(text(&schema, "validVersions")).expect("a request has versions");
        if schema["latestVersionUnstable"] == true {
            assert_eq!(api.unstable, Some(versions.last), "{}", api.name);
            versions.last -= 1;
        } else {
            assert_eq!(api.unstable, None, "{}", api.name);
        }
        assert_eq!(api.versions, versions, "{}", api.name);
        let listeners = schema["listeners"].as_array().expect("a request has listeners");
        assert_eq!(api.listeners.has_broker(), listeners.contains(&json!("broker")), "{}", api.name);
        assert_eq!(api.listeners.has_controller(), listeners.contains(&json!("controller")), "{}", api.name);
    }
}

#[test]
fn what_may_be_advertised_is_what_a_running_kafka_advertises() {
    for line in lines("schemas/api-versions.jsonl.gz") {
        let Some(key) = ApiKey::from_number(number(&line, "key")) else {
            assert_eq!(line["removed"], true, "{line}");
            continue;
        };
        let api = key.api();
        for (listener, has) in
            [("broker", api.listeners.has_broker()), ("controller", api.listeners.has_controller())]
        {
            let Some(range) = line[listener].as_object() else { continue };
            assert!(has, "{line}: {listener}");
            let ours = api.advertised(api.versions);
            assert_eq!((json!(ours.first), json!(ours.last)), (range["min"].clone(), range["max"].clone()));
        }
        let header = |steps: &Value, version: i16| {
            let steps = steps.as_array().expect("steps").iter();
            steps.rev().find(|step| step[0].as_i64() <= Some(version.into())).expect("a step")[1].clone()
        };
        for version in api.versions.iter() {
            assert_eq!(json!(api.request_header_version(version)), header(&line["requestHeader"], version));
            assert_eq!(json!(api.response_header_version(version)), header(&line["responseHeader"], version));
        }
    }
}

fn check_message(entry: &Entry, schema: &Value) {
    let what = entry.name;
    assert_eq!(entry.key.map(Value::from).as_ref(), schema.get("apiKey"), "{what}: key");
    assert_eq!(versions(text(schema, "validVersions")), Some(entry.versions), "{what}: versions");
    let flexible = versions(text(schema, "flexibleVersions")).map(|versions| versions.first);
    assert_eq!(entry.flexible, flexible, "{what}: flexible versions");

    let common = schema["commonStructs"].as_array().into_iter().flatten();
    let common = common.map(|schema| (text(schema, "name"), &schema["fields"])).collect();
    let context = Context {
        versions: entry.versions,
        common,
        has_inflexible: flexible.is_none_or(|first| first > entry.versions.first),
    };
    context.check_struct(entry.schema, what, &schema["fields"], entry.versions);
}

struct Context<'a> {
    versions: VersionRange,
    common: HashMap<&'a str, &'a Value>,
    has_inflexible: bool,
}

impl Context<'_> {
    /// Compares a struct in those versions that can hold it.
    fn check_struct(&self, ours: &StructSchema, name: &str, theirs: &Value, within: VersionRange) {
        let plain = ours.name.strip_prefix("Request").or_else(|| ours.name.strip_prefix("Response"));
        assert!(ours.name == name || plain == Some(name), "{} is no {name}", ours.name);
        // A field of versions that are all gone has no place in a struct.
        let in_some = |field: &&Value| {
            versions(text(field, "versions")).is_some_and(|versions| common(versions, self.versions) != NEVER)
        };
        let theirs: Vec<_> = theirs.as_array().expect("a struct has fields").iter().filter(in_some).collect();
        let names: Vec<_> = theirs.iter().map(|field| first_letter_small(text(field, "name"))).collect();
        let our_names: Vec<_> = ours.fields.iter().map(|field| field.name).collect();
        assert_eq!(our_names, names, "{name}: fields");
        for (ours, theirs) in ours.fields.iter().zip(theirs) {
            self.check_field(ours, &format!("{name}.{}", ours.name), theirs, within);
        }
    }

    fn check_field(&self, ours: &FieldSchema, what: &str, theirs: &Value, within: VersionRange) {
        let present = versions(text(theirs, "versions")).map_or(NEVER, |versions| common(versions, within));
        assert_eq!(common(ours.versions, within), present, "{what}: versions");

        let nullable = theirs.get("nullableVersions").and_then(Value::as_str).and_then(versions);
        let nullable = nullable.map_or(NEVER, |versions| common(versions, present));
        assert_eq!(
            ours.nullable.map_or(NEVER, |versions| common(versions, present)),
            nullable,
            "{what}: nullable"
        );

        assert_eq!(ours.tag.map(Value::from).as_ref(), theirs.get("tag"), "{what}: tag");
        if let Some(tagged) = theirs.get("taggedVersions") {
            assert_eq!(tagged, &theirs["versions"], "{what}: tagged in all of its versions");
        }
        assert_eq!(ours.flexible, theirs["flexibleVersions"] != "none", "{what}: flexible = none");

        // Where no version lacks the field, nothing can be ignored.
        let lacking = present != within || (ours.tag.is_some() && self.has_inflexible);
        assert_eq!(ours.ignorable, lacking && theirs["ignorable"] == true, "{what}: ignorable");

        self.check_kind(ours.kind, what, text(theirs, "type"), theirs, present);
        // Record data that cannot be null is empty by default; Kafka has null there, which it cannot write.
        if ours.nullable.is_none() && theirs["type"] == "records" {
            return;
        }
        if let Some(expected) = default(theirs) {
            assert_eq!((ours.default)(present.first), Ok(expected), "{what}: default");
        }
    }

    fn check_kind(&self, ours: FieldKind, what: &str, kind: &str, theirs: &Value, within: VersionRange) {
        let entity = theirs.get("entityType").and_then(Value::as_str);
        match ours {
            FieldKind::Array(element) => {
                let kind = kind.strip_prefix("[]").unwrap_or_else(|| panic!("{what}: {kind} is no array"));
                self.check_kind(*element, what, kind, theirs, within);
            }
            FieldKind::Struct(schema) => {
                let fields = theirs.get("fields").or_else(|| self.common.get(kind).copied());
                let fields = fields.unwrap_or_else(|| panic!("{what}: {kind} is no struct"));
                self.check_struct(schema, kind, fields, within);
            }
            FieldKind::Primitive(name) => {
                assert_eq!(name, kind, "{what}: type");
                assert_eq!(entity, None, "{what}: what it names");
            }
            // Ours may say what a value names where the schema does not.
            FieldKind::Entity(name, names) => {
                assert_eq!(name, kind, "{what}: type");
                assert!(
                    entity.is_none_or(|entity| entity == names),
                    "{what}: names a {entity:?}, not a {names}"
                );
            }
        }
    }
}

const NEVER: VersionRange = VersionRange::new(1, 0);

fn common(one: VersionRange, other: VersionRange) -> VersionRange {
    let (first, last) = (one.first.max(other.first), one.last.min(other.last));
    if first > last { NEVER } else { VersionRange::new(first, last) }
}

fn versions(text: &str) -> Option<VersionRange> {
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{text} is a version"));
    if text == "none" {
        None
    } else if let Some(first) = text.strip_suffix('+') {
        Some(VersionRange::new(number(first), i16::MAX))
    } else if let Some((first, last)) = text.split_once('-') {
        Some(VersionRange::new(number(first), number(last)))
    } else {
        Some(VersionRange::new(number(text), number(text)))
    }
}

/// The JSON form of a field's default; none for a struct, whose fields have their own.
fn default(field: &Value) -> Option<Value> {
    if let Some(default) = field.get("default") {
        return Some(default.clone());
    }
    Some(match text(field, "type") {
        "bool" => json!(false),
        "string" | "bytes" => json!(""),
        "uuid" => json!("AAAAAAAAAAAAAAAAAAAAAA"),
        "float64" => json!(0.0),
        "records" => Value::Null,
        kind if kind.starts_with("[]") => json!([]),
        kind if kind.starts_with("int") || kind.starts_with("uint") => json!(0),
        _ => return None,
    })
}

fn first_letter_small(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + letters.as_str())
}
