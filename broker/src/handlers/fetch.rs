//! Fetch: which partitions, from where, how much; reading and waiting are `delayed/fetch.rs`'s. No sessions are kept:
//! every answer bears session id 0, as Kafka's do when its cache is full, and clients then list all partitions each time.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use compact_str::CompactString;
use ottla_model::{ErrorCode, LeaderEpoch, NodeId, Offset, PartitionIndex, TopicName, Uuid};
use ottla_network::{Outcome, Reply};
use ottla_protocol::Records;
use ottla_protocol::messages::fetch::{
    AbortedTransaction, EpochEndOffset, FetchPartition, FetchRequest, FetchResponse, FetchTopic,
    FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData,
};
use ottla_storage::ReadMode;

use super::shared;
use crate::context::Broker;
use crate::delayed::fetch::{self, FetchPlan, FetchResult, FetchResults, Wanted};
use crate::dispatch::Call;
use crate::error_map;
use crate::partition::read::{FetchFrom, Fetched, Isolation};
use crate::partition::waiters::PartitionKey;
use crate::partition_map::HeldTopic;
use crate::quotas::{Limited, Who};
use crate::reply::{ReplyTo, Slices};

/// The first version that names topics by their id.
const TOPIC_IDS_SINCE: i16 = 13;
/// The first version that answers with hints where the leader is.
const LEADER_HINTS_SINCE: i16 = 16;
/// No session, or the end of one: the request lists everything that it wants.
const SESSION_FINAL: i32 = -1;
/// A session is to be begun: the request lists everything that it wants.
const SESSION_INITIAL: i32 = 0;

pub(crate) fn handle(call: &mut Call<'_>, request: FetchRequest) -> Outcome {
    if !matches!(request.session_epoch, SESSION_INITIAL | SESSION_FINAL) {
        // Whatever session it was, it is not kept here; the client begins anew.
        let error_code = ErrorCode::FETCH_SESSION_ID_NOT_FOUND;
        return call.reply(&FetchResponse { error_code, ..FetchResponse::default() });
    }
    let Ok(isolation) = Isolation::try_from(request.isolation_level) else {
        return call.reply(&refuse_all(request, call.version(), ErrorCode::UNKNOWN_SERVER_ERROR));
    };
    let waits = wait_limit(&request);
    let (plan, shape) = Shape::of(call, request, isolation);
    let plan = Arc::new(plan);
    let at_once = plan.wanted.is_empty() || waits.is_none() || shape.has_refusal();
    match plan.read(ReadMode::Cached) {
        Some(results) if at_once || plan.is_enough(&results) => {
            return shape.reply(call.broker(), &plan, Ok(results)).into();
        }
        _ => {}
    }
    let (broker, table) = (call.broker_arc(), call.waits());
    let deadline = waits.filter(|_| !at_once).and_then(|limit| Instant::now().checked_add(limit));
    Outcome::later(async move {
        let results = fetch::wait_and_read(Arc::clone(&plan), table, broker.pool.clone(), deadline).await;
        shape.reply(&broker, &plan, results)
    })
}

/// The answer to a request that cannot be meant. Where topics have ids it lists none, as Kafka's.
fn refuse_all(request: FetchRequest, version: i16, error_code: ErrorCode) -> FetchResponse {
    if version >= TOPIC_IDS_SINCE {
        return FetchResponse { error_code, ..FetchResponse::default() };
    }
    let topic = |topic: FetchTopic| FetchableTopicResponse {
        topic: topic.topic,
        topic_id: topic.topic_id,
        partitions: topic.partitions.iter().map(|asked| unread(asked.partition, error_code)).collect(),
    };
    let responses = request.topics.into_iter().map(topic).collect();
    FetchResponse { error_code, responses, ..FetchResponse::default() }
}

/// How long the answer may wait for more; none for not at all.
fn wait_limit(request: &FetchRequest) -> Option<Duration> {
    let limit = u64::try_from(request.max_wait_ms).unwrap_or(0);
    (limit > 0).then(|| Duration::from_millis(limit))
}

/// The answer's shape: which topics and partitions it lists, and where each one's data come from.
struct Shape {
    to: ReplyTo,
    /// Whose quota counts, where there are quotas.
    client: Option<CompactString>,
    listener: Arc<str>,
    topics: Vec<TopicShape>,
}

struct TopicShape {
    name: TopicName,
    id: Uuid,
    partitions: Vec<PartitionShape>,
}

