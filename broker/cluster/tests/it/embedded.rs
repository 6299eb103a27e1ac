//! The embedded controller over its life: first start, restarts, crashes, snapshots, and what it refuses.

use std::sync::Arc;

use bytes::Bytes;
use ottla_cluster::{
    ControllerRequest, EmbeddedError, FeedError, ImageBuilder, LinkError, MetadataRetention,
    WAITING_REQUESTS_MAX,
};
use ottla_model::batch::{BatchBuilder, NewRecord, RecordBatch};
use ottla_model::compression::Compression;
use ottla_model::{LeaderEpoch, NodeId, Offset, Uuid};
use ottla_protocol::messages::allocate_producer_ids::AllocateProducerIdsRequest;
use ottla_protocol::messages::create_topics::CreateTopicsRequest;
use ottla_protocol::metadata::{
    AccessControlEntryRecord, BeginTransactionRecord, MetadataRecord, RegisterBrokerRecord, TopicRecord,
};

use crate::node::{LOG, Node, block_on, config, copy, file, files, snapshots};
use crate::support::{NODE, directory, registration, topic, with_configs};

const BOOTSTRAP: &str = "00000000000000000000-0000000000.checkpoint";

/// The batches of a file: whether they hold control records, their first offset and epoch, their records' values.
fn batches(path: &std::path::Path) -> Vec<(bool, i64, i32, Vec<Bytes>)> {
    let mut bytes = Bytes::from(std::fs::read(path).unwrap());
    let mut batches = Vec::new();
    while let Some(batch) = RecordBatch::split_first(&mut bytes).unwrap() {
        batch.verify_crc().unwrap();
        let header = batch.header();
        let records = batch.records(1 << 20).unwrap();
        let values =
            records.iter().map(|record| Bytes::copy_from_slice(record.unwrap().value.unwrap())).collect();
        batches.push((
            header.attributes().is_control(),
            header.base_offset().get(),
            header.leader_epoch().get(),
            values,
        ));
    }
    batches
}

fn names(values: &[Bytes]) -> Vec<&'static str> {
    values.iter().map(|value| MetadataRecord::decode(value.clone()).unwrap().name()).collect()
}

/// The image without its brokers.
fn content(image: &ottla_cluster::MetadataImage) -> Vec<MetadataRecord> {
    let records = image.to_records().into_iter();
    records.filter(|record| !matches!(record, MetadataRecord::RegisterBroker(_))).collect()
}

#[test]
fn the_first_start_writes_what_kafkas_first_start_writes() {
    let dir = tempfile::tempdir().unwrap();
    let mut node = Node::start(dir.path()).unwrap();
    assert_eq!(node.leader, (NODE, LeaderEpoch::new(1)));
    assert_eq!(node.caught_up, Offset::new(12));
    assert_eq!(node.image.position().offset, Offset::new(11));
    assert_eq!(node.image.feature_level("metadata.version"), 33);
    node.register(registration(-1));
    node.controller.shutdown().unwrap();

    let log = batches(&file(dir.path(), LOG));
    let shape: Vec<_> =
        log.iter().map(|(control, base, epoch, values)| (*control, *base, *epoch, values.len())).collect();
    assert_eq!(shape, [(true, 0, 1, 3), (false, 3, 1, 9), (false, 12, 1, 1), (false, 13, 1, 1)]);
    assert_eq!(
        names(&log[1].3),
        [
            "BeginTransactionRecord",
            "FeatureLevelRecord",
            "FeatureLevelRecord",
            "FeatureLevelRecord",
            "FeatureLevelRecord",
            "FeatureLevelRecord",
            "FeatureLevelRecord",
            "ConfigRecord",
            "EndTransactionRecord"
        ]
    );
    assert_eq!(names(&log[2].3), ["RegisterBrokerRecord"]);
    assert_eq!(names(&log[3].3), ["BrokerRegistrationChangeRecord"], "a clean stop fences the broker");
    let bootstrap = batches(&file(dir.path(), BOOTSTRAP));
    let shape: Vec<_> = bootstrap
        .iter()
        .map(|(control, base, epoch, values)| (*control, *base, *epoch, values.len()))
        .collect();
    assert_eq!(shape, [(true, 0, 0, 3), (false, 3, 0, 6), (true, 9, 0, 1)]);
    let text = |name| std::fs::read_to_string(file(dir.path(), name)).unwrap();
    assert_eq!(
        text("quorum-state"),
        "{\"leaderId\":1,\"leaderEpoch\":1,\"votedId\":-1,\
         \"votedDirectoryId\":\"AAAAAAAAAAAAAAAAAAAAAA\",\"data_version\":1}"
    );
    assert_eq!(text("partition.metadata"), "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ");
    assert_eq!(text("leader-epoch-checkpoint"), "0\n1\n1 0\n");
}

