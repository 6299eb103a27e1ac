//! Produce: each batch is checked and appended in the order of the request, before the connection's next request is
//! looked at; the answer may wait for a flush or for replicas. Batches that take long to check are checked on the
//! blocking pool, one after the other, and there is opened what the start left closed; the reactor serves its other
//! connections meanwhile.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use compact_str::{CompactString, ToCompactString};
use ottla_model::batch::{
    BatchHeader, BatchRejection, BatchRules, CheckedBatch, check_batch, check_batch_within, check_framing,
};
use ottla_model::compression::Codec;
use ottla_model::{ErrorCode, LeaderEpoch, Offset, PartitionIndex};
use ottla_network::{Outcome, Reply};
use ottla_protocol::codec::Few;
use ottla_protocol::messages::produce::{
    BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, PartitionProduceData,
    PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceData, TopicProduceResponse,
};
use ottla_storage::AppendInfo;

use super::produce_transactions::{self, Answers, Questions};
use super::shared;
use crate::context::Broker;
use crate::delayed::produce::{self, Unacknowledged};
use crate::dispatch::Call;
use crate::error_map;
use crate::internal_topics;
use crate::partition::append::Acks;
use crate::partition::{Partition, PartitionError};
use crate::partition_map::HeldTopic;
use crate::room::ShortOfRoom;

/// The first version that may carry zstd.
const ZSTD_SINCE: i16 = 7;
/// The first version that answers with hints where the leader is.
const LEADER_HINTS_SINCE: i16 = 10;
/// The first version that names topics by their id.
const TOPIC_IDS_SINCE: i16 = 13;
/// Who may write to internal topics with a plain produce.
const ADMIN_CLIENT: &str = "__admin_client";

/// What one request may decompress, or compress again, on the reactor, counted uncompressed and over all its batches.
/// The slowest codecs do some 200 MB a second, so that other connections wait 10 ms at most; a batch beyond it is begun
/// anew on the pool, where the part done in vain is no more than those 10 ms. Kafka's producer sends no more than 1 MiB
/// of uncompressed records at a time unless told to.
const REACTOR_BYTES_MAX: usize = 2 << 20;

/// How far a request was brought without waiting.
pub(crate) enum Handled<'a> {
    /// To the end.
    Done(Outcome),
    /// To a batch that has to wait for the pool. In a box: it is rare, and every idle connection would have room for it. Dropping the
    /// future leaves appended what was appended; the rest never is.
    Waits(Pin<Box<dyn Future<Output = Outcome> + 'a>>),
}

pub(crate) fn handle<'a>(call: &'a Call<'_>, request: ProduceRequest) -> Handled<'a> {
    let acks = acks(request.acks);
    if request.transactional_id.is_none() && request.topic_data.iter().any(has_transactional_batch) {
        let refused = refuse_all(request, ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
        return Handled::Done(finish(call, acks, refused));
    }
    let Some(questions) = Questions::of(call.broker(), &request, call.version()) else {
        return walk(call, request, acks, Answers::default());
    };
    Handled::Waits(Box::pin(async move {
        let Some(answers) = questions.ask(call).await else { return Reply::close().into() };
        match walk(call, request, acks, answers) {
            Handled::Done(outcome) => outcome,
            Handled::Waits(rest) => rest.await,
        }
    }))
}

/// Appends batch after batch, as far as it goes without waiting.
fn walk<'a>(
    call: &'a Call<'_>,
    request: ProduceRequest,
    acks: Option<Acks>,
    answers: Answers,
) -> Handled<'a> {
    let timeout = Duration::from_millis(u64::try_from(request.timeout_ms).unwrap_or(0));
    let broker = call.broker();
    let mut append = Append {
        broker,
        version: call.version(),
        acks,
        internal_allowed: call.client_id.as_deref() == Some(ADMIN_CLIENT),
        transactions_are_asked: produce_transactions::are_asked(broker, call.version()),
        answers,
        now_ms: broker.clock.now_ms(),
        budget_bytes: REACTOR_BYTES_MAX,
        topics: request.topic_data.into_iter(),
        rest: Few::default().into_iter(),
        held: None,
        responses: Vec::new(),
        unacknowledged: Vec::new(),
        places: Vec::new(),
    };
    match append.advance() {
        None => Handled::Done(acknowledge(call, append, timeout)),
        Some(elsewhere) => Handled::Waits(Box::pin(async move {
            let mut next = Some(elsewhere);
            while let Some(elsewhere) = next {
                append.check_elsewhere(elsewhere).await;
                next = append.advance();
            }
            acknowledge(call, append, timeout)
        })),
    }
}

