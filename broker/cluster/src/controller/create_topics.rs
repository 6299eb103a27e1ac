//! CreateTopics: every rule of it, in Kafka's order and with Kafka's messages. Topics stand and fall alone; only what
//! bounds a request as a whole refuses all of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ottla_model::{ErrorCode, NodeId, PartitionIndex, TOPIC_NAME_CHARS_MAX, TopicName, TopicNameError, Uuid};
use ottla_protocol::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfigs, CreatableTopicResult,
    CreateTopicsRequest, CreateTopicsResponse,
};
use ottla_protocol::metadata::{ConfigRecord, MetadataRecord, PartitionRecord, TopicRecord};

use super::placement::{self, Refusal, bad_assignment};
use super::{
    ControllerSettings, Decision, EffectiveConfig, Occasion, RECORDS_PER_REQUEST_MAX,
    TEXT_BYTES_PER_REQUEST_MAX,
};
use crate::image::{ConfigMap, ConfigResource, MetadataImage};
use crate::link::ControllerResponse;

/// The metadata log is a topic to its readers only.
const METADATA_TOPIC: &str = "__cluster_metadata";

pub(super) fn decide(
    settings: &ControllerSettings,
    image: &MetadataImage,
    request: &CreateTopicsRequest,
    occasion: &Occasion<'_>,
) -> Decision {
    let mut seen = HashMap::new();
    for topic in &request.topics {
        *seen.entry(&topic.name).or_insert(0_usize) += 1;
    }
    if partitions_asked(settings, request) > RECORDS_PER_REQUEST_MAX as u64 {
        return refuse_all(request, "Excessively large number of partitions per request.");
    }
    let rules = Rules { settings, image };
    let mut records = Vec::new();
    let mut answers = Vec::with_capacity(seen.len());
    let mut duplicates = Vec::new();
    for topic in &request.topics {
        let Some(times) = seen.remove(&topic.name) else { continue };
        if times > 1 {
            let message = "Duplicate topic name.".to_owned();
            duplicates.push(refused(&topic.name, (ErrorCode::INVALID_REQUEST, message)));
            continue;
        }
        answers.push(match rules.plan(topic, occasion) {
            Ok(plan) => {
                let answer = plan.answer();
                records.extend(plan.into_records());
                answer
            }
            Err(refusal) => refused(&topic.name, refusal),
        });
    }
    // Kafka names them last.
    answers.append(&mut duplicates);
    if records.len() > RECORDS_PER_REQUEST_MAX || text_bytes(&records) > TEXT_BYTES_PER_REQUEST_MAX {
        return refuse_all(request, "Unable to perform excessively large batch operation.");
    }
    if request.validate_only {
        records.clear();
    }
    Decision { records, response: response(answers) }
}

/// Partitions that a request asks for in all its topics, valid or not.
fn partitions_asked(settings: &ControllerSettings, request: &CreateTopicsRequest) -> u64 {
    let asked = |topic: &CreatableTopic| match (topic.assignments.len(), topic.num_partitions) {
        (0, -1) => u64::try_from(settings.default_partitions).unwrap_or(0),
        (0, count) => u64::try_from(count).unwrap_or(0),
        (assigned, _) => assigned as u64,
    };
    request.topics.iter().map(asked).sum()
}

fn text_bytes(records: &[MetadataRecord]) -> usize {
    let bytes = |record: &MetadataRecord| match record {
        MetadataRecord::Config(record) => {
            record.resource_name.len()
                + record.name.len()
                + record.value.as_ref().map_or(0, |value| value.len())
        }
        MetadataRecord::Topic(record) => record.name.as_str().len(),
        MetadataRecord::Partition(record) => {
            (record.replicas.len() + record.isr.len()) * 4 + record.directories.len() * 16
        }
        _ => 0,
    };
    records.iter().map(bytes).sum()
}

struct Rules<'a> {
    settings: &'a ControllerSettings,
    image: &'a MetadataImage,
}

