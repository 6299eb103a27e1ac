//! Groups: how many, in which state, how far behind.

use std::collections::BTreeMap;

use ottla_model::{GroupId, TopicName};

use super::Scrape;
use crate::machine_host::lag::GroupLag;
use crate::metrics::page::{Family, Page};

/// How many groups and members there are.
pub(super) fn groups(scrape: &Scrape<'_>, page: &mut Page) {
    let census = &scrape.census;
    let mut family = page.gauge("ottla_groups", "Groups by protocol and state.");
    for ((kind, state), count) in census.by_state() {
        family.sample(&[("protocol", kind), ("state", state)], count);
    }
    let mut family = page.gauge("ottla_group_members", "Members of each group.").limited();
    for group in &census.groups {
        family.sample(&[("group", group.id.as_str())], group.members);
    }
    page.one_gauge("ottla_group_offsets", "Committed offsets of all groups.", census.offsets);
    let mut family = page.gauge(
        "ottla_coordinator_partitions",
        "Partitions of __consumer_offsets that are coordinated here, by whether they serve or are still loaded.",
    );
    family.sample(&[("state", "serving")], census.serving);
    family.sample(&[("state", "loading")], census.loading);
}

/// How far each group is behind.
pub(super) fn lags(scrape: &Scrape<'_>, page: &mut Page) {
    let each = |family: Family<'_>, value: &dyn Fn(&GroupLag) -> Option<f64>| {
        let mut family = family.limited();
        for lag in &scrape.lags {
            if let Some(value) = value(lag) {
                let partition = lag.partition.to_string();
                let labels = [
                    ("group", lag.group.as_str()),
                    ("topic", lag.topic.as_str()),
                    ("partition", partition.as_str()),
                ];
                family.sample(&labels, value);
            }
        }
    };
    let family = page.gauge(
        "ottla_group_committed_offset",
        "The offset that the group has committed: what it reads next.",
    );
    each(family, &|lag| Some(lag.committed.get() as f64));
    let family = page.gauge(
        "ottla_group_lag_records",
        "Records between a group's committed offset and the high watermark.",
    );
    each(family, &|lag| lag.ends.map(|ends| ends.records as f64));
    let family = page.gauge(
        "ottla_group_lag_seconds",
        "How long ago the first record was written that a group has not consumed, by the log's timestamps.",
    );
    each(family, &|lag| Some(lag.ends?.behind_ms? as f64 / 1000.0));
    let mut family = page
        .gauge("ottla_group_lag_records_max", "The largest lag of a group in any of its partitions.")
        .limited();
    let mut largest: BTreeMap<&GroupId, u64> = BTreeMap::new();
    for (lag, ends) in scrape.lags.iter().filter_map(|lag| Some((lag, lag.ends?))) {
        let known = largest.entry(&lag.group).or_default();
        *known = ends.records.max(*known);
    }
    for (group, records) in largest {
        family.sample(&[("group", group.as_str())], records);
    }
}

/// Sums over the partitions of each group and topic: the committed offsets, and the lags as far as they are known.
pub(super) fn sums(lags: &[GroupLag]) -> BTreeMap<(&GroupId, &TopicName), (i64, u64)> {
    let mut sums: BTreeMap<_, (i64, u64)> = BTreeMap::new();
    for lag in lags {
        let sum = sums.entry((&lag.group, &lag.topic)).or_default();
        sum.0 += lag.committed.get();
        sum.1 += lag.ends.map_or(0, |ends| ends.records);
    }
    sums
}
