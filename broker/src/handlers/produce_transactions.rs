//! What a produce has to ask before it appends to partitions in which its transaction is not open yet: whether the
//! coordinator knows that the transaction writes there (KIP-890). One question for all partitions of a producer.

use std::collections::HashMap;

use compact_str::CompactString;
use ottla_coordinator::{Identity, Partitions};
use ottla_model::batch::BatchHeader;
use ottla_model::{ErrorCode, PartitionIndex, ProducerEpoch, ProducerId, TopicName, TransactionalId};
use ottla_protocol::messages::produce::ProduceRequest;

use super::transaction::{self, Joining};
use crate::context::Broker;
use crate::dispatch::Call;
use crate::partition::verification::Verification;

/// The first version by which partitions join the transaction.
const JOINS_SINCE: i16 = 12;
/// The first version that knows the code of a transaction that must be aborted.
const ABORTABLE_SINCE: i16 = 11;
/// The first version that names topics by their id.
const TOPIC_IDS_SINCE: i16 = 13;

/// What is to be asked.
pub(super) struct Questions {
    id: TransactionalId,
    joining: Joining,
    /// A client has one producer; another one in the same request is asked about by itself.
    by_producer: Vec<((ProducerId, ProducerEpoch), Partitions)>,
    verifications: HashMap<(TopicName, PartitionIndex), Verification>,
}

/// What was answered.
#[derive(Default)]
pub(super) struct Answers {
    /// The partitions that may not be written to, and why.
    refused: HashMap<(TopicName, PartitionIndex), ErrorCode>,
    /// Held until the request is over: an append needs them.
    _verifications: Vec<Verification>,
}

/// Whether this broker asks at all.
pub(super) fn are_asked(broker: &Broker, version: i16) -> bool {
    version >= JOINS_SINCE || broker.live.peek().transactions.verification
}

impl Questions {
    /// The questions that a request leads to; none where its transaction is open in all of its partitions, and where it
    /// has none.
    pub(super) fn of(broker: &Broker, request: &ProduceRequest, version: i16) -> Option<Self> {
        let id = request.transactional_id.clone()?;
        if !are_asked(broker, version) {
            return None;
        }
        let joining = if version >= JOINS_SINCE { Joining::Added } else { Joining::Verified };
        let mut questions = Self { id, joining, by_producer: Vec::new(), verifications: HashMap::new() };
        for topic in &request.topic_data {
            let held = match version >= TOPIC_IDS_SINCE {
                true => broker.partitions.topic_by_id(&topic.topic_id),
                false => broker.partitions.topic(&topic.name),
            };
            let Some(held) = held else { continue };
            for data in &topic.partition_data {
                let records = data.records.as_ref().and_then(|records| records.as_inline());
                let header = records.and_then(|records| BatchHeader::parse(records).ok());
                let header = header.filter(BatchHeader::is_transactional);
                let (Some(header), Some(partition)) = (header, held.partition(data.index)) else { continue };
                let (producer_id, epoch) = (header.producer_id(), header.producer_epoch());
                if let Some(it) = partition.begin_verification(producer_id, epoch, header.base_sequence()) {
                    questions.add((producer_id, epoch), &held.name, data.index, it);
                }
            }
        }
        (!questions.by_producer.is_empty()).then_some(questions)
    }

    fn add(
        &mut self,
        producer: (ProducerId, ProducerEpoch),
        topic: &TopicName,
        index: PartitionIndex,
        verification: Verification,
    ) {
        if self.by_producer.last().is_none_or(|(last, _)| *last != producer) {
            self.by_producer.push((producer, Partitions::new()));
        }
        if let Some((_, partitions)) = self.by_producer.last_mut() {
            partitions.entry(topic.clone()).or_default().insert(index);
        }
        self.verifications.insert((topic.clone(), index), verification);
    }

    /// Asks. None where no answer comes, since the broker stops.
    pub(super) async fn ask(self, call: &Call<'_>) -> Option<Answers> {
        let Self { id, joining, by_producer, verifications } = self;
        let mut refused = HashMap::new();
        for ((producer_id, producer_epoch), partitions) in by_producer {
            let by = Identity { id: id.clone(), producer_id, producer_epoch };
            for (topic, index, code) in transaction::join(call, &by, partitions, joining).await? {
                let place = (topic, index);
                match verifications.get(&place).filter(|_| code.is_none()) {
                    Some(verification) => verification.confirm(),
                    None => drop(refused.insert(place, told(code, joining, call.version()))),
                }
            }
        }
        Some(Answers { refused, _verifications: verifications.into_values().collect() })
    }
}

impl Answers {
    /// Why a partition may not be written to.
    pub(super) fn refusal(&self, topic: &TopicName, index: PartitionIndex) -> Option<ErrorCode> {
        if self.refused.is_empty() {
            return None;
        }
        self.refused.get(&(topic.clone(), index)).copied()
    }
}

/// Kafka's words, where it has some.
pub(super) fn message(code: ErrorCode) -> Option<CompactString> {
    (code == ErrorCode::INVALID_TXN_STATE).then(|| "Partition was not added to the transaction".into())
}

/// What a producer is told of a transaction that cannot take its batch.
fn told(code: ErrorCode, joining: Joining, version: i16) -> ErrorCode {
    match code {
        ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
        ErrorCode::CONCURRENT_TRANSACTIONS if joining == Joining::Added => code,
        // Of the coordinator's own errors a producer knows none; this one lets it send the batch again.
        ErrorCode::CONCURRENT_TRANSACTIONS
        | ErrorCode::NOT_COORDINATOR
        | ErrorCode::COORDINATOR_NOT_AVAILABLE
        | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS => ErrorCode::NOT_ENOUGH_REPLICAS,
        code => transaction::abortable_since(ABORTABLE_SINCE, version, code),
    }
}