#[test]
fn the_first_batches_are_kafkas_to_the_byte_but_for_ids_and_times() {
    let dir = tempfile::tempdir().unwrap();
    drop(Node::start(dir.path()).unwrap());
    let ours = batches(&file(dir.path(), LOG));
    let kafka_dir = crate::kafka_log::extract();
    let theirs = batches(&file(kafka_dir.path(), LOG));
    assert_eq!(ours[1], theirs[1], "the bootstrap transaction");
    assert_eq!(
        (&ours[0].3[0], &ours[0].3[1]),
        (&theirs[0].3[0], &theirs[0].3[1]),
        "leader change, kraft version"
    );
    let ours = batches(&file(dir.path(), BOOTSTRAP));
    let theirs = batches(&file(kafka_dir.path(), BOOTSTRAP));
    assert_eq!((&ours[1], &ours[2]), (&theirs[1], &theirs[2]), "the bootstrap snapshot");
}

#[test]
fn a_restart_finds_everything_and_begins_a_new_epoch() {
    let dir = tempfile::tempdir().unwrap();
    let mut node = Node::start(dir.path()).unwrap();
    let broker_epoch = node.register(registration(-1));
    node.create(vec![with_configs(topic("a", 3, 1), &[("retention.ms", Some("5"))]), topic("b", 1, 1)]);
    node.delete("b");
    let request = AllocateProducerIdsRequest { broker_id: NODE, broker_epoch };
    node.call(ControllerRequest::AllocateProducerIds(request)).unwrap();
    let before = Arc::clone(&node.image);
    node.controller.shutdown().unwrap();
    let fenced = Arc::clone(&Node::start(copy(dir.path()).path()).unwrap().image);
    assert!(fenced.broker(NODE).unwrap().fenced, "a clean stop fences the broker");
    assert!(content(&fenced) == content(&before));
    for epoch in 2..5 {
        let node = Node::start(dir.path()).unwrap();
        assert_eq!(node.leader, (NODE, LeaderEpoch::new(epoch)));
        assert!(node.image.same_content(&fenced), "epoch {epoch}");
        // The broker's farewell, and a leader change for each start.
        assert_eq!(node.caught_up.get(), before.position().offset.get() + 1 + i64::from(epoch));
        node.controller.shutdown().unwrap();
    }
    assert_eq!(snapshots(dir.path()), [BOOTSTRAP]);
}

#[test]
fn what_was_answered_survives_a_crash_at_any_byte_of_what_was_not() {
    let dir = tempfile::tempdir().unwrap();
    let mut node = Node::start(dir.path()).unwrap();
    node.register(registration(-1));
    node.create(vec![topic("a", 2, 1)]);
    let answered = Arc::clone(&node.image);
    let kept = std::fs::metadata(file(dir.path(), LOG)).unwrap().len();
    node.create(vec![topic("b", 1, 1)]);
    let size = std::fs::metadata(file(dir.path(), LOG)).unwrap().len();
    assert!(size > kept);
    for cut in kept..=size {
        let crashed = copy(dir.path());
        let log = std::fs::File::options().write(true).open(file(crashed.path(), LOG)).unwrap();
        log.set_len(cut).unwrap();
        let node = Node::start(crashed.path()).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        let expected = if cut == size { vec!["a", "b"] } else { vec!["a"] };
        assert_eq!(node.topics(), expected, "cut at {cut}");
        if cut < size {
            assert!(node.image.same_content(&answered), "cut at {cut}");
        }
    }
}

