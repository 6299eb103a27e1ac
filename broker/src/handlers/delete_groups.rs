//! DeleteGroups: groups without members, and all that they committed.

use ottla_coordinator::{Event, Reply};
use ottla_model::GroupId;
use ottla_network::Outcome;
use ottla_protocol::messages::delete_groups::{DeleteGroupsRequest, DeleteGroupsResponse};

use super::group;
use crate::dispatch::Call;

pub(crate) fn handle(call: &mut Call<'_>, request: DeleteGroupsRequest) -> Outcome {
    let mut names = request.groups_names;
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let groups = call.groups();
    let ask =
        |group: GroupId| groups.ask(group.as_str(), Event::DeleteGroups { groups: vec![group.clone()] });
    let asked = names.into_iter().map(ask).collect();
    group::finish_all(call, asked, |replies| {
        let results = replies.into_iter().flat_map(|reply| match reply {
            Reply::DeleteGroups(results) => results,
            other => group::mismatched(&other),
        });
        DeleteGroupsResponse { results: results.collect(), throttle_time_ms: 0 }
    })
}