/// Answers for everything that was appended or refused.
fn acknowledge(call: &Call<'_>, append: Append<'_>, timeout: Duration) -> Outcome {
    let Append { acks, responses, unacknowledged, places, .. } = append;
    let response = ProduceResponse { responses, ..ProduceResponse::default() };
    if unacknowledged.is_empty() || acks == Some(Acks::None) {
        return finish(call, acks, response);
    }
    wait(call, response, unacknowledged, places, timeout)
}

fn acks(acks: i16) -> Option<Acks> {
    match acks {
        -1 => Some(Acks::InSync),
        0 => Some(Acks::None),
        1 => Some(Acks::Leader),
        _ => None,
    }
}

/// Answers once every batch is acknowledged. `places` says where each one's answer stands.
fn wait(
    call: &Call<'_>,
    mut response: ProduceResponse,
    unacknowledged: Vec<Unacknowledged>,
    places: Vec<(usize, usize)>,
    timeout: Duration,
) -> Outcome {
    let (to, waits) = (call.reply_to(), call.waits());
    let (broker, listener) = (call.broker_arc(), Arc::clone(&call.connection.listener));
    Outcome::later(async move {
        let codes = produce::wait(waits, unacknowledged, timeout).await;
        for ((topic, partition), code) in places.into_iter().zip(codes).filter(|(_, code)| !code.is_none()) {
            let topic = response.responses.get_mut(topic);
            if let Some(answer) = topic.and_then(|topic| topic.partition_responses.get_mut(partition)) {
                *answer = failed(answer.index, code);
            }
        }
        add_leader_hints(&broker, &listener, to.version, &mut response);
        response.throttle_time_ms = to.throttle_ms();
        to.reply(&response)
    })
}

/// The answer; without acknowledgements none, and a closed connection is all that tells of an error.
fn finish(call: &Call<'_>, acks: Option<Acks>, mut response: ProduceResponse) -> Outcome {
    if acks != Some(Acks::None) {
        add_leader_hints(call.broker(), &call.connection.listener, call.version(), &mut response);
        response.throttle_time_ms = call.throttle_ms();
        return call.reply(&response);
    }
    let codes = response.responses.iter().flat_map(|topic| &topic.partition_responses);
    let error = codes.map(|partition| partition.error_code).find(|code| !code.is_none());
    match error {
        None => call.silence(),
        Some(code) => {
            tracing::debug!(connection = %call.connection.describe(), %code, "produce without acks failed: closed");
            Reply::close().into()
        }
    }
}

/// The walk over a request's partitions, which can stop at a batch that takes long.
struct Append<'a> {
    broker: &'a Broker,
    version: i16,
    acks: Option<Acks>,
    internal_allowed: bool,
    /// Whether batches of transactions need an answer of the coordinator, and what it has said.
    transactions_are_asked: bool,
    answers: Answers,
    now_ms: i64,
    /// What is left of [`REACTOR_BYTES_MAX`].
    budget_bytes: usize,
    /// The topics that are not begun.
    topics: <Few<TopicProduceData> as IntoIterator>::IntoIter,
    /// Of the topic that is begun: what is still to come, and the topic if it is held here.
    rest: <Few<PartitionProduceData> as IntoIterator>::IntoIter,
    held: Option<Arc<HeldTopic>>,
    /// The last one is that of the topic that is begun.
    responses: Vec<TopicProduceResponse>,
    unacknowledged: Vec<Unacknowledged>,
    /// Topic and partition of each of them, by their places in the response.
    places: Vec<(usize, usize)>,
}

