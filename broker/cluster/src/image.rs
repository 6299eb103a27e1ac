//! The cluster's metadata at one committed offset, immutable: what the broker answers from. It changes only by
//! replaying records (`replay.rs`); what differs between two of them says `delta.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use compact_str::CompactString;
use ottla_model::{LeaderEpoch, NodeId, Offset, PartitionIndex, ProducerId, TopicName, Uuid};
use ottla_protocol::metadata as records;

use crate::shards::ShardMap;

/// Where in the metadata log an image stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImagePosition {
    /// The offset of the last record that the image contains; −1 before the first.
    pub offset: Offset,
    /// The controller epoch of the batch that held it.
    pub epoch: LeaderEpoch,
    /// That batch's timestamp.
    pub timestamp_ms: i64,
}

impl ImagePosition {
    /// Before the first record.
    pub const START: Self = Self { offset: Offset::UNKNOWN, epoch: LeaderEpoch::new(0), timestamp_ms: 0 };
}

/// One partition of a topic. −1 ([`NodeId::NONE`]) as leader: it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionImage {
    /// The brokers that should hold it, the preferred leader first.
    pub replicas: Vec<NodeId>,
    /// For each replica the id of the log directory that holds it.
    pub directories: Vec<Uuid>,
    /// The replicas in sync.
    pub isr: Vec<NodeId>,
    /// Replicas on their way out.
    pub removing_replicas: Vec<NodeId>,
    /// Replicas on their way in.
    pub adding_replicas: Vec<NodeId>,
    /// Replicas that may lead although they are not in sync (KIP-966).
    pub eligible_leader_replicas: Vec<NodeId>,
    /// The last replicas known to have been eligible (KIP-966).
    pub last_known_elr: Vec<NodeId>,
    /// The leader.
    pub leader: NodeId,
    /// 0: recovered; 1: the leader was elected uncleanly and has not yet said that it is through with it.
    pub leader_recovery_state: i8,
    /// Raised with every election.
    pub leader_epoch: LeaderEpoch,
    /// Raised with every change of this partition.
    pub partition_epoch: i32,
}

/// A topic. Partition `n` is at index `n`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicImage {
    /// Its name.
    pub name: TopicName,
    /// Its id, which a later topic of the same name does not share.
    pub id: Uuid,
    /// Its partitions, numbered from 0.
    pub partitions: Vec<PartitionImage>,
}

impl TopicImage {
    /// The partition of this number.
    #[must_use]
    pub fn partition(&self, index: PartitionIndex) -> Option<&PartitionImage> {
        usize::try_from(index.get()).ok().and_then(|index| self.partitions.get(index))
    }
}

/// An address of a broker or controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The listener's name, as `PLAINTEXT`.
    pub listener: CompactString,
    /// The host that clients are told.
    pub host: CompactString,
    /// The port that clients are told.
    pub port: u16,
    /// 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    pub security_protocol: i16,
}

/// The levels of a feature that a node understands, inclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureRange {
    /// The feature's name.
    pub name: CompactString,
    /// The lowest level.
    pub min: i16,
    /// The highest level.
    pub max: i16,
}

/// A registered broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerImage {
    /// Its id.
    pub id: NodeId,
    /// Offset of its registration: what it presents to prove that it is this registration's broker.
    pub epoch: i64,
    /// Drawn anew by every process.
    pub incarnation_id: Uuid,
    /// Its listeners.
    pub endpoints: Vec<Endpoint>,
    /// What it understands.
    pub features: Vec<FeatureRange>,
    /// Its rack.
    pub rack: Option<CompactString>,
    /// Whether it may not lead or serve.
    pub fenced: bool,
    /// Whether it is about to stop.
    pub in_controlled_shutdown: bool,
    /// The ids of its log directories.
    pub log_dirs: Vec<Uuid>,
    /// Those that take no new partitions.
    pub cordoned_log_dirs: Vec<Uuid>,
}

