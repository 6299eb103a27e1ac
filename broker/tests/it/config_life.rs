//! Configs that change while the broker runs: they act at once, last over a restart, are told in the log; and what
//! SIGHUP, `--check-config` and `--print-config` say of a file.

use std::fs;
use std::net::TcpListener;
use std::time::Instant;

use nix::sys::signal::Signal;
use ottla_model::ErrorCode;
use ottla_model::compression::{Codec, Compression};
use ottla_protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult,
};
use ottla_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterConfigsResourceResponse, AlterableConfig, IncrementalAlterConfigsRequest,
};
use ottla_testkit::{Connection, TIME_MAX, TestBroker, TestProcess};

use crate::BROKER;
use crate::requests::{
    append, batch, batch_at, batch_of_bytes, batches_of, create_topic, fetch, now_ms, produce,
};

const TOPIC: i8 = 2;
const BROKER_KIND: i8 = 4;
const LOGGER: i8 = 8;

/// Sets keys; a value of none deletes.
pub(crate) fn alter(
    connection: &mut Connection,
    kind: i8,
    name: &str,
    configs: &[(&str, Option<&str>)],
) -> AlterConfigsResourceResponse {
    let config = |(key, value): &(&str, Option<&str>)| AlterableConfig {
        name: (*key).into(),
        config_operation: i8::from(value.is_none()),
        value: value.map(Into::into),
    };
    let resource = AlterConfigsResource {
        resource_type: kind,
        resource_name: name.into(),
        configs: configs.iter().map(config).collect(),
    };
    let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    connection.call(&request, 1).responses.remove(0)
}

#[track_caller]
fn set(connection: &mut Connection, kind: i8, name: &str, configs: &[(&str, &str)]) {
    let configs: Vec<_> = configs.iter().map(|(key, value)| (*key, Some(*value))).collect();
    let answer = alter(connection, kind, name, &configs);
    assert_eq!(answer.error_code, ErrorCode::NONE, "{:?}", answer.error_message);
}

pub(crate) fn describe(
    connection: &mut Connection,
    kind: i8,
    name: &str,
) -> Vec<DescribeConfigsResourceResult> {
    let resource =
        DescribeConfigsResource { resource_type: kind, resource_name: name.into(), configuration_keys: None };
    let request = DescribeConfigsRequest { resources: vec![resource], ..DescribeConfigsRequest::default() };
    connection.call(&request, 4).results.remove(0).configs
}

pub(crate) fn value_of(connection: &mut Connection, kind: i8, name: &str, key: &str) -> (String, i8) {
    let found = describe(connection, kind, name).into_iter().find(|config| config.name == key).unwrap();
    (found.value.unwrap_or_default().to_string(), found.config_source)
}

#[test]
fn a_topics_configs_act_on_the_next_request() {
    let broker = TestBroker::start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    let code = |connection: &mut Connection, bytes| produce(connection, "t", 0, bytes).error_code;
    assert_eq!(code(&mut connection, batch_of_bytes(20_000)), ErrorCode::NONE);
    set(&mut connection, TOPIC, "t", &[("max.message.bytes", "10000")]);
    assert_eq!(code(&mut connection, batch_of_bytes(20_000)), ErrorCode::MESSAGE_TOO_LARGE);

    set(&mut connection, TOPIC, "t", &[("message.timestamp.before.max.ms", "1000")]);
    let old = || batch_at(1, now_ms() - 3_600_000, Compression::NONE);
    assert_eq!(code(&mut connection, old()), ErrorCode::INVALID_TIMESTAMP);
    set(&mut connection, TOPIC, "t", &[("message.timestamp.type", "LogAppendTime")]);
    assert_eq!(code(&mut connection, old()), ErrorCode::NONE);

    set(&mut connection, TOPIC, "t", &[("compression.type", "zstd"), ("compression.zstd.level", "5")]);
    let offset = append(&mut connection, "t", 0, batch(5));
    let stored = batches_of(fetch(&mut connection, "t", 0, offset)).remove(0);
    assert_eq!(stored.header().codec(), Some(Codec::Zstd));

    set(&mut connection, TOPIC, "t", &[("cleanup.policy", "compact")]);
    assert_eq!(code(&mut connection, batch_of_bytes(10)), ErrorCode::INVALID_RECORD, "a record needs a key");
}

