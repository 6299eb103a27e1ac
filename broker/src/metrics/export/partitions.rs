//! Partitions: how many, where they stand, how large they are, whether they can be used.

use std::sync::Arc;

use ottla_model::PartitionIndex;
use ottla_storage::TopicPartition;

use super::Scrape;
use crate::context::Broker;
use crate::metrics::page::{Family, Page};
use crate::partition::traffic::Traffic;
use crate::partition::{Partition, Positions};

/// One partition at the moment of a scrape.
pub(crate) struct Row {
    pub(crate) partition: Arc<Partition>,
    /// Its number as text.
    pub(crate) index: String,
    pub(crate) positions: Positions,
    /// Bytes of its segments.
    pub(crate) size_bytes: u64,
}

impl Row {
    fn of(partition: Arc<Partition>) -> Self {
        let log = partition.directory().log(partition.name());
        Self {
            index: partition.index().to_string(),
            positions: partition.positions(),
            size_bytes: log.map_or(0, |log| log.size_bytes()),
            partition,
        }
    }

    pub(crate) fn topic(&self) -> &str {
        self.partition.topic().as_str()
    }
}

/// All partitions held here, in the order of their names, so that a limit leaves out the same ones each time.
pub(crate) fn rows(broker: &Broker) -> Vec<Row> {
    let mut partitions = broker.partitions.all();
    partitions.sort_by(|a, b| a.name().cmp(b.name()));
    partitions.into_iter().map(Row::of).collect()
}

/// Partitions that the metadata has here and that nobody can read or write: no log is open, its directory is offline, or
/// nobody leads.
pub(crate) fn offline_partitions(broker: &Broker) -> Vec<TopicPartition> {
    let image = broker.image();
    let mut offline = Vec::new();
    for topic in image.topics() {
        let held = broker.partitions.topic_by_id(&topic.id);
        for (index, partition) in (0..).map(PartitionIndex::new).zip(&topic.partitions) {
            if !partition.replicas.contains(&broker.node_id) {
                continue;
            }
            let open = held.as_ref().and_then(|held| held.partition(index));
            if partition.leader.get() < 0 || open.is_none_or(|open| open.check_writable().is_err()) {
                offline.push(TopicPartition { topic: topic.name.clone(), partition: index });
            }
        }
    }
    offline
}

/// What came into and went out of all partitions of a topic that are held here.
#[derive(Debug, Clone, Default)]
pub(crate) struct TopicTraffic {
    pub(crate) appends: u64,
    pub(crate) appends_failed: u64,
    pub(crate) batches_in: u64,
    pub(crate) records_in: u64,
    pub(crate) bytes_in: u64,
    pub(crate) fetches: u64,
    pub(crate) fetches_failed: u64,
    pub(crate) bytes_out: u64,
}

impl TopicTraffic {
    fn add(&mut self, traffic: &Traffic, positions: &Positions) {
        let records = positions.log_end.get().saturating_sub(traffic.opened_end.get());
        self.appends += traffic.batches_in.get() + traffic.appends_failed.get();
        self.appends_failed += traffic.appends_failed.get();
        self.batches_in += traffic.batches_in.get();
        self.records_in += u64::try_from(records).unwrap_or(0);
        self.bytes_in += traffic.bytes_in.get();
        self.fetches += traffic.fetches.get();
        self.fetches_failed += traffic.fetches_failed.get();
        self.bytes_out += traffic.bytes_out.get();
    }
}

/// The rows by topic; they are in the order of their names.
pub(super) fn by_topic(rows: &[Row]) -> Vec<(String, TopicTraffic)> {
    let mut topics: Vec<(String, TopicTraffic)> = Vec::new();
    for row in rows {
        if topics.last().is_none_or(|(name, _)| name != row.topic()) {
            topics.push((row.topic().to_owned(), TopicTraffic::default()));
        }
        if let Some((_, traffic)) = topics.last_mut() {
            traffic.add(row.partition.traffic(), &row.positions);
        }
    }
    topics
}

/// By topic.
pub(super) fn traffic(scrape: &Scrape<'_>, page: &mut Page) {
    let each = |family: Family<'_>, value: &dyn Fn(&TopicTraffic) -> u64| {
        let mut family = family.limited();
        for (topic, traffic) in &scrape.topics {
            family.sample(&[("topic", topic)], value(traffic));
        }
    };
    let family = page.counter("ottla_topic_records_in_total", "Records that were appended.");
    each(family, &|topic| topic.records_in);
    let family = page.counter("ottla_topic_batches_in_total", "Batches that were appended.");
    each(family, &|topic| topic.batches_in);
    let family = page.counter("ottla_topic_bytes_in_total", "Bytes of batches that were appended.");
    each(family, &|topic| topic.bytes_in);
    let family = page.counter("ottla_topic_bytes_out_total", "Bytes of batches in answers to fetches.");
    each(family, &|topic| topic.bytes_out);
    let family = page.counter("ottla_topic_appends_failed_total", "Appends that failed.");
    each(family, &|topic| topic.appends_failed);
    let family = page.counter("ottla_topic_fetches_total", "Answers to fetches, one a partition.");
    each(family, &|topic| topic.fetches);
    let family =
        page.counter("ottla_topic_fetches_failed_total", "Fetches of a partition that were refused.");
    each(family, &|topic| topic.fetches_failed);
}

/// How many there are.
pub(super) fn counts(scrape: &Scrape<'_>, page: &mut Page) {
    let image = scrape.broker.image();
    page.one_gauge("ottla_topics", "Topics that the metadata knows.", image.topic_count());
    page.one_gauge("ottla_partitions", "Partitions that the metadata knows.", image.partition_count());
    page.one_gauge("ottla_partitions_held", "Partitions whose log is open here.", scrape.rows.len());
    page.one_gauge(
        "ottla_partitions_offline",
        "Partitions that belong here and that nobody can read or write.",
        scrape.offline.len(),
    );
}

/// Where each one stands.
pub(super) fn each(scrape: &Scrape<'_>, page: &mut Page) {
    let rows = &scrape.rows;
    let each = |family: Family<'_>, value: &dyn Fn(&Row) -> i64| {
        let mut family = family.limited();
        for row in rows {
            family.sample(&[("topic", row.topic()), ("partition", &row.index)], value(row));
        }
    };
    let family = page.gauge("ottla_log_start_offset", "The first offset that can be read.");
    each(family, &|row| row.positions.log_start.get());
    let family = page.gauge("ottla_log_end_offset", "The first offset that is not written.");
    each(family, &|row| row.positions.log_end.get());
    let family = page.gauge("ottla_log_high_watermark", "The end of what consumers see.");
    each(family, &|row| row.positions.high_watermark.get());
    let family =
        page.gauge("ottla_log_last_stable_offset", "The end of what consumers of committed records see.");
    each(family, &|row| row.positions.last_stable.get());
    let family = page.gauge("ottla_log_size_bytes", "Bytes of the segments.");
    each(family, &|row| i64::try_from(row.size_bytes).unwrap_or(i64::MAX));
}
