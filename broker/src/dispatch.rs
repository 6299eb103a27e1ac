//! From a frame to the handler of its API, and what each handler is given. One instance serves the connections of one
//! reactor and stays on its thread.
//!
//! An unknown key, an unserved version, a request that does not parse: the connection is closed without an answer, as
//! Kafka does. ApiVersions alone is answered in a version that is not served, so that a client can find one that is.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use compact_str::CompactString;
use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::ErrorCode;
use ottla_network::{ConnectionInfo, ConnectionLimits, Course, Outcome, ReactorContext, Reply};
use ottla_protocol::api::{ApiKey, Request};
use ottla_protocol::header::{RequestFrame, RequestFrameError};
use ottla_protocol::messages::api_versions::ApiVersion;
use ottla_protocol::{DecodeError, VersionRange};

use crate::connection_state::{ClientSoftware, ConnectionState};
use crate::context::Broker;
use crate::delayed::waits::Waits;
use crate::handlers::produce::Handled;
use crate::handlers::{
    add_offsets_to_txn, add_partitions_to_txn, alter_client_quotas, alter_configs,
    alter_partition_reassignments, alter_replica_log_dirs, api_versions, consumer_group_describe,
    consumer_group_heartbeat, create_partitions, create_topics, delete_groups, delete_records, delete_topics,
    describe_client_quotas, describe_cluster, describe_configs, describe_groups, describe_log_dirs,
    describe_producers, describe_quorum, describe_topic_partitions, describe_transactions, elect_leaders,
    end_txn, fetch, find_coordinator, heartbeat, init_producer_id, join_group, leave_group,
    list_config_resources, list_groups, list_offsets, list_partition_reassignments, list_transactions,
    metadata, offset_commit, offset_delete, offset_fetch, offset_for_leader_epoch, produce, sasl, sync_group,
    txn_offset_commit, unregister_broker, update_features, write_txn_markers,
};
use crate::machine_host::group::GroupHost;
use crate::metrics::meter::{Asked, Meter};
use crate::quotas::{Limited, Who};
use crate::reply::ReplyTo;

/// An API that this broker serves, and in which versions.
#[derive(Debug, Clone, Copy)]
pub struct Served {
    /// Which.
    pub api: ApiKey,
    /// The versions whose semantics are there.
    pub versions: VersionRange,
}

/// Everything that is served, in the order in which ApiVersions lists it.
pub const SERVED: &[Served] = &[
    Served::all(ApiKey::Produce),
    Served::all(ApiKey::Fetch),
    Served::all(ApiKey::ListOffsets),
    Served::all(ApiKey::Metadata),
    Served::all(ApiKey::OffsetCommit),
    Served::all(ApiKey::OffsetFetch),
    Served::all(ApiKey::FindCoordinator),
    Served::all(ApiKey::JoinGroup),
    Served::all(ApiKey::Heartbeat),
    Served::all(ApiKey::LeaveGroup),
    Served::all(ApiKey::SyncGroup),
    Served::all(ApiKey::DescribeGroups),
    Served::all(ApiKey::ListGroups),
    Served::all(ApiKey::SaslHandshake),
    Served::all(ApiKey::ApiVersions),
    Served::all(ApiKey::CreateTopics),
    Served::all(ApiKey::DeleteTopics),
    Served::all(ApiKey::DeleteRecords),
    Served::all(ApiKey::InitProducerId),
    Served::all(ApiKey::OffsetForLeaderEpoch),
    Served::all(ApiKey::AddPartitionsToTxn),
    Served::all(ApiKey::AddOffsetsToTxn),
    Served::all(ApiKey::EndTxn),
    Served::all(ApiKey::WriteTxnMarkers),
    Served::all(ApiKey::TxnOffsetCommit),
    Served::all(ApiKey::DescribeConfigs),
    Served::all(ApiKey::AlterConfigs),
    Served::all(ApiKey::AlterReplicaLogDirs),
    Served::all(ApiKey::DescribeLogDirs),
    Served::all(ApiKey::SaslAuthenticate),
    Served::all(ApiKey::CreatePartitions),
    Served::all(ApiKey::DeleteGroups),
    Served::all(ApiKey::ElectLeaders),
    Served::all(ApiKey::IncrementalAlterConfigs),
    Served::all(ApiKey::AlterPartitionReassignments),
    Served::all(ApiKey::ListPartitionReassignments),
    Served::all(ApiKey::OffsetDelete),
    Served::all(ApiKey::DescribeClientQuotas),
    Served::all(ApiKey::AlterClientQuotas),
    Served::all(ApiKey::DescribeQuorum),
    Served::all(ApiKey::UpdateFeatures),
    Served::all(ApiKey::DescribeCluster),
    Served::all(ApiKey::DescribeProducers),
    Served::all(ApiKey::UnregisterBroker),
    Served::all(ApiKey::DescribeTransactions),
    Served::all(ApiKey::ListTransactions),
    Served::all(ApiKey::ConsumerGroupHeartbeat),
    Served::all(ApiKey::ConsumerGroupDescribe),
    Served::all(ApiKey::ListConfigResources),
    Served::all(ApiKey::DescribeTopicPartitions),
];