#[test]
fn a_torn_tail_of_any_kind_is_cut_and_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let mut node = Node::start(dir.path()).unwrap();
    node.register(registration(-1));
    node.create(vec![topic("a", 2, 1)]);
    for tail in [
        vec![0; 100],
        vec![0xff; 61],
        b"garbage that is longer than a batch's header, by a good deal".to_vec(),
    ] {
        let crashed = copy(dir.path());
        let mut bytes = std::fs::read(file(crashed.path(), LOG)).unwrap();
        bytes.extend(&tail);
        std::fs::write(file(crashed.path(), LOG), bytes).unwrap();
        let mut node = Node::start(crashed.path()).unwrap();
        node.create(vec![topic("b", 1, 1)]);
        drop(node);
        assert_eq!(Node::start(crashed.path()).unwrap().topics(), ["a", "b"]);
    }
}

#[test]
fn a_snapshot_is_written_when_the_log_has_grown_and_a_start_uses_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config();
    config.snapshot_after_bytes = 4000;
    let mut node = Node::start_with(config.clone(), dir.path()).unwrap();
    node.register(registration(-1));
    for n in 0..60 {
        node.create(vec![with_configs(topic(&format!("t{n}"), 2, 1), &[("retention.ms", Some("7"))])]);
    }
    node.delete("t3");
    let image = Arc::clone(&node.image);
    node.controller.shutdown().unwrap();
    let written = snapshots(dir.path());
    assert_eq!(written.len(), 3, "the bootstrap one and the newest two: {written:?}");

    let whole = Node::start_with(config.clone(), copy(dir.path()).path()).unwrap();
    assert!(content(&whole.image) == content(&image));

    // The records that the newest snapshot holds are not read again: their bytes do not matter.
    let damaged = copy(dir.path());
    let end: i64 = written[2][..20].parse().unwrap();
    let mut bytes = std::fs::read(file(damaged.path(), LOG)).unwrap();
    let mut rest = Bytes::from(bytes.clone());
    let mut position = 0;
    while let Some(batch) = RecordBatch::split_first(&mut rest).unwrap() {
        if batch.header().last_offset().get() >= end {
            break;
        }
        position += batch.bytes().len();
    }
    bytes.drain(..position);
    for (name, path) in files(damaged.path()) {
        if name.ends_with("log") || name.ends_with("index") || name.ends_with(".snapshot") {
            std::fs::remove_file(path).unwrap();
        }
    }
    std::fs::write(file(damaged.path(), &format!("{end:020}.log")), bytes).unwrap();
    let tail_only = Node::start_with(config.clone(), damaged.path()).unwrap();
    assert!(content(&tail_only.image) == content(&image), "from the snapshot and a log that begins at it");
    drop(tail_only);

    // Without a snapshot that reaches so far there is nothing to begin with.
    for name in &written {
        std::fs::remove_file(file(damaged.path(), name)).unwrap();
    }
    let refused = Node::start_with(config, damaged.path()).err().unwrap();
    assert!(matches!(refused, EmbeddedError::NoSnapshot { .. }), "{refused}");
}

#[test]
fn a_damaged_snapshot_is_passed_over_while_the_log_has_what_it_holds() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config();
    config.snapshot_after_bytes = 4000;
    let mut node = Node::start_with(config.clone(), dir.path()).unwrap();
    node.register(registration(-1));
    (0..60).for_each(|n| drop(node.create(vec![topic(&format!("t{n}"), 2, 1)])));
    let image = Arc::clone(&node.image);
    drop(node);
    let newest = snapshots(dir.path()).pop().unwrap();
    let whole = std::fs::read(file(dir.path(), &newest)).unwrap();
    for cut in [0, 1, 60, whole.len() / 2, whole.len() - 76, whole.len() - 1] {
        let damaged = copy(dir.path());
        std::fs::write(file(damaged.path(), &newest), &whole[..cut]).unwrap();
        let node = Node::start_with(config.clone(), damaged.path()).unwrap();
        assert!(content(&node.image) == content(&image), "cut at {cut}");
    }
    let damaged = copy(dir.path());
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    std::fs::write(file(damaged.path(), &newest), flipped).unwrap();
    assert!(Node::start_with(config, damaged.path()).unwrap().image.same_content(&image));
}

