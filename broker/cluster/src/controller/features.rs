//! UpdateFeatures: levels of the cluster's features go up or down (KIP-584, KIP-778), all of a request or none.

use std::collections::BTreeMap;

use compact_str::{CompactString, format_compact};
use ottla_model::{ErrorCode, NodeId};
use ottla_protocol::messages::update_features::{
    FeatureUpdateKey, UpdatableFeatureResult, UpdateFeaturesRequest, UpdateFeaturesResponse,
};
use ottla_protocol::metadata::{FeatureLevelRecord, MetadataRecord};

use super::{ControllerSettings, Decision};
use crate::features::{self, ELIGIBLE_LEADER_REPLICAS_VERSION, KRAFT_VERSION, METADATA_VERSION};
use crate::image::{FeatureRange, MetadataImage};
use crate::link::ControllerResponse;

const UPGRADE: i8 = 1;
const SAFE_DOWNGRADE: i8 = 2;
const UNSAFE_DOWNGRADE: i8 = 3;
/// 4.0-IV1: the first metadata version with eligible leader replicas.
const ELIGIBLE_REPLICAS_SINCE: i16 = 23;
const NO_DOWNGRADE: &str = "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.";

pub(super) fn decide(
    settings: &ControllerSettings,
    image: &MetadataImage,
    request: &UpdateFeaturesRequest,
) -> Decision {
    let mut levels: BTreeMap<CompactString, i16> = BTreeMap::new();
    for update in &request.feature_updates {
        if let Err(why) = check(settings.node_id, image, update) {
            return refused(&why);
        }
        levels.insert(update.feature.clone(), update.max_version_level);
    }
    if let Err(why) = check_together(image, &levels) {
        return refused(&why);
    }
    let mut records = Vec::new();
    // What other records depend on comes first.
    let (first, rest): (Vec<_>, Vec<_>) =
        levels.iter().partition(|(name, _)| name.as_str() == METADATA_VERSION);
    for (name, level) in first.into_iter().chain(rest) {
        if *level == level_of(image, name) {
            continue;
        }
        records.push(FeatureLevelRecord { name: name.clone(), feature_level: *level }.into());
        if name.as_str() == ELIGIBLE_LEADER_REPLICAS_VERSION && *level > 0 {
            records.extend(features::min_insync_default(image, settings.min_insync_replicas));
        }
    }
    if request.validate_only {
        records.clear();
    }
    let results = levels_in_order(&request.feature_updates);
    let response =
        UpdateFeaturesResponse { results, error_message: None, ..UpdateFeaturesResponse::default() };
    Decision {
        records: records.into_iter().collect(),
        response: ControllerResponse::UpdateFeatures(response),
    }
}

fn levels_in_order(updates: &[FeatureUpdateKey]) -> Vec<UpdatableFeatureResult> {
    let result = |update: &FeatureUpdateKey| UpdatableFeatureResult {
        feature: update.feature.clone(),
        error_code: ErrorCode::NONE,
        error_message: Some(CompactString::const_new("NONE")),
    };
    updates.iter().map(result).collect()
}

fn level_of(image: &MetadataImage, name: &str) -> i16 {
    if name == KRAFT_VERSION { image.kraft_version() } else { image.feature_level(name) }
}

/// Whether one feature may go to this level, in Kafka's words if not.
fn check(node: NodeId, image: &MetadataImage, update: &FeatureUpdateKey) -> Result<(), CompactString> {
    let (name, level) = (update.feature.as_str(), update.max_version_level);
    let invalid =
        |why: &str| Err(format_compact!("Invalid update version {level} for feature {name}. {why}"));
    if !(UPGRADE..=UNSAFE_DOWNGRADE).contains(&update.upgrade_type) {
        return invalid("The controller does not support the given upgrade type.");
    }
    let supported = features::supported().into_iter().find(|range| range.name == name);
    let current = level_of(image, name);
    if update.upgrade_type != UPGRADE && supported.is_none() && current == 0 && level <= 0 {
        return invalid(&format!("Feature {name} not found."));
    }
    if level < 0 {
        return invalid("A feature version cannot be less than 0.");
    }
    let Some(FeatureRange { min, max, .. }) = supported else {
        return invalid(&format!("Local controller {node} does not support this feature."));
    };
    if !(min..=max).contains(&level) {
        return invalid(&format!("Local controller {node} only supports versions {min}-{max}"));
    }
    let is_downgrade = level < current;
    if is_downgrade && name == KRAFT_VERSION {
        return invalid("Can't downgrade the version of this feature.");
    }
    if is_downgrade && update.upgrade_type == UPGRADE {
        return invalid(NO_DOWNGRADE);
    }
    if level > current && name == KRAFT_VERSION {
        return invalid(
            "The voters of the metadata log would have to be written into it, which this version does not do.",
        );
    }
    if is_downgrade && name == METADATA_VERSION {
        let why = match update.upgrade_type {
            SAFE_DOWNGRADE => {
                "Refusing to perform the requested downgrade because it might delete metadata information."
            }
            _ => "Unsafe metadata downgrade is not supported in this version.",
        };
        return Err(format_compact!(
            "Unsupported metadata.version downgrade from {current} to {level}. {why}"
        ));
    }
    Ok(())
}

/// Whether the levels fit together once all are in force.
fn check_together(image: &MetadataImage, levels: &BTreeMap<CompactString, i16>) -> Result<(), CompactString> {
    let after = |name: &str| levels.get(name).copied().unwrap_or_else(|| level_of(image, name));
    let (eligible, metadata) = (after(ELIGIBLE_LEADER_REPLICAS_VERSION), after(METADATA_VERSION));
    if eligible > 0 && metadata < ELIGIBLE_REPLICAS_SINCE {
        return Err(format_compact!(
            "{ELIGIBLE_LEADER_REPLICAS_VERSION} could not be set to {eligible} because it depends on \
             {METADATA_VERSION} level {ELIGIBLE_REPLICAS_SINCE}"
        ));
    }
    Ok(())
}

fn refused(why: &str) -> Decision {
    let message =
        format_compact!("The update failed for all features since the following feature had an error: {why}");
    let response = UpdateFeaturesResponse {
        error_code: ErrorCode::INVALID_UPDATE_VERSION,
        error_message: Some(message),
        ..UpdateFeaturesResponse::default()
    };
    Decision { records: Vec::<MetadataRecord>::new(), response: ControllerResponse::UpdateFeatures(response) }
}
