//! What a single node can say of a cluster of several, whose metadata it has taken over: elections, reassignments, brokers that
//! are forgotten, directories of replicas.

use ottla_cluster::{ControllerRequest, ControllerResponse, PartitionImage};
use ottla_model::{ErrorCode, NodeId, PartitionIndex, Uuid};
use ottla_protocol::messages::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, ReassignablePartition, ReassignableTopic,
};
use ottla_protocol::messages::assign_replicas_to_dirs::{
    AssignReplicasToDirsRequest, RequestDirectoryData, RequestPartitionData, RequestTopicData,
};
use ottla_protocol::messages::broker_registration::BrokerRegistrationRequest;
use ottla_protocol::messages::create_topics::{CreatableReplicaAssignment, CreatableTopic};
use ottla_protocol::messages::elect_leaders::{ElectLeadersRequest, TopicPartitions};
use ottla_protocol::messages::unregister_broker::UnregisterBrokerRequest;
use ottla_protocol::metadata::{MetadataRecord, PartitionChangeRecord};

use crate::support::{Machine, NODE, directory, registration};

const OTHER: NodeId = NodeId::new(2);
const FIRST: PartitionIndex = PartitionIndex::new(0);

/// Two brokers, and a topic with one partition of these replicas.
fn machine(replicas: &[NodeId]) -> Machine {
    let mut machine = Machine::new();
    let other = BrokerRegistrationRequest {
        broker_id: OTHER,
        log_dirs: vec![Uuid::from_bytes([8; 16])],
        ..registration(-1)
    };
    machine.register(&other).unwrap();
    let assignment = CreatableReplicaAssignment { partition_index: FIRST, broker_ids: replicas.to_vec() };
    let topic = CreatableTopic {
        name: "t".into(),
        num_partitions: -1,
        replication_factor: -1,
        assignments: vec![assignment],
        ..CreatableTopic::default()
    };
    assert_eq!(machine.create_one(topic).0, ErrorCode::NONE);
    machine
}

fn partition(machine: &Machine) -> PartitionImage {
    machine.image().partition("t", FIRST).unwrap().clone()
}

/// The partition as it is once this was written of it.
fn change(machine: &mut Machine, change: PartitionChangeRecord) {
    let topic_id = machine.image().topic("t").unwrap().id;
    machine.commit(vec![MetadataRecord::PartitionChange(PartitionChangeRecord {
        topic_id,
        partition_id: FIRST,
        ..change
    })]);
}

