//! ConsumerGroupDescribe: groups of the newer protocol with their members (KIP-848).

use ottla_coordinator::{Event, Reply};
use ottla_model::{ErrorCode, GroupId};
use ottla_network::Outcome;
use ottla_protocol::messages::consumer_group_describe::{
    ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, DescribedGroup,
};

use super::answer_room::AnswerRoom;
use super::group;
use crate::dispatch::Call;

pub(crate) fn handle(call: &mut Call<'_>, request: ConsumerGroupDescribeRequest) -> Outcome {
    let ConsumerGroupDescribeRequest { group_ids, include_authorized_operations: with_operations } = request;
    if !call.broker().serves_consumer_protocol() {
        let refused = |group_id| DescribedGroup {
            group_id,
            error_code: ErrorCode::UNSUPPORTED_VERSION,
            ..DescribedGroup::default()
        };
        let groups = group_ids.into_iter().map(refused).collect();
        return call.reply(&ConsumerGroupDescribeResponse { groups, throttle_time_ms: 0 });
    }
    let mut room = AnswerRoom::new();
    // One by one, so that the answers are in the order of the request.
    let ask = |group: GroupId| {
        let event = Event::ConsumerGroupDescribe { client: group::client(call), groups: vec![group.clone()] };
        room.ask(call.groups(), group.as_str(), event)
    };
    let asked = group_ids.into_iter().map(ask).collect();
    group::finish_all(call, asked, move |replies| {
        let groups = replies.into_iter().flat_map(|reply| match reply {
            Reply::ConsumerGroupDescribe(groups) => groups,
            other => group::mismatched(&other),
        });
        let with_operations = |mut group: DescribedGroup| {
            if with_operations && group.error_code.is_none() {
                group.authorized_operations = group::GROUP_OPERATIONS;
            }
            group
        };
        ConsumerGroupDescribeResponse { groups: groups.map(with_operations).collect(), throttle_time_ms: 0 }
    })
}