impl Served {
    const fn all(api: ApiKey) -> Self {
        Self { api, versions: api.api().versions }
    }

    /// As ApiVersions names it.
    pub(crate) fn advertised(&self) -> ApiVersion {
        let VersionRange { first, last } = self.api.api().advertised(self.versions);
        ApiVersion { api_key: self.api.number(), min_version: first, max_version: last }
    }
}

/// The broker's side of one reactor's connections.
pub(crate) struct Service {
    broker: Arc<Broker>,
    waits: Rc<Waits>,
    meter: Meter,
}

/// What a handler is given beside its request.
pub(crate) struct Call<'a> {
    pub(crate) connection: &'a mut ConnectionState,
    pub(crate) client_id: Option<CompactString>,
    service: &'a Service,
    to: ReplyTo,
}

impl Service {
    /// The service of one reactor. To be called on the reactor's thread.
    ///
    /// # Panics
    /// If there are more reactors than the broker was opened for.
    #[must_use]
    pub(crate) fn new(broker: Arc<Broker>, reactor: &ReactorContext) -> Self {
        let ready = broker.ready.of(reactor.index()).expect("the broker knows how many reactors there are");
        let waits = Waits::new(reactor.index(), ready);
        reactor.spawn_local(Rc::clone(&waits).drive());
        let metrics = broker.metrics.reactor(reactor.index());
        let metrics = metrics.expect("the broker knows how many reactors there are");
        let meter = Meter::new(Arc::clone(metrics), broker.config.log_output.slow_request);
        Self { broker, waits, meter }
    }

