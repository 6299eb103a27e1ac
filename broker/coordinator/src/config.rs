//! The settings of groups, as plain values: the broker parses its properties and the groups' own and hands them in. The
//! defaults are Kafka's.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use ottla_model::GroupId;

/// Which of the two protocols may take a group over from the other (`group.consumer.migration.policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MigrationPolicy {
    /// Both ways.
    #[default]
    Bidirectional,
    /// From the classic protocol to the newer one.
    Upgrade,
    /// From the newer protocol to the classic one.
    Downgrade,
    /// Neither way while the group has members.
    Disabled,
}

impl MigrationPolicy {
    /// Whether a classic group with members may become one of the newer protocol.
    #[must_use]
    pub const fn allows_upgrade(self) -> bool {
        matches!(self, Self::Bidirectional | Self::Upgrade)
    }

    /// Whether a group of the newer protocol may become a classic one.
    #[must_use]
    pub const fn allows_downgrade(self) -> bool {
        matches!(self, Self::Bidirectional | Self::Downgrade)
    }
}

/// Of classic groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassicConfig {
    /// `group.min.session.timeout.ms`.
    pub session_timeout_ms_min: i32,
    /// `group.max.session.timeout.ms`.
    pub session_timeout_ms_max: i32,
    /// `group.initial.rebalance.delay.ms`: how long an empty group waits for more members than the first.
    pub initial_rebalance_delay: Duration,
    /// `group.max.size`, in members.
    pub members_max: usize,
}

/// Of consumer groups of the newer protocol (KIP-848). A group can have its own of some: [`GroupOverrides`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerConfig {
    /// `group.consumer.session.timeout.ms`.
    pub session_timeout: Duration,
    /// `group.consumer.min.session.timeout.ms`.
    pub session_timeout_min: Duration,
    /// `group.consumer.max.session.timeout.ms`.
    pub session_timeout_max: Duration,
    /// `group.consumer.heartbeat.interval.ms`.
    pub heartbeat_interval: Duration,
    /// `group.consumer.min.heartbeat.interval.ms`.
    pub heartbeat_interval_min: Duration,
    /// `group.consumer.max.heartbeat.interval.ms`.
    pub heartbeat_interval_max: Duration,
    /// `group.consumer.assignment.interval.ms`: how long after an assignment the next one is made at the soonest.
    pub assignment_interval: Duration,
    /// `group.consumer.min.assignment.interval.ms`.
    pub assignment_interval_min: Duration,
    /// `group.consumer.max.assignment.interval.ms`.
    pub assignment_interval_max: Duration,
    /// `group.consumer.regex.refresh.interval.ms`.
    pub regex_refresh_interval: Duration,
    /// `group.consumer.max.size`, in members.
    pub members_max: usize,
    /// `group.consumer.assignors`, the default one first.
    pub assignors: Vec<CompactString>,
    /// `group.consumer.migration.policy`.
    pub migration: MigrationPolicy,
}

/// Of committed offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetsConfig {
    /// `offset.metadata.max.bytes`. Kafka counts characters (UTF-16 units), and so does this.
    pub metadata_chars_max: usize,
    /// `offsets.retention.minutes`.
    pub retention: Duration,
    /// `offsets.retention.check.interval.ms`.
    pub retention_check_interval: Duration,
}

/// What one group sets for itself (config resource type 32).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupOverrides {
    /// `consumer.session.timeout.ms`.
    pub session_timeout: Option<Duration>,
    /// `consumer.heartbeat.interval.ms`.
    pub heartbeat_interval: Option<Duration>,
    /// `consumer.assignment.interval.ms`.
    pub assignment_interval: Option<Duration>,
}

/// All settings; exchanged whole when one changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupConfig {
    /// Of classic groups.
    pub classic: ClassicConfig,
    /// Of consumer groups.
    pub consumer: ConsumerConfig,
    /// Of committed offsets.
    pub offsets: OffsetsConfig,
    /// Those of single groups.
    pub overrides: Arc<HashMap<GroupId, GroupOverrides>>,
}

impl GroupConfig {
    /// How long a member of this consumer group may be silent: the group's own value or the broker's, within the
    /// broker's bounds.
    #[must_use]
    pub fn consumer_session_timeout(&self, group: &str) -> Duration {
        let own = self.overrides.get(group).and_then(|own| own.session_timeout);
        let consumer = &self.consumer;
        within(
            own.unwrap_or(consumer.session_timeout),
            consumer.session_timeout_min,
            consumer.session_timeout_max,
        )
    }

    /// How long a member of this consumer group waits between heartbeats.
    #[must_use]
    pub fn consumer_heartbeat_interval(&self, group: &str) -> Duration {
        let own = self.overrides.get(group).and_then(|own| own.heartbeat_interval);
        let consumer = &self.consumer;
        within(
            own.unwrap_or(consumer.heartbeat_interval),
            consumer.heartbeat_interval_min,
            consumer.heartbeat_interval_max,
        )
    }

    /// How long after an assignment of this consumer group the next one is made at the soonest.
    #[must_use]
    pub fn consumer_assignment_interval(&self, group: &str) -> Duration {
        let own = self.overrides.get(group).and_then(|own| own.assignment_interval);
        let consumer = &self.consumer;
        within(
            own.unwrap_or(consumer.assignment_interval),
            consumer.assignment_interval_min,
            consumer.assignment_interval_max,
        )
    }
}

/// As `clamp`, which panics where a minimum is above its maximum.
fn within(value: Duration, min: Duration, max: Duration) -> Duration {
    value.min(max).max(min)
}

impl Default for ClassicConfig {
    fn default() -> Self {
        Self {
            session_timeout_ms_min: 6_000,
            session_timeout_ms_max: 1_800_000,
            initial_rebalance_delay: Duration::from_secs(3),
            members_max: usize::MAX,
        }
    }
}

impl Default for ConsumerConfig {
    fn default() -> Self {
        Self {
            session_timeout: Duration::from_secs(45),
            session_timeout_min: Duration::from_secs(45),
            session_timeout_max: Duration::from_secs(60),
            heartbeat_interval: Duration::from_secs(5),
            heartbeat_interval_min: Duration::from_secs(5),
            heartbeat_interval_max: Duration::from_secs(15),
            assignment_interval: Duration::from_secs(1),
            assignment_interval_min: Duration::ZERO,
            assignment_interval_max: Duration::from_secs(15),
            regex_refresh_interval: Duration::from_secs(600),
            members_max: usize::MAX,
            assignors: vec!["uniform".into(), "range".into()],
            migration: MigrationPolicy::Bidirectional,
        }
    }
}

impl Default for OffsetsConfig {
    fn default() -> Self {
        Self {
            metadata_chars_max: 4096,
            retention: Duration::from_secs(7 * 24 * 60 * 60),
            retention_check_interval: Duration::from_secs(600),
        }
    }
}