struct PartitionShape {
    index: PartitionIndex,
    /// Refused before anything was read, or the next of the plan's results.
    refused: Option<ErrorCode>,
}

impl Shape {
    fn of(call: &Call<'_>, request: FetchRequest, isolation: Isolation) -> (FetchPlan, Self) {
        let broker = call.broker();
        let positive = |bytes: i32| u64::try_from(bytes).unwrap_or(0);
        let bytes_max = positive(request.max_bytes).min(u64::from(broker.config.fetch_bytes_max));
        let client = broker.quotas.hold().then(|| call.client_id.clone().unwrap_or_default());
        let bytes_max = bytes_max.min(client.as_ref().map_or(u64::MAX, |client| at_once(broker, client)));
        let plan = FetchPlan {
            wanted: Vec::new(),
            isolation,
            bytes_min: positive(request.min_bytes).min(bytes_max),
            bytes_max,
        };
        let mut planner = Planner {
            broker,
            by_id: call.version() >= TOPIC_IDS_SINCE,
            is_follower: is_replica(&request),
            may_repeat: request.topics.len() > 1
                || request.topics.iter().any(|topic| topic.partitions.len() > 1),
            seen: HashSet::new(),
            plan,
        };
        let topics = request.topics.into_iter().map(|topic| planner.add_topic(topic)).collect();
        let listener = Arc::clone(&call.connection.listener);
        (planner.plan, Self { to: call.reply_to(), client, listener, topics })
    }

    fn has_refusal(&self) -> bool {
        self.topics.iter().flat_map(|topic| &topic.partitions).any(|partition| partition.refused.is_some())
    }

    fn reply(mut self, broker: &Broker, plan: &FetchPlan, results: Result<FetchResults, ErrorCode>) -> Reply {
        if let (Some(client), Ok(found)) = (&self.client, &results) {
            let held_back = broker.quotas.charge_fetch(Who::anonymous(client), found.length());
            self.to = self.to.throttled(held_back.time);
            if held_back.is_refused {
                // Nothing was sent: after its time the client asks for the same.
                return self.to.reply(&FetchResponse::default());
            }
        }
        let (mut results, failed) = match results {
            Ok(FetchResults { results }) => {
                plan.count(&results);
                (results.into_iter(), ErrorCode::NONE)
            }
            Err(code) => (Vec::new().into_iter(), code),
        };
        let mut slices = Slices::default();
        let mut response = FetchResponse::default();
        for topic in self.topics {
            let partitions = topic.partitions.into_iter().map(|partition| match partition.refused {
                Some(code) => unread(partition.index, code),
                None => match results.next() {
                    Some(result) => data_of(partition.index, result, plan.isolation, &mut slices),
                    None => unread(partition.index, failed),
                },
            });
            response.responses.push(FetchableTopicResponse {
                topic: topic.name,
                topic_id: topic.id,
                partitions: partitions.collect(),
            });
        }
        debug_assert!(results.next().is_none(), "a plan of {} partitions fits its answer", plan.wanted.len());
        if self.to.version >= LEADER_HINTS_SINCE {
            add_leader_hints(broker, &self.listener, &mut response);
        }
        self.to.reply_with(&response, slices)
    }
}

/// What a client may be sent at once: more would have to be held back for ever.
fn at_once(broker: &Broker, client: &str) -> u64 {
    let burst = broker.quotas.burst(Limited::Fetch, Who::anonymous(client));
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is a positive number of bytes"
    )]
    burst.map_or(u64::MAX, |bytes| bytes as u64)
}

/// A follower names itself. There is no follower of a partition with one replica, so none is served yet.
fn is_replica(request: &FetchRequest) -> bool {
    request.replica_id >= NodeId::new(0) || request.replica_state.replica_id >= NodeId::new(0)
}

/// Finds the partitions that a request names, each once.
struct Planner<'a> {
    broker: &'a Broker,
    by_id: bool,
    is_follower: bool,
    may_repeat: bool,
    seen: HashSet<PartitionKey>,
    plan: FetchPlan,
}

