//! The names that the JMX exporter gives to Kafka's own beans by the rules of its examples (`metrics.compat=jmx`), as far as
//! dashboards query them. Times are in milliseconds there.

use super::Scrape;
use super::partitions::{Row, TopicTraffic};
use crate::metrics::page::{Family, Page};
use crate::metrics::requests::{self, ApiSum, Phase};

/// The shares for which Kafka's beans have a time.
const QUANTILES: [(&str, f64); 6] =
    [("0.50", 0.5), ("0.75", 0.75), ("0.95", 0.95), ("0.98", 0.98), ("0.99", 0.99), ("0.999", 0.999)];

/// All of them.
pub(super) fn jmx(scrape: &Scrape<'_>, page: &mut Page) {
    if scrape.broker.config.http.compat.jmx {
        topics(scrape, page);
        replicas(scrape, page);
        controller(scrape, page);
        requests_of_kafka(scrape, page);
        logs(scrape, page);
    }
}

/// One counter of the whole broker, and then one of each topic.
fn topics(scrape: &Scrape<'_>, page: &mut Page) {
    let each = |family: Family<'_>, value: &dyn Fn(&TopicTraffic) -> u64| {
        let mut family = family.limited();
        family.sample(&[], scrape.topics.iter().map(|(_, traffic)| value(traffic)).sum::<u64>());
        for (topic, traffic) in &scrape.topics {
            family.sample(&[("topic", topic)], value(traffic));
        }
    };
    let counter = |page: &mut Page, name, value: &dyn Fn(&TopicTraffic) -> u64| {
        each(page.counter(name, "As in Kafka's BrokerTopicMetrics."), value);
    };
    counter(page, "kafka_server_brokertopicmetrics_messagesin_total", &|topic| topic.records_in);
    counter(page, "kafka_server_brokertopicmetrics_bytesin_total", &|topic| topic.bytes_in);
    counter(page, "kafka_server_brokertopicmetrics_bytesout_total", &|topic| topic.bytes_out);
    counter(page, "kafka_server_brokertopicmetrics_totalproducerequests_total", &|topic| topic.appends);
    counter(page, "kafka_server_brokertopicmetrics_failedproducerequests_total", &|topic| {
        topic.appends_failed
    });
    counter(page, "kafka_server_brokertopicmetrics_totalfetchrequests_total", &|topic| {
        topic.fetches + topic.fetches_failed
    });
    counter(page, "kafka_server_brokertopicmetrics_failedfetchrequests_total", &|topic| topic.fetches_failed);
}

fn replicas(scrape: &Scrape<'_>, page: &mut Page) {
    let leaders = scrape.rows.iter().filter(|row| row.partition.leadership().here).count();
    let under = scrape.rows.iter().filter(|row| {
        let leadership = row.partition.leadership();
        leadership.here && leadership.in_sync < leadership.replicas
    });
    let mut gauge = |name, value: usize| page.one_gauge(name, "As in Kafka's ReplicaManager.", value);
    gauge("kafka_server_replicamanager_underreplicatedpartitions", under.count());
    gauge("kafka_server_replicamanager_partitioncount", scrape.rows.len());
    gauge("kafka_server_replicamanager_leadercount", leaders);
    gauge("kafka_server_replicamanager_offlinereplicacount", scrape.offline.len());
    page.one_gauge(
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
        "The share of time since the last look in which the reactors did nothing, from 0 to 1.",
        scrape.idle_share,
    );
}

fn controller(scrape: &Scrape<'_>, page: &mut Page) {
    let image = scrape.broker.image();
    let mut gauge = |name, value: usize| page.one_gauge(name, "As in Kafka's KafkaController.", value);
    gauge("kafka_controller_kafkacontroller_activecontrollercount", 1);
    gauge("kafka_controller_kafkacontroller_offlinepartitionscount", scrape.offline.len());
    gauge("kafka_controller_kafkacontroller_globaltopiccount", image.topic_count());
    gauge("kafka_controller_kafkacontroller_globalpartitioncount", image.partition_count());
    gauge("kafka_controller_kafkacontroller_activebrokercount", image.brokers().count());
}

/// Kafka tells fetches of consumers and of followers apart; here all are consumers'.
fn names(sum: &ApiSum) -> &'static [&'static str] {
    match sum.api.api().name {
        "Fetch" => &["Fetch", "FetchConsumer"],
        _ => &[],
    }
}

fn requests_of_kafka(scrape: &Scrape<'_>, page: &mut Page) {
    let apis = requests::by_api(scrape.broker.metrics.reactors());
    let mut family = page
        .counter("kafka_network_requestmetrics_requests_total", "As in Kafka's RequestMetrics, by version.");
    for_each(&apis, &mut |request, sum| {
        for (version, count) in &sum.versions {
            family.sample(&[("request", request), ("version", &version.to_string())], *count);
        }
    });
    times(page, &apis, "kafka_network_requestmetrics_totaltimems", &|sum| &sum.total);
    for (name, phase) in [
        ("kafka_network_requestmetrics_requestqueuetimems", Phase::Queue),
        ("kafka_network_requestmetrics_localtimems", Phase::Local),
        ("kafka_network_requestmetrics_remotetimems", Phase::Wait),
        ("kafka_network_requestmetrics_responsesendtimems", Phase::Send),
    ] {
        times(page, &apis, name, &|sum| &sum.phases[phase as usize]);
    }
}

fn for_each(apis: &[ApiSum], each: &mut dyn FnMut(&'static str, &ApiSum)) {
    for sum in apis {
        match names(sum) {
            [] => each(sum.api.api().name, sum),
            several => several.iter().for_each(|name| each(name, sum)),
        }
    }
}

fn times(
    page: &mut Page,
    apis: &[ApiSum],
    name: &'static str,
    durations: &dyn Fn(&ApiSum) -> &crate::metrics::HistogramSnapshot,
) {
    let mut family =
        page.gauge(name, "Milliseconds as in Kafka's RequestMetrics, of all requests since the start.");
    for_each(apis, &mut |request, sum| {
        for (label, share) in QUANTILES {
            if let Some(seconds) = durations(sum).quantile(share) {
                family.sample(&[("request", request), ("quantile", label)], seconds * 1000.0);
            }
        }
    });
}

fn logs(scrape: &Scrape<'_>, page: &mut Page) {
    let each = |family: Family<'_>, value: &dyn Fn(&Row) -> i64| {
        let mut family = family.limited();
        for row in &scrape.rows {
            family.sample(&[("topic", row.topic()), ("partition", &row.index)], value(row));
        }
    };
    let gauge = |page: &mut Page, name, value: &dyn Fn(&Row) -> i64| {
        each(page.gauge(name, "As in Kafka's Log."), value);
    };
    gauge(page, "kafka_log_log_size", &|row| i64::try_from(row.size_bytes).unwrap_or(i64::MAX));
    gauge(page, "kafka_log_log_logendoffset", &|row| row.positions.log_end.get());
    gauge(page, "kafka_log_log_logstartoffset", &|row| row.positions.log_start.get());
}
