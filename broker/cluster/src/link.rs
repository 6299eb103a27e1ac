//! How a broker asks its controller: Kafka's own requests, whoever the controller is. The answer may be ahead of what
//! the broker has applied, so it says up to which offset the broker must have come before it passes it on.

use ottla_model::Offset;
use ottla_protocol::messages::allocate_producer_ids::{
    AllocateProducerIdsRequest, AllocateProducerIdsResponse,
};
use ottla_protocol::messages::alter_client_quotas::{AlterClientQuotasRequest, AlterClientQuotasResponse};
use ottla_protocol::messages::alter_configs::{AlterConfigsRequest, AlterConfigsResponse};
use ottla_protocol::messages::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse,
};
use ottla_protocol::messages::assign_replicas_to_dirs::{
    AssignReplicasToDirsRequest, AssignReplicasToDirsResponse,
};
use ottla_protocol::messages::broker_registration::{
    BrokerRegistrationRequest, BrokerRegistrationResponse, Feature, Listener,
};
use ottla_protocol::messages::create_partitions::{CreatePartitionsRequest, CreatePartitionsResponse};
use ottla_protocol::messages::create_topics::{CreateTopicsRequest, CreateTopicsResponse};
use ottla_protocol::messages::delete_topics::{DeleteTopicsRequest, DeleteTopicsResponse};
use ottla_protocol::messages::elect_leaders::{ElectLeadersRequest, ElectLeadersResponse};
use ottla_protocol::messages::incremental_alter_configs::{
    IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};
use ottla_protocol::messages::unregister_broker::{UnregisterBrokerRequest, UnregisterBrokerResponse};
use ottla_protocol::messages::update_features::{UpdateFeaturesRequest, UpdateFeaturesResponse};

use crate::feed::BoxFuture;
use crate::image::{Endpoint, FeatureRange};

/// What a controller is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum ControllerRequest {
    /// Create topics; partitions and replication factor −1 take the controller's defaults.
    CreateTopics(CreateTopicsRequest),
    /// Delete topics. `topics` (names or ids) and `topic_names` both count; the broker need not convert old versions.
    DeleteTopics(DeleteTopicsRequest),
    /// Change single configs of resources. Loggers are no business of the controller's.
    IncrementalAlterConfigs(IncrementalAlterConfigsRequest),
    /// Replace all configs of resources.
    AlterConfigs(AlterConfigsRequest),
    /// The next block of producer ids for a broker.
    AllocateProducerIds(AllocateProducerIdsRequest),
    /// A broker has started.
    BrokerRegistration(BrokerRegistrationRequest),
    /// Topics get more partitions.
    CreatePartitions(CreatePartitionsRequest),
    /// Leaderships go back to preferred replicas, or to any.
    ElectLeaders(ElectLeadersRequest),
    /// Partitions get other replicas.
    AlterPartitionReassignments(AlterPartitionReassignmentsRequest),
    /// Features go to other levels.
    UpdateFeatures(UpdateFeaturesRequest),
    /// A broker is forgotten.
    UnregisterBroker(UnregisterBrokerRequest),
    /// Limits for users, client ids and addresses.
    AlterClientQuotas(AlterClientQuotasRequest),
    /// In which of its directories a broker has replicas.
    AssignReplicasToDirs(AssignReplicasToDirsRequest),
}

/// What a controller answers, of the same kind as the request.
#[derive(Debug, Clone, PartialEq)]
pub enum ControllerResponse {
    /// To [`ControllerRequest::CreateTopics`].
    CreateTopics(CreateTopicsResponse),
    /// To [`ControllerRequest::DeleteTopics`].
    DeleteTopics(DeleteTopicsResponse),
    /// To [`ControllerRequest::IncrementalAlterConfigs`].
    IncrementalAlterConfigs(IncrementalAlterConfigsResponse),
    /// To [`ControllerRequest::AlterConfigs`].
    AlterConfigs(AlterConfigsResponse),
    /// To [`ControllerRequest::AllocateProducerIds`].
    AllocateProducerIds(AllocateProducerIdsResponse),
    /// To [`ControllerRequest::BrokerRegistration`].
    BrokerRegistration(BrokerRegistrationResponse),
    /// To [`ControllerRequest::CreatePartitions`].
    CreatePartitions(CreatePartitionsResponse),
    /// To [`ControllerRequest::ElectLeaders`].
    ElectLeaders(ElectLeadersResponse),
    /// To [`ControllerRequest::AlterPartitionReassignments`].
    AlterPartitionReassignments(AlterPartitionReassignmentsResponse),
    /// To [`ControllerRequest::UpdateFeatures`].
    UpdateFeatures(UpdateFeaturesResponse),
    /// To [`ControllerRequest::UnregisterBroker`].
    UnregisterBroker(UnregisterBrokerResponse),
    /// To [`ControllerRequest::AlterClientQuotas`].
    AlterClientQuotas(AlterClientQuotasResponse),
    /// To [`ControllerRequest::AssignReplicasToDirs`].
    AssignReplicasToDirs(AssignReplicasToDirsResponse),
}

/// A committed answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ControllerReply {
    /// The answer.
    pub response: ControllerResponse,
    /// Offset of the last record that the answer rests on: whoever passes the answer to a client first waits for
    /// [`AppliedImage::wait_for`](crate::AppliedImage::wait_for) this offset.
    pub offset: Offset,
}

/// Why there is no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LinkError {
    /// The controller was shut down.
    #[error("the metadata controller has stopped")]
    Stopped,
    /// The controller ended because of a fault; what it was asked may or may not have been written.
    #[error("the metadata controller has failed: {reason}")]
    Failed {
        /// What went wrong first.
        reason: String,
    },
    /// Too many requests wait.
    #[error("{waiting} requests wait for the metadata controller already")]
    Busy {
        /// The limit that was reached.
        waiting: usize,
    },
}

/// A way to a controller.
pub trait ControllerLink: Send + Sync {
    /// Asks, and answers once the change is committed. Dropping the future does not take the request back.
    fn call(&self, request: ControllerRequest) -> BoxFuture<'static, Result<ControllerReply, LinkError>>;
}

impl From<&Endpoint> for Listener {
    fn from(endpoint: &Endpoint) -> Self {
        Self {
            name: endpoint.listener.clone(),
            host: endpoint.host.clone(),
            port: endpoint.port,
            security_protocol: endpoint.security_protocol,
        }
    }
}

impl From<&FeatureRange> for Feature {
    fn from(range: &FeatureRange) -> Self {
        Self { name: range.name.clone(), min_supported_version: range.min, max_supported_version: range.max }
    }
}