fn elect(machine: &mut Machine, election_type: i8) -> ErrorCode {
    let asked = TopicPartitions { topic: "t".into(), partitions: vec![FIRST] };
    let request = ElectLeadersRequest {
        election_type,
        topic_partitions: Some(vec![asked]),
        ..ElectLeadersRequest::default()
    };
    match machine.call(&ControllerRequest::ElectLeaders(request)) {
        ControllerResponse::ElectLeaders(response) => {
            response.replica_election_results[0].partition_result[0].error_code
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn leadership_goes_back_to_the_preferred_replica_if_it_is_in_sync_and_lives() {
    let mut machine = machine(&[NODE, OTHER]);
    let leads = PartitionChangeRecord { leader: OTHER, ..PartitionChangeRecord::default() };
    change(&mut machine, leads.clone());
    let before = partition(&machine);
    assert_eq!(elect(&mut machine, 0), ErrorCode::NONE);
    let after = partition(&machine);
    assert_eq!((after.leader, after.leader_epoch.get()), (NODE, before.leader_epoch.get() + 1));
    assert_eq!(elect(&mut machine, 0), ErrorCode::ELECTION_NOT_NEEDED);
    change(&mut machine, PartitionChangeRecord { isr: Some(vec![OTHER]), ..leads });
    assert_eq!(elect(&mut machine, 0), ErrorCode::PREFERRED_LEADER_NOT_AVAILABLE);
    assert_eq!(elect(&mut machine, 1), ErrorCode::ELECTION_NOT_NEEDED, "it has a leader");
}

#[test]
fn a_partition_without_leader_is_led_by_whoever_lives_if_that_is_asked_for() {
    let mut machine = machine(&[OTHER, NODE]);
    let leaderless = PartitionChangeRecord {
        leader: NodeId::NONE,
        isr: Some(vec![OTHER]),
        ..PartitionChangeRecord::default()
    };
    change(&mut machine, leaderless);
    let fenced = ottla_protocol::metadata::BrokerRegistrationChangeRecord {
        broker_id: OTHER,
        broker_epoch: machine.image().broker(OTHER).unwrap().epoch,
        fenced: 1,
        ..ottla_protocol::metadata::BrokerRegistrationChangeRecord::default()
    };
    machine.commit(vec![fenced.into()]);
    assert_eq!(elect(&mut machine, 0), ErrorCode::PREFERRED_LEADER_NOT_AVAILABLE);
    assert_eq!(elect(&mut machine, 1), ErrorCode::NONE);
    let after = partition(&machine);
    assert_eq!((after.leader, after.isr), (NODE, vec![NODE]), "what only the other had is lost");
}

fn reassign(machine: &mut Machine, replicas: Option<&[NodeId]>, may_change_factor: bool) -> ErrorCode {
    let partition =
        ReassignablePartition { partition_index: FIRST, replicas: replicas.map(<[NodeId]>::to_vec) };
    let topics = vec![ReassignableTopic { name: "t".into(), partitions: vec![partition] }];
    let request = AlterPartitionReassignmentsRequest {
        topics,
        allow_replication_factor_change: may_change_factor,
        ..AlterPartitionReassignmentsRequest::default()
    };
    match machine.call(&ControllerRequest::AlterPartitionReassignments(request)) {
        ControllerResponse::AlterPartitionReassignments(response) => {
            response.responses[0].partitions[0].error_code
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn replicas_are_taken_away_at_once_and_leadership_and_directories_follow() {
    let mut machine = machine(&[OTHER, NODE]);
    assert_eq!(partition(&machine).leader, OTHER);
    assert_eq!(reassign(&mut machine, Some(&[NODE]), false), ErrorCode::INVALID_REPLICATION_FACTOR);
    assert_eq!(reassign(&mut machine, Some(&[NODE]), true), ErrorCode::NONE);
    let after = partition(&machine);
    assert_eq!((after.replicas, after.isr, after.leader), (vec![NODE], vec![NODE], NODE));
    assert_eq!(after.directories, [directory()]);
    let copied = reassign(&mut machine, Some(&[NODE, OTHER]), true);
    assert_eq!(copied, ErrorCode::INVALID_REPLICA_ASSIGNMENT, "nobody would fill the other one");
}

#[test]
fn another_order_of_replicas_moves_no_record() {
    let mut machine = machine(&[OTHER, NODE]);
    assert_eq!(reassign(&mut machine, Some(&[NODE, OTHER]), false), ErrorCode::NONE);
    let after = partition(&machine);
    assert_eq!((after.replicas, after.leader), (vec![NODE, OTHER], OTHER));
    assert_eq!(after.directories, [directory(), Uuid::from_bytes([8; 16])]);
    let batches = machine.batches.len();
    assert_eq!(reassign(&mut machine, Some(&[NODE, OTHER]), false), ErrorCode::NONE);
    assert_eq!(machine.batches.len(), batches, "nothing was to be done");
}

#[test]
fn a_reassignment_that_several_nodes_had_begun_can_be_taken_back() {
    let mut machine = machine(&[NODE]);
    change(
        &mut machine,
        PartitionChangeRecord {
            replicas: Some(vec![NODE, OTHER]),
            adding_replicas: Some(vec![OTHER]),
            ..PartitionChangeRecord::default()
        },
    );
    assert_eq!(reassign(&mut machine, None, true), ErrorCode::NONE);
    let after = partition(&machine);
    assert_eq!((after.replicas, after.adding_replicas), (vec![NODE], vec![]));
    assert_eq!(reassign(&mut machine, None, true), ErrorCode::NO_REASSIGNMENT_IN_PROGRESS);
}

#[test]
fn a_broker_that_is_forgotten_leaves_its_partitions_to_the_others() {
    let mut machine = machine(&[OTHER, NODE]);
    let request = ControllerRequest::UnregisterBroker(UnregisterBrokerRequest { broker_id: OTHER });
    let ControllerResponse::UnregisterBroker(response) = machine.call(&request) else { panic!() };
    assert_eq!((response.error_code, response.error_message.as_deref()), (ErrorCode::NONE, Some("")));
    assert!(machine.image().broker(OTHER).is_none());
    let after = partition(&machine);
    assert_eq!((after.leader, after.isr), (NODE, vec![NODE]));
    let own = ControllerRequest::UnregisterBroker(UnregisterBrokerRequest { broker_id: NODE });
    let ControllerResponse::UnregisterBroker(response) = machine.call(&own) else { panic!() };
    assert_eq!(response.error_code, ErrorCode::INVALID_REQUEST);
    assert!(machine.image().broker(NODE).is_some());
}

#[test]
fn where_a_replica_is_changes_nothing_else_of_its_partition() {
    let mut machine = machine(&[OTHER, NODE]);
    let topic_id = machine.image().topic("t").unwrap().id;
    let before = partition(&machine);
    let place = Uuid::from_bytes([3; 16]);
    let request = |broker_epoch: i64, topic_id: Uuid, index: i32| {
        let partitions = vec![RequestPartitionData { partition_index: index.into() }];
        let topics = vec![RequestTopicData { topic_id, partitions }];
        let directories = vec![RequestDirectoryData { id: place, topics }];
        ControllerRequest::AssignReplicasToDirs(AssignReplicasToDirsRequest {
            broker_id: NODE,
            broker_epoch,
            directories,
        })
    };
    let epoch = machine.image().broker(NODE).unwrap().epoch;
    let mut codes = |request: &ControllerRequest| match machine.call(request) {
        ControllerResponse::AssignReplicasToDirs(response) => {
            let first = response.directories.first();
            let first = first.map(|directory| directory.topics[0].partitions[0].error_code);
            (response.error_code, first)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(codes(&request(epoch - 1, topic_id, 0)), (ErrorCode::STALE_BROKER_EPOCH, None));
    let unknown = Some(ErrorCode::UNKNOWN_TOPIC_ID);
    assert_eq!(codes(&request(epoch, Uuid::from_bytes([5; 16]), 0)), (ErrorCode::NONE, unknown));
    let unknown = Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(codes(&request(epoch, topic_id, 7)), (ErrorCode::NONE, unknown));
    for _ in 0..2 {
        assert_eq!(codes(&request(epoch, topic_id, 0)), (ErrorCode::NONE, Some(ErrorCode::NONE)));
    }
    let after = partition(&machine);
    assert_eq!(after.directories, [before.directories[0], place]);
    assert_eq!(after.partition_epoch, before.partition_epoch + 1, "the second time nothing was written");
    let same = PartitionImage { directories: before.directories.clone(), partition_epoch: 0, ..after };
    assert_eq!(same, PartitionImage { partition_epoch: 0, ..before });
}
