//! What can happen to a transaction machine. Requests come without their versions: the codes that a machine gives are
//! those of the newest, and the host says what an older client is told.

use std::sync::Arc;

use compact_str::CompactString;
use ottla_model::{ProducerEpoch, ProducerId, TransactionalId};
use regex::Regex;

use super::config::TransactionConfig;
use super::marking::MarkerOutcome;
use super::state::{Partitions, TransactionState};
use crate::group::consumer::whole_match;

/// Who acts: a transactional id with the incarnation of its producer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The transactional id.
    pub id: TransactionalId,
    /// The producer.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub producer_epoch: ProducerEpoch,
}

/// Something that happens to the transactions of one partition of `__transaction_state`.
#[derive(Debug, Clone)]
pub enum TransactionEvent {
    /// InitProducerId with a transactional id.
    InitProducerId {
        /// The id, not empty.
        id: TransactionalId,
        /// When a transaction without an end is aborted.
        timeout_ms: i32,
        /// The producer that the client has had so far (KIP-360).
        expected: Option<(ProducerId, ProducerEpoch)>,
        /// A producer id that nobody had before, after the machine said that it needs one.
        fresh: Option<ProducerId>,
    },
    /// Partitions join a transaction, all of them or none: AddPartitionsToTxn, AddOffsetsToTxn, and a produce or commit of
    /// offsets that adds what it writes to (KIP-890).
    AddPartitions {
        /// Who.
        by: Identity,
        /// The partitions.
        partitions: Partitions,
        /// 2 where the client knows that each end raises the epoch, else 0.
        client_version: i16,
    },
    /// Whether partitions are part of an open transaction (KIP-890).
    Verify {
        /// Whose.
        by: Identity,
        /// The partitions.
        partitions: Partitions,
    },
    /// EndTxn.
    End {
        /// Who.
        by: Identity,
        /// Whether it is committed.
        committed: bool,
        /// 2 where the client knows that each end raises the epoch, else 0.
        client_version: i16,
        /// A producer id that nobody had before, after the machine said that it needs one.
        fresh: Option<ProducerId>,
    },
    /// DescribeTransactions, this machine's share.
    Describe {
        /// The ids, none of them empty.
        ids: Vec<TransactionalId>,
    },
    /// ListTransactions, this machine's share.
    List {
        /// Which are asked for.
        filter: Arc<ListFilter>,
    },
    /// What became of an order for markers. Not answered.
    Marked(MarkerOutcome),
    /// The settings are others than before. Not answered.
    ConfigChanged {
        /// All settings from now on.
        config: Arc<TransactionConfig>,
    },
}

/// Which transactions a list is to have.
#[derive(Debug, Clone, Default)]
pub struct ListFilter {
    /// The states asked for, those that exist among them; none for all, if none was asked for.
    pub states: Option<Vec<TransactionState>>,
    /// The producers asked for; none for all.
    pub producer_ids: Vec<ProducerId>,
    /// Only those that have been open for longer; below 0 for all.
    pub duration_ms: i64,
    /// What ids have to match.
    pub pattern: Option<TransactionPattern>,
}

/// A regular expression that matches whole transactional ids (KIP-1152).
#[derive(Debug, Clone)]
pub struct TransactionPattern(Regex);

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a valid regular expression: {0}")]
pub struct PatternError(pub CompactString);

impl TransactionPattern {
    /// The pattern of this text.
    ///
    /// # Errors
    /// When it is none, or a larger one than is compiled here.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        whole_match(text).map(Self).map_err(|why| PatternError(why.into()))
    }

    /// Whether an id matches as a whole.
    #[must_use]
    pub fn matches(&self, id: &str) -> bool {
        self.0.is_match(id)
    }
}
