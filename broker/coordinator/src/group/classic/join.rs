//! JoinGroup: who may join, which id it has, and whether its joining begins a round.

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};

use super::{ClassicAfter, ClassicGroup, ClassicTimer, Member, PENDING_MEMBERS_MAX, Scope, State, Waiter};
use crate::event::{Client, Token};
use crate::group::Group;
use crate::group::consumer::ConsumerGroup;
use crate::machine::{After, GroupMachine, Outcome, Step, failure_code};
use crate::reply::{Reply, join_refused};

/// From this version on, a new member gets an id first and joins with it (KIP-394).
const ID_FIRST_VERSION_MIN: i16 = 4;
/// From this version on, a leader can be told not to assign (KIP-814).
const SKIP_ASSIGNMENT_VERSION_MIN: i16 = 9;
/// The most that a member may say of itself in all its protocols together. What is stored of it later, for one of them, has
/// to fit into a batch: 1 MiB unless `__consumer_offsets` is set up otherwise.
const MEMBER_METADATA_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long a new member may be silent while its first round goes on: its client may have given up.
const NEW_MEMBER_SESSION_MS: i64 = 5 * 60 * 1000;

/// A group that came to be with the step's records.
#[derive(Debug)]
pub(crate) struct Created {
    group: GroupId,
    /// The empty consumer group whose place it took.
    before: Option<Box<ConsumerGroup>>,
}

/// A static member that has a new id, with what is needed to take it back.
#[derive(Debug)]
pub(crate) struct StaticReplaced {
    group: GroupId,
    old: Member,
    new_id: CompactString,
    leader_before: Option<CompactString>,
}

/// A JoinGroup on its way.
struct Joining {
    client: Client,
    request: JoinGroupRequest,
    random: [u8; 16],
    token: Token,
}

impl Joining {
    const fn waiter(&self) -> Waiter {
        Waiter { token: self.token, version: self.client.version }
    }

    fn refuse(&self, member_id: &str, error: ErrorCode, step: &mut Step) {
        let refused = join_refused(member_id.into(), error, self.client.version);
        step.answer_at_once(self.token, Reply::JoinGroup(refused));
    }

    /// As Kafka makes ids: who it is, and what nobody else has.
    fn new_id(&self) -> CompactString {
        let name = self.request.group_instance_id.as_ref().unwrap_or(&self.client.id);
        compact_str::format_compact!("{name}-{}", uuid_text(self.random))
    }
}

impl GroupMachine {
    /// JoinGroup.
    pub(crate) fn classic_join(
        &mut self,
        client: Client,
        mut request: JoinGroupRequest,
        random: [u8; 16],
        token: Token,
        step: &mut Step,
    ) {
        if client.version == 0 {
            request.rebalance_timeout_ms = request.session_timeout_ms;
        }
        if matches!(self.groups.get(&request.group_id), Some(Group::Consumer(group)) if !group.is_empty()) {
            if let Err(error) = self.check_join(&request) {
                let refused = join_refused(request.member_id, error, client.version);
                return step.answer_at_once(token, Reply::JoinGroup(refused));
            }
            return self.consumer_classic_join(client, request, random, token, step);
        }
        let joining = Joining { client, request, random, token };
        if let Err(error) = self.check_join(&joining.request) {
            return joining.refuse(&joining.request.member_id, error, step);
        }
        match self.classic(joining.request.group_id.as_str(), step) {
            Some((group, mut scope)) => group.join(joining, &mut scope),
            None if joining.request.member_id.is_empty() => self.join_new_group(joining, step),
            None => joining.refuse(&joining.request.member_id, ErrorCode::UNKNOWN_MEMBER_ID, step),
        }
    }

    fn check_join(&self, request: &JoinGroupRequest) -> Result<(), ErrorCode> {
        let config = &self.config.classic;
        let bounds = config.session_timeout_ms_min..=config.session_timeout_ms_max;
        let metadata_bytes =
            request.protocols.iter().map(|spoken| spoken.name.len() + spoken.metadata.len()).sum::<usize>();
        if request.group_id.is_empty() {
            Err(ErrorCode::INVALID_GROUP_ID)
        } else if metadata_bytes > MEMBER_METADATA_BYTES_MAX {
            tracing::warn!(
                group = %request.group_id,
                metadata_bytes,
                limit = MEMBER_METADATA_BYTES_MAX,
                "a member that says so much of itself is refused"
            );
            Err(ErrorCode::INVALID_REQUEST)
        } else if !bounds.contains(&request.session_timeout_ms) {
            Err(ErrorCode::INVALID_SESSION_TIMEOUT)
        } else {
            Ok(())
        }
    }

