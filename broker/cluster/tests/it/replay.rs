//! One log, one state: however an image came about, by serving, by loading, or across a snapshot, it is the same.

use ottla_cluster::{ControllerRequest, ImageBuilder, MetadataDelta, MetadataImage, ReplayError};
use ottla_model::{LeaderEpoch, NodeId, Offset, PartitionIndex, ProducerId, Uuid};
use ottla_protocol::messages::allocate_producer_ids::AllocateProducerIdsRequest;
use ottla_protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use ottla_protocol::metadata::{
    AbortTransactionRecord, AccessControlEntryRecord, BeginTransactionRecord, BrokerRegistrationChangeRecord,
    ClearElrRecord, ClientQuotaRecord, ConfigRecord, DelegationTokenRecord, EndTransactionRecord, EntityData,
    FeatureLevelRecord, FenceBrokerRecord, MetadataRecord, PartitionChangeRecord, PartitionRecord,
    RegisterBrokerRecord, RegisterControllerRecord, RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord, RemoveTopicRecord, RemoveUserScramCredentialRecord, TopicRecord,
    UnfenceBrokerRecord, UnregisterBrokerRecord, UnregisterControllerRecord, UserScramCredentialRecord,
};

use crate::support::{Machine, NODE, registration, topic, with_configs};

/// Numbers of a seed (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn of<const N: usize>(&mut self, choices: [&'static str; N]) -> &'static str {
        choices[usize::try_from(self.below(N as u64)).unwrap()]
    }
}

fn random_step(machine: &mut Machine, numbers: &mut Numbers) {
    let name = format!("t{}{}", numbers.of(["", ".", "_", "-"]), numbers.below(30));
    match numbers.below(10) {
        0..=3 => {
            let partitions = i32::try_from(numbers.below(6)).unwrap() - 1;
            let retention = numbers.below(100).to_string();
            let set = [("retention.ms", Some(retention.as_str()))];
            let configs = if numbers.below(2) == 0 { &set[..] } else { &[] };
            machine.create(vec![with_configs(topic(&name, partitions, -1), configs)]);
        }
        4 | 5 => {
            let request =
                DeleteTopicsRequest { topic_names: vec![name.as_str().into()], ..Default::default() };
            machine.delete(request);
        }
        6 => {
            let id = machine.image().topic(&name).map_or(Uuid::from_bytes([3; 16]), |topic| topic.id);
            let topics = vec![DeleteTopicState { name: None, topic_id: id }];
            machine.delete(DeleteTopicsRequest { topics, ..Default::default() });
        }
        7 | 8 => {
            let broker_epoch = machine.image().broker(NODE).unwrap().epoch;
            let request = AllocateProducerIdsRequest { broker_id: NODE, broker_epoch };
            machine.call(&ControllerRequest::AllocateProducerIds(request));
        }
        _ => {
            let clean = numbers.below(2) == 0;
            let previous = if clean { machine.image().broker(NODE).unwrap().epoch } else { -1 };
            machine.register(&registration(previous)).unwrap();
        }
    }
}

#[test]
fn replaying_the_log_gives_the_image_that_served_also_across_a_snapshot() {
    for seed in 0..40 {
        let mut numbers = Numbers(seed);
        let mut machine = Machine::new();
        let snapshot_at = numbers.below(200);
        let mut from_snapshot = None;
        for step in 0..200 {
            random_step(&mut machine, &mut numbers);
            if step == snapshot_at {
                let mut builder = ImageBuilder::default();
                for record in machine.image().to_records() {
                    builder.replay(&record).unwrap();
                }
                assert!(builder.current().same_content(machine.image()), "seed {seed}, snapshot");
                assert_eq!(builder.current().to_records(), machine.image().to_records(), "seed {seed}");
                from_snapshot = Some((machine.batches.len(), builder));
            }
        }
        let mut from_start = ImageBuilder::default();
        for (base, records) in &machine.batches {
            from_start.replay_batch(*base, LeaderEpoch::new(1), 1000, records).unwrap();
        }
        assert!(from_start.current().same_content(machine.image()), "seed {seed}");
        assert_eq!(from_start.current().position(), machine.image().position(), "seed {seed}");
        let (from, mut builder) = from_snapshot.unwrap();
        for (base, records) in &machine.batches[from..] {
            builder.replay_batch(*base, LeaderEpoch::new(1), 1000, records).unwrap();
        }
        assert!(builder.current().same_content(machine.image()), "seed {seed}, snapshot and tail");
        let listed: usize = machine.image().topics().map(|topic| topic.partitions.len()).sum();
        assert_eq!(machine.image().partition_count(), listed, "seed {seed}");
    }
}

