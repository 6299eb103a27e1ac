//! The controller as a state machine: a request becomes records and an answer, and only replaying the records changes
//! its state. It does no I/O, asks no clock, and draws nothing at random: what it needs of these is handed in.

mod alter_configs;
mod assign_dirs;
mod brokers;
mod client_quotas;
mod create_partitions;
mod create_topics;
mod delete_topics;
mod elections;
mod features;
mod placement;
mod producer_ids;
mod reassign;
mod rules;
mod unregister;

use std::sync::Arc;

use compact_str::CompactString;
use ottla_model::{NodeId, Offset};
use ottla_protocol::metadata::MetadataRecord;

use crate::image::MetadataImage;
use crate::link::{ControllerRequest, ControllerResponse};

pub use alter_configs::CONFIGS_PER_RESOURCE_MAX;
pub use create_topics::name_message;
pub use rules::{ConfigChange, ConfigRefusal, ConfigRules, EffectiveConfig, ListOperation, TopicConfigRules};

/// Records that one request may lead to, as in Kafka; a request that needs more is refused whole. A batch of so many
/// partitions has below a megabyte.
pub const RECORDS_PER_REQUEST_MAX: usize = 10_000;

/// Bytes of names and values that one request may bring into the log: with [`RECORDS_PER_REQUEST_MAX`] records of at
/// most 150 bytes beside them a batch stays below Kafka's 8 MiB for one of this log.
pub const TEXT_BYTES_PER_REQUEST_MAX: usize = 4 << 20;

const _: () = assert!(TEXT_BYTES_PER_REQUEST_MAX + RECORDS_PER_REQUEST_MAX * 150 < 8 << 20);

/// What the controller decides by.
#[derive(Clone)]
pub struct ControllerSettings {
    /// The node whose controller this is.
    pub node_id: NodeId,
    /// `min.insync.replicas`: the default of all brokers once eligible leader replicas are switched on.
    pub min_insync_replicas: i32,
    /// The cluster's id; a broker of another one is refused.
    pub cluster_id: CompactString,
    /// `num.partitions`: for topics created with −1.
    pub default_partitions: i32,
    /// `default.replication.factor`: for topics created with −1.
    pub default_replication_factor: i16,
    /// `delete.topic.enable`.
    pub delete_topics: bool,
    /// The broker's table of topic configs.
    pub topic_configs: Arc<dyn TopicConfigRules>,
    /// The broker's tables of what else can be configured, and how that changes.
    pub configs: Arc<dyn ConfigRules>,
}

/// What a decision may depend on beside the state.
pub struct Occasion<'a> {
    /// The offset that the decision's first record will have.
    pub next_offset: Offset,
    /// 16 fresh random bytes a call.
    pub entropy: &'a dyn Fn() -> [u8; 16],
}

/// Records to commit, all or none, and the answer to give once they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The records; none if nothing changes.
    pub records: Vec<MetadataRecord>,
    /// The answer.
    pub response: ControllerResponse,
}

/// Decides what a request leads to in the state that `image` is.
#[must_use]
pub fn decide(
    settings: &ControllerSettings,
    image: &MetadataImage,
    request: &ControllerRequest,
    occasion: &Occasion<'_>,
) -> Decision {
    match request {
        ControllerRequest::CreateTopics(request) => create_topics::decide(settings, image, request, occasion),
        ControllerRequest::IncrementalAlterConfigs(request) => {
            alter_configs::incremental(settings, image, request)
        }
        ControllerRequest::AlterConfigs(request) => alter_configs::replace(settings, image, request),
        ControllerRequest::DeleteTopics(request) => delete_topics::decide(settings, image, request),
        ControllerRequest::AllocateProducerIds(request) => producer_ids::decide(image, request),
        ControllerRequest::BrokerRegistration(request) => brokers::decide(settings, image, request, occasion),
        ControllerRequest::CreatePartitions(request) => create_partitions::decide(image, request),
        ControllerRequest::ElectLeaders(request) => elections::decide(image, request),
        ControllerRequest::AlterPartitionReassignments(request) => reassign::decide(image, request),
        ControllerRequest::UpdateFeatures(request) => features::decide(settings, image, request),
        ControllerRequest::UnregisterBroker(request) => unregister::decide(settings, image, request),
        ControllerRequest::AlterClientQuotas(request) => client_quotas::decide(image, request),
        ControllerRequest::AssignReplicasToDirs(request) => assign_dirs::decide(image, request),
    }
}

/// What the controller's own broker leaves in the log when both stop in good order.
#[must_use]
pub fn farewell(image: &MetadataImage, node: NodeId) -> Option<MetadataRecord> {
    brokers::leave(image, node)
}

/// The brokers that may be given partitions.
fn usable_brokers(image: &MetadataImage) -> impl Iterator<Item = NodeId> {
    let usable = |broker: &&Arc<crate::image::BrokerImage>| {
        !broker.fenced
            && !broker.in_controlled_shutdown
            && !broker.log_dirs.iter().all(|dir| broker.cordoned_log_dirs.contains(dir))
    };
    image.brokers().filter(usable).map(|broker| broker.id)
}
