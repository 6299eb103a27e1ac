//! IncrementalAlterConfigs (KIP-339) and the older AlterConfigs, which replaces all that a resource has: the order of
//! the rules and the messages are Kafka's. Resources stand and fall alone. What a key means and which values it takes
//! is the table's affair ([`ConfigRules`]).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use compact_str::CompactString;
use ottla_model::{ErrorCode, TopicName};
use ottla_protocol::messages::alter_configs::{self, AlterConfigsRequest, AlterConfigsResponse};
use ottla_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterConfigsResourceResponse, AlterableConfig, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
};
use ottla_protocol::metadata::{ConfigRecord, MetadataRecord};

use super::create_topics::name_message;
use super::rules::{ConfigChange, ConfigRefusal, ListOperation};
use super::{ControllerSettings, Decision, RECORDS_PER_REQUEST_MAX, TEXT_BYTES_PER_REQUEST_MAX};
use crate::image::{ConfigMap, ConfigResource, MetadataImage};
use crate::link::ControllerResponse;

/// Configs that one resource may have: ten times what any table knows, since a broker keeps keys that nobody knows.
pub const CONFIGS_PER_RESOURCE_MAX: usize = 4000;

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

pub(super) fn incremental(
    settings: &ControllerSettings,
    image: &MetadataImage,
    request: &IncrementalAlterConfigsRequest,
) -> Decision {
    let rules = Rules { settings, image };
    let resources = request.resources.iter();
    let planned = resources.map(|asked| {
        (
            resource(asked),
            rules.plan(&resource(asked), |before| {
                check_keys(
                    asked.configs.iter().map(|config| (&config.name, needs_value(config), &config.value)),
                )?;
                rules.operate(&resource(asked), before, &asked.configs)
            }),
        )
    });
    let (records, answers) = collect(planned.collect(), request.validate_only);
    let responses = answers.into_iter().map(|answer| AlterConfigsResourceResponse {
        error_code: answer.error_code,
        error_message: answer.message.map(CompactString::from),
        resource_type: answer.resource.kind,
        resource_name: answer.resource.name,
    });
    let response = IncrementalAlterConfigsResponse { throttle_time_ms: 0, responses: responses.collect() };
    Decision { records, response: ControllerResponse::IncrementalAlterConfigs(response) }
}

pub(super) fn replace(
    settings: &ControllerSettings,
    image: &MetadataImage,
    request: &AlterConfigsRequest,
) -> Decision {
    let rules = Rules { settings, image };
    let planned = request.resources.iter().map(|asked| {
        let resource = ConfigResource { kind: asked.resource_type, name: asked.resource_name.clone() };
        let planned = rules.plan(&resource, |_| {
            check_keys(asked.configs.iter().map(|config| (&config.name, true, &config.value)))?;
            let values = asked.configs.iter();
            let after: ConfigMap =
                values.filter_map(|config| Some((config.name.clone(), config.value.clone()?))).collect();
            Ok(Outcome { set: after.keys().cloned().collect(), after })
        });
        (resource, planned)
    });
    let (records, answers) = collect(planned.collect(), request.validate_only);
    let responses = answers.into_iter().map(|answer| alter_configs::AlterConfigsResourceResponse {
        error_code: answer.error_code,
        error_message: answer.message.map(CompactString::from),
        resource_type: answer.resource.kind,
        resource_name: answer.resource.name,
    });
    let response = AlterConfigsResponse { throttle_time_ms: 0, responses: responses.collect() };
    Decision { records, response: ControllerResponse::AlterConfigs(response) }
}

fn resource(asked: &AlterConfigsResource) -> ConfigResource {
    ConfigResource { kind: asked.resource_type, name: asked.resource_name.clone() }
}

fn needs_value(config: &AlterableConfig) -> bool {
    config.config_operation != DELETE
}

