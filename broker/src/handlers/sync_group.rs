//! SyncGroup: a member's share of what the leader of its classic group assigned; the answer waits for the leader.

use ottla_coordinator::{Event, Reply};
use ottla_network::Outcome;
use ottla_protocol::messages::sync_group::SyncGroupRequest;

use super::group;
use crate::dispatch::Call;

pub(crate) fn handle(call: &mut Call<'_>, request: SyncGroupRequest) -> Outcome {
    let id = request.group_id.clone();
    let event = Event::SyncGroup { client: group::client(call), request };
    let asked = call.groups().ask(id.as_str(), event);
    group::finish(call, asked, |reply| match reply {
        Reply::SyncGroup(response) => response,
        other => group::mismatched(&other),
    })
}
