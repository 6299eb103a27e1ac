//! ConsumerGroupHeartbeat: a member of a group of the newer protocol joins, stays, and leaves (KIP-848).

use ottla_coordinator::{Event, Reply};
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::consumer_group_heartbeat::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
};

use super::group;
use crate::dispatch::Call;

pub(crate) fn handle(call: &mut Call<'_>, request: ConsumerGroupHeartbeatRequest) -> Outcome {
    if !call.broker().serves_consumer_protocol() {
        return call.reply(&ConsumerGroupHeartbeatResponse {
            error_code: ErrorCode::UNSUPPORTED_VERSION,
            ..ConsumerGroupHeartbeatResponse::default()
        });
    }
    let id = request.group_id.clone();
    let random = group::random_for(&request.member_id);
    let client = group::client(call);
    let event = Event::ConsumerGroupHeartbeat { client, request, random, may_describe: None };
    let asked = call.groups().ask(id.as_str(), event);
    group::finish(call, asked, |reply| match reply {
        Reply::ConsumerGroupHeartbeat(response) => response,
        other => group::mismatched(&other),
    })
}
