//! Client quotas: how they are set and told, in Kafka's words, and that whoever goes beyond one is answered at once, told for how
//! long he is held back, and not read for as long.

use std::time::{Duration, Instant};

use ottla_model::ErrorCode;
use ottla_protocol::messages::alter_client_quotas::{
    AlterClientQuotasRequest, EntityData, OpData, RequestEntryData,
};
use ottla_protocol::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use ottla_protocol::messages::describe_client_quotas::{ComponentData, DescribeClientQuotasRequest};
use ottla_protocol::messages::metadata::MetadataRequest;
use ottla_testkit::{Connection, TestBroker};

use crate::requests::{FETCH, PRODUCE, append, batch_of_bytes, create_topic, fetch_request, produce_request};

/// What the test's own connections call themselves.
const CLIENT: &str = "ottla-testkit";
const PRODUCE_RATE: &str = "producer_byte_rate";

type Part<'a> = (&'a str, Option<&'a str>);

fn entry(entity: &[Part<'_>], ops: &[(&str, Option<f64>)]) -> RequestEntryData {
    let part = |(kind, name): &Part<'_>| EntityData {
        entity_type: (*kind).into(),
        entity_name: name.map(Into::into),
    };
    let op = |(key, value): &(&str, Option<f64>)| OpData {
        key: (*key).into(),
        value: value.unwrap_or(0.0),
        remove: value.is_none(),
    };
    RequestEntryData { entity: entity.iter().map(part).collect(), ops: ops.iter().map(op).collect() }
}

fn alter(
    connection: &mut Connection,
    entries: Vec<RequestEntryData>,
    validate_only: bool,
) -> Vec<(ErrorCode, Option<String>)> {
    let answer = connection.call(&AlterClientQuotasRequest { entries, validate_only }, 1);
    let told = |message: Option<compact_str::CompactString>| message.map(|text| text.to_string());
    answer.entries.into_iter().map(|entry| (entry.error_code, told(entry.error_message))).collect()
}