impl Planner<'_> {
    fn add_topic(&mut self, topic: FetchTopic) -> TopicShape {
        let FetchTopic { topic: name, topic_id: id, partitions } = topic;
        let known = &self.broker.partitions;
        let held = if self.by_id { known.topic_by_id(&id) } else { known.topic(&name) };
        let mut shapes = Vec::with_capacity(partitions.len());
        for asked in &partitions {
            let found = match &held {
                _ if self.is_follower => Err(ErrorCode::NOT_LEADER_OR_FOLLOWER),
                Some(held) => self.add_partition(held, asked),
                None => Err(self.why_unknown(&id, &name, asked.partition)),
            };
            match found {
                Ok(false) => {}
                Ok(true) => shapes.push(PartitionShape { index: asked.partition, refused: None }),
                Err(code) => shapes.push(PartitionShape { index: asked.partition, refused: Some(code) }),
            }
        }
        TopicShape { name, id, partitions: shapes }
    }

    /// Adds a partition to the plan; false if it is in it already.
    fn add_partition(&mut self, topic: &HeldTopic, asked: &FetchPartition) -> Result<bool, ErrorCode> {
        let partition = shared::find_partition(self.broker, topic, asked.partition)?;
        let from = FetchFrom {
            offset: asked.fetch_offset,
            current_epoch: known_epoch(asked.current_leader_epoch),
            last_epoch: known_epoch(asked.last_fetched_epoch),
            max_bytes: u64::try_from(asked.partition_max_bytes)
                .map_err(|_| ErrorCode::UNKNOWN_SERVER_ERROR)?,
        };
        if self.may_repeat && !self.seen.insert(partition.key()) {
            return Ok(false);
        }
        self.plan.wanted.push(Wanted { partition: Arc::clone(partition), from });
        Ok(true)
    }

    fn why_unknown(&self, id: &Uuid, name: &TopicName, index: PartitionIndex) -> ErrorCode {
        if !self.by_id {
            return shared::why_not_held(self.broker, name, index);
        }
        let name = self.broker.image.peek().topic_by_id(id).map(|topic| topic.name.clone());
        name.map_or(ErrorCode::UNKNOWN_TOPIC_ID, |name| shared::why_not_held(self.broker, &name, index))
    }
}

/// Any negative epoch means none.
fn known_epoch(epoch: LeaderEpoch) -> LeaderEpoch {
    epoch.max(LeaderEpoch::UNKNOWN)
}

fn data_of(
    index: PartitionIndex,
    result: FetchResult,
    isolation: Isolation,
    slices: &mut Slices,
) -> PartitionData {
    let Fetched { positions, records, aborted, diverging } = match result {
        Ok(fetched) => fetched,
        Err(error) => {
            let refused = unread(index, error_map::of_partition(&error));
            return PartitionData { aborted_transactions: None, ..refused };
        }
    };
    PartitionData {
        partition_index: index,
        high_watermark: positions.high_watermark,
        last_stable_offset: positions.last_stable,
        log_start_offset: positions.log_start,
        diverging_epoch: diverging.map_or_else(EpochEndOffset::default, |end| EpochEndOffset {
            epoch: end.epoch,
            end_offset: end.end_offset,
        }),
        aborted_transactions: match isolation {
            Isolation::ReadUncommitted => None,
            Isolation::ReadCommitted => Some(aborted.iter().map(aborted_transaction).collect()),
        },
        records: slices.records(records),
        ..PartitionData::default()
    }
}

fn aborted_transaction(aborted: &ottla_storage::AbortedTransaction) -> AbortedTransaction {
    AbortedTransaction { producer_id: aborted.producer_id, first_offset: aborted.first_offset }
}

/// A partition of which nothing was read.
fn unread(index: PartitionIndex, error_code: ErrorCode) -> PartitionData {
    PartitionData {
        partition_index: index,
        error_code,
        high_watermark: Offset::UNKNOWN,
        records: Some(Records::default()),
        ..PartitionData::default()
    }
}

/// Says who leads the partitions that the client took to be led here, and where to find them (KIP-951).
fn add_leader_hints(broker: &Broker, listener: &str, response: &mut FetchResponse) {
    let image = broker.image.peek();
    for topic in &mut response.responses {
        let misdirected = topic.partitions.iter_mut().filter(|partition| {
            matches!(partition.error_code, ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::FENCED_LEADER_EPOCH)
        });
        for partition in misdirected {
            let known = image
                .topic_by_id(&topic.topic_id)
                .and_then(|known| known.partition(partition.partition_index));
            let (leader_id, leader_epoch) = known
                .map_or((NodeId::NONE, LeaderEpoch::UNKNOWN), |known| (known.leader, known.leader_epoch));
            partition.current_leader = LeaderIdAndEpoch { leader_id, leader_epoch };
            let is_told = response.node_endpoints.iter().any(|endpoint| endpoint.node_id == leader_id);
            if let Some(node) = shared::node(&image, leader_id, listener).filter(|_| !is_told) {
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