    /// The first member makes the group, which is written empty. One that is refused makes none.
    fn join_new_group(&mut self, joining: Joining, step: &mut Step) {
        let id = joining.request.group_id.clone();
        let mut group = ClassicGroup::new(id.clone(), step.now.wall_ms);
        let creation = group.record_of_creation();
        let mut scope = Scope { timers: &mut self.timers, config: &self.config.classic, step: &mut *step };
        group.join(joining, &mut scope);
        if group.members.is_empty() && group.pending.is_empty() {
            return;
        }
        let before = match self.groups.insert(id.clone(), Group::Classic(group)) {
            Some(Group::Consumer(empty)) => {
                empty.tombstones(&mut step.records);
                Some(Box::new(empty))
            }
            _ => None,
        };
        step.records.push(creation);
        // Its first answer tells of a group that is not written yet.
        for answer in &mut step.answers {
            answer.leaves = crate::effects::Leaves::WhenCommitted;
        }
        step.after.push(After::Classic(ClassicAfter::Created(Created { group: id, before })));
    }

    /// The group could not be written: it is not there, and its first member has not joined.
    pub(super) fn undo_creation(&mut self, created: Created, error: ErrorCode, step: &mut Step) {
        if let Some(Group::Classic(mut group)) = self.groups.remove(&created.group) {
            group.cancel_timers(&mut self.timers);
            for member in group.members.values_mut() {
                member.refuse_join(CompactString::default(), error, step);
            }
        }
        if let Some(before) = created.before {
            self.groups.insert(created.group, Group::Consumer(*before));
        }
    }

    /// The new id of a static member is written, or is not and the old one stays.
    pub(super) fn static_replaced(&mut self, replaced: StaticReplaced, outcome: Outcome, step: &mut Step) {
        let Some((group, mut scope)) = self.classic(replaced.group.as_str(), step) else { return };
        match outcome {
            Ok(()) => group.tell_static(&replaced, &mut scope),
            Err(failure) => group.restore_static(replaced, failure_code(failure), &mut scope),
        }
    }
}

impl ClassicGroup {
    fn join(&mut self, joining: Joining, scope: &mut Scope<'_>) {
        let id = &joining.request.member_id;
        if !self.has_room_for(id, scope.config.members_max) {
            let id = id.clone();
            joining.refuse("", ErrorCode::GROUP_MAX_SIZE_REACHED, scope.step);
            return self.turn_away(&id, scope);
        }
        if !self.speaks(&joining.request) {
            let id = if id.is_empty() { "" } else { id.as_str() };
            return joining.refuse(id, ErrorCode::INCONSISTENT_GROUP_PROTOCOL, scope.step);
        }
        if id.is_empty() { self.join_unknown(joining, scope) } else { self.join_known(joining, scope) }
    }

    /// Whether the group takes another member, or this one again.
    fn has_room_for(&self, id: &str, members_max: usize) -> bool {
        match self.state {
            State::Empty => true,
            State::PreparingRebalance => {
                self.members.get(id).is_some_and(|member| member.join.is_some())
                    || self.joined() < members_max
            }
            State::CompletingRebalance | State::Stable => {
                self.members.contains_key(id) || self.members.len() < members_max
            }
        }
    }

    /// Forgets a member, or an id that was handed out, for whom there is no room.
    fn turn_away(&mut self, id: &CompactString, scope: &mut Scope<'_>) {
        scope.timers.cancel(&self.timer(ClassicTimer::Session(id.clone())));
        if let Some(mut member) = self.remove(id) {
            member.refuse_sync(ErrorCode::UNKNOWN_MEMBER_ID, scope.step);
        }
        self.complete_if_all_joined(scope);
    }

    /// Whether it is of the group's kind and speaks a protocol that everybody in it speaks.
    fn speaks(&self, request: &JoinGroupRequest) -> bool {
        if self.is_empty() {
            return !request.protocol_type.is_empty() && !request.protocols.is_empty();
        }
        let spoken_by_all = |spoken: &JoinGroupRequestProtocol| {
            self.spoken.get(&spoken.name).copied().unwrap_or(0) == self.members.len()
        };
        self.protocol_type.as_ref() == Some(&request.protocol_type)
            && request.protocols.iter().any(spoken_by_all)
    }