/// A batch that takes long to check, or whose log is still closed.
struct Elsewhere {
    index: PartitionIndex,
    partition: Arc<Partition>,
    records: Bytes,
    rules: BatchRules,
}

/// Whether a batch could be dealt with on the reactor.
enum Attempt {
    Done(AppendInfo),
    Elsewhere(Elsewhere),
}

/// Why a batch was not appended, as the answer tells it.
struct Refusal {
    code: ErrorCode,
    log_start: Offset,
    message: Option<CompactString>,
    record_errors: Vec<BatchIndexAndErrorMessage>,
}

impl Append<'_> {
    /// Goes on to the end, or to a batch that has to wait.
    fn advance(&mut self) -> Option<Elsewhere> {
        loop {
            let Some(data) = self.rest.next() else {
                let topic = self.topics.find(|topic| !topic.partition_data.is_empty())?;
                self.begin(topic);
                continue;
            };
            let index = data.index;
            let held = self.held.take();
            let attempt = match &held {
                Some(held) => self.partition(held, data),
                None => Err(self.why_unknown(index).into()),
            };
            self.held = held;
            match attempt {
                Ok(Attempt::Done(info)) => self.answer(succeeded(index, &info)),
                Ok(Attempt::Elsewhere(elsewhere)) => return Some(elsewhere),
                Err(refusal) => self.answer(refused(index, refusal)),
            }
        }
    }

    fn begin(&mut self, topic: TopicProduceData) {
        let TopicProduceData { name, topic_id, partition_data } = topic;
        let partitions = &self.broker.partitions;
        self.held =
            if self.goes_by_id() { partitions.topic_by_id(&topic_id) } else { partitions.topic(&name) };
        let partition_responses = Vec::with_capacity(partition_data.len());
        self.rest = partition_data.into_iter();
        self.responses.push(TopicProduceResponse { name, topic_id, partition_responses });
    }

    fn answer(&mut self, response: PartitionProduceResponse) {
        if let Some(topic) = self.responses.last_mut() {
            topic.partition_responses.push(response);
        }
    }

    /// Where the next answer goes: by topic and partition.
    fn place(&self) -> (usize, usize) {
        let answers = self.responses.last().map_or(0, |topic| topic.partition_responses.len());
        (self.responses.len().saturating_sub(1), answers)
    }

    const fn goes_by_id(&self) -> bool {
        self.version >= TOPIC_IDS_SINCE
    }

    /// The code for a partition of a topic of which nothing is held here.
    fn why_unknown(&self, index: PartitionIndex) -> ErrorCode {
        let Some(topic) = self.responses.last() else { return ErrorCode::UNKNOWN_SERVER_ERROR };
        if !self.goes_by_id() {
            return shared::why_not_held(self.broker, &topic.name, index);
        }
        let name = self.broker.image.peek().topic_by_id(&topic.topic_id).map(|topic| topic.name.clone());
        name.map_or(ErrorCode::UNKNOWN_TOPIC_ID, |name| shared::why_not_held(self.broker, &name, index))
    }

    fn partition(&mut self, topic: &HeldTopic, data: PartitionProduceData) -> Result<Attempt, Refusal> {
        let partition = shared::find_partition(self.broker, topic, data.index)?;
        let records = data.records.and_then(ottla_protocol::Records::into_inline);
        let records = records.ok_or(ErrorCode::INVALID_RECORD)?;
        self.check_request_rules(&records)?;
        self.acks.ok_or(ErrorCode::INVALID_REQUIRED_ACKS)?;
        if !self.internal_allowed && internal_topics::is_internal(&topic.name) {
            return Err(ErrorCode::INVALID_TOPIC_EXCEPTION.into());
        }
        // Leadership is looked at again with the append; here it saves the check of a batch that is not for us.
        partition.check_leader(LeaderEpoch::UNKNOWN)?;
        if let Err(short) = partition.place().flush.room.check() {
            return Err(Refusal::of_disk(&short));
        }
        let settings = partition.settings();
        // The first append after a start finds the log closed. To open it waits for the disk.
        let checked = match partition.is_ready() {
            true => check_batch_within(records.clone(), &settings.rules, self.now_ms, &mut self.budget_bytes)
                .map_err(|rejection| Refusal::of_batch(&rejection, partition.positions().log_start))?,
            false => None,
        };
        match checked {
            Some(batch) => self.append(partition, batch).map(Attempt::Done),
            None => Ok(Attempt::Elsewhere(Elsewhere {
                index: data.index,
                partition: Arc::clone(partition),
                records,
                rules: settings.rules.clone(),
            })),
        }
    }

    /// Checks a batch where it may take long, opens its log if need be, and deals with it. A full pool lets it wait for
    /// its turn.
    async fn check_elsewhere(&mut self, elsewhere: Elsewhere) {
        let Elsewhere { index, partition, records, rules } = elsewhere;
        let (now_ms, of_job) = (self.now_ms, Arc::clone(&partition));
        let check = move || check_batch(records, &rules, now_ms).map(|batch| (batch, of_job.ready()));
        let checked = self.broker.pool.run(check).await;
        let log_start = partition.positions().log_start;
        let checked = match checked {
            Ok(Ok((batch, Ok(())))) => Ok(batch),
            Ok(Ok((_, Err(error)))) => Err(Refusal::of_append(&error, log_start)),
            Ok(Err(rejection)) => Err(Refusal::of_batch(&rejection, log_start)),
            Err(error) => Err(error_map::of_pool(error).into()),
        };
        let appended = checked.and_then(|batch| self.append(&partition, batch));
        self.answer(match appended {
            Ok(info) => succeeded(index, &info),
            Err(refusal) => refused(index, refusal),
        });
    }

    fn append(&mut self, partition: &Arc<Partition>, batch: CheckedBatch) -> Result<AppendInfo, Refusal> {
        let acks = self.acks.ok_or(ErrorCode::INVALID_REQUIRED_ACKS)?;
        let in_transaction = batch.header().is_transactional() && batch.header().producer_id().is_some();
        let appended = if in_transaction && self.transactions_are_asked {
            if let Some(code) = self.answers.refusal(partition.topic(), partition.index()) {
                return Err(Refusal { message: produce_transactions::message(code), ..code.into() });
            }
            partition.append_in_transaction(batch, acks, self.now_ms)
        } else {
            partition.append(batch, acks, self.now_ms)
        };
        let info = appended.map_err(|error| Refusal::of_append(&error, partition.positions().log_start))?;
        if !partition.is_acknowledged(info.last_offset) {
            self.unacknowledged
                .push(Unacknowledged { partition: Arc::clone(partition), last: info.last_offset });
            self.places.push(self.place());
        }
        Ok(info)
    }

    /// What is wrong with a batch whatever partition it is for.
    fn check_request_rules(&self, records: &Bytes) -> Result<(), Refusal> {
        check_framing(records).map_err(|rejection| Refusal::of_batch(&rejection, Offset::UNKNOWN))?;
        let codec = BatchHeader::parse(records).ok().and_then(|header| header.codec());
        if self.version < ZSTD_SINCE && codec == Some(Codec::Zstd) {
            return Err(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE.into());
        }
        Ok(())
    }
}

