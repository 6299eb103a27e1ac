//! JoinGroup: a member enters a round of its classic group; the answer comes when the round is complete.

use bytes::Bytes;
use ottla_coordinator::{Event, Reply};
use ottla_network::Outcome;
use ottla_protocol::messages::join_group::JoinGroupRequest;

use super::group;
use crate::dispatch::Call;

pub(crate) fn handle(call: &mut Call<'_>, mut request: JoinGroupRequest) -> Outcome {
    // The group keeps it, and would keep the request's whole frame with it.
    for protocol in &mut request.protocols {
        protocol.metadata = Bytes::copy_from_slice(&protocol.metadata);
    }
    let id = request.group_id.clone();
    let random = group::random_for(&request.member_id);
    let event = Event::JoinGroup { client: group::client(call), request, random };
    let asked = call.groups().ask(id.as_str(), event);
    group::finish(call, asked, |reply| match reply {
        Reply::JoinGroup(response) => response,
        other => group::mismatched(&other),
    })
}