/// Each key once, and each with a value that is to have one.
fn check_keys<'a>(
    keys: impl Iterator<Item = (&'a CompactString, bool, &'a Option<CompactString>)>,
) -> Result<(), ConfigRefusal> {
    let (mut seen, mut twice, mut without) = (BTreeSet::new(), false, Vec::new());
    for (name, needs_value, value) in keys {
        twice |= !seen.insert(name);
        if needs_value && value.is_none() {
            without.push(name.as_str());
        }
    }
    if twice {
        return Err((ErrorCode::INVALID_REQUEST, "Error due to duplicate config keys".to_owned()));
    }
    if !without.is_empty() {
        let message = format!("Null value not supported for : {}", without.join(","));
        return Err((ErrorCode::INVALID_REQUEST, message));
    }
    Ok(())
}

/// What a resource would have, and which keys of it somebody has just set.
struct Outcome {
    after: ConfigMap,
    set: BTreeSet<CompactString>,
}

/// A resource's answer.
struct Answer {
    resource: ConfigResource,
    error_code: ErrorCode,
    message: Option<String>,
}

struct Rules<'a> {
    settings: &'a ControllerSettings,
    image: &'a MetadataImage,
}

impl Rules<'_> {
    /// The records that a change of one resource leads to.
    fn plan(
        &self,
        resource: &ConfigResource,
        change: impl FnOnce(&ConfigMap) -> Result<Outcome, ConfigRefusal>,
    ) -> Result<Vec<MetadataRecord>, ConfigRefusal> {
        let nothing = ConfigMap::new();
        let before = self.image.configs(resource).map_or(&nothing, Arc::as_ref);
        check_kind(resource)?;
        let Outcome { after, set } = change(before)?;
        self.check_topic(resource)?;
        if after.len() > CONFIGS_PER_RESOURCE_MAX && after.len() > before.len() {
            let message = format!(
                "The resource would have {} configs, and it may have {CONFIGS_PER_RESOURCE_MAX}.",
                after.len()
            );
            return Err((ErrorCode::POLICY_VIOLATION, message));
        }
        let change = ConfigChange { resource, before, after: &after, set: &set, image: self.image };
        self.settings.configs.check_change(&change)?;
        Ok(records(resource, before, &after))
    }

    /// What single operations make of the configs that a resource has.
    fn operate(
        &self,
        resource: &ConfigResource,
        before: &ConfigMap,
        operations: &[AlterableConfig],
    ) -> Result<Outcome, ConfigRefusal> {
        let mut outcome = Outcome { after: before.clone(), set: BTreeSet::new() };
        for AlterableConfig { name, config_operation, value } in operations {
            let value = value.as_ref().map_or("", CompactString::as_str);
            let new = match *config_operation {
                SET => CompactString::from(value),
                DELETE => {
                    outcome.after.remove(name);
                    continue;
                }
                APPEND => self.list(resource, name, before, value, ListOperation::Append)?,
                SUBTRACT => self.list(resource, name, before, value, ListOperation::Subtract)?,
                other => {
                    let message = format!("Unknown config operation {other} for key {name}");
                    return Err((ErrorCode::INVALID_REQUEST, message));
                }
            };
            outcome.after.insert(name.clone(), new);
            outcome.set.insert(name.clone());
        }
        Ok(outcome)
    }

    /// A list with some words more or less. One that the resource does not have begins as what it inherits.
    fn list(
        &self,
        resource: &ConfigResource,
        name: &str,
        before: &ConfigMap,
        value: &str,
        operation: ListOperation,
    ) -> Result<CompactString, ConfigRefusal> {
        let inherited = self.settings.configs.inherited_list(resource, name, self.image, operation)?;
        let mut list = before.get(name).map_or(inherited, |own| words(own));
        match operation {
            ListOperation::Append => {
                for word in words(value) {
                    if !list.contains(&word) {
                        list.push(word);
                    }
                }
            }
            ListOperation::Subtract => {
                let gone = words(value);
                list.retain(|word| !gone.contains(word));
            }
        }
        Ok(list.join(",").into())
    }

    fn check_topic(&self, resource: &ConfigResource) -> Result<(), ConfigRefusal> {
        if resource.kind != ConfigResource::TOPIC {
            return Ok(());
        }
        if resource.name.is_empty() {
            let message = "Default topic resources are not allowed.".to_owned();
            return Err((ErrorCode::INVALID_REQUEST, message));
        }
        let topic = TopicName::new(resource.name.clone());
        topic.check().map_err(|rule| (ErrorCode::INVALID_TOPIC_EXCEPTION, name_message(&topic, &rule)))?;
        match self.image.topic(topic.as_str()) {
            Some(_) => Ok(()),
            None => {
                let message = format!("The topic '{topic}' does not exist.");
                Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, message))
            }
        }
    }
}

