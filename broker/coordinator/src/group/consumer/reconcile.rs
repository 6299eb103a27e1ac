//! A member's next step towards its target (KIP-848). It first gives up what is not to be its own any more; once its client
//! has said that it did, it moves to the target's epoch and takes what nobody else has. Pure; what it reads of the group is
//! shown to it.

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
        let (stays, epoch) = match self.member.state {
            MemberState::Stable => (self.member.epoch == self.target_epoch, self.member.epoch),
            MemberState::Unreleased => (false, self.member.epoch),
            MemberState::Unrevoked => (self.is_with_client(&self.member.revoking), self.member.epoch),
            // Whatever a newer coordinator meant by it, a client that has nothing can begin anew.
            MemberState::Unknown if self.claimed.is_some_and(Partitions::is_empty) => {
                (false, self.target_epoch)
            }
            MemberState::Unknown => return Err(UnknownState),
        };
        Ok(match (stays, self.subscription_changed) {
            (false, _) => self.step(epoch),
            (true, true) => self.without_others_topics(),
            (true, false) => self.member.clone(),
        })
    }

    /// Towards the target: giving up at the epoch told, or taking at the target's.
    fn step(&self, epoch: i32) -> Member {
        let mut next = self.member.clone();
        let surplus = take_out(&mut next.assigned, |place| !self.is_wanted(place));
        if self.is_with_client(&surplus) {
            next.state = MemberState::Unrevoked;
            next.revoking = surplus;
            next.move_to(epoch);
            return next;
        }
        let (taken, free): (Vec<Place>, Vec<Place>) = self
            .wanted()
            .filter(|place| !contains(&next.assigned, place))
            .partition(|place| self.is_anothers(place));
        for (topic, partition) in free {
            next.assigned.entry(topic).or_default().insert(partition, self.target_epoch);
        }
        next.state = if taken.is_empty() { MemberState::Stable } else { MemberState::Unreleased };
        next.revoking = Owned::new();
        next.move_to(self.target_epoch);
        next
    }

    /// The target has not moved, or the member has not caught up: only topics that it no longer subscribes to are taken.
    fn without_others_topics(&self) -> Member {
        let mut next = self.member.clone();
        let lost = take_out(&mut next.assigned, |(topic, _)| !self.subscribed.contains(topic));
        if lost.is_empty() {
            return next;
        }
        next.move_to(self.member.epoch);
        let mut all = next.revoking.clone();
        for (topic, partitions) in lost {
            all.entry(topic).or_default().extend(partitions);
        }
        if self.is_with_client(&all) {
            next.revoking = all;
            next.state = MemberState::Unrevoked;
        }
        next
    }

    /// The target as far as the member subscribes to it.
    fn wanted(&self) -> impl Iterator<Item = Place> {
        let topics = self.target.iter().filter(|(topic, _)| self.subscribed.contains(topic));
        topics.flat_map(|(topic, partitions)| partitions.iter().map(|partition| (*topic, *partition)))
    }

    fn is_wanted(&self, (topic, partition): &Place) -> bool {
        self.subscribed.contains(topic)
            && self.target.get(topic).is_some_and(|partitions| partitions.contains(partition))
    }

    /// Whether somebody has the partition, other than the member itself on its way to giving it up.
    fn is_anothers(&self, place: &Place) -> bool {
        (self.is_held)(&place.0, place.1) && !contains(&self.member.revoking, place)
    }

    /// Whether the client may still work on one of these: it says so, or says nothing.
    fn is_with_client(&self, partitions: &Owned) -> bool {
        match self.claimed {
            None => !partitions.is_empty(),
            Some(claimed) => partitions.iter().any(|(topic, of_topic)| {
                let claimed = claimed.get(topic);
                claimed.is_some_and(|claimed| of_topic.keys().any(|partition| claimed.contains(partition)))
            }),
        }
    }
}

type Place = (Uuid, PartitionIndex);

fn contains(owned: &Owned, (topic, partition): &Place) -> bool {
    owned.get(topic).is_some_and(|partitions| partitions.contains_key(partition))
}

/// Takes some of the partitions out, and gives those.
fn take_out(owned: &mut Owned, goes: impl Fn(&Place) -> bool) -> Owned {
    let mut out = Owned::new();
    owned.retain(|topic, partitions| {
        partitions.retain(|partition, since| {
            let goes = goes(&(*topic, *partition));
            if goes {
                out.entry(*topic).or_default().insert(*partition, *since);
            }
            !goes
        });
        !partitions.is_empty()
    });
    out
}