    fn join_unknown(&mut self, joining: Joining, scope: &mut Scope<'_>) {
        let new_id = joining.new_id();
        let instance = joining.request.group_instance_id.as_ref();
        if let Some(old_id) = instance.and_then(|instance| self.statics.get(instance)).cloned() {
            return self.replace_static(joining, &old_id, new_id, scope);
        }
        if instance.is_some() || joining.client.version < ID_FIRST_VERSION_MIN {
            return self.add_and_rebalance(joining, new_id, scope);
        }
        if self.pending.len() >= PENDING_MEMBERS_MAX {
            return joining.refuse("", ErrorCode::GROUP_MAX_SIZE_REACHED, scope.step);
        }
        let due = scope.step.now.after_ms(i64::from(joining.request.session_timeout_ms));
        scope.timers.set(self.timer(ClassicTimer::Session(new_id.clone())), due);
        joining.refuse(&new_id, ErrorCode::MEMBER_ID_REQUIRED, scope.step);
        self.pending.insert(new_id);
    }

    fn join_known(&mut self, joining: Joining, scope: &mut Scope<'_>) {
        let id = joining.request.member_id.clone();
        let instance = joining.request.group_instance_id.as_deref();
        if self.pending.contains(&id) && instance.is_none() {
            return self.add_and_rebalance(joining, id, scope);
        }
        if let Err(error) = self.check_member(&id, instance) {
            return joining.refuse(&id, error, scope.step);
        }
        let same = self.members.get(&id).is_some_and(|member| member.protocols == joining.request.protocols);
        let stays = match self.state {
            State::Empty => return joining.refuse(&id, ErrorCode::UNKNOWN_MEMBER_ID, scope.step),
            State::PreparingRebalance => false,
            // It may not have got the answer to its join.
            State::CompletingRebalance => same,
            // The leader joins again because topics have changed, which it alone sees.
            State::Stable => same && !self.is_leader(&id),
        };
        if stays {
            let response = self.join_response(&id);
            return scope.step.answer_at_once(joining.token, Reply::JoinGroup(response));
        }
        self.update(&id, &joining, scope);
        self.rebalance_or_complete(scope);
    }

    fn add_and_rebalance(&mut self, joining: Joining, id: CompactString, scope: &mut Scope<'_>) {
        let waiter = joining.waiter();
        let Joining { client, request, .. } = joining;
        if self.state == State::PreparingRebalance && self.initial {
            self.newcomer = true;
        }
        // The id may have been pending, with a timer of its own that fires earlier.
        scope.timers.cancel(&self.timer(ClassicTimer::Session(id.clone())));
        let member = Member {
            id: id.clone(),
            instance: request.group_instance_id,
            client_id: client.id,
            client_host: client.host,
            rebalance_timeout_ms: request.rebalance_timeout_ms,
            session_timeout_ms: request.session_timeout_ms,
            protocols: request.protocols,
            assignment: bytes::Bytes::new(),
            is_new: true,
            join: Some(waiter),
            sync: None,
            session_due: 0,
            session_timer: None,
        };
        self.add(member, &request.protocol_type);
        self.give_session(&id, NEW_MEMBER_SESSION_MS, scope);
        self.rebalance_or_complete(scope);
    }

    /// The member says anew what it is, and waits. A join of its that waited before is of a client that gave it up.
    fn update(&mut self, id: &CompactString, joining: &Joining, scope: &mut Scope<'_>) {
        let Some(mut member) = self.members.remove(id) else { return };
        self.count_spoken(&member, false);
        member.refuse_join(id.clone(), ErrorCode::REBALANCE_IN_PROGRESS, scope.step);
        member.protocols.clone_from(&joining.request.protocols);
        member.rebalance_timeout_ms = joining.request.rebalance_timeout_ms;
        member.session_timeout_ms = joining.request.session_timeout_ms;
        member.join = Some(joining.waiter());
        self.count_spoken(&member, true);
        self.members.insert(id.clone(), member);
    }

