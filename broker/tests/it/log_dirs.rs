//! Several log directories: where partitions go, what a directory that fails takes with it and what not, moves between
//! directories while they serve, and what is told of all this.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use ottla_model::{ErrorCode, NodeId};
use ottla_protocol::messages::alter_replica_log_dirs::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic, AlterReplicaLogDirsRequest,
};
use ottla_protocol::messages::describe_log_dirs::{
    DescribableLogDirTopic, DescribeLogDirsRequest, DescribeLogDirsResult,
};
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use ottla_testkit::{Connection, TIME_MAX, TestBroker, TestBrokerBuilder, TestProcess};

use crate::BROKER;
use crate::requests::{
    append, base_offsets, batch, batch_of_bytes, bytes_of, create_topic, create_topic_with, fetch,
    list_offset, produce,
};

const STORAGE: ErrorCode = ErrorCode::KAFKA_STORAGE_ERROR;
const FREE_BYTES: &str = "log.dir.free.bytes.min";

fn two_dirs() -> TestBrokerBuilder {
    // The machine that tests may be nearly full.
    TestBroker::builder().log_dirs(&["a", "b"]).set(FREE_BYTES, "0")
}

fn describe(connection: &mut Connection) -> Vec<DescribeLogDirsResult> {
    let response = connection.call(&DescribeLogDirsRequest { topics: None }, 4);
    assert_eq!(response.error_code, ErrorCode::NONE);
    response.results
}

/// The partitions of a topic in a directory, those on their way aside.
fn held(connection: &mut Connection, dir: &str, topic: &str) -> Vec<i32> {
    let results = describe(connection);
    let result = results.into_iter().find(|result| result.log_dir.ends_with(dir)).unwrap();
    let topic = result.topics.into_iter().find(|found| found.name.as_str() == topic);
    let partitions = topic.into_iter().flat_map(|topic| topic.partitions);
    partitions.filter(|found| !found.is_future_key).map(|found| found.partition_index.get()).collect()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < TIME_MAX, "{what}: not within {TIME_MAX:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn dir_error(connection: &mut Connection, dir: &str) -> ErrorCode {
    describe(connection).into_iter().find(|result| result.log_dir.ends_with(dir)).unwrap().error_code
}

/// What clients are told of each partition: code, leader, offline replicas.
fn leaders(connection: &mut Connection, topic: &str) -> Vec<(ErrorCode, NodeId, Vec<NodeId>)> {
    let topic = MetadataRequestTopic { name: Some(topic.into()), ..MetadataRequestTopic::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..MetadataRequest::default() };
    let mut answer = connection.call(&request, 9);
    let partitions = answer.topics.remove(0).partitions.into_iter();
    partitions.map(|found| (found.error_code, found.leader_id, found.offline_replicas)).collect()
}

fn alter(connection: &mut Connection, dir: &str, topic: &str, partitions: &[i32]) -> Vec<ErrorCode> {
    let partitions = partitions.iter().map(|index| (*index).into()).collect();
    let topics = vec![AlterReplicaLogDirTopic { name: topic.into(), partitions }];
    let request = AlterReplicaLogDirsRequest { dirs: vec![AlterReplicaLogDir { path: dir.into(), topics }] };
    let mut answer = connection.call(&request, 2);
    answer.results.remove(0).partitions.into_iter().map(|found| found.error_code).collect()
}

fn path(plan: &std::path::Path, dir: &str) -> String {
    plan.join(dir).display().to_string()
}

#[test]
fn the_partitions_of_one_new_topic_spread_over_the_directories() {
    let mut broker = two_dirs().start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 8);
    let (a, b) = (held(&mut connection, "/a", "t"), held(&mut connection, "/b", "t"));
    assert_eq!((a.len(), b.len()), (4, 4), "{a:?} {b:?}");
    // The metadata know it, so that the same partition is looked for in the same directory.
    let image = || broker.running().broker().image();
    let is_known = || {
        let image = image();
        let topic = image.topic("t").unwrap();
        let dirs: Vec<_> = topic.partitions.iter().map(|partition| partition.directories[0]).collect();
        let registered = image.brokers().next().unwrap().log_dirs.clone();
        dirs.iter().all(|dir| registered.contains(dir))
    };
    wait_until("the controller is told", is_known);
    broker.restart();
    let mut connection = broker.connect();
    assert_eq!((held(&mut connection, "/a", "t"), held(&mut connection, "/b", "t")), (a, b));
}

