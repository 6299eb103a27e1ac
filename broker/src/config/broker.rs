//! The broker's configuration, typed: what the rest of the code is handed instead of keys and texts. One of it never
//! changes; which one is in force says `live.rs`.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use compact_str::CompactString;
use ottla_cluster::MetadataRetention;
use ottla_model::NodeId;
use ottla_network::AcceptLimits;
use ottla_storage::LogConfig;

use super::conflicts::{self, Conflict};
use super::describe::DynamicConfigs;
use super::groups::GroupsConfig;
use super::listener::{self, HostPort, ListenerConfig, Listeners};
use super::settings::{self, ConfigError, Given, Origin, Settings, Warning};
use super::sight::{HttpConfig, LogOutput};
use super::transactions::TransactionsConfig;
use crate::quotas::Window;

/// Where a configuration is to be read from. The process's own environment is an argument like all else.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// `--config`: a properties file.
    pub file: Option<PathBuf>,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// `--override`: keys and values.
    pub overrides: Vec<(String, String)>,
    /// `--data`: the directory for the data.
    pub data: Option<PathBuf>,
}

/// Everything that the broker is configured with.
#[derive(Debug, Clone)]
pub struct BrokerConfig {
    /// `node.id`; `None` lets the first start choose.
    pub node_id: Option<NodeId>,
    /// `CLUSTER_ID`, which Kafka takes from the environment alone; `None` lets the first start make one.
    pub cluster_id: Option<CompactString>,
    /// `broker.rack`.
    pub rack: Option<CompactString>,
    /// The listeners that clients use; at least one.
    pub listeners: Vec<ListenerConfig>,
    /// Name and address of the controller as the cluster's metadata has them. Nothing listens there.
    pub controller_endpoint: (CompactString, HostPort),
    /// The listener that brokers use among each other; one of `listeners`.
    pub inter_broker_listener: CompactString,
    /// The directories of the data; at least one.
    pub log_dirs: Vec<PathBuf>,
    /// The one of `log_dirs` that holds the cluster's metadata, or a directory beside them.
    pub metadata_log_dir: PathBuf,
    /// Sockets, threads and memory.
    pub network: NetworkConfig,
    /// How topics come and go.
    pub topics: TopicRules,
    /// How groups are coordinated.
    pub groups: GroupsConfig,
    /// Over which time quotas are counted.
    pub quotas: QuotasConfig,
    /// How transactions are coordinated.
    pub transactions: TransactionsConfig,
    /// How logs are loaded, flushed and written down.
    pub storage: StorageConfig,
    /// The HTTP endpoint and what its metrics hold.
    pub http: HttpConfig,
    /// How the log is written.
    pub log_output: LogOutput,
    /// `fetch.max.bytes`: the most that one fetch answers with.
    pub fetch_bytes_max: u32,
    /// `producer.id.expiration.ms`: after so long without a write a producer is forgotten.
    pub producer_id_expiration_ms: i64,
    /// `metadata.log.max.record.bytes.between.snapshots`: after so much the metadata log gets its next snapshot.
    pub snapshot_after_bytes: u64,
    /// `metadata.max.retention.bytes` and `metadata.max.retention.ms`.
    pub metadata_retention: MetadataRetention,
    /// `metadata.log.segment.bytes` and `metadata.log.segment.ms`.
    pub metadata_log: LogConfig,
    settings: Settings,
}

/// Sockets, threads and memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkConfig {
    /// `num.network.threads`: reactors; one a processor unless set.
    pub reactors: usize,
    /// `num.io.threads`: the most threads for what may wait for a disk.
    pub blocking_threads: usize,
    /// `socket.request.max.bytes`.
    pub request_bytes_max: u32,
    /// `queued.max.request.bytes`; `None` leaves the limit to the network.
    pub queued_bytes_max: Option<u64>,
    /// `socket.send.buffer.bytes`; `None` leaves it to the system.
    pub send_buffer_bytes: Option<u32>,
    /// `socket.receive.buffer.bytes`; `None` leaves it to the system.
    pub receive_buffer_bytes: Option<u32>,
    /// `socket.listen.backlog.size`.
    pub backlog: u32,
    /// `max.connections`.
    pub connections_max: usize,
    /// `max.connections.per.ip`.
    pub connections_per_ip_max: usize,
    /// `max.connections.per.ip.overrides`.
    pub connections_per_ip_overrides: HashMap<IpAddr, usize>,
    /// `connections.max.idle.ms`; `None` means for ever.
    pub idle_max: Option<Duration>,
}

