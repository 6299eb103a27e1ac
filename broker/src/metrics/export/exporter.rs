//! The names of kafka_exporter (`metrics.compat=kafka_exporter`), for dashboards that query them, such as Grafana's 7589.
//! What it would find by asking as a client stands here without a second process.

use super::Scrape;
use super::groups::sums;
use super::partitions::Row;
use crate::metrics::page::{Family, Page};

/// All of them.
pub(super) fn exporter(scrape: &Scrape<'_>, page: &mut Page) {
    if scrape.broker.config.http.compat.kafka_exporter {
        brokers(scrape, page);
        topics(scrape, page);
        partitions(scrape, page);
        groups(scrape, page);
    }
}

fn brokers(scrape: &Scrape<'_>, page: &mut Page) {
    let image = scrape.broker.image();
    page.one_gauge("kafka_brokers", "Number of Brokers in the Kafka Cluster.", image.brokers().count());
    let mut family = page.gauge("kafka_broker_info", "Information about the Kafka Broker.");
    for broker in image.brokers() {
        if let Some(endpoint) = broker.endpoints.first() {
            let address = format!("{}:{}", endpoint.host, endpoint.port);
            family.sample(&[("address", &address), ("id", &broker.id.to_string())], 1_u64);
        }
    }
}

fn topics(scrape: &Scrape<'_>, page: &mut Page) {
    let image = scrape.broker.image();
    let mut topics: Vec<_> = image.topics().collect();
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    let mut family = page.gauge("kafka_topic_partitions", "Number of partitions for this Topic").limited();
    for topic in topics {
        family.sample(&[("topic", topic.name.as_str())], topic.partitions.len());
    }
}

fn partitions(scrape: &Scrape<'_>, page: &mut Page) {
    let image = scrape.broker.image();
    let each = |family: Family<'_>, value: &dyn Fn(&Row) -> Option<i64>| {
        let mut family = family.limited();
        for row in &scrape.rows {
            if let Some(value) = value(row) {
                family.sample(&[("partition", row.index.as_str()), ("topic", row.topic())], value);
            }
        }
    };
    let of_image = |row: &Row| image.partition(row.topic(), row.partition.index());
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let family =
        page.gauge("kafka_topic_partition_current_offset", "Current Offset of a Broker at Topic/Partition");
    each(family, &|row| Some(row.positions.high_watermark.get()));
    let family =
        page.gauge("kafka_topic_partition_oldest_offset", "Oldest Offset of a Broker at Topic/Partition");
    each(family, &|row| Some(row.positions.log_start.get()));
    let family = page.gauge(
        "kafka_topic_partition_in_sync_replica",
        "Number of In-Sync Replicas for this Topic/Partition",
    );
    each(family, &|row| Some(count(of_image(row)?.isr.len())));
    let family = page.gauge("kafka_topic_partition_leader", "Leader Broker ID of this Topic/Partition");
    each(family, &|row| Some(i64::from(of_image(row)?.leader.get())));
    let family = page.gauge(
        "kafka_topic_partition_leader_is_preferred",
        "1 if Topic/Partition is using the Preferred Broker",
    );
    each(family, &|row| {
        let partition = of_image(row)?;
        Some(i64::from(partition.replicas.first() == Some(&partition.leader)))
    });
    let family = page.gauge("kafka_topic_partition_replicas", "Number of Replicas for this Topic/Partition");
    each(family, &|row| Some(count(of_image(row)?.replicas.len())));
    let family = page.gauge(
        "kafka_topic_partition_under_replicated_partition",
        "1 if Topic/Partition is under Replicated",
    );
    each(family, &|row| {
        let partition = of_image(row)?;
        Some(i64::from(partition.isr.len() < partition.replicas.len()))
    });
}

fn groups(scrape: &Scrape<'_>, page: &mut Page) {
    let mut family = page
        .gauge("kafka_consumergroup_current_offset", "Current Offset of a ConsumerGroup at Topic/Partition")
        .limited();
    let indexes: Vec<String> = scrape.lags.iter().map(|lag| lag.partition.to_string()).collect();
    for (lag, index) in scrape.lags.iter().zip(&indexes) {
        let labels =
            [("consumergroup", lag.group.as_str()), ("partition", index), ("topic", lag.topic.as_str())];
        family.sample(&labels, lag.committed.get());
    }
    let mut family = page
        .gauge("kafka_consumergroup_lag", "Current Approximate Lag of a ConsumerGroup at Topic/Partition")
        .limited();
    for (lag, index) in scrape.lags.iter().zip(&indexes) {
        let labels =
            [("consumergroup", lag.group.as_str()), ("partition", index), ("topic", lag.topic.as_str())];
        if let Some(ends) = lag.ends {
            family.sample(&labels, ends.records);
        }
    }
    let sums = sums(&scrape.lags);
    let mut family = page
        .gauge(
            "kafka_consumergroup_current_offset_sum",
            "Current Offset of a ConsumerGroup at Topic for all partitions",
        )
        .limited();
    for ((group, topic), (offsets, _)) in &sums {
        family.sample(&[("consumergroup", group.as_str()), ("topic", topic.as_str())], *offsets);
    }
    let mut family = page
        .gauge(
            "kafka_consumergroup_lag_sum",
            "Current Approximate Lag of a ConsumerGroup at Topic for all partitions",
        )
        .limited();
    for ((group, topic), (_, records)) in &sums {
        family.sample(&[("consumergroup", group.as_str()), ("topic", topic.as_str())], *records);
    }
    let mut family =
        page.gauge("kafka_consumergroup_members", "Amount of members in a consumer group").limited();
    for group in &scrape.census.groups {
        family.sample(&[("consumergroup", group.id.as_str())], group.members);
    }
}
