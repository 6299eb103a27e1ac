//! A member's next step towards its target: what it has to give up comes first, and only when it has said that it did does
//! it move to the new epoch and get what is free. Pure; what it reads of the group is shown to it.

use std::collections::BTreeSet;

use ottla_model::{PartitionIndex, Uuid};

use super::member::{Member, MemberState, Owned};
use crate::group::assignor::Partitions;

/// All that the next step depends on.
pub(crate) struct Reconcile<'a> {
    /// The member as it stands.
    pub(crate) member: &'a Member,
    /// The epoch of the target.
    pub(crate) target_epoch: i32,
    /// What it is to have in the end.
    pub(crate) target: &'a Partitions,
    /// The topics that it subscribes to; of others it has nothing, whatever the target says.
    pub(crate) subscribed: &'a BTreeSet<Uuid>,
    /// Whether its subscription is another than before.
    pub(crate) subscription_changed: bool,
    /// Whether anybody has the partition.
    pub(crate) is_held: &'a dyn Fn(&Uuid, PartitionIndex) -> bool,
    /// What it says that it has; none if it does not say.
    pub(crate) claimed: Option<&'a Partitions>,
}

/// The member is in a state that is not known here, and has not given up what it has: it must join anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownState;

impl Reconcile<'_> {
    /// The member after the step; the same if there is none to make.
    ///
    /// # Errors
    /// When the member has to be fenced.
    pub(crate) fn run(&self) -> Result<Member, UnknownState> {
        let member = self.member;
        if !self.subscription_changed && member.is_reconciled_to(self.target_epoch) {
            return Ok(member.clone());
        }
        match member.state {
            MemberState::Stable if member.epoch == self.target_epoch => Ok(self.drop_unsubscribed()),
            MemberState::Unrevoked if self.still_claims(&member.revoking) => Ok(self.drop_unsubscribed()),
            MemberState::Stable | MemberState::Unrevoked | MemberState::Unreleased => {
                Ok(self.next(member.epoch))
            }
            MemberState::Unknown if self.claimed.is_some_and(Partitions::is_empty) => {
                Ok(self.next(self.target_epoch))
            }
            MemberState::Unknown => Err(UnknownState),
        }
    }

    /// Whether the client has, for all it has said, one of these partitions.
    fn still_claims(&self, partitions: &Owned) -> bool {
        let Some(claimed) = self.claimed else { return true };
        claimed.iter().any(|(topic, numbers)| {
            let numbers_of = partitions.get(topic);
            numbers.iter().any(|number| numbers_of.is_some_and(|of| of.contains_key(number)))
        })
    }

    /// Where the target has not moved: only what it no longer subscribes to is taken away.
    fn drop_unsubscribed(&self) -> Member {
        let member = self.member;
        if !self.subscription_changed || member.assigned.keys().all(|topic| self.subscribed.contains(topic)) {
            return member.clone();
        }
        let mut next = member.clone();
        for (topic, partitions) in
            member.assigned.iter().filter(|(topic, _)| !self.subscribed.contains(topic))
        {
            next.assigned.remove(topic);
            next.revoking.entry(*topic).or_default().extend(partitions);
        }
        next.move_to(member.epoch);
        if self.still_claims(&next.revoking) {
            next.state = MemberState::Unrevoked;
        } else {
            next.revoking.clone_from(&member.revoking);
        }
        next
    }

    fn next(&self, epoch: i32) -> Member {
        let member = self.member;
        let empty = BTreeSet::new();
        let mut kept = Owned::new();
        let mut revoking = Owned::new();
        let mut coming = Vec::new();
        let mut waits = false;
        let topics: BTreeSet<&Uuid> = self.target.keys().chain(member.assigned.keys()).collect();
        for topic in topics {
            let target = self.target.get(topic).filter(|_| self.subscribed.contains(topic)).unwrap_or(&empty);
            let current = member.assigned.get(topic);
            for (partition, since) in current.into_iter().flatten() {
                let place = if target.contains(partition) { &mut kept } else { &mut revoking };
                place.entry(*topic).or_default().insert(*partition, *since);
            }
            for partition in
                target.iter().filter(|at| !current.is_some_and(|current| current.contains_key(at)))
            {
                let own = member.revoking.get(topic).is_some_and(|revoking| revoking.contains_key(partition));
                if (self.is_held)(topic, *partition) && !own {
                    waits = true;
                } else {
                    coming.push((*topic, *partition));
                }
            }
        }
        let mut next = member.clone();
        if !revoking.is_empty() && self.still_claims(&revoking) {
            next.state = MemberState::Unrevoked;
            next.move_to(epoch);
            next.revoking = revoking;
        } else {
            next.state = if waits { MemberState::Unreleased } else { MemberState::Stable };
            next.move_to(self.target_epoch);
            next.revoking = Owned::new();
            for (topic, partition) in coming {
                kept.entry(topic).or_default().insert(partition, self.target_epoch);
            }
        }
        next.assigned = kept;
        next
    }
}
