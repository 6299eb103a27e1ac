//! A classic group as the record of key type 2, both ways, and what its members subscribe to.

use std::collections::BTreeSet;

use bytes::{Buf as _, Bytes};
use compact_str::CompactString;
use ottla_model::{GroupId, TopicName};
use ottla_protocol::codec::{Message as _, Reader};
use ottla_protocol::internal::group::group_metadata::MemberMetadata;
use ottla_protocol::internal::group::{GroupMetadataKey, GroupMetadataValue};
use ottla_protocol::internal::{ConsumerOffsetsRecord, ConsumerProtocolSubscription};
use ottla_protocol::messages::join_group::JoinGroupRequestProtocol;

use super::{CONSUMER_PROTOCOL_TYPE, ClassicGroup, Member, Scope, State};
use crate::machine::{GroupMachine, Step};

impl ClassicGroup {
    /// The group as it is.
    pub(crate) fn record(&self) -> ConsumerOffsetsRecord {
        self.record_with(|id| self.member(id).map(|member| member.assignment.clone()).unwrap_or_default())
    }

    /// The group with these assignments.
    pub(crate) fn record_with(&self, assignment: impl Fn(&str) -> Bytes) -> ConsumerOffsetsRecord {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let members = self.members.values().map(|member| MemberMetadata {
            member_id: member.id.clone(),
            group_instance_id: member.instance.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            rebalance_timeout: member.rebalance_timeout_ms,
            session_timeout: member.session_timeout_ms,
            subscription: member.metadata(protocol),
            assignment: assignment(&member.id),
        });
        let value = GroupMetadataValue {
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            current_state_timestamp: self.state_since_ms.unwrap_or(-1),
            members: members.collect(),
        };
        ConsumerOffsetsRecord::GroupMetadata(GroupMetadataKey { group: self.id.clone() }, Some(value))
    }

    /// A group that has just been made, whatever has happened in it since: nobody in it, no round yet.
    pub(super) fn record_of_creation(&self) -> ConsumerOffsetsRecord {
        let value = GroupMetadataValue {
            protocol_type: CompactString::default(),
            generation: 0,
            protocol: None,
            leader: None,
            current_state_timestamp: self.state_since_ms.unwrap_or(-1),
            members: Vec::new(),
        };
        ConsumerOffsetsRecord::GroupMetadata(GroupMetadataKey { group: self.id.clone() }, Some(value))
    }

    /// The record that takes a group away.
    pub(crate) fn tombstone(id: &GroupId) -> ConsumerOffsetsRecord {
        ConsumerOffsetsRecord::GroupMetadata(GroupMetadataKey { group: id.clone() }, None)
    }

    /// The group that a record tells of. Its members' sessions begin when the machine says so.
    pub(crate) fn from_record(id: GroupId, value: GroupMetadataValue) -> Self {
        let mut group = Self::new(id, 0);
        group.state = if value.members.is_empty() { State::Empty } else { State::Stable };
        group.state_since_ms = (value.current_state_timestamp != -1).then_some(value.current_state_timestamp);
        group.generation = value.generation;
        let kind = value.protocol_type;
        for member in value.members {
            group.add(member_of(member, value.protocol.as_ref()), &kind);
        }
        group.protocol_type = (!kind.is_empty()).then_some(kind);
        group.protocol = value.protocol;
        group.leader = value.leader;
        group.subscribed = group.read_subscriptions();
        group
    }

    /// A group that is between rounds with these members, as when a group of the newer protocol becomes a classic one.
    /// None if they have no protocol in common. Their sessions begin when the machine says so.
    pub(crate) fn between_rounds(
        id: GroupId,
        generation: i32,
        members: impl Iterator<Item = Member>,
        now_ms: i64,
    ) -> Option<Self> {
        let mut group = Self::new(id, now_ms);
        let kind = CompactString::from(CONSUMER_PROTOCOL_TYPE);
        members.for_each(|member| group.add(member, &kind));
        group.state = State::Stable;
        group.generation = generation;
        group.protocol = Some(group.choose_protocol()?);
        group.subscribed = group.read_subscriptions();
        Some(group)
    }

    /// A record of this group was appended while it is served: what is new in it are the assignments of its round.
    fn accept(&mut self, value: &GroupMetadataValue) {
        if self.state != State::CompletingRebalance || value.generation != self.generation {
            return;
        }
        for assigned in &value.members {
            if let Some(member) = self.members.get_mut(&assigned.member_id) {
                member.assignment = assigned.assignment.clone();
            }
        }
        self.state = State::Stable;
    }

    /// The topics that the members say they consume; none where they are no consumers or cannot be read.
    pub(super) fn read_subscriptions(&self) -> Option<BTreeSet<TopicName>> {
        if !self.has_consumers() {
            return None;
        }
        if self.members.is_empty() {
            return Some(BTreeSet::new());
        }
        let protocol = self.protocol.as_deref()?;
        let mut topics = BTreeSet::new();
        for member in self.members.values() {
            topics.extend(subscription_topics(member.metadata(protocol))?);
        }
        Some(topics)
    }
}

/// The topics of a subscription. They stand in front in every version, and only they are looked at.
fn subscription_topics(mut bytes: Bytes) -> Option<Vec<TopicName>> {
    bytes.try_get_i16().ok()?;
    let subscription = ConsumerProtocolSubscription::decode_from(&mut Reader::new(bytes), 0).ok()?;
    Some(subscription.topics)
}

fn member_of(member: MemberMetadata, protocol: Option<&CompactString>) -> Member {
    let unset = member.rebalance_timeout == -1;
    let spoken = protocol
        .map(|name| JoinGroupRequestProtocol { name: name.clone(), metadata: member.subscription.clone() });
    Member {
        id: member.member_id,
        instance: member.group_instance_id,
        client_id: member.client_id,
        client_host: member.client_host,
        rebalance_timeout_ms: if unset { member.session_timeout } else { member.rebalance_timeout },
        session_timeout_ms: member.session_timeout,
        protocols: spoken.into_iter().collect(),
        assignment: member.assignment,
        is_new: false,
        join: None,
        sync: None,
        session_due: 0,
        session_timer: None,
    }
}

impl GroupMachine {
    /// Takes the record of a classic group into the state.
    pub(crate) fn classic_replay(&mut self, key: GroupMetadataKey, value: Option<GroupMetadataValue>) {
        use crate::group::Group;
        let Some(value) = value else {
            if let Some(Group::Classic(group)) = self.groups.get(&key.group) {
                group.cancel_timers(&mut self.timers);
                self.groups.remove(&key.group);
            }
            return;
        };
        match self.groups.get_mut(&key.group) {
            Some(Group::Classic(group)) if self.serving => group.accept(&value),
            _ => {
                let group = ClassicGroup::from_record(key.group.clone(), value);
                self.groups.insert(key.group, Group::Classic(group));
            }
        }
    }

    /// Every member of a classic group that the log has made gets a whole session to be heard from.
    pub(crate) fn classic_begin(&mut self, id: &GroupId, step: &mut Step) {
        let Some((group, mut scope)) = self.classic(id.as_str(), step) else { return };
        let ids: Vec<_> = group.members.keys().cloned().collect();
        for id in ids {
            group.reset_session(&id, &mut scope);
        }
        group.shrink_if_too_large(&mut scope);
    }
}

impl ClassicGroup {
    /// The limit on members may be lower than when they joined: a round gives them time to commit, and lets too many
    /// not come back.
    fn shrink_if_too_large(&mut self, scope: &mut Scope<'_>) {
        if self.members.len() > scope.config.members_max {
            self.prepare_rebalance(scope);
        }
    }
}
