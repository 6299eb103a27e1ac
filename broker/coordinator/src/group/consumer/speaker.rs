//! Who a heartbeat speaks for: a member that the group knows, one that it does not, or one that takes the place of a static
//! member before it.

use compact_str::CompactString;
use ottla_model::{ErrorCode, Uuid};

use super::member::{Member, PAUSED_EPOCH, is_within};
use super::state::ConsumerGroup;
use super::{ConsumerAfter, Refusal, records};
use crate::group::assignor::Partitions;
use crate::machine::{After, Step};

/// What a heartbeat says of its sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct Speaker<'a> {
    pub(super) id: &'a CompactString,
    pub(super) instance: Option<&'a str>,
    /// 0 for one that joins.
    pub(super) epoch: i32,
    /// The partitions that it says it has, if it says.
    pub(super) claimed: Option<&'a Partitions>,
}

impl Speaker<'_> {
    /// The member for which it speaks, new if it joins and has no place yet. A static one that takes the place of another
    /// does so by the records of the step.
    pub(super) fn member(&self, group: &ConsumerGroup, step: &mut Step) -> Result<Member, Refusal> {
        let joins = self.epoch == 0;
        let place = match self.instance {
            None => group.members.get(self.id),
            Some(_) => group.static_member(self.instance),
        };
        let Some(place) = place else {
            let new = || group.members.get(self.id).cloned().unwrap_or_else(|| Member::new(self.id.clone()));
            return if joins { Ok(new()) } else { Err(self.unknown(group)) };
        };
        match self.instance {
            Some(instance) if joins => self.take_place(group, place, instance, step),
            Some(instance) => {
                check_instance(place, self.id, instance)?;
                self.at_epoch_of(place)
            }
            None => self.at_epoch_of(place),
        }
    }

    fn take_place(
        &self,
        group: &ConsumerGroup,
        before: &Member,
        instance: &str,
        step: &mut Step,
    ) -> Result<Member, Refusal> {
        if before.is_classic() || before.epoch == PAUSED_EPOCH {
            return Ok(replace(group, before, self.id, step));
        }
        let message = format!("Instance {instance} is in use by member {}, which has not left.", before.id);
        Err(Refusal::new(ErrorCode::UNRELEASED_INSTANCE_ID, message))
    }

    /// The client tells the member's epoch, or the one before if the answer that told the new one was lost: then the client
    /// has nothing but what it was given.
    fn at_epoch_of(&self, member: &Member) -> Result<Member, Refusal> {
        let missed_one = || {
            self.epoch == member.previous_epoch
                && self.claimed.is_some_and(|claimed| is_within(claimed, &member.assigned))
        };
        match self.epoch {
            0 => Ok(member.clone()),
            told if told == member.epoch || told < member.epoch && missed_one() => Ok(member.clone()),
            told => {
                let message = format!(
                    "Member {} is at epoch {}, not {told}: it has to give up its partitions and join anew.",
                    member.id, member.epoch
                );
                Err(Refusal::new(ErrorCode::FENCED_MEMBER_EPOCH, message))
            }
        }
    }

    fn unknown(&self, group: &ConsumerGroup) -> Refusal {
        match self.instance {
            Some(instance) => unknown_instance(instance),
            None => unknown_member(group, self.id),
        }
    }
}

/// A member takes the place of another with the same instance id.
pub(super) fn replace(group: &ConsumerGroup, before: &Member, id: &CompactString, step: &mut Step) -> Member {
    let member = Member { id: id.clone(), epoch: 0, previous_epoch: 0, ..before.clone() };
    let target = group.targets.get(&before.id).cloned().unwrap_or_default();
    step.records.extend(records::member_gone(&group.id, &before.id));
    step.records.extend([
        records::member(&group.id, &member),
        records::target(&group.id, id, &target),
        records::current(&group.id, &member),
    ]);
    let (old, new) = (before.id.clone(), id.clone());
    step.after.push(After::Consumer(ConsumerAfter::Renamed { group: group.id.clone(), old, new }));
    member
}

pub(super) fn unknown_member(group: &ConsumerGroup, id: &str) -> Refusal {
    Refusal::new(ErrorCode::UNKNOWN_MEMBER_ID, format!("Group {} has no member {id}.", group.id))
}

pub(super) fn unknown_instance(instance: &str) -> Refusal {
    Refusal::new(ErrorCode::UNKNOWN_MEMBER_ID, format!("The group has no member of instance {instance}."))
}

/// Another has come under the instance id.
pub(super) fn check_instance(member: &Member, id: &str, instance: &str) -> Result<(), Refusal> {
    if member.id == id {
        return Ok(());
    }
    let message = format!("Instance {instance} is member {} now, no longer {id}.", member.id);
    Err(Refusal::new(ErrorCode::FENCED_INSTANCE_ID, message))
}

/// A member id as Kafka draws it: 22 characters, the first no dash.
pub(super) fn new_member_id(mut random: [u8; 16]) -> CompactString {
    if let Some(first) = random.first_mut() {
        *first &= 0x7f;
    }
    Uuid::from_random(random).unwrap_or(Uuid::ONE).to_string().into()
}
