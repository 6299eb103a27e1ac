//! Starting: what the process prints, what it keeps between starts, and the one sentence it gives when it cannot.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use ottla_model::ErrorCode;
use ottla_protocol::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use ottla_protocol::messages::describe_cluster::DescribeClusterRequest;
use ottla_protocol::messages::describe_producers::{DescribeProducersRequest, TopicRequest};
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataResponseTopic};
use ottla_testkit::{Connection, Exit, TestBroker, TestProcess};

use crate::BROKER;
use crate::requests::{
    append, base_offsets, batch, batch_from, batch_of_bytes, create_topic_with, fetch, list_offset,
};

/// A user without rights.
const NOBODY: u32 = 65_534;

/// Requires that the process ended with exit code 1 and one line on stderr that says all of these.
#[track_caller]
fn assert_refused(exit: &Exit, says: &[&str]) {
    assert_eq!(exit.status.code(), Some(1), "{exit:?}");
    assert_eq!(exit.stdout, "");
    // Warnings about the configuration come before; they are the log's lines, not the process's.
    let own: Vec<_> = exit.stderr.lines().filter(|line| line.starts_with("ottla-broker: ")).collect();
    assert_eq!(own.len(), 1, "{}", exit.stderr);
    for part in says {
        assert!(own[0].contains(part), "{part} is not in: {}", own[0]);
    }
}