impl Refusal {
    /// Faults of single records are told one by one, and with them where the log starts.
    fn of_batch(rejection: &BatchRejection, log_start: Offset) -> Self {
        let code = error_map::of_batch(rejection);
        let faults = rejection.record_faults();
        let without_start = matches!(code, ErrorCode::CORRUPT_MESSAGE | ErrorCode::MESSAGE_TOO_LARGE);
        Self {
            code,
            log_start: if without_start { Offset::UNKNOWN } else { log_start },
            message: Some(rejection.to_compact_string()),
            record_errors: faults
                .iter()
                .map(|fault| BatchIndexAndErrorMessage {
                    batch_index: fault.index,
                    batch_index_error_message: Some(fault.to_compact_string()),
                })
                .collect(),
        }
    }

    fn of_append(error: &PartitionError, log_start: Offset) -> Self {
        let code = error_map::of_partition(error);
        let of_producer =
            matches!(code, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER | ErrorCode::INVALID_PRODUCER_EPOCH);
        Self { log_start: if of_producer { log_start } else { Offset::UNKNOWN }, ..code.into() }
    }
}

impl Refusal {
    /// The disk is nearly full: clients try again, and tell this when they give up.
    fn of_disk(short: &ShortOfRoom) -> Self {
        Self { message: Some(short.to_compact_string()), ..ErrorCode::KAFKA_STORAGE_ERROR.into() }
    }
}

