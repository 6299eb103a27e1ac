//! Start and stop of a whole broker within a process: sockets, directories, identity, controller, logs, reactors, in
//! this order, and back. Prints nothing and reads no command line (`run.rs`); tests start brokers by it.
//!
//! Threads: the reactors, the acceptor and the blocking pool are the network's, the flushers the broker's, the
//! controller's its own; here is the one that takes over each new metadata image.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use ottla_cluster::controller::ControllerSettings;
use ottla_cluster::{
    ControllerLink, ControllerRequest, ControllerResponse, Embedded, EmbeddedConfig, EmbeddedController,
    EmbeddedError, Endpoint, FeatureRange, FeedError, LinkError, MetadataFeed, NodeIdentity, features,
};
use ottla_model::{Clock, ErrorCode, NodeId, SystemClock};
use ottla_network::{BlockingPool, Server, ServerConfig, ServerHandle};
use ottla_protocol::messages::broker_registration::{self, BrokerRegistrationRequest};
use ottla_storage::{LogDir, LogDirError, LogDirs};

use crate::config::{self, BrokerConfig, Change, HostPort, LiveConfig, Origin, Tables, UnusableConfig};
use crate::context::{Broker, BrokerParts, OpenError};
use crate::disk_watch::{DiskWatch, OnFault};
use crate::dispatch::Service;
use crate::http::sight::Sight;
use crate::http::{HttpServer, HttpSocket};
use crate::identity::{self, Identity, IdentityError};
use crate::log_levels::LogLevels;
use crate::metadata_thread::{Fault, ImageThread, apply_until, first_image};
use crate::threads::{self, DescriptorShares};

/// How long connections may take to finish what is in flight once the broker stops; what is left then is cut off.
/// Container runtimes kill after ten seconds, and the flush comes after this.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(5);
/// Jobs of the blocking pool that may wait for each of its threads.
const BLOCKING_JOBS_PER_THREAD: usize = 64;
/// What a broker registers with whose last run did not stop in good order.
const NO_BROKER_EPOCH: i64 = -1;
/// PLAINTEXT, as the registration numbers the protocols of listeners.
const PLAINTEXT: i16 = 0;

/// A listener that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenListener {
    /// Its name.
    pub name: CompactString,
    /// Where it listens; a port that was 0 has its number.
    pub address: SocketAddr,
    /// Where its clients are told to connect.
    pub advertised: HostPort,
}

/// A setting that a file has otherwise than the running broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The key.
    pub key: &'static str,
    /// What is in force; a secret is masked.
    pub running: String,
    /// What the file says.
    pub file: String,
}

/// What came of reading the configuration again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloaded {
    /// What acts now.
    pub changes: Vec<Change>,
    /// What waits for a restart.
    pub waiting: Vec<Waiting>,
    /// What a dynamic config lies above.
    pub hidden: Vec<Waiting>,
}

/// A broker that serves. Dropped without [`shutdown`](Self::shutdown) it leaves what a crash leaves, and its
/// directories may stay locked until the process ends.
pub struct RunningBroker {
    listeners: Vec<OpenListener>,
    identity: Identity,
    config: Arc<BrokerConfig>,
    server: ServerHandle,
    broker: Arc<Broker>,
    controller: EmbeddedController,
    images: ImageThread,
    disks: DiskWatch,
    pool: BlockingPool,
    directories: Vec<Arc<LogDir>>,
    sight: Arc<Sight>,
    http: Option<HttpServer>,
}

