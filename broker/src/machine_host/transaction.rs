//! The transaction coordinator: a machine for each partition of `__transaction_state` that this broker leads. Beside what
//! every host does, it has markers written once the decision that they carry is committed.

use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use ottla_cluster::{MetadataDelta, MetadataImage};
use ottla_coordinator::{MarkerOrder, TransactionConfig, TransactionEvent, TransactionMachine};
use ottla_model::compression::Compression;
use ottla_model::{Clock, LeaderEpoch};
use ottla_network::BlockingPool;
use parking_lot::Mutex;

use super::host::{Coordinator, Host, HostSettings};
use super::markers;
use super::shard::{Shard, Uncommitted, Work};
use crate::config::BrokerConfig;
use crate::context::Broker;
use crate::internal_topics::TRANSACTION_STATE;
use crate::partition_map::PartitionMap;

/// So many markers are written where the decision was made; more of them go to a thread of their own, so that a reactor's
/// other connections do not wait for them.
const MARKERS_AT_ONCE_MAX: usize = 64;
/// Threads for those.
const MARKER_THREADS: usize = 2;
/// How long until a decision that is not committed yet is looked at again.
const LOOK_AGAIN_MS: i64 = 5;

/// Where transaction machines live.
pub(crate) type TransactionHost = Host<Transactions>;

/// What is special to transactions.
pub(crate) struct Transactions {
    config: ArcSwap<TransactionConfig>,
    settings: Arc<BrokerConfig>,
    broker: Weak<Broker>,
    markers: BlockingPool,
    /// Orders whose decision is not committed yet.
    late: Mutex<Vec<Late>>,
}

struct Late {
    shard: Arc<Shard<TransactionMachine>>,
    order: MarkerOrder,
    after: Uncommitted,
}

impl Coordinator for Transactions {
    type Machine = TransactionMachine;

    const TOPIC: &'static str = TRANSACTION_STATE;
    const WHAT: &'static str = "transactions";

    fn machine(&self, epoch: LeaderEpoch) -> TransactionMachine {
        TransactionMachine::new(self.config.load_full(), epoch)
    }

    fn work(
        host: &Arc<TransactionHost>,
        shard: &Arc<Shard<TransactionMachine>>,
        (order, after): Work<TransactionMachine>,
    ) {
        match after {
            None => host.write_markers(shard, order),
            Some(after) => host.put_off(vec![Late { shard: Arc::clone(shard), order, after }]),
        }
    }

    fn tend(host: &Arc<TransactionHost>) {
        let late = std::mem::take(&mut *host.kind.late.lock());
        let (ready, waiting): (Vec<_>, Vec<_>) = late.into_iter().partition(Late::is_committed);
        for Late { shard, order, .. } in ready {
            host.write_markers(&shard, order);
        }
        if !waiting.is_empty() {
            host.put_off(waiting);
        }
    }
}

impl Late {
    fn is_committed(&self) -> bool {
        self.after.partition.positions().high_watermark >= self.after.end
    }
}

impl TransactionHost {
    pub(crate) fn new(settings: Arc<BrokerConfig>, clock: Arc<dyn Clock>, broker: Weak<Broker>) -> Arc<Self> {
        let transactions = &settings.transactions;
        let of_host = HostSettings {
            partitions: transactions.topic.partitions,
            compression: Compression::NONE,
            load_bytes: transactions.load_bytes,
            loading_threads: transactions.loading_threads,
            commit_timeout: transactions.commit_timeout,
        };
        let kind = Transactions {
            config: ArcSwap::from_pointee(transactions.at_level(&MetadataImage::empty())),
            broker,
            // Not bounded by places: there are as many jobs as transactions that end at most.
            markers: BlockingPool::new("ottla-markers", MARKER_THREADS, 1),
            late: Mutex::default(),
            settings,
        };
        Self::of_kind(kind, of_host, clock)
    }

    /// Takes over what an image changes: partitions that are led here or no longer, the level of the feature. To be called
    /// once the image is published.
    pub(crate) fn follow(
        self: &Arc<Self>,
        held: &PartitionMap,
        image: &MetadataImage,
        delta: &MetadataDelta,
    ) {
        let config = self.kind.settings.transactions.at_level(image);
        if **self.kind.config.load() != config {
            let config = Arc::new(config);
            self.kind.config.store(Arc::clone(&config));
            self.tell_all(|| TransactionEvent::ConfigChanged { config: Arc::clone(&config) });
        }
        self.follow_topic(held, image, delta);
    }

    fn write_markers(self: &Arc<Self>, shard: &Arc<Shard<TransactionMachine>>, order: MarkerOrder) {
        let count: usize = order.partitions.values().map(std::collections::BTreeSet::len).sum();
        let broker = self.kind.broker.upgrade();
        if count <= MARKERS_AT_ONCE_MAX && !broker.is_some_and(|broker| markers::has_closed(&broker, &order))
        {
            return self.write_markers_here(shard, &order);
        }
        let (host, shard) = (Arc::clone(self), Arc::clone(shard));
        let job = move || host.write_markers_here(&shard, &order);
        if let Err(error) = self.kind.markers.spawn(job) {
            // They are asked for again when the partition is loaded next.
            tracing::warn!(%error, "markers were not written");
        }
    }

    fn write_markers_here(self: &Arc<Self>, shard: &Arc<Shard<TransactionMachine>>, order: &MarkerOrder) {
        // A broker that is being dropped writes nothing more; the next start does.
        let Some(broker) = self.kind.broker.upgrade() else { return };
        let outcome = markers::carry_out(&broker, order);
        self.tell(shard, TransactionEvent::Marked(outcome));
    }

    fn put_off(&self, orders: Vec<Late>) {
        self.kind.late.lock().extend(orders);
        self.tend_at(LOOK_AGAIN_MS);
    }

    /// Ends the threads.
    pub(crate) fn stop(&self) {
        self.stop_threads();
        self.kind.markers.shut_down();
    }
}
