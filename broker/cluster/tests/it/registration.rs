//! BrokerRegistration: who may register, and which partitions get a leader by it.

use ottla_cluster::PartitionImage;
use ottla_model::{ErrorCode, LeaderEpoch, NodeId, PartitionIndex};
use ottla_protocol::metadata::PartitionChangeRecord;

use crate::support::{Machine, NODE, directory, registration, topic};

fn partition(machine: &Machine, name: &str) -> PartitionImage {
    machine.image().partition(name, PartitionIndex::new(0)).unwrap().clone()
}

#[test]
fn the_broker_epoch_is_the_offset_of_the_registration() {
    let mut machine = Machine::empty();
    let offset = machine.end;
    let epoch = machine.register(&registration(-1)).unwrap();
    assert_eq!(epoch, offset.get());
    let broker = machine.image().broker(NODE).unwrap();
    assert_eq!(
        (broker.epoch, broker.fenced, broker.log_dirs.as_slice()),
        (epoch, false, [directory()].as_slice())
    );
    assert_eq!(broker.endpoints[0].port, 9092);
    assert_eq!(broker.rack, None);
    assert!(broker.features.iter().any(|feature| feature.name == "metadata.version" && feature.max == 33));
}

#[test]
fn a_broker_of_another_cluster_is_refused() {
    let mut machine = Machine::empty();
    let mut request = registration(-1);
    request.cluster_id = "another".into();
    assert_eq!(machine.register(&request), Err(ErrorCode::INCONSISTENT_CLUSTER_ID));
    assert!(machine.image().broker(NODE).is_none());
}

#[test]
fn after_a_clean_stop_leaders_stay_in_their_epoch() {
    let mut machine = Machine::empty();
    let epoch = machine.register(&registration(-1)).unwrap();
    machine.create(vec![topic("a", 1, 1)]);
    let before = partition(&machine, "a");
    let next = machine.register(&registration(epoch)).unwrap();
    assert!(next > epoch);
    assert_eq!(partition(&machine, "a"), before);
}

#[test]
fn after_any_other_stop_each_partition_is_led_in_a_new_epoch() {
    let mut machine = Machine::empty();
    let epoch = machine.register(&registration(-1)).unwrap();
    machine.create(vec![topic("a", 1, 1)]);
    for previous in [-1, epoch - 1, epoch] {
        // The last one was right before the second registration, and is not after it.
        let before = partition(&machine, "a");
        machine.register(&registration(previous)).unwrap();
        let after = partition(&machine, "a");
        assert_eq!(after.leader_epoch.get(), before.leader_epoch.get() + 1, "previous epoch {previous}");
        assert_eq!((after.leader, after.isr), (NODE, vec![NODE]));
    }
}

#[test]
fn a_partition_that_kafkas_clean_stop_left_without_leader_gets_one() {
    let mut machine = Machine::empty();
    let epoch = machine.register(&registration(-1)).unwrap();
    machine.create(vec![topic("a", 1, 1)]);
    let change = PartitionChangeRecord {
        partition_id: PartitionIndex::new(0),
        topic_id: machine.image().topic("a").unwrap().id,
        isr: Some(vec![]),
        leader: NodeId::NONE,
        eligible_leader_replicas: Some(vec![NODE]),
        last_known_elr: Some(vec![NODE]),
        ..PartitionChangeRecord::default()
    };
    machine.commit(vec![change.into()]);
    assert_eq!(partition(&machine, "a").leader, NodeId::NONE);
    machine.register(&registration(epoch)).unwrap();
    let after = partition(&machine, "a");
    assert_eq!((after.leader, after.isr, after.leader_epoch), (NODE, vec![NODE], LeaderEpoch::new(2)));
    assert_eq!((after.eligible_leader_replicas, after.last_known_elr), (vec![], vec![]));
}
