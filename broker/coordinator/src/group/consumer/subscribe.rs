//! What a member subscribes to, and what a change of that means for its group: the group's epoch moves on if the change says
//! who shall have what, or if the topics themselves are others. Expressions are matched by the pool; what it found comes
//! back here.

use std::collections::BTreeMap;

use compact_str::CompactString;
use ottla_model::GroupId;

use super::heartbeat::Caller;
use super::member::Member;
use super::regex::{self, Resolved, Search};
use super::state::{ConsumerGroup, Subscriptions};
use super::{ConsumerAfter, Refusal, records};
use crate::event::Token;
use crate::machine::{After, GroupMachine, Step};

/// How soon after a look at the topics a group's expressions are looked at again at the soonest, in milliseconds.
const REGEX_PAUSE_MS_MIN: i64 = 10_000;

/// What a look at the topics has found.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) group: GroupId,
    pub(crate) task: Token,
    pub(crate) regexes: BTreeMap<CompactString, Resolved>,
}

/// From one expression of a member to another; none is one too.
#[derive(Debug, Clone, Copy)]
struct Expressions<'a> {
    /// Whether the member says another, though it may mean the same.
    said_anew: bool,
    before: Option<&'a CompactString>,
    after: Option<&'a CompactString>,
}

impl<'a> Expressions<'a> {
    fn of(member: &'a Member, updated: &'a Member) -> Self {
        Self { said_anew: member.regex != updated.regex, before: member.regex(), after: updated.regex() }
    }

    /// The one that nobody has any more.
    fn dropped(&self, group: &ConsumerGroup) -> Option<&'a CompactString> {
        self.before.filter(|before| self.said_anew && group.subscribers_of(before) == 1)
    }

    /// The one that nobody had.
    fn first_used(&self, group: &ConsumerGroup) -> Option<&'a CompactString> {
        self.after.filter(|after| self.said_anew && group.subscribers_of(after) == 0)
    }

    /// Whether the topics that the member now has by it are known, and may be others than before.
    fn counts(&self, group: &ConsumerGroup) -> bool {
        let is_known = match self.after {
            Some(after) => group.regexes.contains_key(after) && self.first_used(group).is_none(),
            None => self.before.is_some(),
        };
        self.said_anew && is_known
    }
}

impl GroupMachine {
    /// The records of what a member says anew; the epoch of the group with them, and whether the member's subscription is
    /// another.
    pub(super) fn change_member(
        &self,
        group: &ConsumerGroup,
        member: &Member,
        updated: &Member,
        caller: &Caller,
        step: &mut Step,
    ) -> Result<(i32, bool), Refusal> {
        if updated != member {
            step.records.push(records::member(&group.id, updated));
        }
        let expressions = Expressions::of(member, updated);
        self.take_down_expressions(group, &expressions, updated, caller, step)?;
        let other_names = updated.topics != member.topics;
        let is_classic = updated.is_classic();
        // A member of the classic protocol that subscribed by an expression has none now, whatever that matched.
        let other_matches = expressions.counts(group) || is_classic && expressions.said_anew;
        let other_assignor = !is_classic && self.changes_assignor(group, member, updated);
        let moves_on = other_names || other_matches || other_assignor;
        let epoch = match moves_on || group.soft.topics_stale {
            true => self.refresh(group, updated, moves_on, step),
            false => group.epoch,
        };
        Ok((epoch, other_names || expressions.said_anew))
    }

    fn take_down_expressions(
        &self,
        group: &ConsumerGroup,
        expressions: &Expressions<'_>,
        updated: &Member,
        caller: &Caller,
        step: &mut Step,
    ) -> Result<(), Refusal> {
        if let Some(dropped) = expressions.dropped(group) {
            step.records.push(records::regex_gone(&group.id, dropped));
        }
        let new = expressions.first_used(group);
        if let Some(new) = new {
            regex::check(new)?;
        }
        let is_in_use = expressions.before.or(expressions.after).is_some() || !group.regexes.is_empty();
        if is_in_use
            && let Some(search) = self.search_that_is_due(group, updated, new.is_some(), caller, step)
        {
            step.after.push(After::Consumer(search));
        }
        Ok(())
    }

    /// Whether the group's members now want another assignor.
    fn changes_assignor(&self, group: &ConsumerGroup, member: &Member, updated: &Member) -> bool {
        let with = |changed| {
            group.preferred_assignor(changed).unwrap_or_else(|| CompactString::from(self.default_assignor()))
        };
        updated.assignor != member.assignor && with(None) != with(Some(updated))
    }

