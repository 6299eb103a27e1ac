//! AllocateProducerIds: blocks of a thousand, each given once.

use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::{ErrorCode, NodeId, ProducerId};
use ottla_protocol::messages::allocate_producer_ids::{
    AllocateProducerIdsRequest, AllocateProducerIdsResponse,
};
use ottla_protocol::metadata::ProducerIdsRecord;

use crate::support::{Machine, NODE, registration};

fn allocate(machine: &mut Machine, broker_id: NodeId, broker_epoch: i64) -> AllocateProducerIdsResponse {
    let request = AllocateProducerIdsRequest { broker_id, broker_epoch };
    match machine.call(&ControllerRequest::AllocateProducerIds(request)) {
        ControllerResponse::AllocateProducerIds(response) => response,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_block_begins_where_the_one_before_ended() {
    let mut machine = Machine::empty();
    let epoch = machine.register(&registration(-1)).unwrap();
    for block in 0..3 {
        let response = allocate(&mut machine, NODE, epoch);
        assert_eq!(response.error_code, ErrorCode::NONE);
        assert_eq!(response.producer_id_start, ProducerId::new(block * 1000));
        assert_eq!(response.producer_id_len, 1000);
    }
    assert_eq!(machine.image().next_producer_id(), ProducerId::new(3000));
}

#[test]
fn only_the_registered_incarnation_of_a_broker_gets_one() {
    let mut machine = Machine::empty();
    assert_eq!(allocate(&mut machine, NODE, 0).error_code, ErrorCode::STALE_BROKER_EPOCH);
    let epoch = machine.register(&registration(-1)).unwrap();
    assert_eq!(allocate(&mut machine, NODE, epoch - 1).error_code, ErrorCode::STALE_BROKER_EPOCH);
    assert_eq!(allocate(&mut machine, NodeId::new(2), epoch).error_code, ErrorCode::STALE_BROKER_EPOCH);
    assert_eq!(machine.image().next_producer_id(), ProducerId::new(0));
}

#[test]
fn the_last_block_does_not_wrap() {
    let mut machine = Machine::empty();
    let epoch = machine.register(&registration(-1)).unwrap();
    let next_producer_id = ProducerId::new(i64::MAX - 999);
    machine.commit(vec![ProducerIdsRecord { next_producer_id, ..ProducerIdsRecord::default() }.into()]);
    assert_eq!(allocate(&mut machine, NODE, epoch).error_code, ErrorCode::UNKNOWN_SERVER_ERROR);
    assert_eq!(machine.image().next_producer_id(), next_producer_id);
}
