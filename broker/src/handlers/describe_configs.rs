//! DescribeConfigs: what the configuration tables say of topics, this broker, groups and subscriptions, and the levels of its loggers. Picks keys and shapes answers; the
//! values, their sources and synonyms are `config/describe.rs`'s.

use compact_str::{CompactString, ToCompactString, format_compact};
use ottla_cluster::controller::name_message;
use ottla_cluster::{ConfigResource, MetadataImage};
use ottla_model::{ErrorCode, TopicName};
use ottla_network::Outcome;
use ottla_protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResponse,
    DescribeConfigsResult, DescribeConfigsSynonym,
};

use super::answer_room::{AnswerRoom, TOO_MUCH};
use crate::config::{self, DescribedConfig, DynamicConfigs};
use crate::context::Broker;
use crate::dispatch::Call;
use crate::handlers::alter_configs::BROKER_LOGGER;

/// What is told of each key.
#[derive(Debug, Clone, Copy)]
struct Detail {
    synonyms: bool,
    documentation: bool,
}

type Refusal = (ErrorCode, CompactString);

pub(crate) fn handle(call: &mut Call<'_>, request: DescribeConfigsRequest) -> Outcome {
    let detail = Detail { synonyms: request.include_synonyms, documentation: request.include_documentation };
    let image = call.broker().image.load();
    let mut room = AnswerRoom::new();
    let describe = |resource: DescribeConfigsResource| {
        let described = match room.is_used_up() {
            false => describe(call.broker(), &image, &resource),
            true => Err((TOO_MUCH, CompactString::const_new("More configurations than one answer may hold"))),
        };
        let result = DescribeConfigsResult {
            resource_type: resource.resource_type,
            resource_name: resource.resource_name,
            ..DescribeConfigsResult::default()
        };
        match described {
            Ok(configs) => {
                let wanted = |config: &DescribedConfig| match &resource.configuration_keys {
                    Some(keys) if !keys.is_empty() => keys.contains(&config.name),
                    _ => true,
                };
                let configs: Vec<_> =
                    configs.into_iter().filter(wanted).map(|config| shown(config, detail)).collect();
                room.take(configs.iter().map(bytes_of).sum());
                DescribeConfigsResult { configs, ..result }
            }
            Err((error_code, message)) => {
                DescribeConfigsResult { error_code, error_message: Some(message), ..result }
            }
        }
    };
    let results = request.resources.into_iter().map(describe).collect();
    call.reply(&DescribeConfigsResponse { results, ..DescribeConfigsResponse::default() })
}

fn describe(
    broker: &Broker,
    image: &MetadataImage,
    resource: &DescribeConfigsResource,
) -> Result<Vec<DescribedConfig>, Refusal> {
    match resource.resource_type {
        ConfigResource::TOPIC => {
            describe_topic(broker, image, &TopicName::new(resource.resource_name.clone()))
        }
        ConfigResource::BROKER => describe_broker(broker, image, &resource.resource_name),
        ConfigResource::GROUP => describe_group(broker, image, &resource.resource_name),
        ConfigResource::CLIENT_METRICS => describe_client_metrics(image, &resource.resource_name),
        BROKER_LOGGER => describe_loggers(broker, &resource.resource_name),
        kind => Err(wrong(format_compact!("Unknown resource type {kind}"))),
    }
}

fn describe_topic(
    broker: &Broker,
    image: &MetadataImage,
    topic: &TopicName,
) -> Result<Vec<DescribedConfig>, Refusal> {
    topic.check().map_err(|rule| (ErrorCode::INVALID_TOPIC_EXCEPTION, name_message(topic, &rule).into()))?;
    if image.topic(topic.as_str()).is_none() {
        // Kafka says no more of it either.
        return Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, CompactString::default()));
    }
    let own = image.configs(&ConfigResource::topic(topic)).map(AsRef::as_ref);
    Ok(with_dynamic(broker, image, |dynamic| config::describe_topic(&broker.live.fixed(), dynamic, own)))
}