#[test]
fn a_default_of_all_brokers_acts_on_topics_without_a_value_of_their_own() {
    let mut broker = TestBroker::builder().set("node.id", "1").start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "plain", 1);
    create_topic(&mut connection, "own", 1);
    set(&mut connection, TOPIC, "own", &[("max.message.bytes", "100000")]);
    set(&mut connection, BROKER_KIND, "", &[("message.max.bytes", "10000"), ("log.retention.ms", "60000")]);
    let code =
        |connection: &mut Connection, topic| produce(connection, topic, 0, batch_of_bytes(20_000)).error_code;
    assert_eq!(code(&mut connection, "plain"), ErrorCode::MESSAGE_TOO_LARGE);
    assert_eq!(code(&mut connection, "own"), ErrorCode::NONE);
    assert_eq!(value_of(&mut connection, TOPIC, "plain", "retention.ms"), ("60000".to_owned(), 3));
    set(&mut connection, BROKER_KIND, "1", &[("message.max.bytes", "30000")]);
    assert_eq!(code(&mut connection, "plain"), ErrorCode::NONE, "the broker's own goes before");

    broker.restart();
    let mut connection = broker.connect();
    assert_eq!(value_of(&mut connection, TOPIC, "plain", "max.message.bytes"), ("30000".to_owned(), 2));
    assert_eq!(value_of(&mut connection, TOPIC, "own", "max.message.bytes"), ("100000".to_owned(), 1));
    assert_eq!(code(&mut connection, "plain"), ErrorCode::NONE);
    alter(&mut connection, BROKER_KIND, "1", &[("message.max.bytes", None)]);
    assert_eq!(code(&mut connection, "plain"), ErrorCode::MESSAGE_TOO_LARGE, "that of all counts again");
}

#[test]
fn the_limit_of_connections_follows_the_config() {
    let broker = TestBroker::builder().set("node.id", "1").start();
    let mut connection = broker.connect();
    set(&mut connection, BROKER_KIND, "1", &[("max.connections.per.ip", "1")]);
    Connection::open(broker.address()).expect_end();
    set(&mut connection, BROKER_KIND, "1", &[("max.connections.per.ip", "2")]);
    assert_eq!(value_of(&mut broker.connect(), BROKER_KIND, "1", "max.connections.per.ip").1, 2);
}

#[test]
fn threads_of_the_cleaner_and_of_the_pool_come_and_go() {
    let broker = TestBroker::builder().set("node.id", "1").start();
    let mut connection = broker.connect();
    for (cleaners, pool) in [("2", "16"), ("4", "8"), ("2", "4"), ("1", "2")] {
        set(
            &mut connection,
            BROKER_KIND,
            "1",
            &[("log.cleaner.threads", cleaners), ("num.io.threads", pool), ("log.cleaner.backoff.ms", "1")],
        );
    }
    create_topic(&mut connection, "t", 1);
    assert_eq!(append(&mut connection, "t", 0, batch(1)), 0);
}

#[test]
fn a_level_of_the_log_changes_while_it_runs_and_changes_are_told() {
    let process = TestProcess::builder(BROKER).set("node.id", "1").start();
    let mut connection = process.connect();
    create_topic(&mut connection, "t", 1);
    set(&mut connection, TOPIC, "t", &[("retention.ms", "77000")]);
    set(&mut connection, BROKER_KIND, "1", &[("log.retention.bytes", "4000000")]);
    set(&mut connection, LOGGER, "1", &[("root", "ERROR")]);
    assert_eq!(value_of(&mut connection, LOGGER, "1", "ottla_storage"), ("ERROR".to_owned(), 6));
    set(&mut connection, TOPIC, "t", &[("retention.ms", "88000")]);
    let exit = process.terminate();
    let line = |parts: &[&str]| exit.stderr.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(line(&["retention.ms", "77000", "old=", "none"]), "{}", exit.stderr);
    assert!(line(&["log.retention.bytes", "-1", "4000000", "the dynamic config of this broker"]));
    assert!(!exit.stderr.contains("88000"), "{}", exit.stderr);
}

/// Asks until the answer is as it must become.
#[track_caller]
fn wait_for(connection: &mut Connection, key: &str, value: &str) {
    let begin = Instant::now();
    while value_of(connection, BROKER_KIND, "1", key).0 != value {
        assert!(begin.elapsed() < TIME_MAX, "{key} never became {value}");
        std::thread::yield_now();
    }
}

