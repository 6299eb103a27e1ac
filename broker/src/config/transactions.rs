//! What the configuration says of transactions: the coordinator's own settings, those of the topic in which it keeps its
//! state, and how partitions ask it.

use std::time::Duration;

use ottla_cluster::{MetadataImage, features};
use ottla_coordinator::TransactionConfig;

use super::broker::{count, duration, size};
use super::settings::Settings;

/// How transactions are coordinated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionsConfig {
    /// What the coordinator decides by, the cluster's feature aside.
    pub coordinator: TransactionConfig,
    /// `transaction.partition.verification.enable`: whether a partition asks the coordinator before it takes the first
    /// record of a transaction (KIP-890).
    pub verification: bool,
    /// `add.partitions.to.txn.retry.backoff.ms`: how long a request waits for the end of the transaction before its own until
    /// it asks again.
    pub retry_after: Duration,
    /// `add.partitions.to.txn.retry.backoff.max.ms`: how long it does so at most.
    pub retry_time_max: Duration,
    /// `request.timeout.ms`: how long an answer waits for its records to be committed.
    pub commit_timeout: Duration,
    /// `transaction.state.log.load.buffer.size`: how much of a log is read at once.
    pub load_bytes: u32,
    /// The most threads that load.
    pub loading_threads: usize,
    /// Where the topic is created.
    pub topic: TransactionsTopic,
}

/// The topic of transactions, where it is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionsTopic {
    /// `transaction.state.log.num.partitions`.
    pub partitions: i32,
    /// `transaction.state.log.replication.factor`.
    pub replication_factor: i16,
    /// `transaction.state.log.min.isr`.
    pub min_insync_replicas: i32,
    /// `transaction.state.log.segment.bytes`.
    pub segment_bytes: u32,
}

impl TransactionsConfig {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            coordinator: TransactionConfig {
                timeout_ms_max: int(settings, "transaction.max.timeout.ms"),
                expiration: duration(settings, "transactional.id.expiration.ms"),
                overdue_check_interval: duration(
                    settings,
                    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
                ),
                expiry_check_interval: duration(
                    settings,
                    "transaction.remove.expired.transaction.cleanup.interval.ms",
                ),
                ..TransactionConfig::default()
            },
            verification: settings.boolean("transaction.partition.verification.enable"),
            retry_after: duration(settings, "add.partitions.to.txn.retry.backoff.ms"),
            retry_time_max: duration(settings, "add.partitions.to.txn.retry.backoff.max.ms"),
            commit_timeout: duration(settings, "request.timeout.ms"),
            load_bytes: size(settings, "transaction.state.log.load.buffer.size"),
            loading_threads: count(settings, "group.coordinator.threads"),
            topic: TransactionsTopic::new(settings),
        }
    }

    /// The coordinator's settings at the cluster's level of `transaction.version`.
    pub(crate) fn at_level(&self, image: &MetadataImage) -> TransactionConfig {
        let transaction_version = image.feature_level(features::TRANSACTION_VERSION);
        TransactionConfig { transaction_version, ..self.coordinator.clone() }
    }
}

impl TransactionsTopic {
    fn new(settings: &Settings) -> Self {
        let factor = settings.number("transaction.state.log.replication.factor");
        Self {
            partitions: int(settings, "transaction.state.log.num.partitions"),
            replication_factor: i16::try_from(factor).expect("the table bounds a short"),
            min_insync_replicas: int(settings, "transaction.state.log.min.isr"),
            segment_bytes: size(settings, "transaction.state.log.segment.bytes"),
        }
    }
}

fn int(settings: &Settings, key: &str) -> i32 {
    i32::try_from(settings.number(key)).expect("the table bounds an int")
}
