//! FindCoordinator: the broker that leads the partition to which a group or a transaction belongs. The topics in which they
//! are kept are created when they are first asked for. Share-partitions have no coordinator here.

use compact_str::CompactString;
use ottla_cluster::MetadataImage;
use ottla_coordinator::coordinator_partition;
use ottla_model::{ErrorCode, NodeId, Uuid};
use ottla_network::Outcome;
use ottla_protocol::messages::find_coordinator::{
    Coordinator, FindCoordinatorRequest, FindCoordinatorResponse,
};

use super::shared::{self, Node};
use crate::auto_create;
use crate::dispatch::Call;
use crate::internal_topics::{CONSUMER_OFFSETS, TRANSACTION_STATE};

/// The first version that asks for several coordinators.
const BATCHED_SINCE: i16 = 4;
/// The first version that may ask for the coordinator of a share-partition.
const SHARE_SINCE: i16 = 6;
/// What Kafka says to a key type that it does not know, and to a missing coordinator before version 4.
const MALFORMED: &str = "This most likely occurs because of a request being malformed by the client library or the \
                         message was sent to an incompatible broker. See the broker logs for more details.";
const NOT_AVAILABLE: &str = "The coordinator is not available.";

/// Why there is no coordinator: the code, and words where Kafka has some.
struct Missing {
    code: ErrorCode,
    message: &'static str,
}

pub(crate) fn handle(call: &mut Call<'_>, request: FindCoordinatorRequest) -> Outcome {
    let image = call.broker().image.load();
    let lookup = Lookup { call, image: &image, key_type: request.key_type };
    if call.version() < BATCHED_SINCE {
        return call.reply(&alone(lookup.find(&request.key)));
    }
    let find = |key: CompactString| {
        let found = lookup.find(&key);
        batched(key, found)
    };
    let coordinators = request.coordinator_keys.into_iter().map(find).collect();
    call.reply(&FindCoordinatorResponse { coordinators, ..FindCoordinatorResponse::default() })
}

struct Lookup<'a, 'c> {
    call: &'a Call<'c>,
    image: &'a MetadataImage,
    key_type: i8,
}

impl Lookup<'_, '_> {
    fn find(&self, key: &str) -> Result<Node, Missing> {
        match self.key_type {
            0 => self.leader(CONSUMER_OFFSETS, key),
            1 => self.leader(TRANSACTION_STATE, key),
            // They have no coordinator here: the answer is Kafka's while it has none.
            2 if self.call.version() >= SHARE_SINCE && is_share_partition(key) => {
                Err(Missing::not_available())
            }
            2 => Err(Missing { code: ErrorCode::INVALID_REQUEST, message: "" }),
            _ => Err(Missing { code: ErrorCode::INVALID_REQUEST, message: MALFORMED }),
        }
    }

    /// The leader of the partition that keeps what is told of a name.
    fn leader(&self, topic: &'static str, name: &str) -> Result<Node, Missing> {
        let Some(topic) = self.image.topic(topic) else {
            auto_create::begin(&self.call.broker_arc(), vec![topic.into()]);
            return Err(Missing::not_available());
        };
        let partitions = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
        let index = coordinator_partition(name, partitions).ok_or(Missing::not_available())?;
        let listener = &self.call.connection.listener;
        let whereabouts = shared::Whereabouts::of(self.call.broker(), self.image, listener, topic);
        let partition = topic.partition(index);
        let led = partition.filter(|partition| whereabouts.leader_error(index, partition).is_none());
        let node = led.and_then(|partition| shared::node(self.image, partition.leader, listener));
        node.ok_or(Missing::not_available())
    }
}

impl Missing {
    const fn not_available() -> Self {
        Self { code: ErrorCode::COORDINATOR_NOT_AVAILABLE, message: "" }
    }
}

/// `group:topic id:partition`, as share-partitions are named (KIP-932).
fn is_share_partition(key: &str) -> bool {
    let mut parts = key.rsplitn(3, ':');
    let partition = parts.next().is_some_and(|part| part.parse::<i32>().is_ok());
    let topic = parts.next().is_some_and(|part| part.parse::<Uuid>().is_ok());
    partition && topic && parts.next().is_some_and(|group| !group.is_empty())
}

/// The answer up to version 3, which names success, too.
fn alone(found: Result<Node, Missing>) -> FindCoordinatorResponse {
    match found {
        Ok(node) => FindCoordinatorResponse {
            error_message: Some("NONE".into()),
            node_id: node.id,
            host: node.host,
            port: node.port,
            ..FindCoordinatorResponse::default()
        },
        Err(Missing { code, .. }) => FindCoordinatorResponse {
            error_code: code,
            error_message: Some(match code {
                ErrorCode::INVALID_REQUEST => MALFORMED.into(),
                _ => NOT_AVAILABLE.into(),
            }),
            node_id: NodeId::NONE,
            port: -1,
            ..FindCoordinatorResponse::default()
        },
    }
}

fn batched(key: CompactString, found: Result<Node, Missing>) -> Coordinator {
    match found {
        Ok(node) => {
            Coordinator { key, node_id: node.id, host: node.host, port: node.port, ..Coordinator::default() }
        }
        Err(Missing { code, message }) => Coordinator {
            key,
            node_id: NodeId::NONE,
            port: -1,
            error_code: code,
            error_message: Some(message.into()),
            ..Coordinator::default()
        },
    }
}