fn describe_broker(
    broker: &Broker,
    image: &MetadataImage,
    name: &str,
) -> Result<Vec<DescribedConfig>, Refusal> {
    if name.is_empty() {
        return Ok(with_dynamic(broker, image, config::describe_broker_defaults));
    }
    match name.parse::<i32>() {
        Ok(id) if id == broker.node_id.get() => {
            Ok(with_dynamic(broker, image, |dynamic| config::describe_broker(&broker.live.fixed(), dynamic)))
        }
        Ok(id) => Err(wrong(format_compact!(
            "Unexpected broker id, expected {} or empty string, but received {id}",
            broker.node_id
        ))),
        Err(_) => Err(wrong(format_compact!("Broker id must be an integer, but it is: {name}"))),
    }
}

fn describe_group(
    broker: &Broker,
    image: &MetadataImage,
    name: &CompactString,
) -> Result<Vec<DescribedConfig>, Refusal> {
    if name.is_empty() {
        return Err(wrong("Group name must not be empty".into()));
    }
    let resource = ConfigResource { kind: ConfigResource::GROUP, name: name.clone() };
    let own = image.configs(&resource).map(AsRef::as_ref);
    Ok(with_dynamic(broker, image, |dynamic| config::describe_group(&broker.live.fixed(), dynamic, own)))
}

fn describe_client_metrics(
    image: &MetadataImage,
    name: &CompactString,
) -> Result<Vec<DescribedConfig>, Refusal> {
    if name.is_empty() {
        return Err(wrong("Client metrics subscription name must not be empty".into()));
    }
    let resource = ConfigResource { kind: ConfigResource::CLIENT_METRICS, name: name.clone() };
    Ok(config::describe_client_metrics(image.configs(&resource).map(AsRef::as_ref)))
}

fn describe_loggers(broker: &Broker, name: &str) -> Result<Vec<DescribedConfig>, Refusal> {
    if name.is_empty() {
        return Err(wrong("Broker id must not be empty".into()));
    }
    match name.parse::<i32>() {
        Ok(id) if id == broker.node_id.get() => {
            let levels = broker.log_levels.all();
            Ok(levels.iter().map(|(name, level)| config::describe_logger(name, level.word())).collect())
        }
        Ok(id) => {
            Err(wrong(format_compact!("Unexpected broker id, expected {} but received {id}", broker.node_id)))
        }
        Err(_) => Err(wrong(format_compact!("Broker id must be an integer, but it is: {name}"))),
    }
}

fn wrong(message: CompactString) -> Refusal {
    (ErrorCode::INVALID_REQUEST, message)
}

fn with_dynamic<T>(
    broker: &Broker,
    image: &MetadataImage,
    use_them: impl FnOnce(DynamicConfigs<'_>) -> T,
) -> T {
    let node = image.configs(&ConfigResource::broker(broker.node_id)).map(AsRef::as_ref);
    let cluster = image.configs(&ConfigResource::default_broker()).map(AsRef::as_ref);
    use_them(DynamicConfigs { node, cluster })
}

/// About as many bytes as it takes in the answer.
fn bytes_of(config: &DescribeConfigsResourceResult) -> usize {
    const FIELDS_BYTES: usize = 16;
    let text = |text: &Option<CompactString>| text.as_ref().map_or(0, CompactString::len);
    let synonyms = config.synonyms.iter();
    let synonyms = synonyms.map(|synonym| synonym.name.len() + text(&synonym.value) + FIELDS_BYTES);
    let own = config.name.len() + text(&config.value) + text(&config.documentation) + FIELDS_BYTES;
    own + synonyms.sum::<usize>()
}

fn shown(config: DescribedConfig, detail: Detail) -> DescribeConfigsResourceResult {
    let synonym = |synonym: config::DescribedSynonym| DescribeConfigsSynonym {
        name: synonym.name,
        value: synonym.value.map(CompactString::from),
        source: synonym.source as i8,
    };
    DescribeConfigsResourceResult {
        name: config.name,
        value: config.value.map(CompactString::from),
        read_only: config.read_only,
        config_source: config.source as i8,
        is_sensitive: config.sensitive,
        synonyms: match detail.synonyms {
            true => config.synonyms.into_iter().map(synonym).collect(),
            false => Vec::new(),
        },
        config_type: config.config_type,
        documentation: detail.documentation.then(|| config.documentation.to_compact_string()),
    }
}