fn properties(directory: &Path) -> String {
    let text = fs::read_to_string(directory.join("meta.properties")).unwrap();
    let mut lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[test]
fn it_says_where_it_listens_what_clients_are_told_and_where_the_data_is() {
    let process = TestProcess::builder(BROKER).start();
    let address = process.address();
    let [node, listening, data] = process.greeting() else { panic!("{:?}", process.greeting()) };
    let version = env!("CARGO_PKG_VERSION");
    assert!(node.starts_with(&format!("Ottla {version}, node 1 of cluster ")), "{node}");
    assert_eq!(*listening, format!("Listening on PLAINTEXT://{address}; clients are told {address}."));
    assert_eq!(*data, format!("The data is in {}.", process.data().display()));
    let exit = process.terminate();
    assert_eq!(exit.stdout.lines().count(), 3, "{}", exit.stdout);
    assert!(!exit.stderr.contains("WARN"), "{}", exit.stderr);
}

#[test]
fn what_clients_are_told_may_be_another_address() {
    let process = TestProcess::builder(BROKER)
        .set("listeners", "PLAINTEXT://127.0.0.1:0,INSIDE://127.0.0.1:0")
        .set("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT")
        .set("advertised.listeners", "PLAINTEXT://broker.example:19092")
        .start();
    let [_, outside, inside, _] = process.greeting() else { panic!("{:?}", process.greeting()) };
    assert!(outside.ends_with("; clients are told broker.example:19092."), "{outside}");
    assert!(inside.starts_with("Listening on INSIDE://127.0.0.1:"), "{inside}");
    let answer = process.connect().call(&DescribeClusterRequest::default(), 1);
    assert_eq!((answer.brokers[0].host.as_str(), answer.brokers[0].port), ("broker.example", 19092));
}

#[test]
fn without_any_configuration_the_data_is_in_the_users_folder() {
    let home = TestProcess::builder(BROKER);
    let folder = home.data().join(".local/share/ottla");
    // Only the listener is set, since a test must not take a fixed port.
    let exit = TestProcess::builder(BROKER)
        .environment("HOME", home.data())
        .argument("--override=listeners=PLAINTEXT://127.0.0.1:0")
        .argument("--print-config")
        .run();
    assert!(exit.status.success(), "{exit:?}");
    assert!(exit.stdout.contains(&format!("log.dir={}\n", folder.display())), "{}", exit.stdout);
    assert!(exit.stdout.contains("# --override\nlisteners=PLAINTEXT://127.0.0.1:0\n"), "{}", exit.stdout);
    let without_override =
        TestProcess::builder(BROKER).environment("HOME", home.data()).argument("--print-config").run();
    assert!(without_override.stdout.contains("\nlisteners=PLAINTEXT://127.0.0.1:9092\n"));
}

#[test]
fn a_second_start_is_the_same_node_of_the_same_cluster() {
    let first = TestProcess::builder(BROKER).start();
    let (greeting, kept) = (first.greeting()[0].clone(), properties(first.data()));
    for key in ["cluster.id=", "node.id=1", "directory.id=", "version=1"] {
        assert!(kept.lines().any(|line| line.starts_with(key)), "{kept}");
    }
    let second = first.terminate().plan.start();
    assert_eq!(second.greeting()[0], greeting);
    assert_eq!(properties(second.data()), kept);
    let third = second.kill().start();
    assert_eq!(third.greeting()[0], greeting);
}

#[test]
fn a_kafka_configuration_file_is_taken_and_the_flags_lie_above_it() {
    let plan = TestProcess::builder(BROKER);
    let file = plan.data().join("server.properties");
    fs::write(
        &file,
        "process.roles=broker,controller\nnode.id=7\ncontroller.quorum.bootstrap.servers=localhost:9093\n\
         listeners=PLAINTEXT://:9092,CONTROLLER://:9093\ninter.broker.listener.name=PLAINTEXT\n\
         advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093\n\
         controller.listener.names=CONTROLLER\n\
         listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL\n\
         num.network.threads=3\nlog.dirs=/nowhere\nnum.partitions = 2\nno.such.key=1\nnum.replica.fetchers=1\n",
    )
    .unwrap();
    let process = TestProcess::builder(BROKER)
        .argument("--config")
        .argument(file)
        .set("advertised.listeners", "PLAINTEXT://localhost:9092")
        .start();
    assert!(process.greeting()[0].contains("node 7 of cluster"), "{:?}", process.greeting());
    let exit = process.terminate();
    let warned =
        |part: &str| exit.stderr.lines().filter(|line| line.contains("WARN") && line.contains(part)).count();
    assert_eq!(warned("no.such.key"), 1, "{}", exit.stderr);
    assert_eq!(warned("num.replica.fetchers"), 1, "{}", exit.stderr);
    assert_eq!(warned("WARN"), 2, "{}", exit.stderr);
}

#[test]
fn a_listener_beyond_loopback_is_warned_about() {
    let process = TestProcess::builder(BROKER)
        .set("listeners", "PLAINTEXT://0.0.0.0:0")
        .set("advertised.listeners", "PLAINTEXT://127.0.0.1:9092")
        .start();
    let exit = process.terminate();
    assert!(
        exit.stderr.contains("whoever reaches it may read, write and delete everything"),
        "{}",
        exit.stderr
    );
}

#[test]
fn every_bad_value_is_named_with_its_bounds() {
    let exit = TestProcess::builder(BROKER)
        .environment("HOME", "/nowhere")
        .environment("KAFKA_NUM_PARTITIONS", "none")
        .set("message.max.bytes", "-1")
        .run();
    assert_eq!(exit.status.code(), Some(1));
    assert_eq!(
        exit.stderr,
        "ottla-broker: Invalid value none for configuration num.partitions: it must be a whole number from 1 to \
         2147483647 (environment variable KAFKA_NUM_PARTITIONS).\n\
         Invalid value -1 for configuration message.max.bytes: it must be a whole number from 0 to 2147483647 bytes \
         (--override).\n"
    );
}

#[test]
fn a_taken_port_is_said_and_nothing_is_written() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let plan = TestProcess::builder(BROKER);
    let data = plan.data().join("data");
    let exit =
        plan.set("listeners", &format!("PLAINTEXT://{address}")).argument("--data").argument(&data).run();
    assert_refused(&exit, &[&address.to_string(), "already in use"]);
    assert!(!data.exists());
}

#[test]
fn a_directory_in_use_by_another_broker_is_said() {
    let first = TestProcess::builder(BROKER).start();
    let exit = TestProcess::builder(BROKER)
        .set("listeners", "PLAINTEXT://127.0.0.1:0")
        .argument("--data")
        .argument(first.data())
        .run();
    assert_refused(&exit, &[&first.data().display().to_string(), "in use by another process"]);
    // The first goes on undisturbed.
    let answer = first.connect().call(&DescribeClusterRequest::default(), 1);
    assert_eq!(answer.brokers.len(), 1);
}

