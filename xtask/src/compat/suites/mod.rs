//! The suites: each a list of steps that runs unchanged against Ottla and against Apache Kafka.

mod admin;
mod batches;
mod dump_log;
mod exporter;
mod group_tools;
mod groups;
mod java_tools;
mod kcat;
mod kill;
mod locks;
mod log_rounds;
mod python;
mod transactions;

use anyhow::Result;

use super::peers::Peer;
use super::session::Session;

pub(crate) struct Suite {
    pub(crate) name: &'static str,
    /// What it tries, in a few words.
    pub(crate) about: &'static str,
    pub(crate) needs: &'static [Peer],
    /// Whether it starts our broker also when the control is run.
    pub(crate) needs_both: bool,
    pub(crate) run: fn(&mut Session<'_>) -> Result<()>,
}

pub(crate) const SUITES: &[Suite] = &[
    Suite {
        name: "batches",
        about: "record batches built by us are read by Kafka's classes, and the reverse",
        needs: &[Peer::Java],
        needs_both: false,
        run: batches::run,
    },
    Suite {
        name: "kcat",
        about: "kcat lists, produces with every codec, reads by offset, time and from the tail",
        needs: &[Peer::Kcat, Peer::Python],
        needs_both: false,
        run: kcat::run,
    },
    Suite {
        name: "java-tools",
        about: "Kafka's topics, consoles, get-offsets and producer-perf tools",
        needs: &[Peer::Java],
        needs_both: false,
        run: java_tools::run,
    },
    Suite {
        name: "python",
        about: "confluent-kafka and kafka-python read what each of them wrote",
        needs: &[Peer::Python],
        needs_both: false,
        run: python::run,
    },
    Suite {
        name: "dump-log",
        about: "Kafka's DumpLogSegments reads every file, and batches are the client's bytes",
        needs: &[Peer::Java, Peer::Python],
        needs_both: false,
        run: dump_log::run,
    },
    Suite {
        name: "locks",
        about: "two brokers never share a log directory, whoever they are",
        needs: &[Peer::Java, Peer::Python],
        needs_both: true,
        run: locks::run,
    },
    Suite {
        name: "kill",
        about: "kill -9 while four partitions are written loses and doubles nothing",
        needs: &[Peer::Python],
        needs_both: false,
        run: kill::run,
    },
    Suite {
        name: "groups",
        about: "consumer groups of six clients share, lose, leave and gain members while records are written",
        needs: &[Peer::Java, Peer::Python, Peer::Go, Peer::Node],
        needs_both: false,
        run: groups::run,
    },
    Suite {
        name: "group-tools",
        about: "Kafka's tool for consumer groups: list, describe, reset, delete",
        needs: &[Peer::Java, Peer::Python],
        needs_both: false,
        run: group_tools::run,
    },
    Suite {
        name: "exporter",
        about: "what a metrics exporter learns as a client (Sarama), and the same names on our own page",
        needs: &[Peer::Java, Peer::Python, Peer::Go],
        needs_both: false,
        run: exporter::run,
    },
    Suite {
        name: "transactions",
        about: "transactional producers of three clients, readers of committed records, Kafka's tool for transactions",
        needs: &[Peer::Java, Peer::Python],
        needs_both: false,
        run: transactions::run,
    },
    Suite {
        name: "admin",
        about: "Kafka's tools for operators: topics, records, log dirs, cluster, features, quorum, elections, quotas",
        needs: &[Peer::Java, Peer::Python],
        needs_both: false,
        run: admin::run,
    },
    Suite {
        name: "log-rounds",
        about: "a log goes from Kafka to our storage and back, three times, stopped or killed",
        needs: &[Peer::Java, Peer::Python],
        needs_both: false,
        run: log_rounds::run,
    },
];
