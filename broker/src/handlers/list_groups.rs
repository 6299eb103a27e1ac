//! ListGroups: the groups of all partitions that are led here.

use ottla_coordinator::{Event, Reply};
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::list_groups::{ListGroupsRequest, ListGroupsResponse};

use super::group;
use crate::dispatch::Call;

pub(crate) fn handle(call: &mut Call<'_>, request: ListGroupsRequest) -> Outcome {
    let ListGroupsRequest { states_filter: states, types_filter: types } = request;
    let groups = call.groups();
    let ask = |index| {
        let event = Event::ListGroups { states: states.clone(), types: types.clone() };
        groups.ask_partition(index, event)
    };
    let asked = groups.partitions().into_iter().map(ask).collect();
    group::finish_all(call, asked, |replies| {
        let mut response = ListGroupsResponse::default();
        for reply in replies {
            match reply {
                Reply::ListGroups(Ok(groups)) => response.groups.extend(groups),
                // Another broker lists the groups of a partition that has left.
                Reply::ListGroups(Err(ErrorCode::NOT_COORDINATOR)) => {}
                Reply::ListGroups(Err(code)) => {
                    return ListGroupsResponse { error_code: code, ..ListGroupsResponse::default() };
                }
                other => group::mismatched(&other),
            }
        }
        response
    })
}