    /// A static member has come back without its id: it gets a new one, and the old one is fenced. Unless what the group
    /// speaks changes, nobody else notices.
    fn replace_static(
        &mut self,
        joining: Joining,
        old_id: &CompactString,
        new_id: CompactString,
        scope: &mut Scope<'_>,
    ) {
        let leader_before = self.leader.clone();
        let Some(old) = self.exchange_static(old_id, &new_id, scope) else { return };
        self.update(&new_id, &joining, scope);
        self.reset_session(&new_id, scope);
        match self.state {
            State::Stable if self.choose_protocol() == self.protocol => {
                scope.step.records.push(self.record());
                let replaced = StaticReplaced { group: self.id.clone(), old, new_id, leader_before };
                scope.step.after.push(After::Classic(ClassicAfter::StaticReplaced(Box::new(replaced))));
            }
            State::Stable | State::CompletingRebalance => self.prepare_rebalance(scope),
            State::Empty | State::PreparingRebalance => self.complete_if_all_joined(scope),
        }
    }

    /// Gives a static member a new id; whoever waited under the old one is fenced. Returns what was under the old one.
    fn exchange_static(
        &mut self,
        old_id: &CompactString,
        new_id: &CompactString,
        scope: &mut Scope<'_>,
    ) -> Option<Member> {
        scope.timers.cancel(&self.timer(ClassicTimer::Session(old_id.clone())));
        let mut old = self.members.remove(old_id)?;
        old.refuse_join(old_id.clone(), ErrorCode::FENCED_INSTANCE_ID, scope.step);
        old.refuse_sync(ErrorCode::FENCED_INSTANCE_ID, scope.step);
        old.session_timer = None;
        let member = Member { id: new_id.clone(), is_new: false, ..old.clone() };
        if let Some(instance) = &member.instance {
            self.statics.insert(instance.clone(), new_id.clone());
        }
        self.rename(old_id, new_id);
        self.members.insert(new_id.clone(), member);
        Some(old)
    }

    fn rename(&mut self, old_id: &str, new_id: &CompactString) {
        if self.is_leader(old_id) {
            self.leader = Some(new_id.clone());
        }
        if self.pending_sync.remove(old_id) {
            self.pending_sync.insert(new_id.clone());
        }
    }

    fn tell_static(&mut self, replaced: &StaticReplaced, scope: &mut Scope<'_>) {
        let id = &replaced.new_id;
        let leads = self.is_leader(id);
        let present = self.join_response(id);
        let Some(waiter) = self.members.get_mut(id).and_then(|member| member.join.take()) else { return };
        let response = if waiter.version >= SKIP_ASSIGNMENT_VERSION_MIN {
            JoinGroupResponse { skip_assignment: leads, ..present }
        } else {
            // It cannot be told to leave the assignment alone, so it is not told that it leads.
            let leader = replaced.leader_before.clone().unwrap_or_default();
            JoinGroupResponse { leader, members: Vec::new(), ..present }
        };
        scope.step.answer(waiter.token, Reply::JoinGroup(response));
    }

    fn restore_static(&mut self, replaced: StaticReplaced, error: ErrorCode, scope: &mut Scope<'_>) {
        let new_id = &replaced.new_id;
        scope.timers.cancel(&self.timer(ClassicTimer::Session(new_id.clone())));
        if let Some(mut member) = self.members.remove(new_id) {
            self.count_spoken(&member, false);
            member.refuse_join(CompactString::default(), error, scope.step);
        }
        let old = replaced.old;
        let old_id = old.id.clone();
        self.rename(new_id, &old_id);
        if let Some(instance) = &old.instance {
            self.statics.insert(instance.clone(), old_id.clone());
        }
        self.count_spoken(&old, true);
        self.members.insert(old_id.clone(), old);
        self.reset_session(&old_id, scope);
    }
}

/// A random UUID as Java prints it.
fn uuid_text(mut random: [u8; 16]) -> CompactString {
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut random;
    *version = (*version & 0x0f) | 0x40;
    *variant = (*variant & 0x3f) | 0x80;
    let digits = format!("{:032x}", u128::from_be_bytes(random));
    let (a, rest) = digits.split_at(8);
    let (b, rest) = rest.split_at(4);
    let (c, rest) = rest.split_at(4);
    let (d, e) = rest.split_at(4);
    compact_str::format_compact!("{a}-{b}-{c}-{d}-{e}")
}