/// How topics come and go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicRules {
    /// `num.partitions`: of a topic that is created without saying.
    pub default_partitions: i32,
    /// `default.replication.factor`: of a topic that is created without saying.
    pub default_replication_factor: i16,
    /// `min.insync.replicas`: what a new cluster has as its default.
    pub min_insync_replicas: i32,
    /// `auto.create.topics.enable`.
    pub auto_create: bool,
    /// `delete.topic.enable`.
    pub deletion: bool,
}

/// How logs are loaded, flushed and written down.
#[derive(Debug, Clone, PartialEq)]
pub struct StorageConfig {
    /// `num.recovery.threads.per.data.dir`.
    pub recovery_threads_per_dir: usize,
    /// `log.flush.offset.checkpoint.interval.ms`: how often recovery points are written down.
    pub recovery_point_interval: Duration,
    /// `replica.high.watermark.checkpoint.interval.ms`.
    pub high_watermark_interval: Duration,
    /// `log.initial.task.delay.ms`: how long after the start background work begins.
    pub initial_delay: Duration,
    /// `log.retention.check.interval.ms`.
    pub retention_interval: Duration,
    /// `log.dir.free.bytes.min`: with less free space in a log directory producers are refused; −1 leaves it to the
    /// broker, 0 is no limit.
    pub free_bytes_min: i64,
    /// How logs are compacted.
    pub cleaner: CleanerConfig,
}

/// Over which time quotas are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotasConfig {
    /// `quota.window.num` and `quota.window.size.seconds`.
    pub samples: u32,
    /// How long each sample is.
    pub sample: Duration,
    /// `controller.quota.window.num` and `controller.quota.window.size.seconds`.
    pub mutation_samples: u32,
    /// How long each sample of those is.
    pub mutation_sample: Duration,
}

/// How logs are compacted.
#[derive(Debug, Clone, PartialEq)]
pub struct CleanerConfig {
    /// `log.cleaner.threads`; none where `log.cleaner.enable` is off.
    pub threads: usize,
    /// `log.cleaner.backoff.ms`.
    pub backoff: Duration,
    /// `log.cleaner.dedupe.buffer.size`, over all threads.
    pub dedupe_bytes: u64,
    /// `log.cleaner.io.buffer.load.factor`.
    pub load_factor: f64,
    /// `log.cleaner.io.buffer.size`, over all threads.
    pub io_buffer_bytes: usize,
    /// `log.cleaner.io.max.bytes.per.second`.
    pub bytes_per_second: f64,
}

/// Why the configuration cannot be used: one sentence for each reason.
#[derive(Debug, thiserror::Error)]
#[error("{}", sentences.join("\n"))]
pub struct UnusableConfig {
    /// The sentences; at least one.
    pub sentences: Vec<String>,
}

impl BrokerConfig {
    /// Reads every layer, and says beside the configuration what its author should know.
    ///
    /// # Errors
    ///
    /// A sentence for each value that cannot be used, with its key, origin and bounds.
    pub fn load(sources: &Sources) -> Result<(Self, Vec<Warning>), UnusableConfig> {
        let (loaded, warnings) = Self::load_all(sources);
        loaded.map(|config| (config, warnings))
    }

