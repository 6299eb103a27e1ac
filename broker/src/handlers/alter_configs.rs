//! IncrementalAlterConfigs and AlterConfigs: the controller decides of all that is kept in the metadata, and the answer
//! waits until this broker acts by it; loggers belong to this process and are changed here.

use std::collections::{BTreeSet, HashMap};

use compact_str::{CompactString, ToCompactString, format_compact};
use ottla_cluster::{ControllerRequest, ControllerResponse};
use ottla_model::ErrorCode;
use ottla_network::Outcome;
use ottla_protocol::messages::alter_configs::{self, AlterConfigsRequest, AlterConfigsResponse};
use ottla_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterConfigsResourceResponse, AlterableConfig, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
};

use crate::dispatch::Call;
use crate::log_levels::{Level, LevelChange, LevelError, LogLevels, ROOT};

/// The kind of resource that a broker's loggers are.
pub(crate) const BROKER_LOGGER: i8 = 8;

const SET: i8 = 0;
const DELETE: i8 = 1;

type Refusal = (ErrorCode, CompactString);

pub(crate) async fn incremental(call: &mut Call<'_>, request: IncrementalAlterConfigsRequest) -> Outcome {
    let order: HashMap<(i8, CompactString), usize> = (request.resources.iter().enumerate())
        .map(|(place, asked)| ((asked.resource_type, asked.resource_name.clone()), place))
        .collect();
    let IncrementalAlterConfigsRequest { resources, validate_only } = request;
    let (loggers, kept): (Vec<_>, Vec<_>) =
        resources.into_iter().partition(|asked| asked.resource_type == BROKER_LOGGER);
    let mut responses = alter_loggers(call, &loggers, validate_only);
    if !kept.is_empty() {
        let names: Vec<_> =
            kept.iter().map(|asked| (asked.resource_type, asked.resource_name.clone())).collect();
        let request = IncrementalAlterConfigsRequest { resources: kept, validate_only };
        let answer = call.ask_controller(ControllerRequest::IncrementalAlterConfigs(request)).await;
        match answer {
            Ok(ControllerResponse::IncrementalAlterConfigs(response)) => responses.extend(response.responses),
            other => {
                let error_code = other.err().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR);
                responses.extend(names.into_iter().map(|(resource_type, resource_name)| {
                    AlterConfigsResourceResponse {
                        error_code,
                        error_message: None,
                        resource_type,
                        resource_name,
                    }
                }));
            }
        }
    }
    responses.sort_by_key(|answer| order.get(&(answer.resource_type, answer.resource_name.clone())).copied());
    call.reply(&IncrementalAlterConfigsResponse { throttle_time_ms: 0, responses })
}

pub(crate) async fn replace(call: &mut Call<'_>, request: AlterConfigsRequest) -> Outcome {
    let names: Vec<_> =
        request.resources.iter().map(|asked| (asked.resource_type, asked.resource_name.clone())).collect();
    let response = match call.ask_controller(ControllerRequest::AlterConfigs(request)).await {
        Ok(ControllerResponse::AlterConfigs(response)) => response,
        other => {
            let error_code = other.err().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR);
            let failed = |(resource_type, resource_name)| alter_configs::AlterConfigsResourceResponse {
                error_code,
                error_message: None,
                resource_type,
                resource_name,
            };
            AlterConfigsResponse { throttle_time_ms: 0, responses: names.into_iter().map(failed).collect() }
        }
    };
    call.reply(&response)
}

fn alter_loggers(
    call: &Call<'_>,
    resources: &[AlterConfigsResource],
    validate_only: bool,
) -> Vec<AlterConfigsResourceResponse> {
    let mut times = HashMap::new();
    for asked in resources {
        *times.entry(&asked.resource_name).or_insert(0_usize) += 1;
    }
    let broker = call.broker();
    let answer = |asked: &AlterConfigsResource| {
        let changed = match times.get(&asked.resource_name) {
            Some(1) => check_node(&asked.resource_name, broker.node_id.get())
                .and_then(|()| changes(&broker.log_levels, &asked.configs)),
            _ => Err((ErrorCode::INVALID_REQUEST, "Each resource must appear at most once.".into())),
        };
        let changed = changed.map(|changes| {
            if !validate_only && !changes.is_empty() {
                broker.log_levels.change(&changes);
            }
        });
        let (error_code, error_message) =
            changed.err().map_or((ErrorCode::NONE, None), |(code, message)| (code, Some(message)));
        AlterConfigsResourceResponse {
            error_code,
            error_message,
            resource_type: asked.resource_type,
            resource_name: asked.resource_name.clone(),
        }
    };
    resources.iter().map(answer).collect()
}

fn check_node(name: &str, node: i32) -> Result<(), Refusal> {
    let wrong = |message| Err((ErrorCode::INVALID_REQUEST, message));
    match name.parse::<i32>() {
        Ok(id) if id == node => Ok(()),
        Ok(id) => wrong(format_compact!("Unexpected node id. Expected {node}, but received {id}")),
        Err(_) => wrong(format_compact!("Node id must be an integer, but it is: {name}")),
    }
}

/// The changes that operations on loggers ask for, all of them possible.
fn changes(levels: &LogLevels, configs: &[AlterableConfig]) -> Result<Vec<(String, LevelChange)>, Refusal> {
    let mut seen = BTreeSet::new();
    if !configs.iter().all(|config| seen.insert(&config.name)) {
        return Err((ErrorCode::INVALID_REQUEST, "Error due to duplicate config keys".into()));
    }
    let without = |config: &&AlterableConfig| config.config_operation != DELETE && config.value.is_none();
    let names: Vec<_> = configs.iter().filter(without).map(|config| config.name.as_str()).collect();
    if !names.is_empty() {
        let message = format_compact!("Null value not supported for : {}", names.join(","));
        return Err((ErrorCode::INVALID_REQUEST, message));
    }
    configs.iter().map(|config| change(levels, config)).collect()
}

fn change(levels: &LogLevels, config: &AlterableConfig) -> Result<(String, LevelChange), Refusal> {
    let logger = config.name.as_str();
    let refused = |error: LevelError| {
        let code = match error {
            LevelError::Root | LevelError::TooMany => ErrorCode::INVALID_REQUEST,
            LevelError::NoSuchLogger(_) | LevelError::NoSuchLevel { .. } => ErrorCode::INVALID_CONFIG,
        };
        (code, error.to_compact_string())
    };
    let change = match config.config_operation {
        SET => {
            // Kafka looks for the logger first.
            levels.check(logger, LevelChange::Set(Level::Info)).map_err(refused)?;
            let word = config.value.as_deref().unwrap_or_default();
            let level = Level::parse(word).ok_or_else(|| {
                refused(LevelError::NoSuchLevel { logger: logger.to_owned(), level: word.to_owned() })
            })?;
            LevelChange::Set(level)
        }
        DELETE => {
            levels.check(logger, LevelChange::Unset).map_err(refused)?;
            LevelChange::Unset
        }
        other => {
            let word = match other {
                2 => "APPEND",
                3 => "SUBTRACT",
                _ => "An unknown",
            };
            let message = format_compact!("{word} operation is not allowed for the BROKER_LOGGER resource");
            return Err((ErrorCode::INVALID_REQUEST, message));
        }
    };
    debug_assert!(logger != ROOT || change != LevelChange::Unset, "root keeps a level");
    Ok((logger.to_owned(), change))
}
