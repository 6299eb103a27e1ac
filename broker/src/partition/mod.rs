//! One partition that this broker holds: its log behind the checks of leadership and epoch, its positions, and who
//! waits for them. What is done with it stands beside: `append.rs`, `read.rs`. Topics and metadata are elsewhere.

pub(crate) mod append;
mod positions;
pub(crate) mod read;
pub(crate) mod settings;
pub(crate) mod traffic;
pub(crate) mod verification;
pub(crate) mod waiters;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use ottla_cluster::PartitionImage;
use ottla_model::{LeaderEpoch, NodeId, Offset, PartitionIndex, ProducerId, TopicName, Uuid};
use ottla_storage::{DirectoryFailure, Log, LogDir, LogError, TopicPartition};

pub(crate) use positions::Positions;

use crate::flusher::FlushQueue;
use positions::PositionsCell;
use settings::PartitionSettings;
use traffic::Traffic;
use verification::Verifications;
use waiters::{PartitionKey, ReadyLists, Waiters};

/// Who leads, as far as this broker has applied the metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leadership {
    pub(crate) leader: NodeId,
    pub(crate) epoch: LeaderEpoch,
    pub(crate) replicas: usize,
    pub(crate) in_sync: usize,
    /// Whether the leader is this broker.
    pub(crate) here: bool,
}

impl Leadership {
    pub(crate) fn of(image: &PartitionImage, node: NodeId) -> Self {
        Self {
            leader: image.leader,
            epoch: image.leader_epoch,
            replicas: image.replicas.len(),
            in_sync: image.isr.len(),
            here: image.leader == node,
        }
    }
}

/// Why a partition does not do as asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PartitionError {
    /// Another broker leads, or none.
    #[error("this broker does not lead the partition; {leader} does")]
    NotLeader {
        /// Who does; −1 for nobody.
        leader: NodeId,
        /// Since which epoch.
        epoch: LeaderEpoch,
    },
    /// The peer speaks of an epoch that is over.
    #[error("leader epoch {wanted} is over, the current one is {current}")]
    EpochFenced {
        /// As the peer has it.
        wanted: LeaderEpoch,
        /// As we have it.
        current: LeaderEpoch,
    },
    /// The peer speaks of an epoch that has not begun here.
    #[error("leader epoch {wanted} is not known yet, the current one is {current}")]
    EpochUnknown {
        /// As the peer has it.
        wanted: LeaderEpoch,
        /// As we have it.
        current: LeaderEpoch,
    },
    /// The producer wants all in-sync replicas to have the batch, and too few are in sync.
    #[error("{in_sync} replicas are in sync where min.insync.replicas asks for {wanted}")]
    NotEnoughReplicas {
        /// In sync now.
        in_sync: usize,
        /// As the topic is configured.
        wanted: usize,
    },
    /// The batch is of a transaction that its coordinator has not confirmed, or that has ended meanwhile.
    #[error("the transaction of producer {producer_id} does not have this partition")]
    NotInTransaction {
        /// The producer.
        producer_id: ProducerId,
    },
    /// The topic is gone.
    #[error("the topic was deleted")]
    Removed,
    /// The log could not.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// A partition held here.
pub(crate) struct Partition {
    key: PartitionKey,
    name: TopicPartition,
    topic_id: Uuid,
    place: ArcSwap<Place>,
    leadership: ArcSwap<Leadership>,
    settings: ArcSwap<PartitionSettings>,
    positions: PositionsCell,
    waiters: Waiters,
    verifications: Verifications,
    removed: AtomicBool,
    /// Set while the flusher has the partition on its list of those with unflushed records.
    dirty: AtomicBool,
    /// Appended since the last flush was asked for.
    unflushed_bytes: AtomicU64,
    traffic: Traffic,
}

/// Where a partition's records are: exchanged as one when it has moved to another directory.
pub(crate) struct Place {
    pub(crate) log: Arc<dyn Log>,
    pub(crate) directory: Arc<LogDir>,
    pub(crate) flush: Arc<FlushQueue>,
}

/// What a partition is made of.
pub(crate) struct PartitionParts {
    pub(crate) name: TopicPartition,
    pub(crate) topic_id: Uuid,
    pub(crate) log: Arc<dyn Log>,
    pub(crate) directory: Arc<LogDir>,
    pub(crate) flush: Arc<FlushQueue>,
    pub(crate) settings: Arc<PartitionSettings>,
    /// As the last checkpoint has it; the log start for a new log.
    pub(crate) high_watermark: Offset,
    pub(crate) ready: ReadyLists,
}