#[test]
fn describe_log_dirs_tells_sizes_room_and_only_what_is_asked_for_in_each_version() {
    let broker = two_dirs().start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 2);
    append(&mut connection, "t", 0, batch_of_bytes(5_000));
    let size = bytes_of(fetch(&mut connection, "t", 0, 0)).len();
    for version in 1..=5 {
        let response = connection.call(&DescribeLogDirsRequest { topics: None }, version);
        assert_eq!(response.error_code, ErrorCode::NONE);
        let paths: Vec<_> = response.results.iter().map(|result| result.log_dir.as_str()).collect();
        assert_eq!(paths, [path(broker.data(), "a"), path(broker.data(), "b")]);
        let of_t =
            response.results.iter().flat_map(|result| &result.topics).flat_map(|topic| &topic.partitions);
        let mut of_t: Vec<_> = of_t
            .map(|it| (it.partition_index.get(), it.partition_size, it.offset_lag, it.is_future_key))
            .collect();
        of_t.sort_unstable();
        assert_eq!(of_t, [(0, i64::try_from(size).unwrap(), 0, false), (1, 0, 0, false)]);
        for result in &response.results {
            let has_room = result.total_bytes >= result.usable_bytes && result.usable_bytes > 0;
            assert!(if version >= 4 { has_room } else { result.total_bytes == -1 }, "{result:?}");
            assert!(!result.is_cordoned);
        }
    }
    let asked = |topic: &str, partitions: &[i32]| DescribeLogDirsRequest {
        topics: Some(vec![DescribableLogDirTopic {
            topic: topic.into(),
            partitions: partitions.iter().map(|index| (*index).into()).collect(),
        }]),
    };
    let counts = |request: &DescribeLogDirsRequest, connection: &mut Connection| {
        let results = connection.call(request, 4).results;
        (results.len(), results.iter().flat_map(|it| &it.topics).map(|it| it.partitions.len()).sum::<usize>())
    };
    assert_eq!(counts(&asked("t", &[1, 7]), &mut connection), (2, 1));
    assert_eq!(counts(&asked("missing", &[0]), &mut connection), (2, 0));
    assert_eq!(counts(&DescribeLogDirsRequest { topics: Some(vec![]) }, &mut connection), (2, 0));
}

#[test]
fn one_directory_that_cannot_be_opened_is_offline_and_after_its_repair_all_is_back() {
    let broker = two_dirs().start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 4);
    for index in 0..4 {
        append(&mut connection, "t", index, batch(3));
    }
    let lost = held(&mut connection, "/b", "t");
    let plan = broker.into_plan();
    let (dir, aside) = (plan.data().join("b"), plan.data().join("aside"));
    std::fs::rename(&dir, &aside).unwrap();
    std::fs::write(&dir, "no folder").unwrap();

    let broker = plan.start();
    let mut connection = broker.connect();
    assert_eq!(
        (dir_error(&mut connection, "/a"), dir_error(&mut connection, "/b")),
        (ErrorCode::NONE, STORAGE)
    );
    for (index, told) in (0..).zip(leaders(&mut connection, "t")) {
        let is_lost = lost.contains(&index);
        let expected = if is_lost { STORAGE } else { ErrorCode::NONE };
        assert_eq!(produce(&mut connection, "t", index, batch(1)).error_code, expected);
        assert_eq!(fetch(&mut connection, "t", index, 0).error_code, expected);
        assert_eq!(
            list_offset(&mut connection, "t", -1, 7).error_code,
            if lost.contains(&0) { STORAGE } else { ErrorCode::NONE }
        );
        let expected = if is_lost {
            (ErrorCode::LEADER_NOT_AVAILABLE, NodeId::NONE, vec![NodeId::new(1)])
        } else {
            (ErrorCode::NONE, NodeId::new(1), vec![])
        };
        assert_eq!(told, expected);
    }
    // What is new goes where there is a place.
    create_topic(&mut connection, "new", 3);
    assert_eq!(held(&mut connection, "/a", "new"), [0, 1, 2]);
    assert_eq!(alter(&mut connection, &path(broker.data(), "b"), "new", &[0]), [STORAGE]);

    let plan = broker.into_plan();
    std::fs::remove_file(&dir).unwrap();
    std::fs::rename(&aside, &dir).unwrap();
    let broker = plan.start();
    let mut connection = broker.connect();
    for index in 0..4 {
        let offsets = base_offsets(fetch(&mut connection, "t", index, 0));
        assert_eq!(offsets, if lost.contains(&index) { vec![0] } else { vec![0, 3] }, "{index}");
    }
    assert_eq!(dir_error(&mut connection, "/b"), ErrorCode::NONE);
}