/// What a set of configs belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigResource {
    /// 2 topic, 4 broker, 16 client metrics, 32 group.
    pub kind: i8,
    /// Its name; the empty one is the default of all of the kind.
    pub name: CompactString,
}

impl ConfigResource {
    /// The kind of topics.
    pub const TOPIC: i8 = 2;
    /// The kind of brokers.
    pub const BROKER: i8 = 4;
    /// The kind of client metrics subscriptions.
    pub const CLIENT_METRICS: i8 = 16;
    /// The kind of groups.
    pub const GROUP: i8 = 32;

    /// A topic's.
    #[must_use]
    pub fn topic(name: &TopicName) -> Self {
        Self { kind: Self::TOPIC, name: name.as_str().into() }
    }

    /// One broker's.
    #[must_use]
    pub fn broker(id: NodeId) -> Self {
        Self { kind: Self::BROKER, name: id.to_string().into() }
    }

    /// The default of all brokers.
    #[must_use]
    pub fn default_broker() -> Self {
        Self { kind: Self::BROKER, name: CompactString::default() }
    }
}

/// Values by key, as they were set: text, unparsed.
pub type ConfigMap = BTreeMap<CompactString, CompactString>;

/// What a client quota bounds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuotaKey {
    /// The entity by parts, as `user` and a name; none stands for the default. Sorted.
    pub entity: Vec<(CompactString, Option<CompactString>)>,
    /// The quota's name.
    pub key: CompactString,
}

/// Records that the image keeps as they are, for whoever serves them and for the next snapshot.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeptRecords {
    /// Registered controllers.
    pub controllers: BTreeMap<NodeId, records::RegisterControllerRecord>,
    /// SCRAM credentials by user and mechanism.
    pub scram: BTreeMap<(CompactString, i8), records::UserScramCredentialRecord>,
    /// Client quotas by what they bound.
    pub quotas: BTreeMap<QuotaKey, records::ClientQuotaRecord>,
    /// Access control entries by id.
    pub acls: BTreeMap<Uuid, records::AccessControlEntryRecord>,
    /// Delegation tokens by id.
    pub delegation_tokens: BTreeMap<CompactString, records::DelegationTokenRecord>,
}

/// The metadata of the cluster at one offset of the metadata log.
#[derive(Debug, Clone)]
pub struct MetadataImage {
    pub(crate) position: ImagePosition,
    /// Names lead to ids, so that a topic has one owner in the image and is changed in place while that is unshared.
    pub(crate) topic_ids: ShardMap<TopicName, Uuid>,
    pub(crate) topics: ShardMap<Uuid, Arc<TopicImage>>,
    /// Topics whose name holds `.` or `_`, by what becomes of it where both are `_`. A log may have several for one.
    pub(crate) collidable: ShardMap<CompactString, Vec<TopicName>>,
    pub(crate) configs: ShardMap<ConfigResource, Arc<ConfigMap>>,
    pub(crate) brokers: Arc<BTreeMap<NodeId, Arc<BrokerImage>>>,
    pub(crate) features: Arc<BTreeMap<CompactString, i16>>,
    /// The level of `kraft.version`, which a control record of the log holds and no metadata record.
    pub(crate) kraft_version: i16,
    pub(crate) next_producer_id: ProducerId,
    pub(crate) kept: Arc<KeptRecords>,
    pub(crate) partition_count: usize,
}

impl Default for MetadataImage {
    fn default() -> Self {
        Self::empty()
    }
}