#[test]
fn a_snapshot_beyond_the_end_of_the_log_stands_for_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config();
    config.snapshot_after_bytes = 4000;
    let mut node = Node::start_with(config.clone(), dir.path()).unwrap();
    node.register(registration(-1));
    (0..60).for_each(|n| drop(node.create(vec![topic(&format!("t{n}"), 2, 1)])));
    drop(node);
    let newest = snapshots(dir.path()).pop().unwrap();
    let end: i64 = newest[..20].parse().unwrap();
    let log = std::fs::File::options().write(true).open(file(dir.path(), LOG)).unwrap();
    log.set_len(504).unwrap();
    let mut node = Node::start_with(config.clone(), dir.path()).unwrap();
    assert_eq!(node.caught_up.get(), end + 1, "the new epoch's leader change follows the snapshot");
    let topics = node.topics();
    assert!(topics.len() > 20);
    node.create(vec![topic("after", 1, 1)]);
    let image = Arc::clone(&node.image);
    drop(node);
    let again = Node::start_with(config, dir.path()).unwrap();
    assert!(again.image.same_content(&image));
}

#[test]
fn what_a_snapshot_holds_leaves_the_log_once_the_limits_ask_for_it() {
    for (bytes_max, is_trimmed) in [(Some(20_000), true), (None, false)] {
        let dir = tempfile::tempdir().unwrap();
        let mut config = config();
        config.snapshot_after_bytes = 6000;
        config.log.segment_bytes = 3000;
        config.retention = MetadataRetention { bytes_max, age_ms_max: None };
        let mut node = Node::start_with(config.clone(), dir.path()).unwrap();
        node.register(registration(-1));
        for n in 0..150 {
            node.create(vec![topic(&format!("t{n}"), 2, 1)]);
            if n >= 10 {
                node.delete(&format!("t{}", n - 10));
            }
        }
        let image = Arc::clone(&node.image);
        node.controller.shutdown().unwrap();
        let kept = snapshots(dir.path());
        let names: Vec<String> = files(dir.path()).into_iter().map(|(name, _)| name).collect();
        let mut segments: Vec<_> = names.iter().filter(|name| name.ends_with(".log")).collect();
        segments.sort();
        assert_eq!(segments[0] != LOG, is_trimmed, "{names:?}");
        assert!(names.iter().all(|name| !name.ends_with(".deleted")), "{names:?}");
        if is_trimmed {
            assert_eq!(kept.len(), 2, "the bootstrap one went with the log's beginning: {kept:?}");
            assert!(segments[0][..20] <= kept[0][..20], "the older snapshot can still be gone on from");
        }
        let again = Node::start_with(config.clone(), copy(dir.path()).path()).unwrap();
        assert!(content(&again.image) == content(&image));
        // And without the newest snapshot.
        let older = copy(dir.path());
        std::fs::remove_file(file(older.path(), kept.last().unwrap())).unwrap();
        let again = Node::start_with(config, older.path()).unwrap();
        assert!(content(&again.image) == content(&image));
    }
}

#[test]
fn many_requests_at_once_are_all_answered_and_all_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut node = Node::start(dir.path()).unwrap();
    node.register(registration(-1));
    let calls: Vec<_> = (0..300)
        .map(|n| {
            let topics = vec![topic(&format!("t{n}"), 1, 1)];
            node.link
                .call(ControllerRequest::CreateTopics(CreateTopicsRequest { topics, ..Default::default() }))
        })
        .collect();
    let mut last = Offset::UNKNOWN;
    for call in calls {
        let reply = block_on(call).unwrap();
        assert!(reply.offset > last, "answers rest on ascending offsets");
        last = reply.offset;
    }
    node.follow();
    assert_eq!((node.image.topic_count(), node.image.position().offset), (300, last));
    drop(node);
    assert_eq!(Node::start(dir.path()).unwrap().image.topic_count(), 300);
}