#[test]
fn a_directory_that_cannot_be_used_is_said() {
    let plan = TestProcess::builder(BROKER);
    let file = plan.data().join("file");
    fs::write(&file, "").unwrap();
    let under_a_file = file.join("data");
    let exit =
        plan.set("listeners", "PLAINTEXT://127.0.0.1:0").argument("--data").argument(&under_a_file).run();
    assert_refused(&exit, &[&under_a_file.display().to_string()]);

    let closed = TestProcess::builder(BROKER);
    fs::set_permissions(closed.data(), fs::Permissions::from_mode(0o555)).unwrap();
    let (mut command, mut copied) = (Command::new(BROKER), None);
    // Root may write everywhere, so the process runs as somebody else, from where that one can read it.
    if nix::unistd::geteuid().is_root() {
        let open = TestProcess::builder(BROKER);
        fs::set_permissions(open.data(), fs::Permissions::from_mode(0o755)).unwrap();
        let binary = open.data().join("ottla-broker");
        fs::copy(BROKER, &binary).unwrap();
        command = Command::new(binary);
        command.uid(NOBODY);
        copied = Some(open);
    }
    command
        .args(["--override", "listeners=PLAINTEXT://127.0.0.1:0", "--data"])
        .arg(closed.data().join("data"));
    let output = command.env_clear().output().unwrap();
    drop(copied);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("Permission denied"), "{stderr}");
    fs::set_permissions(closed.data(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_directory_with_foreign_files_or_another_cluster_is_refused() {
    let foreign = TestProcess::builder(BROKER);
    fs::write(foreign.data().join("notes.txt"), "not a log").unwrap();
    let in_foreign = foreign.data().to_owned();
    let exit =
        foreign.set("listeners", "PLAINTEXT://127.0.0.1:0").argument("--data").argument(&in_foreign).run();
    assert_refused(&exit, &[&in_foreign.display().to_string(), "holds files but no meta.properties"]);
    assert!(!in_foreign.join("meta.properties").exists());

    let stopped = TestProcess::builder(BROKER).start().terminate().plan;
    let (data, fresh) = (stopped.data().to_owned(), stopped.data().join("fresh"));
    let with = |key: &str, value: &str| {
        TestProcess::builder(BROKER).set("listeners", "PLAINTEXT://127.0.0.1:0").set(key, value).run()
    };
    let both = format!("{},{}", data.display(), fresh.display());
    assert_refused(&with("log.dirs", &both), &[&fresh.display().to_string(), "is its disk mounted?"]);
    let other_node = TestProcess::builder(BROKER)
        .set("listeners", "PLAINTEXT://127.0.0.1:0")
        .set("node.id", "2")
        .argument("--data")
        .argument(&data)
        .run();
    assert_refused(&other_node, &["The node's id is 1 in", "but 2 in the configuration"]);
}

#[test]
fn partitions_without_the_metadata_that_knows_them_are_left_alone() {
    let mut broker = TestBroker::start();
    create_topic(&broker, "orders");
    broker.restart();
    let plan = broker.into_plan();
    let (partition, metadata) = (plan.data().join("orders-0"), plan.data().join("__cluster_metadata-0"));
    let elsewhere = plan.data().join("elsewhere");
    fs::rename(&metadata, &elsewhere).unwrap();
    let refused = plan.clone().try_start().map(|_| ()).unwrap_err().to_string();
    assert!(
        refused.contains("holds partitions, but") && refused.contains("__cluster_metadata-0"),
        "{refused}"
    );
    assert!(partition.is_dir(), "the partition is where it was");
    fs::rename(&elsewhere, &metadata).unwrap();
    let broker = plan.start();
    assert_eq!(topics(&broker), ["orders"]);
}

#[test]
fn the_metadata_may_have_a_directory_of_its_own() {
    let own = TestProcess::builder(BROKER);
    let plan = TestBroker::builder().set("metadata.log.dir", own.data().join("metadata").to_str().unwrap());
    let mut broker = plan.start();
    create_topic(&broker, "orders");
    assert!(own.data().join("metadata/__cluster_metadata-0").is_dir());
    assert!(!broker.data().join("__cluster_metadata-0").exists());
    broker.restart();
    assert_eq!(topics(&broker), ["orders"]);
    assert!(!own.data().join("metadata/orders-0").exists());
}

fn create_topic(broker: &TestBroker, name: &str) {
    let topic = CreatableTopic {
        name: name.into(),
        num_partitions: 1,
        replication_factor: 1,
        ..CreatableTopic::default()
    };
    let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: 30_000, validate_only: false };
    let answer = broker.connect().call(&request, 7);
    assert!(answer.topics.iter().all(|topic| topic.error_code.is_none()), "{answer:?}");
}

fn topics(broker: &TestBroker) -> Vec<String> {
    let answer = broker.connect().call(&MetadataRequest { topics: None, ..MetadataRequest::default() }, 12);
    let name = |topic: &MetadataResponseTopic| topic.name.as_ref().unwrap().to_string();
    answer.topics.iter().map(name).collect()
}

#[test]
fn several_directories_are_one_node() {
    let plan = TestBroker::builder();
    let (one, two) = (plan.data().join("one"), plan.data().join("two"));
    let dirs = format!("{},{}", one.display(), two.display());
    let start = || {
        TestProcess::builder(BROKER)
            .argument("--override=listeners=PLAINTEXT://127.0.0.1:0")
            .set("log.dirs", &dirs)
            .start_as_it_is()
    };
    let process = start();
    let line = |text: &str, key: &str| text.lines().find(|line| line.starts_with(key)).map(str::to_owned);
    let (first, second) = (properties(&one), properties(&two));
    assert_eq!(line(&first, "cluster.id="), line(&second, "cluster.id="));
    assert_ne!(line(&first, "directory.id="), line(&second, "directory.id="));
    drop(process.terminate());
    drop(start().terminate());
    assert_eq!((properties(&one), properties(&two)), (first, second));
}

/// What is said of the producers of a partition: an error, and their ids.
fn producers_of(connection: &mut Connection, topic: &str) -> (ErrorCode, Vec<i64>) {
    let topics = vec![TopicRequest { name: topic.into(), partition_indexes: vec![0.into()] }];
    let mut answer = connection.call(&DescribeProducersRequest { topics }, 0);
    let partition = answer.topics.remove(0).partitions.remove(0);
    let ids = partition.active_producers.iter().map(|producer| producer.producer_id.get());
    (partition.error_code, ids.collect())
}

#[test]
fn logs_that_a_start_left_closed_are_opened_by_whoever_comes_first_and_keep_the_order_of_requests() {
    let process = TestProcess::builder(BROKER).start();
    let mut connection = process.connect();
    for topic in ["written", "read", "described"] {
        create_topic_with(&mut connection, topic, 1, &[]);
        append(&mut connection, topic, 0, batch_from(7, 0, 0));
    }
    let process = process.terminate().plan.start();
    let mut connection = process.connect();
    assert_eq!(append(&mut connection, "written", 0, batch_from(7, 0, 1)), 1);
    assert_eq!(append(&mut connection, "written", 0, batch(1)), 2);
    assert_eq!(base_offsets(fetch(&mut connection, "written", 0, 0)), [0, 1, 2]);
    assert_eq!(base_offsets(fetch(&mut connection, "read", 0, 0)), [0]);
    assert_eq!(producers_of(&mut connection, "described"), (ErrorCode::NONE, vec![7]));
    assert_eq!(append(&mut connection, "described", 0, batch_from(7, 0, 1)), 1);
    let exit = process.terminate();
    assert!(!exit.stderr.contains("ERROR"), "{}", exit.stderr);
}

#[test]
fn a_log_that_is_not_as_the_stop_left_it_is_looked_at_as_a_whole_and_serves_what_is_left() {
    let process = TestProcess::builder(BROKER).start();
    let mut connection = process.connect();
    for topic in ["cut", "whole"] {
        create_topic_with(&mut connection, topic, 1, &[("segment.bytes", "1048576")]);
        append(&mut connection, topic, 0, batch_from(7, 0, 0));
        for _ in 0..3 {
            append(&mut connection, topic, 0, batch_of_bytes(600_000));
        }
    }
    let plan = process.terminate().plan;
    let sealed = plan.data().join("cut-0/00000000000000000000.log");
    let bytes = fs::metadata(&sealed).unwrap().len();
    fs::File::options().write(true).open(&sealed).unwrap().set_len(bytes - 10).unwrap();
    let process = plan.start();
    let mut connection = process.connect();
    assert_eq!(list_offset(&mut connection, "cut", -1, 7).offset.get(), 4);
    assert_eq!(append(&mut connection, "cut", 0, batch(1)), 4);
    assert_eq!(base_offsets(fetch(&mut connection, "cut", 0, 0))[0], 0);
    assert_eq!(base_offsets(fetch(&mut connection, "cut", 0, 4)), [4]);
    assert_eq!(producers_of(&mut connection, "cut"), (ErrorCode::NONE, vec![7]));
    assert_eq!(append(&mut connection, "whole", 0, batch_from(7, 0, 1)), 4);
    let exit = process.terminate();
    let told = "a log is not as its last orderly stop left it";
    assert_eq!(exit.stderr.matches(told).count(), 1, "{}", exit.stderr);
}