impl Partition {
    /// A partition around an open log. It leads nothing until [`lead`](Self::set_leadership) says so.
    pub(crate) fn new(parts: PartitionParts, leadership: Leadership) -> Arc<Self> {
        static KEY_NEXT: AtomicU64 = AtomicU64::new(0);
        let at = parts.log.positions();
        let partition = Arc::new(Self {
            key: PartitionKey(KEY_NEXT.fetch_add(1, Ordering::Relaxed)),
            name: parts.name,
            topic_id: parts.topic_id,
            positions: PositionsCell::opened(at.log_start, at.log_end.offset, parts.high_watermark, |mark| {
                parts.log.first_undecided(mark)
            }),
            place: ArcSwap::from_pointee(Place {
                log: parts.log,
                directory: parts.directory,
                flush: parts.flush,
            }),
            leadership: ArcSwap::from_pointee(leadership),
            settings: ArcSwap::new(parts.settings),
            waiters: Waiters::new(parts.ready),
            verifications: Verifications::default(),
            removed: AtomicBool::new(false),
            dirty: AtomicBool::new(false),
            unflushed_bytes: AtomicU64::new(0),
            traffic: Traffic::since(at.log_end.offset),
        });
        partition.begin_leading();
        partition
    }

    pub(crate) fn key(&self) -> PartitionKey {
        self.key
    }

    pub(crate) fn name(&self) -> &TopicPartition {
        &self.name
    }

    pub(crate) fn topic(&self) -> &TopicName {
        &self.name.topic
    }

    pub(crate) fn index(&self) -> PartitionIndex {
        self.name.partition
    }

    pub(crate) fn topic_id(&self) -> Uuid {
        self.topic_id
    }

    pub(crate) fn directory(&self) -> Arc<LogDir> {
        Arc::clone(&self.place.load().directory)
    }

    /// Where the records are now. It may be another place a moment later.
    pub(crate) fn place(&self) -> arc_swap::Guard<Arc<Place>> {
        self.place.load()
    }

    /// Why the partition's directory is offline, if it is.
    pub(crate) fn offline(&self) -> Option<Arc<DirectoryFailure>> {
        self.place.load().directory.failure()
    }

    /// The log has moved to another directory, everything that was in it with it.
    pub(crate) fn moved(self: &Arc<Self>, place: Place) {
        place.log.begin_epoch(self.leadership.load().epoch);
        let flush = Arc::clone(&place.flush);
        self.place.store(Arc::new(place));
        // The flusher of the former directory forgets it at its next turn; this one sees to it from now on.
        self.dirty.store(true, Ordering::Release);
        flush.note_dirty(self);
        self.waiters.moved(self.key);
    }

    /// What came in and went out.
    pub(crate) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    pub(crate) fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    pub(crate) fn positions(&self) -> Positions {
        self.positions.get()
    }

    pub(crate) fn settings(&self) -> arc_swap::Guard<Arc<PartitionSettings>> {
        self.settings.load()
    }

    pub(crate) fn leadership(&self) -> arc_swap::Guard<Arc<Leadership>> {
        self.leadership.load()
    }

    pub(crate) fn log(&self) -> Arc<dyn Log> {
        Arc::clone(&self.place.load().log)
    }

    /// Takes over what the metadata says of the leader, and wakes whoever waits: what they wait for may not come.
    pub(crate) fn set_leadership(&self, leadership: Leadership) {
        self.leadership.store(Arc::new(leadership));
        self.begin_leading();
        self.waiters.moved(self.key);
    }

    /// Takes over where the log begins since records were taken away at its start.
    pub(crate) fn log_start_moved(&self) {
        if self.positions.log_start_is(self.place.load().log.positions().log_start) {
            self.waiters.moved(self.key);
        }
    }

    fn begin_leading(&self) {
        let leadership = self.leadership.load();
        if !leadership.here {
            return;
        }
        let place = self.place.load();
        place.log.begin_epoch(leadership.epoch);
        if leadership.replicas == 1 {
            // The only replica has everything that is on all in-sync replicas.
            let end = self.positions.get().log_end;
            self.positions.raise_high_watermark(end, |mark| place.log.first_undecided(mark));
        }
    }

    /// Takes over the topic's changed settings.
    pub(crate) fn set_settings(&self, settings: Arc<PartitionSettings>) {
        self.settings.store(Arc::clone(&settings));
        self.place.load().log.configure(settings.log.clone());
    }

    /// The topic is gone: nothing is appended or read any more, and whoever waits is told.
    pub(crate) fn set_removed(&self) {
        self.removed.store(true, Ordering::Release);
        self.waiters.moved(self.key);
    }

    /// Passes if this broker leads the partition in the epoch that the peer has in mind; −1 has none in mind.
    pub(crate) fn check_leader(&self, wanted: LeaderEpoch) -> Result<LeaderEpoch, PartitionError> {
        if self.removed.load(Ordering::Acquire) {
            return Err(PartitionError::Removed);
        }
        let leadership = self.leadership.load();
        let current = leadership.epoch;
        match wanted {
            LeaderEpoch::UNKNOWN => {}
            wanted if wanted < current => return Err(PartitionError::EpochFenced { wanted, current }),
            wanted if wanted > current => return Err(PartitionError::EpochUnknown { wanted, current }),
            _ => {}
        }
        if !leadership.here {
            return Err(PartitionError::NotLeader { leader: leadership.leader, epoch: current });
        }
        Ok(current)
    }

    /// Passes while the partition's directory takes writes.
    pub(crate) fn check_writable(&self) -> Result<(), PartitionError> {
        match self.offline() {
            Some(failure) => Err(LogError::DirectoryFailed(failure).into()),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({})", self.name, self.positions.get())
    }
}