    async fn answer(
        &self,
        connection: &mut ConnectionState,
        frame: RequestFrame,
        throttle: Duration,
    ) -> Result<Outcome, DecodeError> {
        let to = ReplyTo::request(&frame, self.meter.clone()).throttled(throttle);
        let mut call = Call { connection, client_id: frame.client_id.clone(), service: self, to };
        let call = &mut call;
        Ok(match frame.api {
            ApiKey::Produce => match produce::handle(call, body(frame)?) {
                Handled::Done(outcome) => outcome,
                Handled::Waits(rest) => rest.await,
            },
            ApiKey::Fetch => fetch::handle(call, body(frame)?),
            ApiKey::ListOffsets => list_offsets::handle(call, body(frame)?),
            ApiKey::Metadata => metadata::handle(call, body(frame)?),
            ApiKey::FindCoordinator => find_coordinator::handle(call, body(frame)?),
            ApiKey::OffsetCommit => offset_commit::handle(call, body(frame)?),
            ApiKey::OffsetFetch => offset_fetch::handle(call, body(frame)?),
            ApiKey::JoinGroup => join_group::handle(call, body(frame)?),
            ApiKey::Heartbeat => heartbeat::handle(call, body(frame)?),
            ApiKey::LeaveGroup => leave_group::handle(call, body(frame)?),
            ApiKey::SyncGroup => sync_group::handle(call, body(frame)?),
            ApiKey::DescribeGroups => describe_groups::handle(call, body(frame)?),
            ApiKey::ListGroups => list_groups::handle(call, body(frame)?),
            ApiKey::SaslHandshake => sasl::handshake(call, body(frame)?),
            ApiKey::SaslAuthenticate => sasl::authenticate(call, body(frame)?),
            ApiKey::ApiVersions => api_versions::handle(call, body(frame)?),
            ApiKey::CreateTopics => create_topics::handle(call, body(frame)?).await,
            ApiKey::DeleteTopics => delete_topics::handle(call, body(frame)?).await,
            ApiKey::DeleteRecords => delete_records::handle(call, body(frame)?),
            ApiKey::InitProducerId => init_producer_id::handle(call, body(frame)?).await,
            ApiKey::AddPartitionsToTxn => add_partitions_to_txn::handle(call, body(frame)?).await,
            ApiKey::AddOffsetsToTxn => add_offsets_to_txn::handle(call, body(frame)?).await,
            ApiKey::EndTxn => end_txn::handle(call, body(frame)?).await,
            ApiKey::WriteTxnMarkers => write_txn_markers::handle(call, body(frame)?),
            ApiKey::TxnOffsetCommit => txn_offset_commit::handle(call, body(frame)?).await,
            ApiKey::DescribeProducers => describe_producers::handle(call, body(frame)?),
            ApiKey::DescribeTransactions => describe_transactions::handle(call, body(frame)?).await,
            ApiKey::ListTransactions => list_transactions::handle(call, body(frame)?).await,
            ApiKey::OffsetForLeaderEpoch => offset_for_leader_epoch::handle(call, body(frame)?),
            ApiKey::AlterConfigs => alter_configs::replace(call, body(frame)?).await,
            ApiKey::IncrementalAlterConfigs => alter_configs::incremental(call, body(frame)?).await,
            ApiKey::ListConfigResources => list_config_resources::handle(call, body(frame)?),
            ApiKey::DescribeConfigs => describe_configs::handle(call, body(frame)?),
            ApiKey::AlterReplicaLogDirs => alter_replica_log_dirs::handle(call, body(frame)?),
            ApiKey::DescribeLogDirs => describe_log_dirs::handle(call, body(frame)?),
            ApiKey::DeleteGroups => delete_groups::handle(call, body(frame)?),
            ApiKey::OffsetDelete => offset_delete::handle(call, body(frame)?),
            ApiKey::ConsumerGroupHeartbeat => consumer_group_heartbeat::handle(call, body(frame)?),
            ApiKey::ConsumerGroupDescribe => consumer_group_describe::handle(call, body(frame)?),
            ApiKey::DescribeCluster => describe_cluster::handle(call, body(frame)?),
            ApiKey::DescribeTopicPartitions => describe_topic_partitions::handle(call, body(frame)?),
            ApiKey::CreatePartitions => create_partitions::handle(call, body(frame)?).await,
            ApiKey::ElectLeaders => elect_leaders::handle(call, body(frame)?).await,
            ApiKey::AlterPartitionReassignments => {
                alter_partition_reassignments::handle(call, body(frame)?).await
            }
            ApiKey::ListPartitionReassignments => list_partition_reassignments::handle(call, body(frame)?),
            ApiKey::UpdateFeatures => update_features::handle(call, body(frame)?).await,
            ApiKey::UnregisterBroker => unregister_broker::handle(call, body(frame)?).await,
            ApiKey::AlterClientQuotas => alter_client_quotas::handle(call, body(frame)?).await,
            ApiKey::DescribeClientQuotas => describe_client_quotas::handle(call, body(frame)?),
            ApiKey::DescribeQuorum => describe_quorum::handle(call, body(frame)?),
            // Not served: the version gate lets none through.
            _ => Reply::close().into(),
        })
    }
}

impl Service {
    /// Counts a request whose turn has come against its client's quotas; says for how long the client is held back. What it
    /// takes of a thread's time counts from the next request on.
    fn charge(&self, client: &str, api: ApiKey, bytes: usize) -> Duration {
        let (quotas, who) = (&self.broker.quotas, Who::anonymous(client));
        let time = quotas.charge(Limited::Time, who, 0.0);
        if api != ApiKey::Produce {
            return time;
        }
        #[allow(clippy::cast_precision_loss, reason = "a rate needs no more than a double has")]
        let bytes = bytes as f64;
        time.max(quotas.charge(Limited::Produce, who, bytes))
    }
}

impl ottla_network::Service for Service {
    type Connection = ConnectionState;

    fn connect(&self, info: &ConnectionInfo) -> ConnectionState {
        let refused = self.broker.quotas.charge_connection(info.peer.ip());
        ConnectionState::new(info, &self.meter, refused)
    }

    fn received(&self, connection: &mut ConnectionState, at: Instant) {
        connection.received_at = at;
    }

    fn sent(&self, connection: &ConnectionState, course: &Course, at: Instant) {
        self.meter.left(course, at, || connection.describe_client());
    }

    fn disconnect(&self, connection: ConnectionState) {
        self.meter.disconnected(&connection.counted);
    }