#[test]
fn a_request_beyond_the_limit_is_told_so() {
    let dir = tempfile::tempdir().unwrap();
    let gate = Arc::new(std::sync::Mutex::new(()));
    let mut config = config();
    let (entropy, entered) = (config.entropy, Arc::clone(&gate));
    config.entropy = Arc::new(move || {
        drop(entered.lock().unwrap());
        entropy()
    });
    let mut node = Node::start_with(config, dir.path()).unwrap();
    node.register(registration(-1));
    let call = |n: usize| {
        let topics = vec![topic(&format!("t{n}"), 1, 1)];
        node.link.call(ControllerRequest::CreateTopics(CreateTopicsRequest { topics, ..Default::default() }))
    };
    // The controller stands still at the first topic's id, so it has taken one request at most from the queue.
    let closed = gate.lock().unwrap();
    let calls: Vec<_> = (0..WAITING_REQUESTS_MAX + 2).map(call).collect();
    drop(closed);
    let answers: Vec<_> = calls.into_iter().map(block_on).collect();
    let (last, served) = answers.split_last().unwrap();
    assert!(matches!(last, Err(LinkError::Busy { waiting }) if *waiting == WAITING_REQUESTS_MAX), "{last:?}");
    assert!(served.iter().take(WAITING_REQUESTS_MAX).all(Result::is_ok));
    assert!(block_on(call(WAITING_REQUESTS_MAX + 2)).is_ok(), "and later ones are served again");
}

#[test]
fn after_the_end_links_and_feeds_say_that_it_has_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let Node { controller, link, mut feed, .. } = Node::start(dir.path()).unwrap();
    controller.shutdown().unwrap();
    let request = ControllerRequest::CreateTopics(CreateTopicsRequest::default());
    assert!(matches!(block_on(link.call(request)), Err(LinkError::Stopped)));
    assert!(matches!(block_on(feed.next()), Err(FeedError::Stopped)));
    assert!(matches!(feed.try_next(), Err(FeedError::Stopped)));
}

#[test]
fn a_feed_waits_for_the_next_change_and_skips_to_the_newest() {
    let dir = tempfile::tempdir().unwrap();
    let mut node = Node::start(dir.path()).unwrap();
    assert!(matches!(node.feed.try_next(), Ok(None)));
    node.register(registration(-1));
    let call = |name: &str| {
        let topics = vec![topic(name, 1, 1)];
        node.link.call(ControllerRequest::CreateTopics(CreateTopicsRequest { topics, ..Default::default() }))
    };
    block_on(call("a")).unwrap();
    let offset = block_on(call("b")).unwrap().offset;
    let event = block_on(node.feed.next()).unwrap();
    let ottla_cluster::FeedEvent::Image(image) = event else { panic!("{event:?}") };
    assert_eq!((image.topic_count(), image.position().offset), (2, offset));
    assert!(matches!(node.feed.try_next(), Ok(None)));
}

#[test]
fn a_log_of_another_node_directory_or_quorum_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut node = Node::start(dir.path()).unwrap();
    node.register(registration(-1));
    drop(node);
    let before = std::fs::read(file(dir.path(), LOG)).unwrap();

    let mut other = config();
    other.identity.node_id = NodeId::new(2);
    let error = Node::start_with(other, dir.path()).err().unwrap();
    assert!(matches!(&error, EmbeddedError::OtherVoters { voters, .. } if voters == &[1]), "{error}");

    let mut other = config();
    other.identity.directory_id = Uuid::from_bytes([1; 16]);
    let error = Node::start_with(other, dir.path()).err().unwrap();
    assert!(
        matches!(&error, EmbeddedError::OtherDirectory { named, .. } if *named == directory()),
        "{error}"
    );
    assert_eq!(std::fs::read(file(dir.path(), LOG)).unwrap(), before, "nothing was written");
}

#[test]
fn a_broken_quorum_state_is_an_error_and_a_missing_one_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    drop(Node::start(dir.path()).unwrap());
    let path = file(dir.path(), "quorum-state");
    std::fs::write(&path, "{\"data_version\":9}").unwrap();
    let error = Node::start(dir.path()).err().unwrap();
    assert!(matches!(error, EmbeddedError::QuorumState(_)), "{error}");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(Node::start(dir.path()).unwrap().leader.1, LeaderEpoch::new(2), "the log knows its epoch");
    let ahead = std::fs::read_to_string(&path).unwrap().replace("\"leaderEpoch\":2", "\"leaderEpoch\":40");
    std::fs::write(&path, ahead).unwrap();
    assert_eq!(Node::start(dir.path()).unwrap().leader.1, LeaderEpoch::new(41));
}

/// What another writer puts behind the end of a log that nobody has open.
fn append_foreign(log_dir: &std::path::Path, end: Offset, values: &[Bytes]) -> Vec<u8> {
    let mut builder =
        BatchBuilder::new(Compression::NONE).with_base_offset(end).with_leader_epoch(LeaderEpoch::new(1));
    for value in values {
        builder.append(&NewRecord { value: Some(value), ..NewRecord::default() }).unwrap();
    }
    let mut bytes = std::fs::read(file(log_dir, LOG)).unwrap();
    bytes.extend_from_slice(&builder.finish_bytes().unwrap());
    std::fs::write(file(log_dir, LOG), &bytes).unwrap();
    bytes
}