#[test]
fn an_unusable_directory_is_told_once_and_all_of_them_or_one_at_a_first_start_end_it() {
    let plan = TestProcess::builder(BROKER);
    let dirs = format!("{},{}", path(plan.data(), "a"), path(plan.data(), "b"));
    let plan = plan.set("listeners", "PLAINTEXT://127.0.0.1:0").set("log.dirs", &dirs).set(FREE_BYTES, "0");
    let spoil = |plan: &std::path::Path, dir: &str| {
        let _ = std::fs::remove_dir_all(plan.join(dir));
        std::fs::write(plan.join(dir), "no folder").unwrap();
    };
    spoil(plan.data(), "b");
    let refused = plan.clone().run();
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stderr.contains("a first start needs every log directory"), "{}", refused.stderr);

    std::fs::remove_file(plan.data().join("b")).unwrap();
    // The first attempt has left nothing that the next one could stumble over.
    let plan = plan.start_as_it_is().terminate().plan;
    spoil(plan.data(), "b");
    let exit = plan.start_as_it_is().terminate();
    let told: Vec<_> = exit.stderr.lines().filter(|line| line.contains("ERROR")).collect();
    assert_eq!(told.len(), 1, "{}", exit.stderr);
    assert!(told[0].contains("a log directory cannot be used") && told[0].contains("/b"), "{told:?}");

    spoil(exit.plan.data(), "a");
    let refused = exit.plan.run();
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stderr.contains("ottla-broker: "), "{}", refused.stderr);
}

#[test]
fn a_directory_removed_under_the_broker_takes_its_partitions_and_no_others() {
    let broker = two_dirs().start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 4);
    for index in 0..4 {
        append(&mut connection, "t", index, batch(2));
    }
    let lost = held(&mut connection, "/b", "t");
    let (dir, aside) = (broker.data().join("b"), broker.data().join("aside"));
    std::fs::rename(&dir, &aside).unwrap();
    wait_until("the loss is seen without a write", || dir_error(&mut connection, "/b") == STORAGE);
    for index in 0..4 {
        let expected = if lost.contains(&index) { STORAGE } else { ErrorCode::NONE };
        assert_eq!(produce(&mut connection, "t", index, batch(1)).error_code, expected);
        assert_eq!(fetch(&mut connection, "t", index, 0).error_code, expected);
    }
    assert!(!dir.exists(), "nothing is made in its place");
    let plan = broker.into_plan();
    std::fs::rename(&aside, &dir).unwrap();
    let broker = plan.start();
    let mut connection = broker.connect();
    for index in 0..4 {
        let offsets = base_offsets(fetch(&mut connection, "t", index, 0));
        assert_eq!(offsets, if lost.contains(&index) { vec![0] } else { vec![0, 2] });
    }
}

#[test]
fn below_the_limit_of_free_space_producers_are_told_why_and_consumers_are_served() {
    let broker = two_dirs().start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    append(&mut connection, "t", 0, batch(2));
    let broker = broker.into_plan().set(FREE_BYTES, &i64::MAX.to_string()).start();
    let mut connection = broker.connect();
    let refused = produce(&mut connection, "t", 0, batch(1));
    assert_eq!(refused.error_code, STORAGE);
    let told = refused.error_message.unwrap();
    assert!(told.contains("bytes of free space left, less than log.dir.free.bytes.min="), "{told}");
    assert_eq!(base_offsets(fetch(&mut connection, "t", 0, 0)), [0]);
    create_topic(&mut connection, "new", 1);
}

#[test]
fn a_partition_moves_between_directories_while_it_is_written_and_read() {
    let mut broker = two_dirs().start();
    let mut connection = broker.connect();
    create_topic_with(
        &mut connection,
        "t",
        2,
        &[("segment.bytes", "1048576"), ("file.delete.delay.ms", "0")],
    );
    let from = if held(&mut connection, "/a", "t").contains(&0) { "a" } else { "b" };
    let to = if from == "a" { "b" } else { "a" };
    for _ in 0..40 {
        append(&mut connection, "t", 0, batch_of_bytes(200_000));
    }
    assert_eq!(alter(&mut connection, &path(broker.data(), to), "t", &[0]), [ErrorCode::NONE]);
    let mut written = 40;
    let begin = Instant::now();
    while !held(&mut connection, &format!("/{to}"), "t").contains(&0) {
        assert!(begin.elapsed() < TIME_MAX, "the move has not ended");
        let answer = produce(&mut connection, "t", 0, batch_of_bytes(10_000));
        // For the moment of the exchange the log takes no writes; clients try again.
        match answer.error_code {
            ErrorCode::NONE => written += 1,
            code => assert_eq!(code, ErrorCode::NOT_LEADER_OR_FOLLOWER),
        }
    }
    assert!(!held(&mut connection, &format!("/{from}"), "t").contains(&0));
    assert_eq!(append(&mut connection, "t", 0, batch(1)), written);
    let all = |connection: &mut Connection| {
        let mut next = 0;
        while next <= written {
            let offsets = base_offsets(fetch(connection, "t", 0, next));
            assert_eq!(offsets.first(), Some(&next));
            next = offsets.last().unwrap() + 1;
        }
    };
    all(&mut connection);
    let target = broker.data().join(to).join("t-0");
    assert!(target.exists());
    broker.restart();
    let mut connection = broker.connect();
    assert!(held(&mut connection, &format!("/{to}"), "t").contains(&0));
    all(&mut connection);
    assert!(!broker.data().join(from).join("t-0").exists());
    // Back again, and to where it is: nothing to do.
    for dir in [from, from] {
        assert_eq!(alter(&mut connection, &path(broker.data(), dir), "t", &[0]), [ErrorCode::NONE]);
        wait_until("it is back", || held(&mut connection, &format!("/{dir}"), "t").contains(&0));
    }
    all(&mut connection);
}