impl Rules<'_> {
    fn plan(&self, topic: &CreatableTopic, occasion: &Occasion<'_>) -> Result<Plan, Refusal> {
        self.check_name(&topic.name)?;
        let configs = self.configs(topic)?;
        let assignments = if topic.assignments.is_empty() {
            self.spread(topic.num_partitions, topic.replication_factor)?
        } else {
            self.assigned(topic)?
        };
        let nothing = ConfigMap::new();
        let defaults = self.image.configs(&ConfigResource::default_broker()).map_or(&nothing, Arc::as_ref);
        Ok(Plan {
            name: topic.name.clone(),
            id: self.fresh_id(occasion),
            effective: self.settings.topic_configs.effective(&configs, defaults),
            configs,
            partitions: assignments
                .into_iter()
                .map(|replicas| placement::first_state(self.image, replicas))
                .collect(),
        })
    }

    fn check_name(&self, name: &TopicName) -> Result<(), Refusal> {
        if name.as_str() == METADATA_TOPIC {
            let message = format!("Creation of internal topic {METADATA_TOPIC} is prohibited.");
            return Err((ErrorCode::INVALID_REQUEST, message));
        }
        name.check().map_err(|error| (ErrorCode::INVALID_TOPIC_EXCEPTION, name_message(name, &error)))?;
        if self.image.topic(name.as_str()).is_some() {
            return Err((ErrorCode::TOPIC_ALREADY_EXISTS, format!("Topic '{name}' already exists.")));
        }
        match self.image.colliding_topic(name) {
            Some(taken) => {
                let message = format!("Topic '{name}' collides with existing topic: {taken}");
                Err((ErrorCode::INVALID_TOPIC_EXCEPTION, message))
            }
            None => Ok(()),
        }
    }

    fn configs(&self, topic: &CreatableTopic) -> Result<ConfigMap, Refusal> {
        let nulls: Vec<&str> = topic
            .configs
            .iter()
            .filter(|config| config.value.is_none())
            .map(|config| config.name.as_str())
            .collect();
        if !nulls.is_empty() {
            let message = format!("Null value not supported for topic configs: {}", nulls.join(","));
            return Err((ErrorCode::INVALID_CONFIG, message));
        }
        let pairs =
            topic.configs.iter().filter_map(|config| Some((config.name.clone(), config.value.clone()?)));
        let configs = pairs.collect();
        match self.settings.topic_configs.check(&configs) {
            Ok(()) => Ok(configs),
            Err(message) => Err((ErrorCode::INVALID_CONFIG, message)),
        }
    }

    /// Replicas of partitions whose place is the controller's choice.
    fn spread(&self, partitions: i32, factor: i16) -> Result<Vec<Vec<NodeId>>, Refusal> {
        if factor < -1 || factor == 0 {
            let message = "Replication factor must be larger than 0, or -1 to use the default value.";
            return Err((ErrorCode::INVALID_REPLICATION_FACTOR, message.to_owned()));
        }
        if partitions < -1 || partitions == 0 {
            let message = "Number of partitions was set to an invalid non-positive value.";
            return Err((ErrorCode::INVALID_PARTITIONS, message.to_owned()));
        }
        let factor = if factor == -1 { self.settings.default_replication_factor } else { factor };
        let partitions = if partitions == -1 { self.settings.default_partitions } else { partitions };
        placement::spread(self.image, 0, usize::try_from(partitions).unwrap_or(0), factor)
    }

    /// Replicas of partitions that the client has placed.
    fn assigned(&self, topic: &CreatableTopic) -> Result<Vec<Vec<NodeId>>, Refusal> {
        let mixed = |what: &str| {
            let message =
                format!("A manual partition assignment was specified, but {what} was not set to -1.");
            Err((ErrorCode::INVALID_REQUEST, message))
        };
        if topic.num_partitions != -1 {
            return mixed("numPartitions");
        }
        if topic.replication_factor != -1 {
            return mixed("replication factor");
        }
        let mut placed: HashMap<PartitionIndex, Vec<NodeId>> = HashMap::new();
        let mut factor = None;
        for assignment in &topic.assignments {
            let index = assignment.partition_index;
            if placed.contains_key(&index) {
                return bad_assignment(format!(
                    "Found multiple manual partition assignments for partition {index}"
                ));
            }
            self.check_assignment(assignment, factor)?;
            factor = Some(assignment.broker_ids.len());
            placed.insert(index, assignment.broker_ids.clone());
        }
        let consecutive: Option<Vec<_>> =
            (0..).take(placed.len()).map(|index| placed.remove(&PartitionIndex::new(index))).collect();
        match consecutive {
            Some(assignments) => Ok(assignments),
            None => bad_assignment("partitions should be a consecutive 0-based integer sequence".to_owned()),
        }
    }

    fn check_assignment(
        &self,
        assignment: &CreatableReplicaAssignment,
        factor: Option<usize>,
    ) -> Result<(), Refusal> {
        let replicas = &assignment.broker_ids;
        placement::check_replicas(self.image, replicas, factor)?;
        if !placement::has_usable(self.image, replicas) {
            return bad_assignment(format!(
                "All brokers specified in the manual partition assignment for partition {} are fenced or in \
                 controlled shutdown.",
                assignment.partition_index
            ));
        }
        Ok(())
    }

    fn fresh_id(&self, occasion: &Occasion<'_>) -> Uuid {
        loop {
            let drawn = Uuid::from_random((occasion.entropy)());
            if let Some(id) = drawn.filter(|id| self.image.topic_by_id(id).is_none()) {
                return id;
            }
        }
    }
}

