//! ListTransactions (key 66), versions 0–2, all flexible (KIP-664).
//!
//! * 1: a filter for long ones (KIP-994).
//! * 2: a filter for names (KIP-1152).

use compact_str::CompactString;
use ottla_model::{ErrorCode, ProducerId, TransactionalId};

use crate::Message;

/// A question for the transactions that a broker coordinates.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 66, versions = 0..=2, flexible = 0)]
pub struct ListTransactionsRequest {
    /// The states asked for; none for all.
    pub state_filters: Vec<CompactString>,
    /// The producers asked for; none for all.
    pub producer_id_filters: Vec<ProducerId>,
    /// Only transactions that are open for longer, in milliseconds; below 0 for all.
    #[field(versions = 1.., default = -1)]
    pub duration_filter: i64,
    /// A regular expression for the ids asked for; null for all.
    #[field(versions = 2.., nullable)]
    pub transactional_id_pattern: Option<CompactString>,
}

/// Transactions.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(key = 66, versions = 0..=2, flexible = 0)]
pub struct ListTransactionsResponse {
    /// How long the client should send nothing, in milliseconds; the broker stops reading for as long.
    pub throttle_time_ms: i32,
    /// Why it failed, or none.
    pub error_code: ErrorCode,
    /// The states asked for that do not exist.
    pub unknown_state_filters: Vec<CompactString>,
    /// The transactions.
    pub transaction_states: Vec<TransactionState>,
}

/// One transaction.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
pub struct TransactionState {
    /// The transaction's id.
    pub transactional_id: TransactionalId,
    /// The producer's id.
    pub producer_id: ProducerId,
    /// The transaction's state.
    pub transaction_state: CompactString,
}
