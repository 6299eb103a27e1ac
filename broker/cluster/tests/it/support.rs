//! A controller without log or thread: what it decides is replayed at once.

use std::cell::Cell;
use std::sync::Arc;

use compact_str::CompactString;
use ottla_cluster::controller::{
    ConfigChange, ConfigRefusal, ConfigRules, ControllerSettings, EffectiveConfig, ListOperation, Occasion,
    TopicConfigRules, decide,
};
use ottla_cluster::{
    ConfigMap, ConfigResource, ControllerRequest, ControllerResponse, ImageBuilder, MetadataImage, features,
};
use ottla_model::{ErrorCode, LeaderEpoch, NodeId, Offset, PartitionIndex, Uuid};
use ottla_protocol::messages::broker_registration::{BrokerRegistrationRequest, Listener};
use ottla_protocol::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreatableTopicResult,
    CreateTopicsRequest,
};
use ottla_protocol::messages::delete_topics::{DeletableTopicResult, DeleteTopicsRequest};
use ottla_protocol::metadata::{FeatureLevelRecord, MetadataRecord};

pub(crate) const NODE: NodeId = NodeId::new(1);
pub(crate) const CLUSTER: &str = "MkU3OEVBNTcwNTJENDM2Qg";

/// Knows `retention.ms` (−1 or more) and `cleanup.policy`, with Kafka's messages.
pub(crate) struct TwoConfigs;

impl TopicConfigRules for TwoConfigs {
    fn check(&self, configs: &ConfigMap) -> Result<(), String> {
        for (name, value) in configs {
            match name.as_str() {
                "retention.ms" => match value.parse::<i64>() {
                    Ok(-1..) => {}
                    Ok(_) => {
                        return Err(format!(
                            "Invalid value {value} for configuration {name}: Value must be at least -1"
                        ));
                    }
                    Err(_) => {
                        return Err(format!(
                            "Invalid value {value} for configuration {name}: Not a number of type LONG"
                        ));
                    }
                },
                "cleanup.policy" => {}
                _ => return Err(format!("Unknown topic config name: {name}")),
            }
        }
        Ok(())
    }

    fn effective(&self, configs: &ConfigMap, _: &ConfigMap) -> Vec<EffectiveConfig> {
        let of = |name: &str, default: &str| EffectiveConfig {
            name: name.into(),
            value: Some(configs.get(name).cloned().unwrap_or_else(|| default.into())),
            read_only: false,
            source: if configs.contains_key(name) { 1 } else { 5 },
            sensitive: false,
        };
        vec![of("cleanup.policy", "delete"), of("retention.ms", "604800000")]
    }
}

impl ConfigRules for TwoConfigs {
    fn inherited_list(
        &self,
        _: &ConfigResource,
        key: &str,
        _: &MetadataImage,
        _: ListOperation,
    ) -> Result<Vec<CompactString>, ConfigRefusal> {
        match key {
            "cleanup.policy" => Ok(vec!["delete".into()]),
            _ => Err((ErrorCode::INVALID_CONFIG, format!("{key} is no list"))),
        }
    }

    fn check_change(&self, change: &ConfigChange<'_>) -> Result<(), ConfigRefusal> {
        self.check(change.after).map_err(|message| (ErrorCode::INVALID_CONFIG, message))
    }
}

pub(crate) fn settings() -> ControllerSettings {
    ControllerSettings {
        node_id: NODE,
        min_insync_replicas: 1,
        cluster_id: CLUSTER.into(),
        default_partitions: 1,
        default_replication_factor: 1,
        delete_topics: true,
        topic_configs: Arc::new(TwoConfigs),
        configs: Arc::new(TwoConfigs),
    }
}

/// Ids that never repeat and are the same in every run.
pub(crate) fn counted_entropy() -> impl Fn() -> [u8; 16] {
    let count = Cell::new(0_u64);
    move || {
        count.set(count.get() + 1);
        let mut bytes = [0x11; 16];
        bytes[8..].copy_from_slice(&count.get().to_be_bytes());
        bytes
    }
}

pub(crate) struct Machine {
    pub(crate) settings: ControllerSettings,
    pub(crate) builder: ImageBuilder,
    pub(crate) end: Offset,
    /// Every batch that was committed.
    pub(crate) batches: Vec<(Offset, Vec<MetadataRecord>)>,
    entropy: Box<dyn Fn() -> [u8; 16]>,
}