    /// Looks at the topics that the group subscribes to; the group's epoch afterwards.
    fn refresh(&self, group: &ConsumerGroup, updated: &Member, moves_on: bool, step: &mut Step) -> i32 {
        let replaced = group.static_member(updated.instance_id.as_deref()).map(|before| before.id.as_str());
        let gone: Vec<&str> = replaced.into_iter().filter(|before| *before != updated.id).collect();
        let epoch = self.move_on(group, &group.subscriptions(&gone, Some(updated)), moves_on, step);
        step.after.push(After::Consumer(ConsumerAfter::Refreshed { group: group.id.clone() }));
        if group.has_topics_record {
            step.records.push(records::topics_gone(&group.id));
        }
        epoch.unwrap_or(group.epoch)
    }

    /// The group's next epoch, if it is to have one or its topics are others than those of its hash.
    fn move_on(
        &self,
        group: &ConsumerGroup,
        subscriptions: &Subscriptions,
        moves_on: bool,
        step: &mut Step,
    ) -> Option<i32> {
        let hash = subscriptions.hash(&*self.topics, &self.topic_hashes);
        let epoch = (moves_on || hash != group.metadata_hash).then(|| group.epoch + 1)?;
        step.records.push(records::epoch(&group.id, epoch, hash));
        Some(epoch)
    }

    /// A look at the topics, if one is due: there is an expression that was never looked at or is no longer used, there may
    /// be new topics, or the last look was long ago. Never two at a time, nor soon after each other.
    fn search_that_is_due(
        &self,
        group: &ConsumerGroup,
        updated: &Member,
        has_new: bool,
        caller: &Caller,
        step: &Step,
    ) -> Option<ConsumerAfter> {
        let now_ms = step.now.wall_ms;
        let last_ms = group.regexes.values().map(|resolved| resolved.timestamp_ms).max();
        let is_over = |pause_ms: i64| last_ms.is_none_or(|last_ms| now_ms > last_ms.saturating_add(pause_ms));
        if group.soft.resolving.is_some() || !is_over(REGEX_PAUSE_MS_MIN) {
            return None;
        }
        let patterns: Vec<_> = group.subscriptions(&[], Some(updated)).regexes.into_keys().collect();
        let interval = self.config.consumer.regex_refresh_interval.as_millis();
        let is_due = has_new
            || patterns.len() != group.regexes.len()
            || group.soft.regexes_stale
            || is_over(i64::try_from(interval).unwrap_or(i64::MAX));
        (is_due && !patterns.is_empty()).then(|| ConsumerAfter::Search {
            group: group.id.clone(),
            task: caller.token,
            search: Search {
                patterns,
                topics: self.topics.clone(),
                may_describe: caller.may_describe.clone(),
                now_ms,
            },
        })
    }

    /// The pool has looked at the topics.
    pub(super) fn found(&mut self, found: Found, step: &mut Step) {
        let Some(group) = self.consumer_group_mut(found.group.as_str()) else { return };
        if group.soft.resolving.take_if(|task| *task == found.task).is_none() {
            return;
        }
        let Some(group) = self.consumer_group(found.group.as_str()) else { return };
        let mut subscriptions = group.subscriptions(&[], None);
        let mut is_news = false;
        for (pattern, resolved) in &found.regexes {
            // Nobody has it any more: it is not to be written again.
            if !subscriptions.regexes.contains_key(pattern) {
                continue;
            }
            let before = group.regexes.get(pattern);
            is_news |= subscriptions.rematch(before, resolved);
            step.records.push(records::regex(&group.id, pattern, resolved));
        }
        if self.move_on(group, &subscriptions, is_news, step).is_some() {
            step.after.push(After::Consumer(ConsumerAfter::Refreshed { group: group.id.clone() }));
        }
    }
}

impl Subscriptions {
    /// An expression matches other topics than before; false if the same.
    fn rematch(&mut self, before: Option<&Resolved>, now: &Resolved) -> bool {
        let none = Resolved::default();
        let before = before.unwrap_or(&none);
        for gone in before.topics.difference(&now.topics) {
            if let Some(wanted) = self.topics.get_mut(gone) {
                wanted.by_regex = wanted.by_regex.saturating_sub(1);
            }
        }
        for new in now.topics.difference(&before.topics) {
            self.topics.entry(new.clone()).or_default().by_regex += 1;
        }
        self.topics.retain(|_, wanted| wanted.by_name + wanted.by_regex > 0);
        before.topics != now.topics
    }
}
