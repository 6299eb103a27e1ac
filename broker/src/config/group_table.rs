//! The table of what a single group can be told (`kafka-configs --entity-type groups`), each with the broker property
//! that gives the value where the group has none, and the bounds that the broker sets to it.

use super::broker::BrokerConfig;
use super::property::{Effect, INT_MAX, Kind, Property, Scope, Value};

/// A group property, and the broker's that stands behind it.
#[derive(Debug, Clone, Copy)]
pub struct GroupProperty {
    /// The property itself.
    pub property: Property,
    /// The broker property that gives the value where the group has none.
    pub broker: Option<&'static str>,
    /// The broker's properties that say how small and how large a group's value may be.
    pub range: (Option<&'static str>, Option<&'static str>),
}

const fn row(name: &'static str, kind: Kind, default: &'static str) -> GroupProperty {
    GroupProperty {
        property: Property::new(name, kind, Some(default)).of(Scope::Group),
        broker: None,
        range: (None, None),
    }
}

impl GroupProperty {
    const fn from(self, broker: &'static str) -> Self {
        Self { broker: Some(broker), ..self }
    }

    const fn within(self, min: &'static str, max: &'static str) -> Self {
        Self { range: (Some(min), Some(max)), ..self }
    }

    const fn at_most(self, max: &'static str) -> Self {
        Self { range: (None, Some(max)), ..self }
    }

    const fn acts(self, doc: &'static str) -> Self {
        Self { property: self.property.acts(doc), ..self }
    }
}

impl GroupProperty {
    /// Whether a group may have this value.
    ///
    /// # Errors
    /// The message for the client.
    pub(super) fn check(&self, text: &str, broker: &BrokerConfig) -> Result<(), String> {
        let name = self.property.name;
        let value = self.property.parse(text).map_err(|invalid| String::from(invalid.kafka))?;
        if self.property.effect != Effect::Acts {
            return Err(format!(
                "The group config {name} cannot be set: this version does not act on it yet."
            ));
        }
        let Value::Number(number) = value else { return Ok(()) };
        let bound = |key: Option<&str>| key.map(|key| broker.settings().number(key));
        match (bound(self.range.0), bound(self.range.1)) {
            (Some(min), Some(max)) if !(min..=max).contains(&number) => {
                Err(format!("{name} must be in the range {min} to {max} inclusive."))
            }
            (None, Some(max)) if number > max => Err(format!("{name} must be less than or equal to {max}")),
            _ => Ok(()),
        }
    }
}

const MS: Kind = Kind::Int(1, INT_MAX);
const MS_OR_0: Kind = Kind::Int(0, INT_MAX);

/// The group properties of Kafka 4.4 in the order of their names.
pub static GROUP_PROPERTIES: &[GroupProperty] = &[
    row("consumer.assignment.interval.ms", MS_OR_0, "1000")
        .from("group.consumer.assignment.interval.ms")
        .within("group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms")
        .acts("How long after an assignment the consumer group gets its next one at the soonest."),
    row("consumer.heartbeat.interval.ms", MS, "5000")
        .from("group.consumer.heartbeat.interval.ms")
        .within("group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms")
        .acts("How often a member of the consumer group is told to report."),
    row("consumer.session.timeout.ms", MS, "45000")
        .from("group.consumer.session.timeout.ms")
        .within("group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms")
        .acts("How long a member of the consumer group may be silent."),
    row("errors.deadletterqueue.copy.record.enable", Kind::Boolean, "false"),
    row("errors.deadletterqueue.topic.name", Kind::Text, ""),
    row("share.assignment.interval.ms", MS_OR_0, "1000")
        .from("group.share.assignment.interval.ms")
        .within("group.share.min.assignment.interval.ms", "group.share.max.assignment.interval.ms"),
    row("share.auto.offset.reset", Kind::OffsetReset, "latest"),
    row("share.delivery.count.limit", Kind::Int(2, INT_MAX), "5")
        .from("group.share.delivery.count.limit")
        .within("group.share.min.delivery.count.limit", "group.share.max.delivery.count.limit"),
    row("share.heartbeat.interval.ms", MS, "5000")
        .from("group.share.heartbeat.interval.ms")
        .within("group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"),
    row("share.isolation.level", Kind::OneOf(&["read_committed", "read_uncommitted"]), "read_uncommitted"),
    row("share.partition.max.record.locks", Kind::Int(100, INT_MAX), "2000")
        .from("group.share.partition.max.record.locks")
        .within("group.share.min.partition.max.record.locks", "group.share.max.partition.max.record.locks"),
    row("share.record.lock.duration.ms", Kind::Int(1000, INT_MAX), "30000")
        .from("group.share.record.lock.duration.ms")
        .within("group.share.min.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"),
    row("share.renew.acknowledge.enable", Kind::Boolean, "true"),
    row("share.session.timeout.ms", MS, "45000")
        .from("group.share.session.timeout.ms")
        .within("group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"),
    row("streams.assignment.interval.ms", MS_OR_0, "1000")
        .from("group.streams.assignment.interval.ms")
        .within("group.streams.min.assignment.interval.ms", "group.streams.max.assignment.interval.ms"),
    row("streams.assignor.name", Kind::Text, "sticky").from("group.streams.assignors"),
    row("streams.heartbeat.interval.ms", MS, "5000")
        .from("group.streams.heartbeat.interval.ms")
        .within("group.streams.min.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"),
    row("streams.initial.rebalance.delay.ms", MS_OR_0, "3000")
        .from("group.streams.initial.rebalance.delay.ms"),
    row("streams.num.standby.replicas", MS_OR_0, "0")
        .from("group.streams.num.standby.replicas")
        .at_most("group.streams.max.standby.replicas"),
    row("streams.rack.aware.assignment.tags", Kind::List, "")
        .from("group.streams.rack.aware.assignment.tags"),
    row("streams.session.timeout.ms", MS, "45000")
        .from("group.streams.session.timeout.ms")
        .within("group.streams.min.session.timeout.ms", "group.streams.max.session.timeout.ms"),
];

/// The group property of this name.
pub(super) fn find(key: &str) -> Option<&'static GroupProperty> {
    let at = GROUP_PROPERTIES.binary_search_by(|row| row.property.name.cmp(key)).ok()?;
    GROUP_PROPERTIES.get(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::find as find_broker;

    #[test]
    fn the_table_is_sorted_and_what_stands_behind_it_exists() {
        assert!(GROUP_PROPERTIES.is_sorted_by(|a, b| a.property.name < b.property.name));
        for row in GROUP_PROPERTIES {
            row.property.parse(row.property.default.unwrap()).unwrap();
            for name in [row.broker, row.range.0, row.range.1].into_iter().flatten() {
                assert!(find_broker(name).is_some(), "{name}");
            }
        }
    }
}
