//! Offsets that are old enough to be forgotten, and groups of which nothing is left. From time to time every group is
//! looked at; a step looks at some of them, so that no step is long and no batch large.
//!
//! A group that consumes keeps what it subscribes to. An empty one keeps its offsets as long as the retention from when
//! it became empty, one that only commits as long as the retention from each commit (KIP-211).

use std::time::Duration;

use ottla_model::{GroupId, PartitionIndex, TopicName};

use super::{CommittedOffset, tombstone};
use crate::group::Group;
use crate::group::classic::{ClassicGroup, State};
use crate::machine::{GroupMachine, Step, TOMBSTONE_BYTES_MAX, Timer};

/// Groups that one step looks at.
const GROUPS_A_STEP: usize = 1_000;

/// From when a group's offsets age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ageing {
    /// Not at all.
    Never,
    /// From their commit.
    SinceCommit,
    /// From this moment on the wall clock.
    Since(i64),
}

impl Ageing {
    fn is_over(self, offset: &CommittedOffset, retention: Duration, now_ms: i64) -> bool {
        let since_ms = match self {
            Self::Never => return false,
            Self::SinceCommit => offset.commit_ms,
            Self::Since(ms) => ms,
        };
        match offset.expire_ms {
            Some(expire_ms) => now_ms >= expire_ms,
            None => {
                let retention_ms = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
                now_ms.saturating_sub(since_ms) >= retention_ms
            }
        }
    }
}

impl ClassicGroup {
    fn ageing(&self) -> Ageing {
        if self.protocol_type.is_none() {
            return Ageing::SinceCommit;
        }
        match self.state {
            State::Empty => self.state_since_ms.map_or(Ageing::SinceCommit, Ageing::Since),
            State::Stable if self.has_consumers() && self.knows_subscriptions() => Ageing::SinceCommit,
            _ => Ageing::Never,
        }
    }
}

impl Group {
    fn ageing(&self) -> Ageing {
        match self {
            Self::Classic(group) => group.ageing(),
            // While it has members, what nobody subscribes to ages; without members everything does.
            Self::Consumer(_) => Ageing::SinceCommit,
        }
    }
}

impl GroupMachine {
    /// It is time to look at every group.
    pub(crate) fn begin_expiry(&mut self, step: &mut Step) {
        self.timers.set(Timer::Expiry, step.now.after(self.config.offsets.retention_check_interval));
        self.to_expire = self.groups.keys().cloned().collect();
        self.expire_some(step);
    }

    /// Looks at the next groups.
    pub(crate) fn expire_some(&mut self, step: &mut Step) {
        let mut budget = TOMBSTONE_BYTES_MAX;
        for _ in 0..GROUPS_A_STEP {
            let Some(id) = self.to_expire.pop_front() else { return };
            if !self.expire_group(&id, &mut budget, step) {
                self.to_expire.push_front(id);
                break;
            }
        }
        if !self.to_expire.is_empty() {
            self.timers.set(Timer::ExpiryStep, step.now.steady_ms);
        }
    }

    /// Forgets what is old; false if the batch is full before all of it was.
    fn expire_group(&self, id: &GroupId, budget: &mut usize, step: &mut Step) -> bool {
        let Some(group) = self.groups.get(id) else { return true };
        let mut left = false;
        for (topic, partition, offset) in self.offsets.of_group(id) {
            if !self.is_expired(id, group, topic, partition, offset, step.now.wall_ms) {
                left = true;
            } else if !take(budget, id, topic) {
                return false;
            } else {
                step.records.push(tombstone(id, topic, partition));
            }
        }
        if !left && group.is_empty() && !self.offsets.is_open(id) {
            let mut last = Vec::new();
            group.tombstones(id, &mut last);
            if !last.iter().all(|_| take_bytes(budget, id.as_str().len())) {
                return false;
            }
            step.records.append(&mut last);
        }
        true
    }

    fn is_expired(
        &self,
        id: &GroupId,
        group: &Group,
        topic: &TopicName,
        partition: PartitionIndex,
        offset: &CommittedOffset,
        now_ms: i64,
    ) -> bool {
        !group.is_subscribed_to(topic)
            && group.ageing().is_over(offset, self.config.offsets.retention, now_ms)
            && !self.offsets.is_pending(id, topic, partition)
    }
}

/// Takes a tombstone's size from what the batch may hold; false if it does not fit.
pub(super) fn take(budget: &mut usize, group: &GroupId, topic: &TopicName) -> bool {
    take_bytes(budget, group.as_str().len() + topic.as_str().len())
}

/// The same, where the names in the tombstone's key have so many bytes.
fn take_bytes(budget: &mut usize, names: usize) -> bool {
    /// Fields of fixed size and what a record has around its key, generously.
    const AROUND: usize = 64;
    let size = names + AROUND;
    let fits = *budget >= size;
    *budget = budget.saturating_sub(size);
    fits
}
