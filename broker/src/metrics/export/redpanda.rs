//! The names of Redpanda's public metrics (`metrics.compat=redpanda`), as far as its dashboards query them and we have the
//! numbers: records of fetches are not counted here, since that would take a look into every batch that is sent.

use std::collections::{BTreeMap, BTreeSet};

use super::Scrape;
use super::groups::sums;
use crate::metrics::page::{Label, Page};
use crate::metrics::requests;

const NAMESPACE: Label<'static> = ("redpanda_namespace", "kafka");

/// All of them.
pub(super) fn redpanda(scrape: &Scrape<'_>, page: &mut Page) {
    if scrape.broker.config.http.compat.redpanda {
        cluster(scrape, page);
        traffic(scrape, page);
        topics(scrape, page);
        groups(scrape, page);
    }
}

fn cluster(scrape: &Scrape<'_>, page: &mut Page) {
    let image = scrape.broker.image();
    let mut gauge = |name, help, value: usize| page.one_gauge(name, help, value);
    gauge("redpanda_cluster_brokers", "Brokers.", image.brokers().count());
    gauge("redpanda_cluster_topics", "Topics.", image.topic_count());
    gauge("redpanda_cluster_partitions", "Partitions.", image.partition_count());
    gauge("redpanda_cluster_unavailable_partitions", "Partitions that nobody can use.", scrape.offline.len());
    let uptime = scrape.broker.metrics.started().elapsed().as_secs_f64();
    page.one_gauge(
        "redpanda_application_uptime_seconds_total",
        "How long ago the broker was started.",
        uptime,
    );
    let spaces: Vec<_> = scrape.broker.log_dirs.states().filter_map(|state| state.space).collect();
    let free: u64 = spaces.iter().map(|space| space.usable_bytes).sum();
    let total: u64 = spaces.iter().map(|space| space.total_bytes).sum();
    page.one_gauge("redpanda_storage_disk_free_bytes", "Free bytes of the log directories' volumes.", free);
    page.one_gauge("redpanda_storage_disk_total_bytes", "Bytes of the log directories' volumes.", total);
}

fn traffic(scrape: &Scrape<'_>, page: &mut Page) {
    let apis = requests::by_api(scrape.broker.metrics.reactors());
    let mut family = page.histogram(
        "redpanda_kafka_request_latency_seconds",
        "From the receipt of a request until its answer has left, without the time for which it asked to wait.",
    );
    for (name, api) in [("produce", "Produce"), ("consume", "Fetch")] {
        if let Some(sum) = apis.iter().find(|sum| sum.api.api().name == api) {
            family.durations(&[("redpanda_request", name)], &sum.total);
        }
    }
    let mut family =
        page.counter("redpanda_kafka_request_bytes_total", "Bytes of records by topic.").limited();
    for (topic, traffic) in &scrape.topics {
        for (request, bytes) in [("produce", traffic.bytes_in), ("consume", traffic.bytes_out)] {
            family.sample(&[NAMESPACE, ("redpanda_topic", topic), ("redpanda_request", request)], bytes);
        }
    }
    let mut family =
        page.counter("redpanda_kafka_records_produced_total", "Records that were appended.").limited();
    for (topic, traffic) in &scrape.topics {
        family.sample(&[NAMESPACE, ("redpanda_topic", topic)], traffic.records_in);
    }
}

fn topics(scrape: &Scrape<'_>, page: &mut Page) {
    let image = scrape.broker.image();
    let mut family = page.gauge("redpanda_kafka_max_offset", "The high watermark.").limited();
    for row in &scrape.rows {
        let labels = [NAMESPACE, ("redpanda_topic", row.topic()), ("redpanda_partition", row.index.as_str())];
        family.sample(&labels, row.positions.high_watermark.get());
    }
    let mut family =
        page.gauge("redpanda_kafka_under_replicated_replicas", "Replicas that are not in sync.").limited();
    for row in &scrape.rows {
        let leadership = row.partition.leadership();
        let labels = [NAMESPACE, ("redpanda_topic", row.topic()), ("redpanda_partition", row.index.as_str())];
        family.sample(&labels, leadership.replicas.saturating_sub(leadership.in_sync));
    }
    let mut names: Vec<_> = image.topics().collect();
    names.sort_by(|a, b| a.name.cmp(&b.name));
    let mut family = page.gauge("redpanda_kafka_partitions", "Partitions of a topic.").limited();
    for topic in &names {
        family.sample(&[NAMESPACE, ("redpanda_topic", topic.name.as_str())], topic.partitions.len());
    }
    let mut family = page.gauge("redpanda_kafka_replicas", "Replicas of a topic's partitions.").limited();
    for topic in &names {
        let replicas = topic.partitions.first().map_or(0, |partition| partition.replicas.len());
        family.sample(&[NAMESPACE, ("redpanda_topic", topic.name.as_str())], replicas);
    }
}

fn groups(scrape: &Scrape<'_>, page: &mut Page) {
    let mut family = page
        .gauge("redpanda_kafka_consumer_group_committed_offset", "The offset that a group has committed.")
        .limited();
    for lag in &scrape.lags {
        let index = lag.partition.to_string();
        let labels = [
            ("redpanda_group", lag.group.as_str()),
            ("redpanda_topic", lag.topic.as_str()),
            ("redpanda_partition", index.as_str()),
        ];
        family.sample(&labels, lag.committed.get());
    }
    let mut family = page.gauge("redpanda_kafka_consumer_group_consumers", "Members of a group.").limited();
    for group in &scrape.census.groups {
        family.sample(&[("redpanda_group", group.id.as_str())], group.members);
    }
    let mut topics: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let mut largest: BTreeMap<_, u64> = BTreeMap::new();
    let mut total: BTreeMap<_, u64> = BTreeMap::new();
    for ((group, topic), (_, records)) in sums(&scrape.lags) {
        topics.entry(group).or_default().insert(topic);
        *total.entry(group).or_default() += records;
    }
    for (lag, ends) in scrape.lags.iter().filter_map(|lag| Some((lag, lag.ends?))) {
        let known = largest.entry(&lag.group).or_default();
        *known = ends.records.max(*known);
    }
    let mut family =
        page.gauge("redpanda_kafka_consumer_group_topics", "Topics of which a group has offsets.").limited();
    for (group, topics) in topics {
        family.sample(&[("redpanda_group", group.as_str())], topics.len());
    }
    let mut each = |name, help, values: BTreeMap<&ottla_model::GroupId, u64>| {
        let mut family = page.gauge(name, help).limited();
        for (group, value) in values {
            family.sample(&[("redpanda_group", group.as_str())], value);
        }
    };
    each("redpanda_kafka_consumer_group_lag_max", "The largest lag of a group in a partition.", largest);
    each("redpanda_kafka_consumer_group_lag_sum", "The sum of a group's lags.", total);
}
