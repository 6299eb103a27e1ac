//! What stands on the page of metrics: that the numbers are those of what was done, that the names which dashboards query
//! are there, and that the document lists every family.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use ottla_model::ErrorCode;
use ottla_testkit::TestBroker;

use crate::group_requests::{commit, ready};
use crate::http::{address, get, get_with, value};
use crate::requests::{append, batch, batch_of_bytes, bytes_of, create_topic, fetch};

const NAMES: &str = include_str!("../data/metrics/names.txt");
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operations.md");
const OPEN_METRICS: &str = "Accept: application/openmetrics-text;version=1.0.0\r\n";

/// A broker with records, a consumer's fetch, and a group that is behind.
fn busy(compat: &str) -> (TestBroker, usize) {
    let broker =
        TestBroker::builder().set("http.address", "127.0.0.1:0").set("metrics.compat", compat).start();
    let mut connection = broker.connect();
    create_topic(&mut connection, "orders", 2);
    append(&mut connection, "orders", 0, batch(10));
    append(&mut connection, "orders", 1, batch_of_bytes(5000));
    let fetched = bytes_of(fetch(&mut connection, "orders", 0, 0)).len();
    ready(&mut connection, "billing");
    assert_eq!(commit(&mut connection, "billing", "", -1, "orders", 4), ErrorCode::NONE);
    // Answers are counted once they have left, which this one's coming proves of those before it.
    let _ = fetch(&mut connection, "orders", 1, 0);
    (broker, fetched)
}

fn page(broker: &TestBroker) -> String {
    get(address(broker), "/metrics").body
}

/// The families of a page in its order: name, type, help.
fn families(page: &str) -> Vec<(String, String, String)> {
    let mut families = Vec::new();
    let mut help = None;
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ').map(|(name, text)| (name.to_owned(), text.to_owned()));
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            let (helped, text) = help.take().unwrap();
            assert_eq!(helped, name, "help stands before its type");
            families.push((name.to_owned(), kind.to_owned(), text));
        }
    }
    families
}

/// The names of a page's samples.
fn samples(page: &str) -> BTreeSet<&str> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(['{', ' ']).next().unwrap()).collect()
}

#[test]
fn what_was_written_read_and_committed_is_what_the_page_says() {
    let (broker, fetched) = busy("");
    let page = page(&broker);
    let sample = |name: &str| value(&page, name).unwrap_or_else(|| panic!("{name} is not on\n{page}"));
    assert_eq!(sample("ottla_topic_records_in_total{topic=\"orders\"}"), 11.0);
    assert_eq!(sample("ottla_topic_batches_in_total{topic=\"orders\"}"), 2.0);
    assert!(sample("ottla_topic_bytes_in_total{topic=\"orders\"}") > 5000.0);
    let size = |partition: u8| {
        sample(&format!("ottla_log_size_bytes{{topic=\"orders\",partition=\"{partition}\"}}"))
    };
    assert_eq!(size(0) + size(1), sample("ottla_topic_bytes_in_total{topic=\"orders\"}"));
    assert_eq!(size(0), fetched as f64);
    assert!(sample("ottla_topic_bytes_out_total{topic=\"orders\"}") >= fetched as f64);
    let offset = |name: &str| sample(&format!("{name}{{topic=\"orders\",partition=\"0\"}}"));
    assert_eq!(offset("ottla_log_start_offset"), 0.0);
    assert_eq!(offset("ottla_log_end_offset"), 10.0);
    assert_eq!(offset("ottla_log_high_watermark"), 10.0);
    assert_eq!(offset("ottla_log_last_stable_offset"), 10.0);
    let group = |name: &str| sample(&format!("{name}{{group=\"billing\",topic=\"orders\",partition=\"0\"}}"));
    assert_eq!(group("ottla_group_committed_offset"), 4.0);
    assert_eq!(group("ottla_group_lag_records"), 6.0);
    let seconds = group("ottla_group_lag_seconds");
    assert!((0.0..60.0).contains(&seconds), "{seconds}");
    assert_eq!(sample("ottla_group_lag_records_max{group=\"billing\"}"), 6.0);
    assert_eq!(sample("ottla_partitions_offline"), 0.0);
    assert_eq!(sample("ottla_controller_active"), 1.0);
    assert!(sample("process_resident_memory_bytes") > 1e6);
}

#[test]
fn the_names_that_dashboards_query_are_there_with_samples_and_only_when_asked_for() {
    let (broker, _) = busy("kafka_exporter,jmx,redpanda");
    let with = page(&broker);
    let (has, told) = (samples(&with), families(&with));
    let known: BTreeSet<_> = told.iter().map(|(name, ..)| name).collect();
    assert_eq!(known.len(), told.len(), "each family stands on the page once");
    let mut looked = BTreeMap::new();
    for line in NAMES.lines().filter(|line| !line.starts_with('-')) {
        let (family, name) = line.split_once(' ').unwrap();
        assert!(has.contains(name), "{name} of {family} has no sample on\n{with}");
        *looked.entry(family).or_insert(0) += 1;
    }
    assert!(looked.len() == 3 && looked.values().all(|count| *count > 10), "{looked:?}");
    let (plain, _) = busy("");
    let without = page(&plain);
    for line in NAMES.lines() {
        let name = line.trim_start_matches("- ").split([' ', ':']).nth(1).unwrap();
        assert!(!samples(&without).contains(name), "{name} was not asked for");
    }
}