#[test]
fn equal_requests_with_equal_entropy_give_equal_records() {
    let run = || {
        let mut machine = Machine::new();
        let mut numbers = Numbers(7);
        (0..300).for_each(|_| random_step(&mut machine, &mut numbers));
        machine.batches
    };
    assert_eq!(run(), run());
}

#[test]
fn a_transaction_counts_as_a_whole_or_not_at_all() {
    let config = |name: &str| -> MetadataRecord {
        ConfigRecord {
            resource_type: 4,
            resource_name: "".into(),
            name: name.into(),
            value: Some("1".into()),
        }
        .into()
    };
    let begin: MetadataRecord = BeginTransactionRecord { name: None }.into();
    let mut builder = ImageBuilder::default();
    builder.replay(&config("a")).unwrap();
    builder.replay(&begin).unwrap();
    builder.replay(&config("b")).unwrap();
    assert!(builder.in_transaction() && builder.committed().is_none());
    builder.replay(&AbortTransactionRecord { reason: None }.into()).unwrap();
    let names = |builder: &ImageBuilder| -> Vec<String> {
        let image = builder.committed().unwrap();
        image.config_resources().flat_map(|(_, values)| values.keys().map(ToString::to_string)).collect()
    };
    assert_eq!(names(&builder), ["a"]);
    builder.replay(&begin).unwrap();
    builder.replay(&config("c")).unwrap();
    builder.replay(&EndTransactionRecord::default().into()).unwrap();
    assert_eq!(names(&builder), ["a", "c"]);

    builder.replay(&begin).unwrap();
    assert!(matches!(builder.replay(&begin), Err(ReplayError::Transaction { .. })));
    let end: MetadataRecord = EndTransactionRecord::default().into();
    builder.replay(&end).unwrap();
    assert!(matches!(builder.replay(&end), Err(ReplayError::Transaction { .. })));
}

#[test]
fn partitions_may_come_in_any_order() {
    let id = Uuid::from_bytes([5; 16]);
    let mut builder = ImageBuilder::default();
    builder.replay(&TopicRecord { name: "a".into(), topic_id: id }.into()).unwrap();
    for index in [2, 0, 1] {
        let record = PartitionRecord {
            partition_id: PartitionIndex::new(index),
            topic_id: id,
            leader: NodeId::new(index),
            ..PartitionRecord::default()
        };
        builder.replay(&record.into()).unwrap();
    }
    let image = builder.committed().unwrap();
    let leaders: Vec<i32> = image.topic("a").unwrap().partitions.iter().map(|p| p.leader.get()).collect();
    assert_eq!((leaders, image.partition_count()), (vec![0, 1, 2], 3));
}