#[test]
fn what_cannot_be_moved_is_refused_as_kafka_does() {
    let broker = two_dirs().start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "t", 1);
    let a = path(broker.data(), "a");
    assert_eq!(alter(&mut connection, "/nowhere", "t", &[0]), [ErrorCode::LOG_DIR_NOT_FOUND]);
    assert_eq!(alter(&mut connection, "a", "t", &[0]), [ErrorCode::LOG_DIR_NOT_FOUND]);
    assert_eq!(alter(&mut connection, &format!("{a}/"), "t", &[0]), [ErrorCode::LOG_DIR_NOT_FOUND]);
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    assert_eq!(alter(&mut connection, &a, "missing", &[0]), [unknown]);
    assert_eq!(alter(&mut connection, &a, "t", &[0, 9]), [ErrorCode::NONE, unknown]);
}

/// A broker in a mount namespace of its own, with one log directory on a small volume.
struct OnSmallVolume {
    process: TestProcess,
    _data: tempfile::TempDir,
}

impl OnSmallVolume {
    fn start(free_bytes_min: &str) -> Self {
        let data = tempfile::tempdir().unwrap();
        let (a, b) = (path(data.path(), "a"), path(data.path(), "b"));
        std::fs::create_dir_all(&b).unwrap();
        let script = format!(
            "/bin/mount -t tmpfs -o size=24m none {b} && exec {BROKER} --override listeners=PLAINTEXT://127.0.0.1:0 \
             --override log.dirs={a},{b} --override {FREE_BYTES}={free_bytes_min}"
        );
        let process = TestProcess::builder("/usr/bin/unshare")
            .argument("--map-root-user")
            .argument("--mount")
            .argument("/bin/sh")
            .argument("-c")
            .argument(script);
        Self { process: process.start_as_it_is(), _data: data }
    }

    /// The small volume, from outside.
    fn volume(&self) -> PathBuf {
        let listed = describe(&mut self.process.connect());
        let dir = listed.into_iter().find(|result| result.log_dir.ends_with("/b")).unwrap().log_dir;
        PathBuf::from(format!("/proc/{}/root{dir}", self.process.id()))
    }
}

fn one_in_each(connection: &mut Connection) -> (i32, i32) {
    create_topic_with(connection, "t", 2, &[("segment.bytes", "1048576")]);
    (held(connection, "/a", "t")[0], held(connection, "/b", "t")[0])
}

#[test]
fn a_full_volume_refuses_its_own_partitions_and_takes_them_again_once_there_is_room() {
    let broker = OnSmallVolume::start("0");
    let mut connection = broker.process.connect();
    let (sound, full) = one_in_each(&mut connection);
    append(&mut connection, "t", full, batch(1));
    let filler = broker.volume().join("filler");
    // Up to the last byte.
    drop(std::fs::write(&filler, vec![1; 24 << 20]));
    let mut refused = 0;
    while produce(&mut connection, "t", full, batch_of_bytes(50_000)).error_code == ErrorCode::NONE {
        refused += 1;
        assert!(refused < 1_000, "the volume never fills up");
    }
    assert_eq!(produce(&mut connection, "t", full, batch_of_bytes(50_000)).error_code, STORAGE);
    assert_eq!(produce(&mut connection, "t", sound, batch_of_bytes(50_000)).error_code, ErrorCode::NONE);
    std::fs::remove_file(filler).unwrap();
    // A full disk is no broken one: with room the same log goes on, unless a file of the directory itself was lost.
    let code = produce(&mut connection, "t", full, batch(1)).error_code;
    assert!(code == ErrorCode::NONE || dir_error(&mut connection, "/b") == STORAGE, "{code}");
}