impl MetadataImage {
    /// Nothing at all: the image before the first record.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            position: ImagePosition::START,
            topic_ids: ShardMap::new(),
            topics: ShardMap::new(),
            collidable: ShardMap::new(),
            configs: ShardMap::new(),
            brokers: Arc::default(),
            features: Arc::default(),
            kraft_version: 0,
            next_producer_id: ProducerId::new(0),
            kept: Arc::default(),
            partition_count: 0,
        }
    }

    /// The last record that the image contains.
    #[must_use]
    pub fn position(&self) -> ImagePosition {
        self.position
    }

    /// The topic of this name.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<&Arc<TopicImage>> {
        self.topic_by_id(self.topic_ids.get(name)?)
    }

    /// A topic of another name that Kafka's metrics could not tell from this one, as `a.b` from `a_b`.
    #[must_use]
    pub fn colliding_topic(&self, name: &TopicName) -> Option<&TopicName> {
        self.collidable.get(&collision_key(name)?)?.iter().find(|taken| *taken != name)
    }

    /// The topic of this id.
    #[must_use]
    pub fn topic_by_id(&self, id: &Uuid) -> Option<&Arc<TopicImage>> {
        self.topics.get(id)
    }

    /// All topics, in no order.
    pub fn topics(&self) -> impl Iterator<Item = &Arc<TopicImage>> {
        self.topics.iter().map(|(_, topic)| topic)
    }

    /// How many topics there are.
    #[must_use]
    pub fn topic_count(&self) -> usize {
        self.topics.len()
    }

    /// How many partitions they have together.
    #[must_use]
    pub fn partition_count(&self) -> usize {
        self.partition_count
    }

    /// The partition of a topic.
    #[must_use]
    pub fn partition(&self, topic: &str, index: PartitionIndex) -> Option<&PartitionImage> {
        self.topic(topic)?.partition(index)
    }

    /// What was set for a topic, a broker, or another resource; none when nothing was.
    #[must_use]
    pub fn configs(&self, resource: &ConfigResource) -> Option<&Arc<ConfigMap>> {
        self.configs.get(resource)
    }

    /// Every resource for which something was set, in no order.
    pub fn config_resources(&self) -> impl Iterator<Item = (&ConfigResource, &Arc<ConfigMap>)> {
        self.configs.iter()
    }

    /// The registered broker of this id.
    #[must_use]
    pub fn broker(&self, id: NodeId) -> Option<&Arc<BrokerImage>> {
        self.brokers.get(&id)
    }

    /// The registered brokers, by ascending id.
    pub fn brokers(&self) -> impl Iterator<Item = &Arc<BrokerImage>> {
        self.brokers.values()
    }

    /// The finalised level of a feature; 0 if it has none.
    #[must_use]
    pub fn feature_level(&self, name: &str) -> i16 {
        self.features.get(name).copied().unwrap_or(0)
    }

    /// The level of `kraft.version`: 1 where the log itself says who its voters are (KIP-853).
    #[must_use]
    pub const fn kraft_version(&self) -> i16 {
        self.kraft_version
    }

    /// The features that metadata records finalise, and their levels.
    pub fn features(&self) -> impl Iterator<Item = (&CompactString, i16)> {
        self.features.iter().map(|(name, level)| (name, *level))
    }

    /// The first producer id of the next block.
    #[must_use]
    pub fn next_producer_id(&self) -> ProducerId {
        self.next_producer_id
    }

    /// Records that are kept as they are.
    #[must_use]
    pub fn kept(&self) -> &KeptRecords {
        &self.kept
    }

    /// Whether the two hold the same metadata, wherever each stands in the log.
    #[must_use]
    pub fn same_content(&self, other: &Self) -> bool {
        self.topics == other.topics
            && self.topic_ids == other.topic_ids
            && self.configs == other.configs
            && self.brokers == other.brokers
            && self.features == other.features
            && self.next_producer_id == other.next_producer_id
            && self.kept == other.kept
            && self.partition_count == other.partition_count
    }
}

/// The name with every `.` as `_`; none where it has neither, since it then collides with nothing.
pub(crate) fn collision_key(name: &TopicName) -> Option<CompactString> {
    let name = name.as_str();
    name.contains(['.', '_']).then(|| name.chars().map(|c| if c == '.' { '_' } else { c }).collect())
}