#[test]
fn records_that_cannot_be_are_errors_that_name_them() {
    let unknown = Uuid::from_bytes([5; 16]);
    let known = Uuid::from_bytes([6; 16]);
    let partition = PartitionIndex::new(0);
    let cases: Vec<(MetadataRecord, &str)> = vec![
        (RemoveTopicRecord { topic_id: unknown }.into(), "RemoveTopicRecord names the topic BQUF"),
        (
            PartitionRecord { partition_id: partition, topic_id: unknown, ..Default::default() }.into(),
            "PartitionRecord names the topic",
        ),
        (
            PartitionRecord { partition_id: PartitionIndex::new(-1), topic_id: known, ..Default::default() }
                .into(),
            "partition -1 of the topic",
        ),
        (
            PartitionRecord {
                partition_id: PartitionIndex::new(i32::MAX),
                topic_id: known,
                ..Default::default()
            }
            .into(),
            "partition 2147483647 of the topic",
        ),
        (
            PartitionChangeRecord { partition_id: partition, topic_id: known, ..Default::default() }.into(),
            "PartitionChangeRecord names partition 0",
        ),
        (ClearElrRecord { topic_name: "nope".into() }.into(), "ClearElrRecord names the topic 'nope'"),
        (
            UnregisterBrokerRecord { broker_id: NODE, broker_epoch: 0 }.into(),
            "UnregisterBrokerRecord names broker 1",
        ),
        (
            FeatureLevelRecord { name: "metadata.version".into(), feature_level: 34 }.into(),
            "the feature metadata.version has level 34, and this version understands 7 to 33",
        ),
        (
            FeatureLevelRecord { name: "metadata.version".into(), feature_level: 6 }.into(),
            "the feature metadata.version has level 6",
        ),
        (
            FeatureLevelRecord { name: "time.travel".into(), feature_level: 1 }.into(),
            "the feature time.travel has level 1, and this version does not know the feature",
        ),
    ];
    for (record, expected) in cases {
        let mut builder = ImageBuilder::default();
        builder.replay(&TopicRecord { name: "a".into(), topic_id: known }.into()).unwrap();
        let error = builder.replay(&record).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let mut builder = ImageBuilder::default();
    builder.replay(&FeatureLevelRecord { name: "time.travel".into(), feature_level: 0 }.into()).unwrap();
}

#[test]
fn an_image_does_not_change_when_the_log_goes_on() {
    let mut machine = Machine::new();
    machine.create(vec![topic("a", 3, 1)]);
    let image = machine.builder.committed().unwrap();
    let records = image.to_records();
    machine.register(&registration(-1)).unwrap();
    machine.create(vec![topic("b", 1, 1)]);
    machine.delete(DeleteTopicsRequest { topic_names: vec!["a".into()], ..Default::default() });
    assert_eq!(image.to_records(), records);
    assert_eq!(image.position().offset, Offset::new(image.position().offset.get()));
    assert_eq!(image.next_producer_id(), ProducerId::new(0));
}

#[test]
fn what_one_record_makes_its_counterpart_takes_back() {
    let id = Uuid::from_bytes([5; 16]);
    let quota = |value, remove| ClientQuotaRecord {
        entity: vec![EntityData { entity_type: "user".into(), entity_name: None }],
        key: "producer_byte_rate".into(),
        value,
        remove,
    };
    let scram = UserScramCredentialRecord { name: "alice".into(), mechanism: 1, ..Default::default() };
    let token = DelegationTokenRecord { token_id: "t".into(), ..Default::default() };
    let config = |value: Option<&str>| ConfigRecord {
        resource_type: 32,
        resource_name: "group".into(),
        name: "share.auto.offset.reset".into(),
        value: value.map(Into::into),
    };
    let feature = |feature_level| FeatureLevelRecord { name: "group.version".into(), feature_level };
    let controller = RegisterControllerRecord { controller_id: NODE, ..Default::default() };
    let pairs: Vec<(MetadataRecord, MetadataRecord)> = vec![
        (quota(1.5, false).into(), quota(0.0, true).into()),
        (scram.into(), RemoveUserScramCredentialRecord { name: "alice".into(), mechanism: 1 }.into()),
        (token.into(), RemoveDelegationTokenRecord { token_id: "t".into() }.into()),
        (
            AccessControlEntryRecord { id, ..Default::default() }.into(),
            RemoveAccessControlEntryRecord { id }.into(),
        ),
        (controller.into(), UnregisterControllerRecord { controller_id: NODE }.into()),
        (config(Some("earliest")).into(), config(None).into()),
        (feature(1).into(), feature(0).into()),
        (TopicRecord { name: "a.b".into(), topic_id: id }.into(), RemoveTopicRecord { topic_id: id }.into()),
        (
            RegisterBrokerRecord { broker_id: NODE, rack: None, ..Default::default() }.into(),
            UnregisterBrokerRecord { broker_id: NODE, broker_epoch: 0 }.into(),
        ),
    ];
    for (makes, takes_back) in pairs {
        let mut builder = ImageBuilder::default();
        builder.replay(&makes).unwrap();
        let made = builder.committed().unwrap();
        assert_eq!(made.to_records(), std::slice::from_ref(&makes));
        assert!(!MetadataDelta::between(&MetadataImage::empty(), &made).is_empty() || made.topic_count() > 0);
        builder.replay(&takes_back).unwrap();
        assert!(builder.current().same_content(&MetadataImage::empty()), "{}", makes.name());
    }
}

#[test]
fn a_registration_changes_record_by_record() {
    let directory = Uuid::from_bytes([6; 16]);
    let mut builder = ImageBuilder::default();
    builder.replay(&RegisterBrokerRecord { broker_id: NODE, ..Default::default() }.into()).unwrap();
    let change = |fenced, in_controlled_shutdown| BrokerRegistrationChangeRecord {
        broker_id: NODE,
        fenced,
        in_controlled_shutdown,
        ..Default::default()
    };
    let steps: Vec<(MetadataRecord, bool, bool)> = vec![
        (change(0, 0).into(), true, false),
        (change(-1, 0).into(), false, false),
        (change(0, 1).into(), false, true),
        (change(1, 0).into(), true, true),
        (UnfenceBrokerRecord { id: NODE, epoch: 0 }.into(), false, true),
        (FenceBrokerRecord { id: NODE, epoch: 0 }.into(), true, true),
    ];
    for (record, fenced, stopping) in steps {
        builder.replay(&record).unwrap();
        let broker = builder.current().broker(NODE).unwrap();
        assert_eq!((broker.fenced, broker.in_controlled_shutdown), (fenced, stopping), "{record:?}");
    }
    let dirs = BrokerRegistrationChangeRecord {
        broker_id: NODE,
        log_dirs: vec![directory],
        cordoned_log_dirs: Some(vec![directory]),
        ..Default::default()
    };
    builder.replay(&dirs.into()).unwrap();
    let broker = builder.current().broker(NODE).unwrap();
    assert_eq!((&broker.log_dirs, &broker.cordoned_log_dirs), (&vec![directory], &vec![directory]));
}

#[test]
fn clearing_eligible_replicas_concerns_one_topic_or_all() {
    let ids = [Uuid::from_bytes([5; 16]), Uuid::from_bytes([6; 16])];
    let build = || {
        let mut builder = ImageBuilder::default();
        for (name, id) in ["a", "b"].into_iter().zip(ids) {
            builder.replay(&TopicRecord { name: name.into(), topic_id: id }.into()).unwrap();
            let partition = PartitionRecord {
                partition_id: PartitionIndex::new(0),
                topic_id: id,
                eligible_leader_replicas: Some(vec![NODE]),
                last_known_elr: Some(vec![NODE]),
                ..Default::default()
            };
            builder.replay(&partition.into()).unwrap();
        }
        builder
    };
    let eligible = |builder: &ImageBuilder| {
        ids.map(|id| builder.current().topic_by_id(&id).unwrap().partitions[0].eligible_leader_replicas.len())
    };
    let mut builder = build();
    assert_eq!(eligible(&builder), [1, 1]);
    builder.replay(&ClearElrRecord { topic_name: "b".into() }.into()).unwrap();
    assert_eq!(eligible(&builder), [1, 0]);
    let mut builder = build();
    builder.replay(&ClearElrRecord { topic_name: "".into() }.into()).unwrap();
    assert_eq!(eligible(&builder), [0, 0]);
}
