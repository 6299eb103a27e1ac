//! DescribeGroups: classic groups with their members.

use ottla_coordinator::{Event, Reply};
use ottla_model::GroupId;
use ottla_network::Outcome;
use ottla_protocol::messages::describe_groups::{
    DescribeGroupsRequest, DescribeGroupsResponse, DescribedGroup,
};

use super::answer_room::AnswerRoom;
use super::group;
use crate::dispatch::Call;

pub(crate) fn handle(call: &mut Call<'_>, request: DescribeGroupsRequest) -> Outcome {
    let DescribeGroupsRequest { groups, include_authorized_operations: with_operations } = request;
    let mut room = AnswerRoom::new();
    // One by one, so that the answers are in the order of the request.
    let ask = |group: GroupId| {
        let event = Event::DescribeGroups { client: group::client(call), groups: vec![group.clone()] };
        room.ask(call.groups(), group.as_str(), event)
    };
    let asked = groups.into_iter().map(ask).collect();
    group::finish_all(call, asked, move |replies| {
        let groups = replies.into_iter().flat_map(|reply| match reply {
            Reply::DescribeGroups(groups) => groups,
            other => group::mismatched(&other),
        });
        let with_operations = |mut group: DescribedGroup| {
            if with_operations && group.error_code.is_none() {
                group.authorized_operations = group::GROUP_OPERATIONS;
            }
            group
        };
        DescribeGroupsResponse { groups: groups.map(with_operations).collect(), throttle_time_ms: 0 }
    })
}
