//! LeaveGroup: members leave their classic group.

use ottla_coordinator::{Event, Reply};
use ottla_network::Outcome;
use ottla_protocol::messages::leave_group::LeaveGroupRequest;

use super::group;
use crate::dispatch::Call;

pub(crate) fn handle(call: &mut Call<'_>, request: LeaveGroupRequest) -> Outcome {
    let id = request.group_id.clone();
    let event = Event::LeaveGroup { client: group::client(call), request };
    let asked = call.groups().ask(id.as_str(), event);
    group::finish(call, asked, |reply| match reply {
        Reply::LeaveGroup(response) => response,
        other => group::mismatched(&other),
    })
}
