//! DescribeProducers: what the logs know of their producers (KIP-664).

use compact_str::{CompactString, ToCompactString, format_compact};
use ottla_model::{
    ErrorCode, LeaderEpoch, Offset, PartitionIndex, TOPIC_NAME_CHARS_MAX, TopicName, TopicNameError,
};
use ottla_network::Outcome;
use ottla_protocol::messages::describe_producers::{
    DescribeProducersRequest, DescribeProducersResponse, PartitionResponse, ProducerState, TopicRequest,
    TopicResponse,
};
use ottla_storage::ProducerInfo;

use super::shared;
use crate::context::Broker;
use crate::dispatch::Call;
use crate::error_map;

/// What is not known of a producer.
const UNKNOWN: i32 = -1;

/// An error code and the message that goes with it, where Kafka has one.
type Refusal = (ErrorCode, Option<CompactString>);

pub(crate) fn handle(call: &mut Call<'_>, request: DescribeProducersRequest) -> Outcome {
    let broker = call.broker();
    if !request.topics.iter().any(|topic| shared::has_closed(broker, &topic.name, &topic.partition_indexes)) {
        return call.reply(&describe_all(broker, request));
    }
    let (broker, to) = (call.broker_arc(), call.reply_to());
    Outcome::later(async move {
        let pool = broker.pool.clone();
        let asked: Vec<_> = request
            .topics
            .iter()
            .map(|topic| (topic.name.clone(), topic.partition_indexes.clone()))
            .collect();
        match pool.run(move || describe_all(&broker, request)).await {
            Ok(response) => to.reply(&response),
            Err(error) => to.reply(&refuse_all(asked, error_map::of_pool(error))),
        }
    })
}

fn describe_all(broker: &Broker, request: DescribeProducersRequest) -> DescribeProducersResponse {
    let of = |topic: TopicRequest| {
        let partitions = topic.partition_indexes.iter().map(|index| {
            let (error_code, error_message, active_producers) = match producers(broker, &topic.name, *index) {
                Ok(producers) => (ErrorCode::NONE, None, producers),
                Err((code, message)) => (code, message, Vec::new()),
            };
            PartitionResponse { partition_index: *index, error_code, error_message, active_producers }
        });
        TopicResponse { partitions: partitions.collect(), name: topic.name.clone() }
    };
    let topics = request.topics.into_iter().map(of).collect();
    DescribeProducersResponse { topics, ..DescribeProducersResponse::default() }
}

fn refuse_all(
    asked: Vec<(TopicName, Vec<PartitionIndex>)>,
    error_code: ErrorCode,
) -> DescribeProducersResponse {
    let refused = |partition_index| PartitionResponse {
        partition_index,
        error_code,
        error_message: None,
        active_producers: Vec::new(),
    };
    let topic = |(name, indexes): (_, Vec<_>)| TopicResponse {
        name,
        partitions: indexes.into_iter().map(refused).collect(),
    };
    let topics = asked.into_iter().map(topic).collect();
    DescribeProducersResponse { topics, ..DescribeProducersResponse::default() }
}

fn producers(
    broker: &Broker,
    topic: &TopicName,
    index: PartitionIndex,
) -> Result<Vec<ProducerState>, Refusal> {
    topic.check().map_err(|error| invalid_name(topic, &error))?;
    let bare = |code: ErrorCode| (code, None);
    let Some(held) = broker.partitions.topic(topic) else {
        let code = shared::why_not_held(broker, topic, index);
        let is_known = broker.image.peek().topic(topic.as_str()).is_some();
        let message = (!is_known).then(|| "This server does not host this topic-partition.".into());
        return Err((code, message));
    };
    let partition = shared::find_partition(broker, &held, index).map_err(bare)?;
    partition
        .check_leader(LeaderEpoch::UNKNOWN)
        .map_err(|error| (error_map::of_partition(&error), Some(error.to_compact_string())))?;
    // A log that cannot be opened would seem to have no producers.
    partition.ready().map_err(|error| bare(error_map::of_partition(&error)))?;
    let mut producers: Vec<_> = partition.log().producers().iter().map(state).collect();
    producers.sort_by_key(|producer| producer.producer_id);
    Ok(producers)
}

fn state(producer: &ProducerInfo) -> ProducerState {
    ProducerState {
        producer_id: producer.producer_id,
        producer_epoch: i32::from(producer.producer_epoch.get()),
        last_sequence: producer.last_sequence.unwrap_or(UNKNOWN),
        last_timestamp: producer.last_timestamp_ms,
        coordinator_epoch: producer.coordinator_epoch.unwrap_or(UNKNOWN),
        current_txn_start_offset: producer.transaction_start.unwrap_or(Offset::UNKNOWN),
    }
}

fn invalid_name(name: &TopicName, error: &TopicNameError) -> Refusal {
    let why = match error {
        TopicNameError::Empty => "the empty string is not allowed".into(),
        TopicNameError::Dots => format_compact!("'{name}' is not allowed"),
        TopicNameError::TooLong { .. } => format_compact!(
            "the length of '{name}' is longer than the max allowed length {TOPIC_NAME_CHARS_MAX}"
        ),
        TopicNameError::IllegalCharacter { .. } => format_compact!(
            "'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
        ),
    };
    (ErrorCode::INVALID_TOPIC_EXCEPTION, Some(format_compact!("Topic name is invalid: {why}")))
}
