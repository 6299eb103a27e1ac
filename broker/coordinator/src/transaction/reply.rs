//! The answers of a transaction machine, and those that a host gives in its place.

use ottla_model::{ErrorCode, PartitionIndex, ProducerEpoch, ProducerId, TopicName};
use ottla_protocol::messages::describe_transactions::TransactionState as Described;
use ottla_protocol::messages::list_transactions::TransactionState as Listed;

use super::event::TransactionEvent;

/// A producer as a client goes on with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// Its id.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub producer_epoch: ProducerEpoch,
}

/// An answer to one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionReply {
    /// To InitProducerId: the producer from here on.
    Begun(Result<Begun, ErrorCode>),
    /// To InitProducerId and EndTxn: it takes a producer id that nobody had before; the same event is to come again with one.
    NeedsProducerId,
    /// To AddPartitions.
    Added(ErrorCode),
    /// To Verify: what was found of each partition.
    Verified(Vec<(TopicName, PartitionIndex, ErrorCode)>),
    /// To EndTxn: the producer from here on, where the end has changed it.
    Ended(Result<Option<Begun>, ErrorCode>),
    /// To Describe.
    Described(Vec<Described>),
    /// To List: the transactions, or why there is no list.
    Listed(Result<Vec<Listed>, ErrorCode>),
}

impl TransactionReply {
    /// Makes it a refusal: what it told of was not written.
    pub fn refuse(&mut self, error: ErrorCode) {
        match self {
            Self::Begun(begun) => *begun = Err(error),
            Self::NeedsProducerId => *self = Self::Begun(Err(error)),
            Self::Added(code) => *code = error,
            Self::Verified(partitions) => partitions.iter_mut().for_each(|(.., code)| *code = error),
            Self::Ended(ended) => *ended = Err(error),
            Self::Described(all) => all.iter_mut().for_each(|one| {
                *one = Described {
                    error_code: error,
                    transactional_id: std::mem::take(&mut one.transactional_id),
                    ..Described::default()
                };
            }),
            Self::Listed(listed) => *listed = Err(error),
        }
    }
}

/// The answer to this event where the coordinator cannot say more than an error; none where the event has no answer.
pub(super) fn refusal(event: &TransactionEvent, error: ErrorCode) -> Option<TransactionReply> {
    Some(match event {
        TransactionEvent::InitProducerId { .. } => TransactionReply::Begun(Err(error)),
        TransactionEvent::AddPartitions { .. } => TransactionReply::Added(error),
        TransactionEvent::Verify { partitions, .. } => TransactionReply::Verified(
            partitions
                .iter()
                .flat_map(|(topic, indexes)| indexes.iter().map(|index| (topic.clone(), *index, error)))
                .collect(),
        ),
        TransactionEvent::End { .. } => TransactionReply::Ended(Err(error)),
        TransactionEvent::Describe { ids } => TransactionReply::Described(
            ids.iter()
                .map(|id| Described {
                    error_code: error,
                    transactional_id: id.clone(),
                    ..Described::default()
                })
                .collect(),
        ),
        TransactionEvent::List { .. } => TransactionReply::Listed(Err(error)),
        TransactionEvent::Marked(_) | TransactionEvent::ConfigChanged { .. } => return None,
    })
}
