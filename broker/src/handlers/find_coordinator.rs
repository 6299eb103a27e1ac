//! FindCoordinator: there is no group coordinator yet, and the answer is Kafka's while it has none. The API is served, in
//! its oldest version alone, because librdkafka compresses with lz4 only towards brokers that list it.

use ottla_model::{ErrorCode, NodeId};
use ottla_network::Outcome;
use ottla_protocol::VersionRange;
use ottla_protocol::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};

use crate::dispatch::Call;

/// Coordinators of groups alone: from version 1 on a client may also ask for a transaction's, and one that does is told
/// by the version that there are none.
pub(crate) const VERSIONS: VersionRange = VersionRange::new(0, 0);

pub(crate) fn handle(call: &mut Call<'_>, _request: FindCoordinatorRequest) -> Outcome {
    call.reply(&FindCoordinatorResponse {
        error_code: ErrorCode::COORDINATOR_NOT_AVAILABLE,
        node_id: NodeId::NONE,
        host: "".into(),
        port: -1,
        ..FindCoordinatorResponse::default()
    })
}
