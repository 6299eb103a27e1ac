//! The running broker as its threads share it: who it is, what it stores, whom it asks. Opens nothing by itself save
//! what it is handed, and knows neither sockets nor command lines (`run.rs`).
//!
//! Life: [`Broker::open`] (loads the logs, applies the first image) → one service (`dispatch.rs`) a reactor thread,
//! and [`Broker::apply`] for each further image → [`Broker::close`].
//!
//! Lock order: a coordinator's machine, then a log's own lock, then a partition's positions; queues and ready lists are locked with neither held.

use std::sync::{Arc, OnceLock, Weak};

use compact_str::CompactString;
use ottla_cluster::{AppliedImage, BrokerImage, ControllerLink, MetadataImage, features};
use ottla_model::{Clock, NodeId, Uuid};
use ottla_network::{AcceptLimits, BlockingPool, ConnectionSlots};
use ottla_storage::LogDirError;
use parking_lot::Mutex;

use crate::assignments;
use crate::auto_create::AutoCreate;
use crate::background::{Background, BackgroundState, Cleaners, Mover};
use crate::config::{BrokerConfig, Change, LiveConfig, UnusableConfig};
use crate::flusher::{Flusher, FlusherPace};
use crate::log_dirs::LogDirs;
use crate::log_levels::LogLevels;
use crate::machine_host::group::GroupHost;
use crate::machine_host::transaction::TransactionHost;
use crate::metrics::Metrics;
use crate::partition::waiters::ReadyLists;
use crate::partition_map::PartitionMap;
use crate::producer_ids::ProducerIds;
use crate::quotas::Quotas;
use crate::{reconcile, reconfigure, threads};

/// What a broker is made of.
pub struct BrokerParts {
    /// The settings, with what changes while the broker runs.
    pub live: LiveConfig,
    /// `cluster.id`.
    pub cluster_id: CompactString,
    /// `node.id`.
    pub node_id: NodeId,
    /// The log directories, open, locked and not yet loaded; each knows its `directory.id`.
    pub log_dirs: ottla_storage::LogDirs,
    /// `directory.id` of the directory that holds the metadata log.
    pub metadata_directory_id: Uuid,
    /// The way to the controller.
    pub controller: Arc<dyn ControllerLink>,
    /// Where cold reads go that may wait for a disk.
    pub pool: BlockingPool,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How much of what is logged.
    pub log_levels: Arc<LogLevels>,
    /// How many reactors will serve.
    pub reactors: usize,
}