    /// The same, with what the author should know also where the configuration cannot be used.
    pub fn load_all(sources: &Sources) -> (Result<Self, UnusableConfig>, Vec<Warning>) {
        let mut sentences = Vec::new();
        let given = sources.file.as_deref().map_or_else(|| Ok(Vec::new()), settings::from_file);
        let mut given = given.unwrap_or_else(|error| {
            sentences.push(error.to_string());
            Vec::new()
        });
        given.extend(settings::from_environment(&sources.environment));
        given.extend(sources.overrides.iter().map(|(key, value)| Given {
            key: key.clone(),
            value: value.clone(),
            origin: Origin::Override,
        }));
        let (mut settings, mut warnings, errors) = Settings::resolve_all(given);
        sentences.extend(errors.iter().map(ToString::to_string));
        if let Some(data) = &sources.data {
            settings.set_path("log.dirs", data, Origin::Flag("--data"));
        }
        let variable = |name: &str| {
            let found = sources.environment.iter().rev().find(|(other, _)| other == name);
            found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
        };
        if !settings.is_set("log.dirs") && !settings.is_set("log.dir") {
            match data_folder(variable("XDG_DATA_HOME"), variable("HOME")) {
                Some(folder) => settings.set_default("log.dir", folder.display().to_string()),
                None => {
                    sentences.push(ConfigError::NoHome.to_string());
                    // Said once; that no directory is named would say the same.
                    settings.set_default("log.dir", ".".to_owned());
                }
            }
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        settings.set_default("num.network.threads", processors.to_string());
        let cluster_id = noted(conflicts::cluster_id(variable("CLUSTER_ID")), &mut sentences).flatten();
        let config = Self::from_settings(settings, cluster_id, &mut warnings);
        let config = config.map_err(|error| sentences.extend(error.sentences));
        match config {
            Ok(config) if sentences.is_empty() => (Ok(config), warnings),
            _ => (Err(UnusableConfig { sentences }), warnings),
        }
    }

    /// The configuration of these pairs alone, for tests and for brokers within a process.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load); the directory for the data must be among the pairs, unless there is a home.
    pub fn from_pairs<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, UnusableConfig> {
        let overrides = pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let environment = std::env::vars().filter(|(name, _)| name == "HOME").collect();
        Self::load(&Sources { overrides, environment, ..Sources::default() }).map(|(config, _)| config)
    }

    /// Every value with its origin, for those who describe the configuration.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Takes over the id that the first start chose or a later one found.
    pub fn settle_node_id(&mut self, id: NodeId) {
        self.node_id = Some(id);
        for key in ["node.id", "broker.id"] {
            self.settings.settle(key, &id.to_string(), Origin::Kept);
        }
    }

    /// The same under dynamic values, those of the node above those of the cluster.
    ///
    /// # Errors
    ///
    /// When values that are each right contradict each other.
    pub fn with_dynamic(&self, dynamic: DynamicConfigs<'_>) -> Result<Self, UnusableConfig> {
        let mut settings = self.settings.clone();
        for (values, origin) in [(dynamic.cluster, Origin::Cluster), (dynamic.node, Origin::Node)] {
            if let Some(values) = values {
                settings.lay_above(values, &origin);
            }
        }
        Self::from_settings(settings, self.cluster_id.clone(), &mut Vec::new())
    }

    /// The same with what can be changed without a restart as `file` has it.
    ///
    /// # Errors
    ///
    /// When the values contradict those that stay.
    pub fn with_reloaded(&self, file: &Self) -> Result<Self, UnusableConfig> {
        let settings = self.settings.with_dynamic_keys_of(&file.settings);
        Self::from_settings(settings, self.cluster_id.clone(), &mut Vec::new())
    }

    fn from_settings(
        mut settings: Settings,
        cluster_id: Option<CompactString>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, UnusableConfig> {
        let mut sentences = Vec::new();
        noted(conflicts::check_roles(&settings), &mut sentences);
        let node_id = noted(conflicts::node_id(&settings), &mut sentences).flatten();
        if let Some(id) = node_id {
            for (key, other) in [("node.id", "broker.id"), ("broker.id", "node.id")] {
                let origin = settings.origin(other);
                settings.settle(key, &id.to_string(), origin);
            }
        }
        let listeners = noted(listener::parse(&settings), &mut sentences);
        let network = noted(NetworkConfig::new(&settings), &mut sentences);
        let http = noted(HttpConfig::new(&settings), &mut sentences);
        let log_dirs = noted(conflicts::log_dirs(&settings), &mut sentences);
        let clients = listeners.as_ref().map(|listeners| listeners.clients.as_slice());
        let inter_broker = clients
            .and_then(|clients| noted(conflicts::inter_broker_listener(&settings, clients), &mut sentences));
        let all =
            listeners.zip(network).zip(log_dirs).zip(inter_broker.zip(http)).filter(|_| sentences.is_empty());
        let Some((((listeners, network), log_dirs), (inter_broker_listener, http))) = all else {
            return Err(UnusableConfig { sentences });
        };
        let Listeners { clients: listeners, controller: controller_endpoint, warnings: of_listeners } =
            listeners;
        warnings.extend(of_listeners);
        // Kafka's own file names such a directory, and many copy it; whoever names one by hand means it.
        if matches!(settings.origin("log.dirs"), Origin::File(..)) {
            let temporary = log_dirs.iter().filter(|path| path.starts_with("/tmp"));
            warnings.extend(temporary.map(|path| Warning::TemporaryDirectory(path.clone())));
        }
        let metadata_log_dir = match settings.text("metadata.log.dir") {
            Some(path) => PathBuf::from(path),
            None => log_dirs.first().cloned().unwrap_or_default(),
        };
        Ok(Self {
            node_id,
            cluster_id,
            rack: settings.text("broker.rack").map(CompactString::from),
            listeners,
            controller_endpoint,
            inter_broker_listener,
            log_dirs,
            metadata_log_dir,
            network,
            topics: TopicRules::new(&settings),
            groups: GroupsConfig::new(&settings),
            quotas: QuotasConfig::new(&settings),
            transactions: TransactionsConfig::new(&settings),
            storage: StorageConfig::new(&settings),
            http,
            log_output: LogOutput::new(&settings),
            fetch_bytes_max: size(&settings, "fetch.max.bytes"),
            producer_id_expiration_ms: settings.number("producer.id.expiration.ms"),
            snapshot_after_bytes: settings
                .number("metadata.log.max.record.bytes.between.snapshots")
                .unsigned_abs(),
            metadata_retention: MetadataRetention {
                bytes_max: u64::try_from(settings.number("metadata.max.retention.bytes")).ok(),
                age_ms_max: Some(settings.number("metadata.max.retention.ms")).filter(|age_ms| *age_ms >= 0),
            },
            metadata_log: LogConfig {
                segment_bytes: u32::try_from(settings.number("metadata.log.segment.bytes"))
                    .unwrap_or(u32::MAX),
                segment_ms: settings.number("metadata.log.segment.ms"),
                ..LogConfig::default()
            },
            settings,
        })
    }
}

impl NetworkConfig {
    fn new(settings: &Settings) -> Result<Self, Conflict> {
        let buffer = |key| u32::try_from(settings.number(key)).ok();
        Ok(Self {
            reactors: count(settings, "num.network.threads"),
            blocking_threads: count(settings, "num.io.threads"),
            request_bytes_max: size(settings, "socket.request.max.bytes"),
            queued_bytes_max: u64::try_from(settings.number("queued.max.request.bytes"))
                .ok()
                .filter(|max| *max > 0),
            send_buffer_bytes: buffer("socket.send.buffer.bytes"),
            receive_buffer_bytes: buffer("socket.receive.buffer.bytes"),
            backlog: size(settings, "socket.listen.backlog.size"),
            connections_max: count(settings, "max.connections"),
            connections_per_ip_max: count(settings, "max.connections.per.ip"),
            connections_per_ip_overrides: conflicts::per_address(settings)?,
            idle_max: u64::try_from(settings.number("connections.max.idle.ms"))
                .ok()
                .map(Duration::from_millis),
        })
    }
}

impl NetworkConfig {
    /// How many connections there may be, as the network counts them.
    pub(crate) fn accept_limits(&self) -> AcceptLimits {
        AcceptLimits {
            connections_max: self.connections_max,
            connections_per_ip_max: self.connections_per_ip_max,
            connections_per_ip_overrides: self.connections_per_ip_overrides.clone(),
        }
    }
}

impl TopicRules {
    fn new(settings: &Settings) -> Self {
        let replication = settings.number("default.replication.factor");
        let int = |key| i32::try_from(settings.number(key)).expect("the table bounds an int");
        Self {
            default_partitions: int("num.partitions"),
            // Kafka's type is an int where the protocol has 16 bits; more replicas than that fail at creation anyway.
            default_replication_factor: i16::try_from(replication).unwrap_or(i16::MAX),
            min_insync_replicas: int("min.insync.replicas"),
            auto_create: settings.boolean("auto.create.topics.enable"),
            deletion: settings.boolean("delete.topic.enable"),
        }
    }
}

impl QuotasConfig {
    fn new(settings: &Settings) -> Self {
        let seconds = |key| Duration::from_secs(settings.number(key).unsigned_abs());
        Self {
            samples: size(settings, "quota.window.num"),
            sample: seconds("quota.window.size.seconds"),
            mutation_samples: size(settings, "controller.quota.window.num"),
            mutation_sample: seconds("controller.quota.window.size.seconds"),
        }
    }

    pub(crate) fn window(self) -> Window {
        Window { samples: self.samples, sample: self.sample }
    }

    pub(crate) fn mutation_window(self) -> Window {
        Window { samples: self.mutation_samples, sample: self.mutation_sample }
    }
}

impl StorageConfig {
    fn new(settings: &Settings) -> Self {
        Self {
            recovery_threads_per_dir: count(settings, "num.recovery.threads.per.data.dir"),
            recovery_point_interval: duration(settings, "log.flush.offset.checkpoint.interval.ms"),
            high_watermark_interval: duration(settings, "replica.high.watermark.checkpoint.interval.ms"),
            initial_delay: duration(settings, "log.initial.task.delay.ms"),
            retention_interval: duration(settings, "log.retention.check.interval.ms"),
            free_bytes_min: settings.number("log.dir.free.bytes.min"),
            cleaner: CleanerConfig::new(settings),
        }
    }
}

impl CleanerConfig {
    fn new(settings: &Settings) -> Self {
        let enabled = settings.boolean("log.cleaner.enable");
        Self {
            threads: if enabled { count(settings, "log.cleaner.threads") } else { 0 },
            backoff: duration(settings, "log.cleaner.backoff.ms"),
            dedupe_bytes: u64::try_from(settings.number("log.cleaner.dedupe.buffer.size")).unwrap_or(0),
            load_factor: settings.double("log.cleaner.io.buffer.load.factor"),
            io_buffer_bytes: count(settings, "log.cleaner.io.buffer.size"),
            bytes_per_second: settings.double("log.cleaner.io.max.bytes.per.second"),
        }
    }
}

/// What a step came to; where it failed, the sentence is noted.
fn noted<T, E: std::fmt::Display>(result: Result<T, E>, sentences: &mut Vec<String>) -> Option<T> {
    result.map_err(|error| sentences.push(error.to_string())).ok()
}

/// A number that the table bounds to 0 to 2³¹−1.
pub(super) fn size(settings: &Settings, key: &str) -> u32 {
    u32::try_from(settings.number(key)).expect("the table bounds a size from 0 to 2^31-1")
}

pub(super) fn count(settings: &Settings, key: &str) -> usize {
    usize::try_from(settings.number(key)).expect("the table bounds a count from 0")
}

/// A span in milliseconds; one below zero, which Kafka's types allow, is none at all.
pub(super) fn duration(settings: &Settings, key: &str) -> Duration {
    Duration::from_millis(u64::try_from(settings.number(key)).unwrap_or(0))
}

/// `$XDG_DATA_HOME/ottla`, else `~/.local/share/ottla`. The former counts only when absolute, as its standard says.
fn data_folder(xdg: Option<&str>, home: Option<&str>) -> Option<PathBuf> {
    let xdg = xdg.map(Path::new).filter(|path| path.is_absolute());
    let base = xdg.map(Path::to_owned).or_else(|| Some(Path::new(home?).join(".local/share")))?;
    Some(base.join("ottla"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(pairs: &[(&str, &str)]) -> Result<BrokerConfig, String> {
        BrokerConfig::from_pairs(pairs.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn without_configuration_the_data_is_in_the_users_folder() {
        let sources = |pairs: &[(&str, &str)]| Sources {
            environment: pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..Sources::default()
        };
        let dirs = |pairs: &[(&str, &str)]| BrokerConfig::load(&sources(pairs)).unwrap().0.log_dirs;
        assert_eq!(dirs(&[("HOME", "/home/ann")]), [Path::new("/home/ann/.local/share/ottla")]);
        assert_eq!(dirs(&[("HOME", "/home/ann"), ("XDG_DATA_HOME", "/data")]), [Path::new("/data/ottla")]);
        assert_eq!(
            dirs(&[("HOME", "/home/ann"), ("XDG_DATA_HOME", "data")]),
            [Path::new("/home/ann/.local/share/ottla")]
        );
        assert!(BrokerConfig::load(&sources(&[])).unwrap_err().to_string().contains("--data DIR"));
    }

    #[test]
    fn a_cluster_id_is_one_word() {
        let load = |id: &str| {
            let environment = [("HOME", "/home/ann"), ("CLUSTER_ID", id)];
            let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
            BrokerConfig::load(&Sources { environment, ..Sources::default() })
                .map(|(config, _)| config.cluster_id)
        };
        for id in ["4L6g3nShT-eMCtK--X86sw", "my.cluster"] {
            assert_eq!(load(id).unwrap().as_deref(), Some(id));
        }
        for id in ["x y", " ", "a\nb", "é", &"x".repeat(129)] {
            let sentences = load(id).unwrap_err().sentences;
            assert!(matches!(&sentences[..], [one] if one.contains("CLUSTER_ID")), "{sentences:?}");
        }
    }

    #[test]
    fn the_flag_goes_before_every_other_way_to_name_the_directory() {
        let sources = Sources {
            overrides: vec![("log.dirs".to_owned(), "/one,/two".to_owned())],
            data: Some(PathBuf::from("/three,four")),
            ..Sources::default()
        };
        let (config, _) = BrokerConfig::load(&sources).unwrap();
        assert_eq!(config.log_dirs, [Path::new("/three,four")]);
        assert_eq!(config.settings().origin("log.dirs"), Origin::Flag("--data"));
    }

    #[test]
    fn either_name_of_the_node_id_gives_both() {
        for pairs in [[("node.id", "7")], [("broker.id", "7")]] {
            let config = load(&pairs).unwrap();
            assert_eq!(config.node_id, Some(NodeId::new(7)));
            assert_eq!(config.settings().text("node.id"), Some("7"));
            assert_eq!(config.settings().text("broker.id"), Some("7"));
            assert_eq!(config.settings().origin("node.id"), Origin::Override);
        }
        assert!(
            load(&[("node.id", "7"), ("broker.id", "8")]).unwrap_err().contains("two names of one thing")
        );
        assert_eq!(load(&[]).unwrap().node_id, None);
    }

    #[test]
    fn kafkas_own_server_properties_is_accepted() {
        let config = load(&[
            ("process.roles", "broker,controller"),
            ("node.id", "1"),
            ("controller.quorum.bootstrap.servers", "localhost:9093"),
            ("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"),
            ("inter.broker.listener.name", "PLAINTEXT"),
            ("advertised.listeners", "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"),
            ("controller.listener.names", "CONTROLLER"),
            ("num.network.threads", "3"),
            ("num.io.threads", "8"),
            ("log.dirs", "/tmp/kraft-combined-logs"),
        ])
        .unwrap();
        assert_eq!(config.inter_broker_listener, "PLAINTEXT");
        assert_eq!(config.network.reactors, 3);
    }

    #[test]
    fn what_this_version_cannot_be_is_refused_with_the_reason() {
        for (pairs, text) in [
            (vec![("process.roles", "broker")], "must be broker,controller or not set"),
            (vec![("controller.quorum.voters", "1@a:1,2@b:1")], "names 2 controllers"),
            (vec![("authorizer.class.name", "org.example.Acl")], "it would serve everybody"),
            (vec![("inter.broker.listener.name", "OTHER")], "it must be one of listeners"),
            (vec![("security.inter.broker.protocol", "SSL")], "PLAINTEXT listeners only"),
            (
                vec![("max.connections.per.ip.overrides", "127.0.0.1")],
                "a list separated by commas of address:number",
            ),
            (vec![("log.dirs", "/a,/a")], "each one once"),
            (vec![("log.dirs", "")], "must name directories"),
        ] {
            let error = load(&pairs).unwrap_err();
            assert!(error.contains(text), "{pairs:?}: {error}");
        }
    }

    #[test]
    fn limits_of_single_addresses_are_read() {
        let config = load(&[("max.connections.per.ip.overrides", "127.0.0.1:5, [::1]:6")]).unwrap();
        let limit =
            |address: &str| config.network.connections_per_ip_overrides.get(&address.parse().unwrap());
        assert_eq!((limit("127.0.0.1"), limit("::1"), limit("127.0.0.2")), (Some(&5), Some(&6), None));
    }

    #[test]
    fn negative_limits_mean_none() {
        let config = load(&[
            ("connections.max.idle.ms", "-1"),
            ("queued.max.request.bytes", "-1"),
            ("socket.send.buffer.bytes", "-1"),
        ])
        .unwrap();
        assert_eq!(config.network.idle_max, None);
        assert_eq!(config.network.queued_bytes_max, None);
        assert_eq!(config.network.send_buffer_bytes, None);
    }
}