#[test]
fn the_limit_of_free_space_holds_before_the_volume_is_full_and_lifts_by_itself() {
    let broker = OnSmallVolume::start("8000000");
    let mut connection = broker.process.connect();
    let (sound, short) = one_in_each(&mut connection);
    append(&mut connection, "t", short, batch(1));
    let filler = broker.volume().join("filler");
    std::fs::write(&filler, vec![1; 18 << 20]).unwrap();
    let mut last = None;
    wait_until("producers are refused", || {
        let answer = produce(&mut connection, "t", short, batch(1));
        last = answer.error_message;
        answer.error_code == STORAGE
    });
    assert!(last.unwrap().contains("log.dir.free.bytes.min=8000000"));
    assert_eq!(produce(&mut connection, "t", sound, batch(1)).error_code, ErrorCode::NONE);
    assert_eq!(fetch(&mut connection, "t", short, 0).error_code, ErrorCode::NONE);
    assert_eq!(dir_error(&mut connection, "/b"), ErrorCode::NONE, "the directory itself is sound");
    std::fs::remove_file(filler).unwrap();
    wait_until("producers are admitted", || {
        produce(&mut connection, "t", short, batch(1)).error_code == ErrorCode::NONE
    });
    let exit = broker.process.terminate();
    for told in ["a log directory is short of space", "a log directory has space again"] {
        assert_eq!(exit.stderr.matches(told).count(), 1, "{}", exit.stderr);
    }
}

#[test]
fn a_volume_that_is_read_only_is_offline_and_the_others_go_on() {
    let broker = two_dirs().start();
    let mut connection = broker.connect();
    let (sound, lost) = one_in_each(&mut connection);
    append(&mut connection, "t", sound, batch(1));
    append(&mut connection, "t", lost, batch(1));
    let plan = broker.into_plan();
    let (a, b) = (path(plan.data(), "a"), path(plan.data(), "b"));
    let script = format!(
        "/bin/mount --bind {b} {b} && /bin/mount -o remount,bind,ro {b} && exec {BROKER} \
         --override listeners=PLAINTEXT://127.0.0.1:0 --override log.dirs={a},{b}"
    );
    let arguments = ["--map-root-user", "--mount", "/bin/sh", "-c", &script];
    let process = TestProcess::builder("/usr/bin/unshare");
    let process = arguments.into_iter().fold(process, |process, argument| process.argument(argument));
    let process = process.start_as_it_is();
    let mut connection = process.connect();
    assert_eq!(dir_error(&mut connection, "/b"), STORAGE);
    assert_eq!(produce(&mut connection, "t", lost, batch(1)).error_code, STORAGE);
    assert_eq!(produce(&mut connection, "t", sound, batch(1)).error_code, ErrorCode::NONE);
    let exit = process.terminate();
    assert!(exit.stderr.contains("Read-only file system"), "{}", exit.stderr);
    let broker = plan.start();
    let mut connection = broker.connect();
    assert_eq!(base_offsets(fetch(&mut connection, "t", lost, 0)), [0]);
    assert_eq!(produce(&mut connection, "t", lost, batch(1)).base_offset.get(), 1);
}

#[test]
fn a_volume_that_is_taken_away_is_offline_and_nothing_is_written_below_it() {
    let broker = OnSmallVolume::start("0");
    let mut connection = broker.process.connect();
    let (sound, lost) = one_in_each(&mut connection);
    append(&mut connection, "t", lost, batch(1));
    let pid = broker.process.id().to_string();
    let volume = describe(&mut connection).remove(1).log_dir;
    let done = Command::new("/usr/bin/nsenter")
        .args(["-t", &pid, "-U", "-m", "--preserve-credentials", "/bin/umount", "-l", volume.as_str()])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    wait_until("it is seen", || dir_error(&mut connection, "/b") == STORAGE);
    assert_eq!(produce(&mut connection, "t", lost, batch(1)).error_code, STORAGE);
    assert_eq!(produce(&mut connection, "t", sound, batch(1)).error_code, ErrorCode::NONE);
    create_topic(&mut connection, "new", 2);
    assert_eq!(held(&mut connection, "/a", "new"), [0, 1]);
    let OnSmallVolume { process, _data } = broker;
    let exit = process.terminate();
    assert!(exit.stderr.contains("another folder is in its place"), "{}", exit.stderr);
    assert_eq!(std::fs::read_dir(volume.as_str()).unwrap().count(), 0);
}
