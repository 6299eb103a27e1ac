//! Heartbeat: a member of a classic group is alive, and learns of a new round.

use ottla_coordinator::{Event, Reply};
use ottla_network::Outcome;
use ottla_protocol::messages::heartbeat::HeartbeatRequest;

use super::group;
use crate::dispatch::Call;

pub(crate) fn handle(call: &mut Call<'_>, request: HeartbeatRequest) -> Outcome {
    let id = request.group_id.clone();
    let event = Event::Heartbeat { client: group::client(call), request };
    let asked = call.groups().ask(id.as_str(), event);
    group::finish(call, asked, |reply| match reply {
        Reply::Heartbeat(response) => response,
        other => group::mismatched(&other),
    })
}
