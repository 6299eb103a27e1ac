//! ListConfigResources (KIP-1142): what could be described. Version 0 knows subscriptions to clients' metrics alone.

use compact_str::{CompactString, ToCompactString};
use ottla_cluster::{ConfigResource as Resource, MetadataImage};
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::list_config_resources::{
    ConfigResource, ListConfigResourcesRequest, ListConfigResourcesResponse,
};

use super::alter_configs::BROKER_LOGGER;
use crate::dispatch::Call;

/// The kinds in the order in which they are listed.
const KINDS: &[i8] =
    &[Resource::TOPIC, Resource::BROKER, BROKER_LOGGER, Resource::CLIENT_METRICS, Resource::GROUP];

pub(crate) fn handle(call: &mut Call<'_>, request: ListConfigResourcesRequest) -> Outcome {
    let kinds = match (call.version(), request.resource_types.as_slice()) {
        (0, _) => vec![Resource::CLIENT_METRICS],
        (_, []) => KINDS.to_vec(),
        (_, asked) => asked.to_vec(),
    };
    if kinds.iter().any(|kind| !KINDS.contains(kind)) {
        let error_code = ErrorCode::UNSUPPORTED_VERSION;
        return call
            .reply(&ListConfigResourcesResponse { error_code, ..ListConfigResourcesResponse::default() });
    }
    let image = call.broker().image();
    let mut config_resources = Vec::new();
    for kind in KINDS.iter().filter(|kind| kinds.contains(kind)) {
        let mut names = names_of(&image, *kind);
        names.sort_unstable();
        let listed =
            names.into_iter().map(|resource_name| ConfigResource { resource_name, resource_type: *kind });
        config_resources.extend(listed);
    }
    call.reply(&ListConfigResourcesResponse { config_resources, ..ListConfigResourcesResponse::default() })
}

/// Topics and brokers are listed all, the other kinds as far as something was set for them.
fn names_of(image: &MetadataImage, kind: i8) -> Vec<CompactString> {
    match kind {
        Resource::TOPIC => image.topics().map(|topic| topic.name.as_str().into()).collect(),
        Resource::BROKER | BROKER_LOGGER => {
            image.brokers().map(|broker| broker.id.to_compact_string()).collect()
        }
        _ => {
            let of_kind = image.config_resources().filter(|(resource, _)| resource.kind == kind);
            of_kind.map(|(resource, _)| resource.name.clone()).collect()
        }
    }
}