impl Machine {
    /// Features, and no broker.
    pub(crate) fn empty() -> Self {
        let mut machine = Self {
            settings: settings(),
            builder: ImageBuilder::default(),
            end: Offset::ZERO,
            batches: Vec::new(),
            entropy: Box::new(counted_entropy()),
        };
        let level = FeatureLevelRecord { name: "metadata.version".into(), feature_level: 33 };
        machine.commit(vec![level.into()]);
        machine
    }

    /// With the node registered as broker, with one log directory.
    pub(crate) fn new() -> Self {
        let mut machine = Self::empty();
        machine.register(&registration(-1)).unwrap();
        machine
    }

    pub(crate) fn image(&self) -> &MetadataImage {
        self.builder.current()
    }

    pub(crate) fn commit(&mut self, records: Vec<MetadataRecord>) {
        if records.is_empty() {
            return;
        }
        self.builder.replay_batch(self.end, LeaderEpoch::new(1), 1000, &records).unwrap();
        let base = self.end;
        self.end = Offset::new(base.get() + i64::try_from(records.len()).unwrap());
        self.batches.push((base, records));
    }

    pub(crate) fn call(&mut self, request: &ControllerRequest) -> ControllerResponse {
        let occasion = Occasion { next_offset: self.end, entropy: &*self.entropy };
        let decision = decide(&self.settings, self.builder.current(), request, &occasion);
        self.commit(decision.records);
        decision.response
    }

    pub(crate) fn register(&mut self, request: &BrokerRegistrationRequest) -> Result<i64, ErrorCode> {
        match self.call(&ControllerRequest::BrokerRegistration(request.clone())) {
            ControllerResponse::BrokerRegistration(response) if response.error_code.is_none() => {
                Ok(response.broker_epoch)
            }
            ControllerResponse::BrokerRegistration(response) => Err(response.error_code),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn create(&mut self, topics: Vec<CreatableTopic>) -> Vec<CreatableTopicResult> {
        self.create_with(topics, false)
    }

    pub(crate) fn create_with(
        &mut self,
        topics: Vec<CreatableTopic>,
        validate_only: bool,
    ) -> Vec<CreatableTopicResult> {
        let request = CreateTopicsRequest { topics, validate_only, ..CreateTopicsRequest::default() };
        match self.call(&ControllerRequest::CreateTopics(request)) {
            ControllerResponse::CreateTopics(response) => response.topics,
            other => panic!("{other:?}"),
        }
    }

    /// Creates one topic, and says what came of it.
    pub(crate) fn create_one(&mut self, topic: CreatableTopic) -> (ErrorCode, Option<CompactString>) {
        let [result] = <[_; 1]>::try_from(self.create(vec![topic])).unwrap();
        (result.error_code, result.error_message)
    }

    pub(crate) fn delete(&mut self, request: DeleteTopicsRequest) -> Vec<DeletableTopicResult> {
        match self.call(&ControllerRequest::DeleteTopics(request)) {
            ControllerResponse::DeleteTopics(response) => response.responses,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn directory() -> Uuid {
    Uuid::from_bytes([7; 16])
}

pub(crate) fn registration(previous_broker_epoch: i64) -> BrokerRegistrationRequest {
    BrokerRegistrationRequest {
        broker_id: NODE,
        cluster_id: CLUSTER.into(),
        incarnation_id: Uuid::from_bytes([9; 16]),
        listeners: vec![Listener {
            name: "PLAINTEXT".into(),
            host: "localhost".into(),
            port: 9092,
            security_protocol: 0,
        }],
        features: features::supported().iter().map(Into::into).collect(),
        rack: None,
        log_dirs: vec![directory()],
        previous_broker_epoch,
        ..BrokerRegistrationRequest::default()
    }
}

pub(crate) fn topic(name: &str, partitions: i32, replication_factor: i16) -> CreatableTopic {
    CreatableTopic {
        name: name.into(),
        num_partitions: partitions,
        replication_factor,
        ..CreatableTopic::default()
    }
}

pub(crate) fn with_configs(topic: CreatableTopic, configs: &[(&str, Option<&str>)]) -> CreatableTopic {
    let configs = configs
        .iter()
        .map(|(name, value)| CreatableTopicConfig { name: (*name).into(), value: value.map(Into::into) })
        .collect();
    CreatableTopic { configs, ..topic }
}

pub(crate) fn assigned(name: &str, assignments: &[(i32, &[i32])]) -> CreatableTopic {
    let assignments = assignments
        .iter()
        .map(|(index, brokers)| CreatableReplicaAssignment {
            partition_index: PartitionIndex::new(*index),
            broker_ids: brokers.iter().copied().map(NodeId::new).collect(),
        })
        .collect();
    CreatableTopic { assignments, ..topic(name, -1, -1) }
}