#[test]
fn a_hangup_reads_the_file_again_and_says_what_acts_and_what_waits() {
    let plan = TestProcess::builder(BROKER);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server.properties");
    fs::write(&file, "node.id=1\nmessage.max.bytes=50000\nnum.partitions=1\nlog.retention.ms=1000000\n")
        .unwrap();
    let process = plan.argument("--config").argument(&file).start();
    let mut connection = process.connect();
    create_topic(&mut connection, "t", 1);
    set(&mut connection, BROKER_KIND, "1", &[("log.retention.ms", "2000000")]);
    fs::write(&file, "node.id=1\nmessage.max.bytes=10KiB\nnum.partitions=4\nlog.retention.ms=3000000\n")
        .unwrap();
    process.signal(Signal::SIGHUP);
    wait_for(&mut connection, "message.max.bytes", "10240");
    assert_eq!(
        produce(&mut connection, "t", 0, batch_of_bytes(20_000)).error_code,
        ErrorCode::MESSAGE_TOO_LARGE
    );
    assert_eq!(value_of(&mut connection, BROKER_KIND, "1", "num.partitions"), ("1".to_owned(), 4));
    fs::write(&file, "node.id=1\nmessage.max.bytes=lots\n").unwrap();
    process.signal(Signal::SIGHUP);
    fs::remove_file(&file).unwrap();
    let exit = process.terminate();
    let line = |parts: &[&str]| exit.stderr.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(
        line(&["a broker setting has changed", "message.max.bytes", "50000", "10240"]),
        "{}",
        exit.stderr
    );
    assert!(line(&["waits for a restart", "num.partitions"]), "{}", exit.stderr);
    assert!(line(&["hidden by a dynamic one", "log.retention.ms", "2000000", "3000000"]), "{}", exit.stderr);
}

#[test]
fn a_check_says_all_that_is_wrong_and_writes_nothing() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let plan = TestProcess::builder(BROKER);
    let data = plan.data().to_owned();
    let file = data.join("not-a-directory");
    fs::write(&file, "").unwrap();
    let bad = plan
        .argument("--check-config")
        .argument(format!("--data={}", data.display()))
        .argument("--override=num.partitons=3")
        .argument("--override=log.segment.bytes=12")
        .argument("--override=process.roles=broker")
        .argument("--override=zookeeper.connect=localhost:2181")
        .run();
    assert_eq!(bad.status.code(), Some(1), "{bad:?}");
    for part in [
        "error: num.partitons (--override) is no known configuration: did you mean num.partitions?",
        "error: Invalid value 12 for configuration log.segment.bytes",
        "error: Invalid value broker for configuration process.roles",
        "warning: zookeeper.connect (--override) has no effect here: there is no ZooKeeper",
        "The configuration cannot be used (3 errors, 1 warnings).",
    ] {
        assert!(bad.stdout.contains(part), "{part}\n{}", bad.stdout);
    }
    let outside = TestProcess::builder(BROKER)
        .argument("--check-config")
        .argument(format!("--override=listeners=PLAINTEXT://{}", taken.local_addr().unwrap()))
        .argument(format!("--override=log.dirs={}", file.display()))
        .run();
    assert_eq!(outside.status.code(), Some(1), "{outside:?}");
    assert!(outside.stdout.contains("is no directory"), "{}", outside.stdout);
    assert!(outside.stdout.contains("cannot be opened: Address already in use"), "{}", outside.stdout);
    let new = data.join("new/deep");
    let good = TestProcess::builder(BROKER)
        .argument("--check-config")
        .argument(format!("--override=log.dirs={}", new.display()))
        .argument("--override=log.retention.ms=7d")
        .run();
    assert!(good.status.success(), "{good:?}");
    assert!(!new.exists() && !data.join("new").exists(), "a check makes nothing");
}

#[test]
fn a_directory_in_use_is_found_by_a_check() {
    let process = TestProcess::builder(BROKER).start();
    let check = TestProcess::builder(BROKER)
        .argument("--check-config")
        .argument(format!("--override=log.dirs={}", process.data().display()))
        .run();
    assert_eq!(check.status.code(), Some(1), "{check:?}");
    assert!(check.stdout.contains("is in use by another process"), "{}", check.stdout);
}

#[test]
fn only_what_somebody_set_is_printed_when_asked() {
    let exit = TestProcess::builder(BROKER)
        .argument("--print-config=non-defaults")
        .argument("--data=/data")
        .argument("--override=log.retention.ms=7d")
        .run();
    assert!(exit.stdout.contains("# --override\nlog.retention.ms=604800000\n"), "{}", exit.stdout);
    assert!(!exit.stdout.contains("num.partitions"), "{}", exit.stdout);
}