impl From<ErrorCode> for Refusal {
    fn from(code: ErrorCode) -> Self {
        Self { code, log_start: Offset::UNKNOWN, message: None, record_errors: Vec::new() }
    }
}

impl From<PartitionError> for Refusal {
    fn from(error: PartitionError) -> Self {
        error_map::of_partition(&error).into()
    }
}

fn has_transactional_batch(topic: &TopicProduceData) -> bool {
    let batches = topic.partition_data.iter().filter_map(|data| data.records.as_ref()?.as_inline());
    let mut headers = batches.filter_map(|records| BatchHeader::parse(records).ok());
    headers.any(|header| header.is_transactional())
}

fn refuse_all(request: ProduceRequest, code: ErrorCode) -> ProduceResponse {
    let refuse = |topic: TopicProduceData| TopicProduceResponse {
        name: topic.name,
        topic_id: topic.topic_id,
        partition_responses: topic.partition_data.iter().map(|data| failed(data.index, code)).collect(),
    };
    ProduceResponse {
        responses: request.topic_data.into_iter().map(refuse).collect(),
        ..ProduceResponse::default()
    }
}

fn succeeded(index: PartitionIndex, info: &AppendInfo) -> PartitionProduceResponse {
    PartitionProduceResponse {
        index,
        base_offset: info.base_offset,
        log_append_time_ms: info.log_append_time_ms.unwrap_or(-1),
        log_start_offset: info.log_start,
        ..PartitionProduceResponse::default()
    }
}

fn failed(index: PartitionIndex, code: ErrorCode) -> PartitionProduceResponse {
    refused(index, code.into())
}

fn refused(index: PartitionIndex, refusal: Refusal) -> PartitionProduceResponse {
    PartitionProduceResponse {
        index,
        error_code: refusal.code,
        base_offset: Offset::UNKNOWN,
        log_start_offset: refusal.log_start,
        error_message: refusal.message,
        record_errors: refusal.record_errors,
        ..PartitionProduceResponse::default()
    }
}

/// Says who leads the partitions that this broker does not, and where to find them (KIP-951).
fn add_leader_hints(broker: &Broker, listener: &str, version: i16, response: &mut ProduceResponse) {
    if version < LEADER_HINTS_SINCE {
        return;
    }
    let image = broker.image.peek();
    for topic in &mut response.responses {
        let misdirected = topic
            .partition_responses
            .iter_mut()
            .filter(|it| it.error_code == ErrorCode::NOT_LEADER_OR_FOLLOWER);
        for partition in misdirected {
            let known = match version < TOPIC_IDS_SINCE {
                true => image.topic(topic.name.as_str()),
                false => image.topic_by_id(&topic.topic_id),
            };
            let Some(known) = known.and_then(|known| known.partition(partition.index)) else { continue };
            partition.current_leader =
                LeaderIdAndEpoch { leader_id: known.leader, leader_epoch: known.leader_epoch };
            let is_told = response.node_endpoints.iter().any(|endpoint| endpoint.node_id == known.leader);
            if let Some(node) = shared::node(&image, known.leader, listener).filter(|_| !is_told) {
                response.node_endpoints.push(NodeEndpoint {
                    node_id: node.id,
                    host: node.host,
                    port: node.port,
                    rack: node.rack,
                });
            }
        }
    }
}