/// A running broker.
pub struct Broker {
    /// The settings of the start. What can change while the broker runs is `live`'s.
    pub(crate) config: Arc<BrokerConfig>,
    /// The settings as they now are.
    pub(crate) live: LiveConfig,
    pub(crate) log_levels: Arc<LogLevels>,
    /// Held while settings or images are taken over.
    applying: Mutex<()>,
    /// The counts of connections, once they are served.
    slots: OnceLock<Arc<ConnectionSlots>>,
    pub(crate) cluster_id: CompactString,
    pub(crate) node_id: NodeId,
    pub(crate) metadata_directory_id: Uuid,
    pub(crate) image: AppliedImage,
    pub(crate) partitions: PartitionMap,
    pub(crate) log_dirs: LogDirs,
    pub(crate) ready: ReadyLists,
    pub(crate) controller: Arc<dyn ControllerLink>,
    pub(crate) producer_ids: ProducerIds,
    pub(crate) auto_create: AutoCreate,
    pub(crate) background: Background,
    pub(crate) quotas: Quotas,
    pub(crate) mover: Arc<Mover>,
    pub(crate) metrics: Metrics,
    cleaners: Arc<Cleaners>,
    pub(crate) groups: Arc<GroupHost>,
    pub(crate) transactions: Arc<TransactionHost>,
    pub(crate) pool: BlockingPool,
    pub(crate) clock: Arc<dyn Clock>,
    threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

/// Why a broker cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A log directory cannot be loaded.
    #[error(transparent)]
    LogDir(#[from] LogDirError),
    /// The system gives no thread.
    #[error("cannot start thread {thread}: {source}")]
    Thread {
        /// Its name.
        thread: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Broker {
    /// Opens every log, makes the partitions those of `image`, publishes it, and starts the threads that flush and
    /// clean up. Waits for disks.
    ///
    /// # Errors
    /// When a log directory cannot be loaded. A single log that cannot be opened is none: its partition is offline.
    pub fn open(parts: BrokerParts, image: Arc<MetadataImage>) -> Result<Arc<Self>, OpenError> {
        reconfigure::begin(&parts.live, &image, parts.node_id);
        let config = parts.live.fixed();
        let quotas = Quotas::new(config.quotas.window(), config.quotas.mutation_window());
        let log_dir_paths = config.log_dirs.clone();
        let cleaners = Cleaners::new(parts.live.peek().storage.cleaner.clone());
        parts.pool.set_threads_max(parts.live.peek().network.blocking_threads);
        let broker = Arc::new_cyclic(|broker| Self {
            groups: GroupHost::new(parts.live.clone(), Arc::clone(&parts.clock)),
            transactions: TransactionHost::new(
                parts.live.fixed(),
                Arc::clone(&parts.clock),
                Weak::clone(broker),
            ),
            producer_ids: ProducerIds::new(parts.node_id, Arc::clone(&parts.controller)),
            config,
            live: parts.live,
            log_levels: parts.log_levels,
            applying: Mutex::default(),
            slots: OnceLock::new(),
            cluster_id: parts.cluster_id,
            node_id: parts.node_id,
            metadata_directory_id: parts.metadata_directory_id,
            image: AppliedImage::new(),
            partitions: PartitionMap::new(),
            log_dirs: LogDirs::new(parts.log_dirs, log_dir_paths),
            ready: ReadyLists::new(parts.reactors),
            controller: parts.controller,
            auto_create: AutoCreate::default(),
            background: Background::default(),
            quotas,
            mover: Arc::default(),
            metrics: Metrics::new(parts.reactors, parts.clock.now_ms()),
            cleaners,
            pool: parts.pool,
            clock: parts.clock,
            threads: Mutex::default(),
        });
        reconcile::open_all(&broker, &image)?;
        let delta = broker.image.delta_to(&image);
        broker.quotas.follow(image.kept());
        broker.image.publish(Arc::clone(&image));
        broker.start_threads()?;
        assignments::tell_all(&broker, &image);
        broker.groups.follow(&broker.partitions, &image, &delta);
        broker.transactions.follow(&broker.partitions, &image, &delta);
        Ok(broker)
    }

    /// Takes over a newer image: first its changes to partitions, then it is published. Waits for disks; one caller at
    /// a time.
    pub fn apply(&self, image: Arc<MetadataImage>) {
        let _applying = self.applying.lock();
        let delta = self.image.delta_to(&image);
        reconfigure::follow(self, &image, &delta);
        reconcile::apply(self, &image, &delta);
        if delta.kept_changed {
            self.quotas.follow(image.kept());
        }
        self.image.publish(Arc::clone(&image));
        self.groups.follow(&self.partitions, &image, &delta);
        self.transactions.follow(&self.partitions, &image, &delta);
    }

    /// Connections are served from now on: their counts, whose limits follow the configuration.
    pub(crate) fn limit_connections(&self, slots: Arc<ConnectionSlots>) {
        let slots = self.slots.get_or_init(|| slots);
        slots.set_limits(self.accept_limits());
    }

    /// How many connections there may be: as configured, within what the system grants.
    fn accept_limits(&self) -> AcceptLimits {
        let granted = threads::raise_descriptor_limit().connections;
        let limits = self.live.peek().network.accept_limits();
        AcceptLimits { connections_max: limits.connections_max.min(granted), ..limits }
    }

    /// Takes over what a file now says, as far as that needs no restart, and says what has changed.
    ///
    /// # Errors
    /// When it contradicts what stays; nothing changes then.
    pub fn reload(&self, file: &BrokerConfig) -> Result<Vec<Change>, UnusableConfig> {
        let _applying = self.applying.lock();
        let changes = self.live.reload(file)?;
        reconfigure::tell(&changes);
        if !changes.is_empty() {
            self.reconfigured();
            reconcile::reconfigure_all(self);
            self.groups.follow_settings(&self.image());
        }
        Ok(changes)
    }

    /// Acts on settings that have changed.
    pub(crate) fn reconfigured(&self) {
        let now = self.live.now();
        self.pool.set_threads_max(now.network.blocking_threads);
        self.cleaners.configure(now.storage.cleaner.clone());
        if let Some(slots) = self.slots.get() {
            slots.set_limits(self.accept_limits());
        }
    }

    /// The image in force.
    #[must_use]
    pub fn image(&self) -> Arc<MetadataImage> {
        self.image.load()
    }

    /// What background work has done since the start.
    #[must_use]
    pub fn background_state(&self) -> BackgroundState {
        BackgroundState { retention: self.background.retention_state(), cleaner: self.cleaners.state() }
    }

    /// The broker is registered, and leads what the metadata says: from now on it coordinates groups and transactions. Led partitions are
    /// loaded once, since their epochs are those of this run.
    pub(crate) fn begin_coordinating(&self) {
        self.groups.begin(&self.partitions);
        // Behind the groups: what it finds prepared may have markers for them.
        self.transactions.begin(&self.partitions);
    }

    /// Whether groups of the newer protocol are served (KIP-848): the cluster's feature and this broker's configuration
    /// both say so.
    pub(crate) fn serves_consumer_protocol(&self) -> bool {
        self.config.groups.consumer_protocol && self.image.peek().feature_level(features::GROUP_VERSION) >= 1
    }

    /// Ends in good order: everything durable, checkpoints and clean-shutdown markers written. Nobody is served any
    /// more when it is called. Waits for disks.
    ///
    /// # Errors
    /// The first directory that could not be closed in good order; the others are closed all the same.
    pub fn close(&self) -> Result<(), LogDirError> {
        self.background.stop();
        self.cleaners.stop();
        self.mover.stop();
        self.transactions.leave();
        self.transactions.stop();
        self.groups.leave();
        self.groups.stop();
        for held in self.log_dirs.iter() {
            held.queue.stop();
        }
        for thread in self.threads.lock().drain(..) {
            // A flusher that panicked has said so; closing the logs flushes what it left.
            let _ = thread.join();
        }
        let broker_epoch = self.own_registration().map_or(-1, |registration| registration.epoch);
        let now_ms = self.clock.now_ms();
        let mut first_error = Ok(());
        for held in self.log_dirs.iter() {
            if let Some(failure) = held.dir.failure() {
                // It was told when it happened; the next start recovers what is there.
                tracing::warn!(directory = %held.dir.path().display(), %failure, "an offline log directory is left as it is");
                continue;
            }
            let marks = self.partitions.high_watermarks(&held.dir);
            let marked = held.dir.checkpoint_high_watermarks(&marks);
            // The clean marker comes last: it says that everything else is there.
            let closed = held.dir.close(broker_epoch, now_ms);
            first_error = first_error.and(marked).and(closed);
        }
        first_error
    }

    /// How the metadata knows this broker.
    pub(crate) fn own_registration(&self) -> Option<Arc<BrokerImage>> {
        self.image.peek().broker(self.node_id).cloned()
    }

    fn start_threads(self: &Arc<Self>) -> Result<(), OpenError> {
        let pace = FlusherPace {
            recovery_point_every: self.config.storage.recovery_point_interval,
            high_watermark_every: self.config.storage.high_watermark_interval,
        };
        for (number, held) in self.log_dirs.iter().enumerate() {
            let broker: Weak<Self> = Arc::downgrade(self);
            let dir = Arc::clone(&held.dir);
            let partitions = Box::new(move || match broker.upgrade() {
                Some(broker) => broker.partitions.in_directory(&dir),
                None => Vec::new(),
            });
            let flusher = Flusher::new(
                Arc::clone(&held.queue),
                Arc::clone(&held.dir),
                Arc::clone(&self.clock),
                pace,
                partitions,
            );
            self.start_thread(format!("ottla-flush-{number}"), move || flusher.run())?;
        }
        let groups = Arc::clone(&self.groups);
        self.start_thread("ottla-groups-due".to_owned(), move || groups.run())?;
        let transactions = Arc::clone(&self.transactions);
        self.start_thread("ottla-txns-due".to_owned(), move || transactions.run())?;
        let broker = Arc::downgrade(self);
        let background = self.background.clone();
        let storage = self.config.storage.clone();
        self.start_thread("ottla-background".to_owned(), move || background.run(&broker, &storage))?;
        if self.log_dirs.iter().count() > 1 {
            let (mover, broker) = (Arc::clone(&self.mover), Arc::downgrade(self));
            self.start_thread("ottla-mover".to_owned(), move || mover.run(&broker))?;
        }
        self.cleaners
            .start(self)
            .map_err(|source| OpenError::Thread { thread: "ottla-cleaner".into(), source })
    }

    fn start_thread(&self, name: String, body: impl FnOnce() + Send + 'static) -> Result<(), OpenError> {
        let started = std::thread::Builder::new().name(name.clone()).spawn(body);
        let handle = started.map_err(|source| OpenError::Thread { thread: name, source })?;
        self.threads.lock().push(handle);
        Ok(())
    }
}