#[test]
fn compat_numbers_are_those_of_the_log_and_the_group() {
    let (broker, _) = busy("kafka_exporter,jmx,redpanda");
    let page = page(&broker);
    let sample = |name: &str| value(&page, name).unwrap_or_else(|| panic!("{name} is not on\n{page}"));
    let partition = "{partition=\"0\",topic=\"orders\"}";
    assert_eq!(sample("kafka_brokers"), 1.0);
    assert_eq!(sample("kafka_topic_partitions{topic=\"orders\"}"), 2.0);
    assert_eq!(sample(&format!("kafka_topic_partition_current_offset{partition}")), 10.0);
    assert_eq!(sample(&format!("kafka_topic_partition_leader_is_preferred{partition}")), 1.0);
    assert_eq!(sample(&format!("kafka_topic_partition_under_replicated_partition{partition}")), 0.0);
    let group = "{consumergroup=\"billing\",partition=\"0\",topic=\"orders\"}";
    assert_eq!(sample(&format!("kafka_consumergroup_current_offset{group}")), 4.0);
    assert_eq!(sample(&format!("kafka_consumergroup_lag{group}")), 6.0);
    assert_eq!(sample("kafka_consumergroup_lag_sum{consumergroup=\"billing\",topic=\"orders\"}"), 6.0);
    assert_eq!(sample("kafka_server_brokertopicmetrics_messagesin_total{topic=\"orders\"}"), 11.0);
    assert!(sample("kafka_network_requestmetrics_requests_total{request=\"Produce\",version=\"12\"}") >= 2.0);
    assert!(
        sample("kafka_network_requestmetrics_totaltimems{request=\"FetchConsumer\",quantile=\"0.99\"}") > 0.0
    );
    let idle = sample("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent");
    assert!((0.0..=1.0).contains(&idle), "{idle}");
    assert_eq!(sample("redpanda_kafka_consumer_group_lag_sum{redpanda_group=\"billing\"}"), 6.0);
}

#[test]
fn a_limit_on_series_leaves_out_and_says_how_many() {
    let broker =
        TestBroker::builder().set("http.address", "127.0.0.1:0").set("metrics.series.max", "3").start();
    create_topic(&mut broker.connect(), "wide", 5);
    let page = page(&broker);
    assert!(value(&page, "ottla_log_end_offset{topic=\"wide\",partition=\"2\"}").is_some());
    assert!(value(&page, "ottla_log_end_offset{topic=\"wide\",partition=\"3\"}").is_none());
    assert_eq!(value(&page, "ottla_metrics_series_left_out{family=\"ottla_log_end_offset\"}"), Some(2.0));
}

#[test]
fn both_formats_hold_the_same_samples_in_lines_of_the_formats_form() {
    let (broker, _) = busy("kafka_exporter,jmx,redpanda");
    // That of `busy` is about to go, and a page without connections has no sample of them.
    let mut stays = broker.connect();
    create_topic(&mut stays, "another", 1);
    let plain = page(&broker);
    let open = get_with(address(&broker), "/metrics", OPEN_METRICS).body;
    assert_eq!(samples(&plain), samples(&open));
    for page in [&plain, &open] {
        for line in page.lines().filter(|line| !line.starts_with('#')) {
            let (name, number) = line.rsplit_once(' ').unwrap();
            assert!(number == "+Inf" || number.parse::<f64>().is_ok(), "{line}");
            let bare = name.split('{').next().unwrap();
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            assert!(!bare.is_empty() && bare.chars().all(is_name), "{line}");
            assert!(name.contains('{') == name.ends_with('}'), "{line}");
        }
    }
    // In OpenMetrics a counter's samples end with _total and its family does not.
    for (name, kind, _) in families(&open).iter().filter(|(_, kind, _)| kind == "counter") {
        assert!(!name.ends_with("_total"), "{name} {kind}");
    }
}

#[test]
fn the_table_of_the_document_is_that_of_the_page() {
    let (broker, _) = busy("");
    let mut table = "| metric | type | |\n|---|---|---|\n".to_owned();
    for (name, kind, help) in families(&page(&broker)) {
        writeln!(table, "| `{name}` | {kind} | {help} |").unwrap();
    }
    let document = fs::read_to_string(DOCUMENT).unwrap();
    let rendered = crate::config_docs::replaced(&document, "metrics", &table);
    if std::env::var_os("OTTLA_RENDER").is_some() {
        fs::write(DOCUMENT, rendered).unwrap();
    } else {
        assert!(
            document == rendered,
            "docs/operations.md is stale: OTTLA_RENDER=1 cargo test -p ottla-broker metrics"
        );
    }
}