fn check_kind(resource: &ConfigResource) -> Result<(), ConfigRefusal> {
    match resource.kind {
        ConfigResource::TOPIC
        | ConfigResource::BROKER
        | ConfigResource::CLIENT_METRICS
        | ConfigResource::GROUP => Ok(()),
        kind => Err((ErrorCode::INVALID_REQUEST, format!("Unknown resource type {kind}"))),
    }
}

/// The words of a list, white space around them dropped; an empty text has none.
fn words(text: &str) -> Vec<CompactString> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    text.split(',').map(|word| word.trim().into()).collect()
}

/// The records that make one set of configs of the other.
fn records(resource: &ConfigResource, before: &ConfigMap, after: &ConfigMap) -> Vec<MetadataRecord> {
    let record = |name: &CompactString, value| {
        MetadataRecord::Config(ConfigRecord {
            resource_type: resource.kind,
            resource_name: resource.name.clone(),
            name: name.clone(),
            value,
        })
    };
    let changed = after.iter().filter(|(name, value)| before.get(*name) != Some(*value));
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    changed
        .map(|(name, value)| record(name, Some(value.clone())))
        .chain(gone.map(|name| record(name, None)))
        .collect()
}

/// Puts the resources together: one that is named more than once is refused each time, and so is a request that would
/// write too much.
fn collect(
    planned: Vec<(ConfigResource, Result<Vec<MetadataRecord>, ConfigRefusal>)>,
    validate_only: bool,
) -> (Vec<MetadataRecord>, Vec<Answer>) {
    let mut times: HashMap<ConfigResource, usize> = HashMap::new();
    for (resource, _) in &planned {
        *times.entry(resource.clone()).or_default() += 1;
    }
    let (mut all, mut answers) = (Vec::new(), Vec::with_capacity(planned.len()));
    for (resource, planned) in planned {
        let refusal = match planned {
            _ if times.get(&resource).is_some_and(|times| *times > 1) => {
                Some((ErrorCode::INVALID_REQUEST, "Each resource must appear at most once.".to_owned()))
            }
            Ok(records) => {
                all.extend(records);
                None
            }
            Err(refusal) => Some(refusal),
        };
        let (error_code, message) =
            refusal.map_or((ErrorCode::NONE, None), |(code, message)| (code, Some(message)));
        answers.push(Answer { resource, error_code, message });
    }
    if all.len() > RECORDS_PER_REQUEST_MAX || text_bytes(&all) > TEXT_BYTES_PER_REQUEST_MAX {
        for answer in &mut answers {
            answer.error_code = ErrorCode::POLICY_VIOLATION;
            answer.message = Some("Unable to perform excessively large batch operation.".to_owned());
        }
        all.clear();
    }
    if validate_only {
        all.clear();
    }
    (all, answers)
}

fn text_bytes(records: &[MetadataRecord]) -> usize {
    let bytes = |record: &MetadataRecord| match record {
        MetadataRecord::Config(record) => {
            record.resource_name.len()
                + record.name.len()
                + record.value.as_ref().map_or(0, |value| value.len())
        }
        _ => 0,
    };
    records.iter().map(bytes).sum()
}