/// A topic that can be created.
struct Plan {
    name: TopicName,
    id: Uuid,
    configs: ConfigMap,
    effective: Vec<EffectiveConfig>,
    partitions: Vec<PartitionRecord>,
}

impl Plan {
    fn answer(&self) -> CreatableTopicResult {
        let factor = self.partitions.first().map_or(0, |partition| partition.replicas.len());
        CreatableTopicResult {
            name: self.name.clone(),
            topic_id: self.id,
            num_partitions: i32::try_from(self.partitions.len()).unwrap_or(i32::MAX),
            replication_factor: i16::try_from(factor).unwrap_or(i16::MAX),
            configs: Some(self.effective.iter().map(CreatableTopicConfigs::from).collect()),
            error_message: None,
            ..CreatableTopicResult::default()
        }
    }

    fn into_records(self) -> impl Iterator<Item = MetadataRecord> {
        let id = self.id;
        let resource = ConfigResource::topic(&self.name);
        let topic = MetadataRecord::Topic(TopicRecord { name: self.name, topic_id: id });
        let configs = self.configs.into_iter().map(move |(name, value)| {
            MetadataRecord::Config(ConfigRecord {
                resource_type: resource.kind,
                resource_name: resource.name.clone(),
                name,
                value: Some(value),
            })
        });
        let partitions = (0..).zip(self.partitions).map(move |(index, partition)| {
            MetadataRecord::Partition(PartitionRecord {
                partition_id: PartitionIndex::new(index),
                topic_id: id,
                ..partition
            })
        });
        std::iter::once(topic).chain(configs).chain(partitions)
    }
}

impl From<&EffectiveConfig> for CreatableTopicConfigs {
    fn from(config: &EffectiveConfig) -> Self {
        Self {
            name: config.name.clone(),
            value: config.value.clone(),
            read_only: config.read_only,
            config_source: config.source,
            is_sensitive: config.sensitive,
        }
    }
}

/// Kafka's wording, which clients show to people and some compare.
/// Why a topic cannot have this name, in Kafka's words.
#[must_use]
pub fn name_message(name: &TopicName, error: &TopicNameError) -> String {
    let why = match error {
        TopicNameError::Empty => "the empty string is not allowed".to_owned(),
        TopicNameError::Dots => format!("'{name}' is not allowed"),
        TopicNameError::TooLong { .. } => {
            format!("the length of '{name}' is longer than the max allowed length {TOPIC_NAME_CHARS_MAX}")
        }
        TopicNameError::IllegalCharacter { .. } => {
            format!(
                "'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
            )
        }
    };
    format!("Topic name is invalid: {why}")
}

fn refused(name: &TopicName, (error_code, message): Refusal) -> CreatableTopicResult {
    CreatableTopicResult {
        name: name.clone(),
        error_code,
        error_message: Some(message.into()),
        configs: Some(Vec::new()),
        ..CreatableTopicResult::default()
    }
}

fn refuse_all(request: &CreateTopicsRequest, message: &str) -> Decision {
    let mut named = HashSet::new();
    let names = request.topics.iter().map(|topic| &topic.name).filter(|name| named.insert(*name));
    let refusal = |name| refused(name, (ErrorCode::POLICY_VIOLATION, message.to_owned()));
    Decision { records: Vec::new(), response: response(names.map(refusal).collect()) }
}

fn response(topics: Vec<CreatableTopicResult>) -> ControllerResponse {
    ControllerResponse::CreateTopics(CreateTopicsResponse { topics, ..CreateTopicsResponse::default() })
}
