//! What stands on a page: one function a subject, each reading the objects that own the numbers. Runs on the thread of the
//! HTTP endpoint; takes no lock that a request takes for longer than a copy.

mod broker;
mod exporter;
mod groups;
mod jmx;
mod network;
pub(crate) mod partitions;
mod process;
mod redpanda;
mod requests;

use ottla_network::NetworkSnapshot;
use ottla_storage::TopicPartition;

use super::page::{Format, Page};
use crate::context::Broker;
use crate::machine_host::census::Census;
use crate::machine_host::lag::GroupLag;

pub(crate) use partitions::offline_partitions;

/// What a scrape looks at; what several subjects need was looked up once.
pub(crate) struct Scrape<'a> {
    pub(crate) broker: &'a Broker,
    pub(crate) network: NetworkSnapshot,
    /// The partitions held here, by name.
    pub(crate) rows: Vec<partitions::Row>,
    /// Those that nobody can use.
    pub(crate) offline: Vec<TopicPartition>,
    /// What came into and went out of each topic, by name.
    pub(crate) topics: Vec<(String, partitions::TopicTraffic)>,
    /// The groups that are coordinated here, and how far they are behind, by name.
    pub(crate) census: Census,
    pub(crate) lags: Vec<GroupLag>,
    /// The share of time since the last scrape in which the reactors did nothing.
    pub(crate) idle_share: f64,
}

impl<'a> Scrape<'a> {
    /// Of this moment.
    pub(crate) fn of(broker: &'a Broker, network: NetworkSnapshot) -> Self {
        let rows = partitions::rows(broker);
        let mut lags = Vec::new();
        broker.for_each_group_lag(&mut |lag| lags.push(lag));
        lags.sort_by(|a, b| (&a.group, &a.topic, a.partition).cmp(&(&b.group, &b.topic, b.partition)));
        Self {
            broker,
            network,
            topics: partitions::by_topic(&rows),
            rows,
            offline: offline_partitions(broker),
            census: Census::of(broker),
            lags,
            idle_share: broker.metrics.idle_share(process::reactor_seconds()),
        }
    }
}

/// All subjects, in the order of the page.
const FAMILIES: &[fn(&Scrape<'_>, &mut Page)] = &[
    process::build,
    process::process,
    network::network,
    requests::requests,
    partitions::counts,
    partitions::each,
    partitions::traffic,
    groups::groups,
    groups::lags,
    broker::directories,
    broker::background,
    broker::metadata,
    exporter::exporter,
    jmx::jmx,
    redpanda::redpanda,
];

/// The whole page.
pub(crate) fn page(scrape: &Scrape<'_>, format: Format) -> String {
    let mut page = Page::new(format, scrape.broker.config.http.series_max);
    for family in FAMILIES {
        family(scrape, &mut page);
    }
    page.finish()
}
