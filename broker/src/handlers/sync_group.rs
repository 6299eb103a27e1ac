//! SyncGroup: a member's share of what the leader of its classic group assigned; the answer waits for the leader.

use bytes::Bytes;
use ottla_coordinator::{Event, Reply};
use ottla_network::Outcome;
use ottla_protocol::messages::sync_group::SyncGroupRequest;

use super::group;
use crate::dispatch::Call;

pub(crate) fn handle(call: &mut Call<'_>, mut request: SyncGroupRequest) -> Outcome {
    // The group keeps it, and would keep the request's whole frame with it.
    for share in &mut request.assignments {
        share.assignment = Bytes::copy_from_slice(&share.assignment);
    }
    let id = request.group_id.clone();
    let event = Event::SyncGroup { client: group::client(call), request };
    let asked = call.groups().ask(id.as_str(), event);
    group::finish(call, asked, |reply| match reply {
        Reply::SyncGroup(response) => response,
        other => group::mismatched(&other),
    })
}