/// Why a broker cannot start, in a sentence for a person.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener's host has no address.
    #[error("The listener {listener} cannot be opened: {source}.")]
    Resolve {
        /// The listener.
        listener: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A listener cannot be opened.
    #[error("The broker cannot listen: {0}.")]
    Network(#[from] ottla_network::StartError),
    /// The HTTP endpoint cannot be opened.
    #[error("Metrics and health cannot be served on {host}:{port} (http.address): {source}.")]
    Http {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// What the system said.
        source: std::io::Error,
    },
    /// A log directory cannot be used.
    #[error("{0}.")]
    Directory(#[from] LogDirError),
    /// The directories do not say who this node is.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The metadata log cannot be opened.
    #[error("The cluster's metadata in {} cannot be opened: {source}.", directory.display())]
    Metadata {
        /// The directory of the metadata log.
        directory: PathBuf,
        /// Why.
        source: EmbeddedError,
    },
    /// The controller ended while the broker started.
    #[error("The broker cannot start: {0}.")]
    Controller(#[from] LinkError),
    /// The feed ended while the broker started.
    #[error("The broker cannot start: {0}.")]
    Feed(#[from] FeedError),
    /// The logs cannot be opened.
    #[error("The broker cannot start: {0}.")]
    Open(#[from] OpenError),
    /// The controller refuses this broker.
    #[error("The controller refuses this broker: {0}.")]
    Refused(ErrorCode),
    /// The system gives no thread, no runtime or no random bytes.
    #[error("The broker cannot start: {0}.")]
    System(#[from] std::io::Error),
}

/// Why a broker did not end in good order. A restart recovers.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// A log directory could not be closed; the others were.
    #[error("{0}.")]
    Directory(#[from] LogDirError),
    /// The metadata log could not be closed.
    #[error("The cluster's metadata could not be closed: {0}.")]
    Metadata(#[from] EmbeddedError),
}

impl RunningBroker {
    /// Starts a broker and returns once it serves. `on_fault` is called at most once, from another thread, when the
    /// broker can no longer go on and should be shut down.
    ///
    /// # Errors
    ///
    /// Whatever stands in the way; nothing that was started goes on running.
    pub fn start(
        config: BrokerConfig,
        on_fault: impl FnOnce(Fault) + Send + 'static,
    ) -> Result<Self, StartError> {
        Self::start_with(config, LogLevels::unattached(), on_fault)
    }

    /// The same, with a log whose levels can be changed.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_with(
        mut config: BrokerConfig,
        log_levels: LogLevels,
        on_fault: impl FnOnce(Fault) + Send + 'static,
    ) -> Result<Self, StartError> {
        let shares = threads::raise_descriptor_limit();
        // The sockets first: a port that is taken is known before any file is touched.
        let server = Server::bind(server_config(&config, shares)?)?;
        let listeners = open_listeners(&config, &server);
        let sight = Arc::new(Sight::default());
        let http = open_http(&config, &sight)?;
        let Directories { set, all: directories, metadata } = Directories::open(&config, shares)?;
        let identity = Identity::settle(&config, &directories, set.unusable())?;
        config.settle_node_id(identity.node_id);
        let config = Arc::new(config);
        let live = LiveConfig::new(Arc::clone(&config));
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;

        let Embedded { controller, link, mut feed } =
            start_controller(&live, &identity, (&metadata, &directories), &clock)?;
        let image = runtime.block_on(first_image(&mut *feed))?;
        let pool = blocking_pool(config.network.blocking_threads);
        let previous_epoch = previous_broker_epoch(&set);
        let parts = BrokerParts {
            live,
            cluster_id: identity.cluster_id.clone(),
            node_id: identity.node_id,
            log_dirs: set,
            metadata_directory_id: metadata.id().ok_or(LogDirError::NoDirectory)?,
            controller: Arc::clone(&link),
            pool: pool.clone(),
            clock,
            log_levels: Arc::new(log_levels),
            reactors: config.network.reactors,
        };
        let broker = Broker::open(parts, image)?;
        let registration = registration(&broker, &identity, &listeners, previous_epoch)
            .map_err(StartError::from)
            .and_then(|registration| runtime.block_on(register(&broker, &*link, &mut *feed, registration)));
        let registration = registration.inspect(|()| broker.begin_coordinating());
        let served = registration.and_then(|()| serve(server, &broker, &pool, (feed, metadata), on_fault));
        let (server, images, disks) = match served {
            Ok(served) => served,
            Err(error) => {
                // The logs are open, so they are closed in good order; of several errors the first one counts.
                pool.shut_down();
                drop(controller.shutdown());
                drop(broker.close());
                return Err(error);
            }
        };
        sight.serves(Arc::clone(&broker), server.meters());
        Ok(Self {
            listeners,
            identity,
            config,
            server,
            broker,
            controller,
            images,
            disks,
            pool,
            directories,
            sight,
            http,
        })
    }

    /// The open listeners, in the order of the configuration.
    #[must_use]
    pub fn listeners(&self) -> &[OpenListener] {
        &self.listeners
    }

    /// Where metrics and health are served over HTTP, if they are.
    #[must_use]
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(HttpServer::address)
    }

    /// The directories of the data.
    pub fn data(&self) -> impl Iterator<Item = PathBuf> {
        self.directories.iter().map(|directory| directory.path())
    }

    /// The node's id.
    #[must_use]
    pub fn node_id(&self) -> NodeId {
        self.identity.node_id
    }

    /// The cluster's id.
    #[must_use]
    pub fn cluster_id(&self) -> &str {
        &self.identity.cluster_id
    }

    /// The configuration that it runs with.
    #[must_use]
    pub fn config(&self) -> &BrokerConfig {
        &self.config
    }

    /// Takes over what a configuration that was read anew says, as far as that needs no restart.
    ///
    /// # Errors
    ///
    /// When it contradicts what stays as it is: nothing changes then.
    pub fn reload(&self, file: &BrokerConfig) -> Result<Reloaded, UnusableConfig> {
        let before = self.broker.live.fixed();
        let changes = self.broker.reload(file)?;
        let now = self.broker.live.now();
        let (mut waiting, mut hidden) = (Vec::new(), Vec::new());
        for property in config::broker_properties() {
            let text = |config: &BrokerConfig| config.settings().text(property.name).map(str::to_owned);
            let given = text(file);
            if text(&before) == given
                || text(&now) == given
                || before.settings().origin(property.name) == Origin::Kept
            {
                continue;
            }
            let shown = |text: Option<String>| property.shown(text.as_deref().unwrap_or("none")).to_owned();
            let difference = Waiting { key: property.name, running: shown(text(&now)), file: shown(given) };
            if property.is_dynamic() { hidden.push(difference) } else { waiting.push(difference) }
        }
        Ok(Reloaded { changes, waiting, hidden })
    }

    /// The broker behind the sockets.
    #[must_use]
    pub fn broker(&self) -> &Arc<Broker> {
        &self.broker
    }

    /// Accepts nobody any more, answers what is in flight, makes everything durable, writes the clean-shutdown
    /// markers. Takes at most a few seconds and as long as the disks need.
    ///
    /// # Errors
    ///
    /// When a directory could not be closed in good order.
    pub fn shutdown(self) -> Result<(), StopError> {
        self.sight.stops();
        let report = self.server.shutdown(DRAIN_TIME_MAX);
        if report.cut_off > 0 {
            tracing::warn!(
                connections = report.cut_off,
                "connections had not finished in time and were cut off"
            );
        }
        self.pool.shut_down();
        self.images.stop();
        self.disks.stop();
        // The metadata log lies in a directory whose marker says that all is in order, so it is closed before that.
        let controller = self.controller.shutdown();
        self.broker.close()?;
        Ok(controller?)
    }
}

/// The network's configuration: the broker's, within what the system grants.
fn server_config(config: &BrokerConfig, shares: DescriptorShares) -> Result<ServerConfig, StartError> {
    let network = &config.network;
    let bytes = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    let mut listeners = Vec::with_capacity(config.listeners.len());
    for listener in &config.listeners {
        let address = listener
            .bind_address()
            .map_err(|source| StartError::Resolve { listener: listener.to_string(), source })?;
        listeners.push(ottla_network::ListenerConfig { name: Arc::from(listener.name.as_str()), address });
    }
    let defaults = ServerConfig::default();
    let memory = network.queued_bytes_max.and_then(|bytes| usize::try_from(bytes).ok());
    Ok(ServerConfig {
        listeners,
        reactors: network.reactors,
        request_bytes_max: bytes(network.request_bytes_max),
        request_memory_bytes_max: memory.unwrap_or(defaults.request_memory_bytes_max),
        idle_time_max: network.idle_max.unwrap_or(Duration::MAX),
        connections_max: network.connections_max.min(shares.connections),
        connections_per_ip_max: network.connections_per_ip_max,
        connections_per_ip_overrides: network.connections_per_ip_overrides.clone(),
        backlog: i32::try_from(network.backlog).unwrap_or(i32::MAX),
        send_buffer_bytes: network.send_buffer_bytes.map(bytes),
        receive_buffer_bytes: network.receive_buffer_bytes.map(bytes),
        ..defaults
    })
}

fn open_listeners(config: &BrokerConfig, server: &Server) -> Vec<OpenListener> {
    let opened = config.listeners.iter().zip(server.local_addresses());
    let opened = opened.map(|(listener, (_, address))| OpenListener {
        name: listener.name.clone(),
        address,
        advertised: listener.advertised_at(address),
    });
    opened.collect()
}

fn open_http(config: &BrokerConfig, sight: &Arc<Sight>) -> Result<Option<HttpServer>, StartError> {
    let Some(address) = &config.http.address else { return Ok(None) };
    let opened = HttpSocket::bind(address).and_then(|socket| socket.serve(Arc::clone(sight)));
    let (host, port) = address.clone();
    opened.map(Some).map_err(|source| StartError::Http { host, port, source })
}

fn blocking_pool(threads: usize) -> BlockingPool {
    BlockingPool::new("ottla-blocking", threads, threads.saturating_mul(BLOCKING_JOBS_PER_THREAD))
}

/// All directories, locked.
struct Directories {
    /// Those that take partitions.
    set: LogDirs,
    /// Those that could be opened, and the metadata's if it is apart from them.
    all: Vec<Arc<LogDir>>,
    /// The one that holds the metadata.
    metadata: Arc<LogDir>,
}

impl Directories {
    /// Makes and locks every directory. Of those that take partitions some may be unusable; the metadata's must work.
    fn open(config: &BrokerConfig, shares: DescriptorShares) -> Result<Self, LogDirError> {
        let apart = !config.log_dirs.contains(&config.metadata_log_dir);
        let count = config.log_dirs.len() + usize::from(apart);
        let of_partitions = shares.files / count * config.log_dirs.len();
        let set = LogDirs::open(&config.log_dirs, of_partitions)?;
        let mut all: Vec<_> = set.iter().cloned().collect();
        if apart {
            all.push(Arc::new(LogDir::open_with(&config.metadata_log_dir, shares.files / count)?));
        }
        let metadata = all.iter().find(|dir| dir.path() == config.metadata_log_dir).cloned();
        if let Some(metadata) = metadata {
            return Ok(Self { set, all, metadata });
        }
        let unusable = set.unusable().iter().find(|dir| dir.path == config.metadata_log_dir);
        Err(unusable.map_or(LogDirError::NoDirectory, |dir| LogDirError::Offline {
            path: dir.path.clone(),
            failure: Arc::clone(&dir.failure),
        }))
    }
}

/// The broker epoch that every directory noted when the last run stopped in good order; −1 if one did not.
fn previous_broker_epoch(directories: &LogDirs) -> i64 {
    let usable = directories.iter().filter(|directory| directory.failure().is_none());
    let mut epochs = usable.map(|directory| directory.previous_broker_epoch());
    let first = epochs.next().flatten();
    first.filter(|first| epochs.all(|epoch| epoch == Some(*first))).unwrap_or(NO_BROKER_EPOCH)
}

fn start_controller(
    live: &LiveConfig,
    identity: &Identity,
    (directory, directories): (&LogDir, &[Arc<LogDir>]),
    clock: &Arc<dyn Clock>,
) -> Result<Embedded, StartError> {
    if let Some(failure) = directory.failure() {
        return Err(LogDirError::Offline { path: directory.path(), failure }.into());
    }
    let directory_id = directory.id().ok_or(LogDirError::NoDirectory)?;
    let config = live.fixed();
    identity::require_metadata(directory, directories)?;
    let (name, HostPort { host, port }) = config.controller_endpoint.clone();
    let tables = Arc::new(Tables::new(live.clone(), identity.node_id));
    let embedded = EmbeddedConfig {
        identity: NodeIdentity { node_id: identity.node_id, directory_id },
        voter_endpoint: Endpoint { listener: name, host, port, security_protocol: PLAINTEXT },
        controller: ControllerSettings {
            node_id: identity.node_id,
            min_insync_replicas: config.topics.min_insync_replicas,
            cluster_id: identity.cluster_id.clone(),
            default_partitions: config.topics.default_partitions,
            default_replication_factor: config.topics.default_replication_factor,
            delete_topics: config.topics.deletion,
            topic_configs: Arc::clone(&tables) as _,
            configs: tables,
        },
        min_insync_replicas: config.topics.min_insync_replicas,
        snapshot_after_bytes: config.snapshot_after_bytes,
        retention: config.metadata_retention,
        log: config.metadata_log.clone(),
        clock: Arc::clone(clock),
        entropy: identity::entropy()?,
    };
    EmbeddedController::start(embedded, directory)
        .map_err(|source| StartError::Metadata { directory: config.metadata_log_dir.clone(), source })
}

/// How the broker presents itself to the controller.
fn registration(
    broker: &Broker,
    identity: &Identity,
    listeners: &[OpenListener],
    previous_broker_epoch: i64,
) -> Result<BrokerRegistrationRequest, std::io::Error> {
    let listener = |listener: &OpenListener| broker_registration::Listener {
        name: listener.name.clone(),
        host: listener.advertised.host.clone(),
        port: listener.advertised.port,
        security_protocol: PLAINTEXT,
    };
    let feature = |range: FeatureRange| broker_registration::Feature {
        name: range.name,
        min_supported_version: range.min,
        max_supported_version: range.max,
    };
    // Those that work: what lies in another one is offline.
    let working = broker.log_dirs.iter().filter(|held| held.dir.failure().is_none());
    let log_dirs = working.filter_map(|held| held.dir.id());
    Ok(BrokerRegistrationRequest {
        broker_id: identity.node_id,
        cluster_id: identity.cluster_id.clone(),
        incarnation_id: identity::random_id()?,
        listeners: listeners.iter().map(listener).collect(),
        features: features::supported().into_iter().map(feature).collect(),
        rack: broker.config.rack.clone(),
        log_dirs: log_dirs.collect(),
        previous_broker_epoch,
        ..BrokerRegistrationRequest::default()
    })
}

/// Registers the broker, and returns once its own metadata knows it.
async fn register(
    broker: &Broker,
    link: &dyn ControllerLink,
    feed: &mut dyn MetadataFeed,
    registration: BrokerRegistrationRequest,
) -> Result<(), StartError> {
    let registered = link.call(ControllerRequest::BrokerRegistration(registration)).await?;
    if let ControllerResponse::BrokerRegistration(response) = registered.response
        && !response.error_code.is_none()
    {
        return Err(StartError::Refused(response.error_code));
    }
    apply_until(broker, feed, registered.offset).await?;
    Ok(())
}

/// Starts the reactors and the thread that follows the metadata.
fn serve(
    server: Server,
    broker: &Arc<Broker>,
    pool: &BlockingPool,
    (feed, metadata): (Box<dyn MetadataFeed>, Arc<LogDir>),
    on_fault: impl FnOnce(Fault) + Send + 'static,
) -> Result<(ServerHandle, ImageThread, DiskWatch), StartError> {
    let on_fault = OnFault::new(on_fault);
    let disks = DiskWatch::start(Arc::clone(broker), metadata, on_fault.clone())?;
    let serving = Arc::clone(broker);
    let server = server.start(pool.clone(), move |reactor| Service::new(Arc::clone(&serving), reactor))?;
    broker.limit_connections(server.slots());
    let images = ImageThread::start(Arc::clone(broker), feed, move |fault| on_fault.tell(fault))?;
    Ok((server, images, disks))
}
