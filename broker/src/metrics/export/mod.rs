//! What stands on a page: one function a subject, each reading the objects that own the numbers. Runs on the thread of the
//! HTTP endpoint; takes no lock that a request takes for longer than a copy.

mod broker;
mod network;
pub(crate) mod partitions;
mod process;
mod requests;

use ottla_network::NetworkSnapshot;
use ottla_storage::TopicPartition;

use super::page::{Format, Page};
use crate::context::Broker;

pub(crate) use partitions::offline_partitions;

/// What a scrape looks at; what several subjects need was looked up once.
pub(crate) struct Scrape<'a> {
    pub(crate) broker: &'a Broker,
    pub(crate) network: NetworkSnapshot,
    /// The partitions held here, by name.
    pub(crate) rows: Vec<partitions::Row>,
    /// Those that nobody can use.
    pub(crate) offline: Vec<TopicPartition>,
}

impl<'a> Scrape<'a> {
    /// Of this moment.
    pub(crate) fn of(broker: &'a Broker, network: NetworkSnapshot) -> Self {
        Self { broker, network, rows: partitions::rows(broker), offline: offline_partitions(broker) }
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
    broker::background,
];

/// The whole page.
pub(crate) fn page(scrape: &Scrape<'_>, format: Format) -> String {
    let mut page = Page::new(format, scrape.broker.config.http.series_max);
    for family in FAMILIES {
        family(scrape, &mut page);
    }
    page.finish()
}