fn set(connection: &mut Connection, entity: &[Part<'_>], key: &str, value: f64) {
    let altered = alter(connection, vec![entry(entity, &[(key, Some(value))])], false);
    assert_eq!(altered, [(ErrorCode::NONE, None)]);
}

fn component(kind: &str, match_type: i8, name: Option<&str>) -> ComponentData {
    ComponentData { entity_type: kind.into(), match_type, r#match: name.map(Into::into) }
}

/// The entities that match, each as text, with their quotas.
fn describe(connection: &mut Connection, components: Vec<ComponentData>, strict: bool) -> Vec<String> {
    let answer = connection.call(&DescribeClientQuotasRequest { components, strict }, 1);
    assert_eq!((answer.error_code, answer.error_message.as_deref()), (ErrorCode::NONE, Some("")));
    let entries = answer.entries.unwrap().into_iter().map(|entry| {
        let parts = entry.entity.iter().map(|part| {
            format!("{}={}", part.entity_type, part.entity_name.as_deref().unwrap_or("<default>"))
        });
        let values = entry.values.iter().map(|value| format!("{}={}", value.key, value.value));
        format!("{}: {}", parts.collect::<Vec<_>>().join(","), values.collect::<Vec<_>>().join(","))
    });
    let mut entries: Vec<_> = entries.collect();
    entries.sort();
    entries
}

#[test]
fn quotas_are_set_told_by_filter_taken_back_and_kept_over_a_restart() {
    let mut broker = TestBroker::start();
    let mut connection = broker.connect();
    set(&mut connection, &[("user", Some("u"))], PRODUCE_RATE, 1000.0);
    set(&mut connection, &[("user", Some("u"))], "consumer_byte_rate", 2000.0);
    set(&mut connection, &[("user", None)], PRODUCE_RATE, 3000.0);
    set(&mut connection, &[("user", Some("u")), ("client-id", Some("c"))], PRODUCE_RATE, 1.0);
    set(&mut connection, &[("user", Some("u")), ("client-id", None)], PRODUCE_RATE, 2.0);
    set(&mut connection, &[("client-id", Some("c"))], "request_percentage", 50.5);
    set(&mut connection, &[("ip", Some("127.0.0.1"))], "connection_creation_rate", 700.0);
    broker.restart();
    let mut connection = broker.connect();
    let of_u = "user=u: consumer_byte_rate=2000,producer_byte_rate=1000".to_owned();
    let both = "client-id=c,user=u: producer_byte_rate=1".to_owned();
    let default_of_u = "client-id=<default>,user=u: producer_byte_rate=2".to_owned();
    let default = "user=<default>: producer_byte_rate=3000".to_owned();
    let of_c = "client-id=c: request_percentage=50.5".to_owned();
    let exact = || component("user", 0, Some("u"));
    let cases = [
        (vec![exact()], true, vec![of_u.clone()]),
        (vec![exact()], false, vec![default_of_u.clone(), both.clone(), of_u.clone()]),
        (vec![component("user", 1, None)], true, vec![default.clone()]),
        (vec![component("user", 2, None)], true, vec![default, of_u]),
        (vec![exact(), component("client-id", 2, None)], true, vec![default_of_u.clone(), both.clone()]),
        (vec![exact(), component("client-id", 1, None)], true, vec![default_of_u.clone()]),
        (vec![component("client-id", 2, None)], false, vec![default_of_u, both, of_c]),
        (vec![component("ip", 2, None)], true, vec!["ip=127.0.0.1: connection_creation_rate=700".to_owned()]),
        (vec![component("user", 0, Some("x"))], false, vec![]),
        (vec![], true, vec![]),
    ];
    for (components, strict, expected) in cases {
        assert_eq!(
            describe(&mut connection, components.clone(), strict),
            expected,
            "{components:?} {strict}"
        );
    }
    assert_eq!(describe(&mut connection, vec![], false).len(), 6);
    let gone = vec![entry(&[("user", Some("u"))], &[(PRODUCE_RATE, None), ("consumer_byte_rate", None)])];
    assert_eq!(alter(&mut connection, gone, false), [(ErrorCode::NONE, None)]);
    assert_eq!(describe(&mut connection, vec![exact()], true), [""; 0]);
}

#[test]
fn what_is_no_quota_is_refused_in_kafkas_words_and_nothing_changes() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let user: &[Part<'_>] = &[("user", Some("u"))];
    let ip: &[Part<'_>] = &[("ip", Some("127.0.0.1"))];
    let cases: Vec<(&[Part<'_>], &str, f64, &str)> = vec![
        (&[], PRODUCE_RATE, 1.0, "Invalid empty client quota entity"),
        (&[("x", Some("y"))], PRODUCE_RATE, 1.0, "Unhandled client quota entity type: x"),
        (&[("user", Some(""))], PRODUCE_RATE, 1.0, "Empty user not supported"),
        (&[("client-id", Some(""))], PRODUCE_RATE, 1.0, "Empty client-id not supported"),
        (
            &[("user", Some("u")), ("ip", Some("1.1.1.1"))],
            PRODUCE_RATE,
            1.0,
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        (
            &[("ip", Some("no host"))],
            "connection_creation_rate",
            1.0,
            "no host is not a valid IP or resolvable host.",
        ),
        (user, "nope", 1.0, "Invalid configuration key nope"),
        (user, "connection_creation_rate", 1.0, "Invalid configuration key connection_creation_rate"),
        (ip, PRODUCE_RATE, 1.0, "Invalid configuration key producer_byte_rate"),
        (ip, "connection_creation_rate", 5.5, "connection_creation_rate cannot be a fractional value."),
        (user, PRODUCE_RATE, 1000.5, "producer_byte_rate cannot be a fractional value."),
        (user, PRODUCE_RATE, 0.0, "Quota producer_byte_rate must be greater than 0"),
        (user, PRODUCE_RATE, -1.0, "Quota producer_byte_rate must be greater than 0"),
        (user, PRODUCE_RATE, f64::NAN, "Quota producer_byte_rate must be a finite number"),
        (user, PRODUCE_RATE, f64::INFINITY, "Quota producer_byte_rate must be a finite number"),
        (user, "consumer_byte_rate", 1e30, "Proposed value for consumer_byte_rate is too large for a LONG."),
        (user, "request_percentage", 0.0, "Quota request_percentage must be greater than 0"),
    ];
    for (entity, key, value, message) in cases {
        let refused = alter(&mut connection, vec![entry(entity, &[(key, Some(value))])], false);
        assert_eq!(
            refused,
            [(ErrorCode::INVALID_REQUEST, Some(message.to_owned()))],
            "{entity:?} {key}={value}"
        );
    }
    let twice = vec![entry(user, &[(PRODUCE_RATE, Some(1.0))]), entry(user, &[(PRODUCE_RATE, Some(2.0))])];
    let message = "Ignoring duplicate entity ClientQuotaEntity(entries={user=u})".to_owned();
    assert_eq!(alter(&mut connection, twice, false), [(ErrorCode::INVALID_REQUEST, Some(message))]);
    let checked = vec![entry(user, &[(PRODUCE_RATE, Some(1.0))])];
    assert_eq!(alter(&mut connection, checked, true), [(ErrorCode::NONE, None)]);
    assert_eq!(describe(&mut connection, vec![], false), [""; 0]);
}

#[test]
fn filters_that_mean_nothing_are_refused_in_kafkas_words() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    let invalid = ErrorCode::INVALID_REQUEST;
    let user = || component("user", 0, Some("u"));
    let cases = vec![
        (vec![component("x", 0, Some("u"))], ErrorCode::UNSUPPORTED_VERSION, "Unsupported entity type x"),
        (vec![component("user", 3, Some("u"))], invalid, "Unknown match type 3"),
        (
            vec![component("user", 0, None)],
            invalid,
            "Request specified MATCH_TYPE_EXACT, but set match string to null.",
        ),
        (
            vec![component("user", 1, Some("u"))],
            invalid,
            "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
        ),
        (
            vec![component("user", 2, Some("u"))],
            invalid,
            "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.",
        ),
        (vec![user(), user()], invalid, "Entity type user cannot appear more than once in the filter."),
        (
            vec![user(), component("ip", 2, None)],
            invalid,
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId filter \
             component.",
        ),
        (vec![component("", 0, Some("u"))], invalid, "Invalid empty entity type."),
    ];
    for version in 0..=1 {
        for (components, code, message) in &cases {
            let request = DescribeClientQuotasRequest { components: components.clone(), strict: false };
            let answer = connection.call(&request, version);
            assert_eq!((answer.error_code, answer.error_message.as_deref()), (*code, Some(*message)));
            assert_eq!(answer.entries, None);
        }
    }
}

/// A broker whose quotas let one second's worth through at once, so that a test need not wait for ten.
fn start() -> (TestBroker, Connection) {
    let broker =
        TestBroker::builder().set("quota.window.num", "2").set("controller.quota.window.num", "1").start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    (broker, connection)
}

/// The next request's answer comes no sooner than this after now.
fn assert_held_back(connection: &mut Connection, throttle_ms: i32) {
    let begin = Instant::now();
    drop(connection.call(&MetadataRequest { topics: Some(vec![]), ..MetadataRequest::default() }, 9));
    let waited = begin.elapsed();
    // The connection's clock began with the answer, a moment before this one.
    let least = Duration::from_millis(u64::try_from(throttle_ms).unwrap()).mul_f64(0.8);
    assert!(waited >= least, "held back for {waited:?} where {throttle_ms} ms were told");
}

#[test]
fn a_producer_beyond_its_rate_is_answered_at_once_and_then_not_read() {
    let (broker, mut connection) = start();
    set(&mut connection, &[("client-id", Some(CLIENT))], PRODUCE_RATE, 100_000.0);
    let other = broker.connect();
    let request = produce_request("t", 0, -1, Some(batch_of_bytes(60_000)));
    assert_eq!(connection.call(&request, PRODUCE).throttle_time_ms, 0, "what it may send at once");
    let begin = Instant::now();
    let answer = connection.call(&request, PRODUCE);
    assert!(begin.elapsed() < Duration::from_millis(150), "the answer itself is not held back");
    assert_eq!(answer.responses[0].partition_responses[0].error_code, ErrorCode::NONE, "it was written");
    assert!((50..=1_500).contains(&answer.throttle_time_ms), "{}", answer.throttle_time_ms);
    assert_held_back(&mut connection, answer.throttle_time_ms);
    drop(other);
}

#[test]
fn a_user_has_one_rate_whatever_its_clients_are_called() {
    let (_broker, mut connection) = start();
    set(&mut connection, &[("user", Some("ANONYMOUS"))], PRODUCE_RATE, 50_000.0);
    let request = produce_request("t", 0, -1, Some(batch_of_bytes(80_000)));
    assert!(
        connection.call(&request, PRODUCE).throttle_time_ms > 0,
        "nobody who has not logged in is that user"
    );
}

#[test]
fn a_consumer_beyond_its_rate_gets_nothing_but_the_time_to_wait_and_then_the_same() {
    let (_broker, mut connection) = start();
    for _ in 0..4 {
        append(&mut connection, "t", 0, batch_of_bytes(60_000));
    }
    set(&mut connection, &[("client-id", None)], "consumer_byte_rate", 100_000.0);
    let request = fetch_request("t", 0, 0);
    let first = connection.call(&request, FETCH);
    let bytes = |answer: &ottla_protocol::messages::fetch::FetchResponse| {
        let data = answer.responses.first().map(|topic| &topic.partitions[0]);
        data.and_then(|data| data.records.clone()?.into_inline()).map_or(0, |records| records.len())
    };
    assert!(
        bytes(&first) > 0 && bytes(&first) <= 100_000,
        "no more than it may have at once: {}",
        bytes(&first)
    );
    assert_eq!(first.throttle_time_ms, 0);
    let throttled = connection.call(&request, FETCH);
    assert_eq!((bytes(&throttled), throttled.error_code), (0, ErrorCode::NONE));
    assert!(throttled.throttle_time_ms > 0);
    assert_held_back(&mut connection, throttled.throttle_time_ms);
    // What was sent counts until its sample is over, so it may be told so once more.
    let again = (0..4).map(|_| connection.call(&request, FETCH)).find(|answer| bytes(answer) > 0);
    assert!(again.is_some(), "after its time it gets what it asked for");
}

#[test]
fn who_takes_more_of_a_thread_than_allowed_is_told_in_any_answer() {
    let (_broker, mut connection) = start();
    set(&mut connection, &[("client-id", None)], "request_percentage", 0.000_1);
    let request = MetadataRequest { topics: None, ..MetadataRequest::default() };
    drop(connection.call(&request, 9));
    for version in [3, 9, 13] {
        let answer = connection.call(&request, version);
        assert!((1..=1_000).contains(&answer.throttle_time_ms), "{}", answer.throttle_time_ms);
        assert_eq!(answer.brokers.len(), 1, "the rest of the answer is as it was");
    }
}

#[test]
fn partitions_beyond_the_rate_of_changes_are_refused_to_who_knows_and_delayed_to_others() {
    let (_broker, mut connection) = start();
    set(&mut connection, &[("client-id", None)], "controller_mutation_rate", 4.0);
    let create = |names: &[&str], partitions: i32| {
        let topic = |name: &&str| CreatableTopic {
            name: (*name).into(),
            num_partitions: partitions,
            replication_factor: 1,
            ..CreatableTopic::default()
        };
        CreateTopicsRequest {
            topics: names.iter().map(topic).collect(),
            timeout_ms: 10_000,
            ..CreateTopicsRequest::default()
        }
    };
    // Four may be made at once; one topic may take more than are left.
    let answer = connection.call(&create(&["a", "b"], 6), 7);
    let codes: Vec<_> = answer.topics.iter().map(|topic| (topic.name.as_str(), topic.error_code)).collect();
    assert_eq!(codes, [("a", ErrorCode::NONE), ("b", ErrorCode::THROTTLING_QUOTA_EXCEEDED)]);
    assert_eq!(answer.topics[1].error_message.as_deref(), Some("The throttling quota has been exceeded."));
    assert!(answer.throttle_time_ms > 0);
    assert_held_back(&mut connection, answer.throttle_time_ms);
    let old = connection.call(&create(&["c", "d"], 6), 5);
    assert!(old.topics.iter().all(|topic| topic.error_code.is_none()), "{old:?}");
    assert!(old.throttle_time_ms > 0);
}

#[test]
fn an_address_that_connects_too_often_has_its_connections_closed_and_no_others() {
    let (broker, mut connection) = start();
    set(&mut connection, &[("ip", Some("127.0.0.1"))], "connection_creation_rate", 3.0);
    let mut connections: Vec<_> = (0..8).map(|_| broker.connect()).collect();
    let mut served = 0;
    for connection in &mut connections {
        let request = MetadataRequest { topics: Some(vec![]), ..MetadataRequest::default() };
        let sent = connection.try_send(&request, 9).unwrap();
        served += usize::from(connection.try_receive::<MetadataRequest>(9, sent).is_some());
    }
    assert!((1..=4).contains(&served), "{served} of 8 were served");
    drop(connection.call(&MetadataRequest { topics: Some(vec![]), ..MetadataRequest::default() }, 9));
}