fn new_log() -> (tempfile::TempDir, Offset) {
    let dir = tempfile::tempdir().unwrap();
    let end = Node::start(dir.path()).unwrap().caught_up;
    (dir, end)
}

#[test]
fn a_record_of_the_future_is_named_and_the_log_left_alone() {
    // Frame version, type, version: a type, a version, a frame and a feature level that this version does not know.
    let feature: Vec<u8> = [1, 12, 0, 17].into_iter().chain(*b"metadata.version").chain([0, 99, 0]).collect();
    for (value, expected) in [
        (vec![1, 90, 0, 0], "metadata record type 90 is unknown"),
        (vec![1, 2, 7, 0], "TopicRecord has the versions 0..0, not 7"),
        (vec![2, 2, 0, 0], "frame version 2"),
        (feature, "the feature metadata.version has level 99"),
    ] {
        let (dir, end) = new_log();
        let bytes = append_foreign(dir.path(), end, &[value.into()]);
        let error = Node::start(dir.path()).err().unwrap().to_string();
        assert!(error.contains(expected) && error.contains(&format!("offset {end}")), "{error}");
        assert!(std::fs::read(file(dir.path(), LOG)).unwrap() == bytes);
    }
}

#[test]
fn a_log_with_other_brokers_or_access_control_entries_is_refused() {
    let (dir, end) = new_log();
    let broker = RegisterBrokerRecord { broker_id: NodeId::new(7), ..RegisterBrokerRecord::default() };
    append_foreign(dir.path(), end, &[MetadataRecord::from(broker).encode(4).unwrap()]);
    let error = Node::start(dir.path()).err().unwrap();
    assert!(matches!(&error, EmbeddedError::OtherBrokers { brokers, .. } if brokers == &[7]), "{error}");

    let (dir, end) = new_log();
    let entry = MetadataRecord::from(AccessControlEntryRecord::default());
    append_foreign(dir.path(), end, &[entry.encode(0).unwrap()]);
    let error = Node::start(dir.path()).err().unwrap();
    assert!(matches!(error, EmbeddedError::AccessControl { count: 1 }), "{error}");
}

#[test]
fn an_unfinished_transaction_of_another_writer_is_ended() {
    let (dir, end) = new_log();
    let records: [MetadataRecord; 2] = [
        BeginTransactionRecord { name: None }.into(),
        TopicRecord { name: "half".into(), topic_id: Uuid::from_bytes([4; 16]) }.into(),
    ];
    append_foreign(dir.path(), end, &records.map(|record| record.encode(0).unwrap()));
    let mut node = Node::start(dir.path()).unwrap();
    assert_eq!(node.image.topic_count(), 0);
    node.register(registration(-1));
    node.create(vec![topic("whole", 1, 1)]);
    drop(node);
    assert_eq!(Node::start(dir.path()).unwrap().topics(), ["whole"]);
    let log = batches(&file(dir.path(), LOG));
    let all: Vec<_> = log.iter().filter(|batch| !batch.0).flat_map(|batch| names(&batch.3)).collect();
    assert!(all.contains(&"AbortTransactionRecord"), "{all:?}");
}

#[test]
fn the_log_replays_to_the_served_image_without_the_controller() {
    let dir = tempfile::tempdir().unwrap();
    let mut node = Node::start(dir.path()).unwrap();
    node.register(registration(-1));
    node.create(vec![topic("a", 2, 1), topic("b", 1, 1)]);
    node.delete("a");
    let image = Arc::clone(&node.image);
    drop(node);
    let mut builder = ImageBuilder::default();
    for (control, base, epoch, values) in batches(&file(dir.path(), LOG)) {
        if !control {
            let records: Vec<_> = values.into_iter().map(|v| MetadataRecord::decode(v).unwrap()).collect();
            builder.replay_batch(Offset::new(base), LeaderEpoch::new(epoch), 0, &records).unwrap();
        }
    }
    assert!(builder.current().same_content(&image));
}
