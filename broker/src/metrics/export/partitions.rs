//! Partitions: how many, where they stand, how large they are, whether they can be used.

use std::sync::Arc;

use ottla_model::PartitionIndex;
use ottla_storage::TopicPartition;

use super::Scrape;
use crate::context::Broker;
use crate::metrics::page::{Family, Page};
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