    async fn dispatch(&self, connection: &mut ConnectionState, frame: Bytes) -> Outcome {
        if let Some(time) = connection.refused_until {
            // One connection too many of its address: closed when its time is over, as by Kafka.
            tokio::time::sleep_until(time.into()).await;
            return Reply::close().into();
        }
        let (begun, bytes) = (Instant::now(), frame.len());
        let frame = match RequestFrame::parse(frame, served_versions) {
            Ok(frame) => frame,
            Err(RequestFrameError::UnsupportedVersion {
                api: ApiKey::ApiVersions, correlation_id, ..
            }) => {
                return api_versions::unsupported_version(correlation_id, self.meter.clone());
            }
            Err(error) => {
                tracing::debug!(connection = %connection.describe(), %error, "connection closed");
                return Reply::close().into();
            }
        };
        connection.last_api = Some(frame.api);
        connection.one_at_a_time = false;
        let received = connection.received_at;
        let asked = Asked { api: frame.api, version: frame.version, bytes, received, begun };
        let client = self.broker.quotas.hold().then(|| frame.client_id.clone().unwrap_or_default());
        let throttle = client.as_ref().map_or(Duration::ZERO, |client| self.charge(client, frame.api, bytes));
        let answered = self.answer(connection, frame, throttle).await;
        if let Some(client) = &client {
            let percent = begun.elapsed().as_secs_f64() * 100.0;
            self.broker.quotas.charge(Limited::Time, Who::anonymous(client), percent);
        }
        match answered {
            Ok(outcome) => self.meter.measured(&asked, outcome),
            Err(error) => {
                tracing::debug!(connection = %connection.describe(), %error, "connection closed");
                Reply::close().into()
            }
        }
    }

    fn describe(&self, connection: &ConnectionState) -> String {
        connection.describe()
    }

    fn limits(&self, connection: &ConnectionState) -> ConnectionLimits {
        ConnectionLimits { one_at_a_time: connection.one_at_a_time, ..ConnectionLimits::default() }
    }

    fn drain(&self) {
        self.broker.transactions.leave();
        self.broker.groups.leave();
        self.waits.drain();
    }
}

fn served_versions(api: ApiKey) -> Option<VersionRange> {
    SERVED.iter().find(|served| served.api == api).map(|served| served.versions)
}

/// Reads the body and lets go of the frame: what the request holds of it, it holds itself.
fn body<R: Request>(frame: RequestFrame) -> Result<R, DecodeError> {
    frame.decode()
}

impl Call<'_> {
    pub(crate) fn broker(&self) -> &Broker {
        &self.service.broker
    }

    pub(crate) fn groups(&self) -> &Arc<GroupHost> {
        &self.service.broker.groups
    }

    pub(crate) fn broker_arc(&self) -> Arc<Broker> {
        Arc::clone(&self.service.broker)
    }

    /// The wait table of this reactor.
    pub(crate) fn waits(&self) -> Rc<Waits> {
        Rc::clone(&self.service.waits)
    }

    pub(crate) const fn version(&self) -> i16 {
        self.to.version
    }

    /// For an answer that is made later.
    pub(crate) fn reply_to(&self) -> ReplyTo {
        self.to.clone()
    }

    /// For how long the client is held back, as answers tell it.
    pub(crate) fn throttle_ms(&self) -> i32 {
        self.to.throttle_ms()
    }

    /// No answer.
    pub(crate) fn silence(&self) -> Outcome {
        self.to.silence().into()
    }

    /// Counts changes of the cluster's metadata by how many partitions each is about; says how many of them may be made. A
    /// strict client is refused the others, any other is held back by the answer.
    pub(crate) fn charge_mutations(&mut self, strict: bool, costs: impl Iterator<Item = usize>) -> usize {
        let quotas = &self.service.broker.quotas;
        if !quotas.hold() {
            return usize::MAX;
        }
        #[allow(clippy::cast_precision_loss, reason = "a rate needs no more than a double has")]
        let costs: Vec<f64> = costs.map(|partitions| partitions as f64).collect();
        let who = Who::anonymous(self.client_id.as_deref().unwrap_or_default());
        let (passed, time) = quotas.charge_mutations(who, &costs, strict);
        self.to = self.to.clone().throttled(time);
        passed
    }

    /// The client has said what software it is.
    pub(crate) fn name_client(&mut self, software: ClientSoftware) {
        self.connection.name_client(software, &self.service.meter);
    }

    /// The answer, now.
    pub(crate) fn reply<M: ottla_protocol::Message>(&self, response: &M) -> Outcome {
        self.to.reply(response).into()
    }

    /// Asks the controller, and waits until this broker has applied what the answer rests on. Dropping the future
    /// does not take the request back.
    ///
    /// # Errors
    /// The code for the whole request when there is no controller to ask.
    pub(crate) async fn ask_controller(
        &self,
        request: ControllerRequest,
    ) -> Result<ControllerResponse, ErrorCode> {
        let broker = self.broker();
        match broker.controller.call(request).await {
            Ok(reply) => {
                broker.image.wait_for(reply.offset).await;
                Ok(reply.response)
            }
            Err(error) => {
                if let Some(left_out) = broker.metrics.controller_failures.due() {
                    tracing::warn!(%error, left_out, "a request could not be brought to the controller");
                }
                Err(ErrorCode::NOT_CONTROLLER)
            }
        }
    }
}
