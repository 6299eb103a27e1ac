//! ApiVersions: which APIs are served in which versions, and the cluster's features (KIP-511, KIP-584, KIP-1242).

use compact_str::CompactString;
use ottla_cluster::{MetadataImage, features};
use ottla_model::{ErrorCode, NodeId};
use ottla_network::Outcome;
use ottla_protocol::api::ApiKey;
use ottla_protocol::messages::api_versions::{
    ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};

use crate::connection_state::ClientSoftware;
use crate::dispatch::{Call, SERVED};
use crate::metrics::meter::Meter;
use crate::reply::ReplyTo;

/// The first version in which a client says what software it is.
const SOFTWARE_SINCE: i16 = 3;
/// The first version that shows features whose lowest level is 0.
const LEVEL_ZERO_SINCE: i16 = 4;

pub(crate) fn handle(call: &mut Call<'_>, request: ApiVersionsRequest) -> Outcome {
    if let Err(error_code) = check(call, &request) {
        return call.reply(&refusal(error_code));
    }
    if call.version() >= SOFTWARE_SINCE {
        let (name, version) = (request.client_software_name, request.client_software_version);
        call.name_client(ClientSoftware { name, version });
    }
    let image = call.broker().image.load();
    let supported = features::supported().into_iter();
    let supported = supported.filter(|range| call.version() >= LEVEL_ZERO_SINCE || range.min > 0);
    call.reply(&ApiVersionsResponse {
        api_keys: SERVED.iter().map(|served| served.advertised()).collect(),
        supported_features: supported
            .map(|range| SupportedFeatureKey {
                name: range.name,
                min_version: range.min,
                max_version: range.max,
            })
            .collect(),
        finalized_features_epoch: image.position().offset.get(),
        finalized_features: finalized(&image),
        ..ApiVersionsResponse::default()
    })
}

/// The features in force, those at level 0 aside.
fn finalized(image: &MetadataImage) -> Vec<FinalizedFeatureKey> {
    let recorded = image.features().map(|(name, level)| (name.clone(), level));
    let kraft = (CompactString::const_new(features::KRAFT_VERSION), image.kraft_version());
    let in_force = recorded.chain([kraft]).filter(|(_, level)| *level > 0);
    in_force
        .map(|(name, level)| FinalizedFeatureKey { name, max_version_level: level, min_version_level: level })
        .collect()
}

/// The answer to a version that is not served: in version 0, with the versions that are, so that the client can ask
/// again. The request's body is not looked at.
pub(crate) fn unsupported_version(correlation_id: i32, meter: Meter) -> Outcome {
    let own = SERVED.iter().filter(|served| served.api == ApiKey::ApiVersions);
    let response = ApiVersionsResponse {
        error_code: ErrorCode::UNSUPPORTED_VERSION,
        api_keys: own.map(|served| served.advertised()).collect(),
        ..ApiVersionsResponse::default()
    };
    let to = ReplyTo::in_version_0(ApiKey::ApiVersions, correlation_id, meter);
    to.reply(&response).into()
}

fn check(call: &Call<'_>, request: &ApiVersionsRequest) -> Result<(), ErrorCode> {
    if call.version() >= SOFTWARE_SINCE
        && !(is_software_text(&request.client_software_name)
            && is_software_text(&request.client_software_version))
    {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    let broker = call.broker();
    match (&request.cluster_id, request.node_id) {
        (None, NodeId::NONE) => Ok(()),
        (None, _) | (Some(_), NodeId::NONE) => Err(ErrorCode::INVALID_REQUEST),
        (Some(cluster), node) if *cluster == broker.cluster_id && node == broker.node_id => Ok(()),
        (Some(_), _) => Err(ErrorCode::REBOOTSTRAP_REQUIRED),
    }
}

fn refusal(error_code: ErrorCode) -> ApiVersionsResponse {
    ApiVersionsResponse { error_code, ..ApiVersionsResponse::default() }
}

/// Letters and digits, between them also `-` and `.`.
fn is_software_text(text: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() && bytes.iter().all(inner)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_names_are_those_that_kafka_takes() {
        for good in ["librdkafka", "apache-kafka-java", "4.4.0", "a", "a--b", "v1.2-rc"] {
            assert!(is_software_text(good), "{good}");
        }
        for bad in ["", "a_b", "-a", "a-", "a b", ".a", "é"] {
            assert!(!is_software_text(bad), "{bad}");
        }
    }
}
