//! DescribeGroups, ListGroups, DeleteGroups: what tools ask.

use std::collections::HashSet;

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};
use ottla_protocol::messages::delete_groups::DeletableGroupResult;
use ottla_protocol::messages::describe_groups::DescribedGroup;
use ottla_protocol::messages::list_groups::ListedGroup;

use super::Group;
use super::classic::{ClassicGroup, Member, State};
use crate::event::{Client, Token};
use crate::machine::{GroupMachine, Step};
use crate::reply::{Reply, deleted, described_refused};

/// From this version on, a group that is not there is an error to DescribeGroups (KIP-1043).
const NOT_FOUND_VERSION_MIN: i16 = 6;
/// The state of a group that is not there.
const DEAD: &str = "Dead";

impl GroupMachine {
    /// DescribeGroups.
    pub(crate) fn describe_groups(&self, client: &Client, groups: &[GroupId], token: Token, step: &mut Step) {
        let described = groups.iter().map(|id| match self.groups.get(id) {
            Some(Group::Classic(group)) => group.describe(),
            Some(Group::Consumer(_)) => absent(id, client.version, "is not a classic group."),
            None => absent(id, client.version, "not found."),
        });
        step.answer(token, Reply::DescribeGroups(described.collect()));
    }

    /// ListGroups. Filters are compared without regard to case; one that names nothing known fits nothing.
    pub(crate) fn list_groups(
        &self,
        states: &[CompactString],
        types: &[CompactString],
        token: Token,
        step: &mut Step,
    ) {
        let fits = |wanted: &[CompactString], is: &str| {
            wanted.is_empty() || wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(is))
        };
        let listed = self
            .groups
            .iter()
            .filter(|(_, group)| fits(states, group.state_name()) && fits(types, group.type_name()))
            .map(|(id, group)| ListedGroup {
                group_id: id.clone(),
                protocol_type: group.protocol_type(),
                group_state: group.state_name().into(),
                group_type: group.type_name().into(),
            });
        step.answer(token, Reply::ListGroups(Ok(listed.collect())));
    }

    /// DeleteGroups: each group with all its offsets, or not at all. One that is named twice is answered once.
    pub(crate) fn delete_groups(&self, mut groups: Vec<GroupId>, token: Token, step: &mut Step) {
        let mut seen = HashSet::new();
        groups.retain(|id| seen.insert(id.clone()));
        let results = groups.iter().map(|id| self.delete_group(id, step)).collect();
        step.answer(token, Reply::DeleteGroups(results));
    }

    fn delete_group(&self, id: &GroupId, step: &mut Step) -> DeletableGroupResult {
        let Some(group) = self.groups.get(id) else {
            return deleted(id, ErrorCode::GROUP_ID_NOT_FOUND, None);
        };
        if let Err(error) = group.check_delete() {
            return deleted(id, error, None);
        }
        self.all_offset_tombstones(id, &mut step.records);
        group.tombstones(id, &mut step.records);
        deleted(id, ErrorCode::NONE, None)
    }
}

impl ClassicGroup {
    fn describe(&self) -> DescribedGroup {
        let protocol = self.protocol.as_deref().filter(|_| self.state == State::Stable);
        DescribedGroup {
            group_state: self.state.name().into(),
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            protocol_data: protocol.map(CompactString::from).unwrap_or_default(),
            members: self.members().map(|member: &Member| member.describe(protocol)).collect(),
            ..described_refused(&self.id, ErrorCode::NONE)
        }
    }
}

/// A group that is not there, as far as the classic protocol goes.
fn absent(id: &GroupId, version: i16, why: &str) -> DescribedGroup {
    let is_error = version >= NOT_FOUND_VERSION_MIN;
    DescribedGroup {
        error_code: if is_error { ErrorCode::GROUP_ID_NOT_FOUND } else { ErrorCode::NONE },
        error_message: is_error.then(|| compact_str::format_compact!("Group {id} {why}")),
        group_state: DEAD.into(),
        ..described_refused(id, ErrorCode::NONE)
    }
}
