//! DescribeCluster: the brokers, as clients of this listener reach them (KIP-700). Controllers are not listed: a
//! broker's listener knows brokers alone (KIP-919).

use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::describe_cluster::{
    DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse,
};

use super::shared;
use crate::dispatch::Call;

const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

pub(crate) fn handle(call: &mut Call<'_>, request: DescribeClusterRequest) -> Outcome {
    match request.endpoint_type {
        BROKERS => {}
        CONTROLLERS => {
            let message = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER";
            return call.reply(&refusal(ErrorCode::MISMATCHED_ENDPOINT_TYPE, message));
        }
        other => {
            let message = format!("Unsupported endpoint type {other}");
            return call.reply(&refusal(ErrorCode::UNSUPPORTED_ENDPOINT_TYPE, &message));
        }
    }
    let broker = call.broker();
    let image = broker.image.load();
    let with_fenced = request.include_fenced_brokers;
    call.reply(&DescribeClusterResponse {
        endpoint_type: BROKERS,
        cluster_id: broker.cluster_id.clone(),
        controller_id: shared::controller(broker, &image),
        brokers: shared::nodes(&image, &call.connection.listener)
            .filter(|node| with_fenced || !node.fenced)
            .map(|node| DescribeClusterBroker {
                broker_id: node.id,
                host: node.host,
                port: node.port,
                rack: node.rack,
                is_fenced: node.fenced,
            })
            .collect(),
        cluster_authorized_operations: shared::operations(
            request.include_cluster_authorized_operations,
            shared::CLUSTER_OPERATIONS,
        ),
        ..DescribeClusterResponse::default()
    })
}

fn refusal(error_code: ErrorCode, message: &str) -> DescribeClusterResponse {
    DescribeClusterResponse {
        error_code,
        error_message: Some(message.into()),
        ..DescribeClusterResponse::default()
    }
}
