//! The settings of transactions.

use std::time::Duration;

/// All settings; exchanged whole when one changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionConfig {
    /// `transaction.max.timeout.ms`.
    pub timeout_ms_max: i32,
    /// `transactional.id.expiration.ms`.
    pub expiration: Duration,
    /// `transaction.abort.timed.out.transaction.cleanup.interval.ms`.
    pub overdue_check_interval: Duration,
    /// `transaction.remove.expired.transaction.cleanup.interval.ms`.
    pub expiry_check_interval: Duration,
    /// The level of the feature `transaction.version`.
    pub transaction_version: i16,
}

impl Default for TransactionConfig {
    fn default() -> Self {
        Self {
            timeout_ms_max: 900_000,
            expiration: Duration::from_secs(7 * 24 * 60 * 60),
            overdue_check_interval: Duration::from_secs(10),
            expiry_check_interval: Duration::from_secs(60 * 60),
            transaction_version: 2,
        }
    }
}
