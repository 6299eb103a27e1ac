//! Makes the partitions on this broker's disks those that the metadata says it holds: once when it starts, then image
//! by image, always before the image is published. Waits for disks, so it runs on no reactor.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ottla_cluster::{ConfigResource, MetadataDelta, MetadataImage, PartitionImage, TopicImage};
use ottla_model::{NodeId, Offset, PartitionIndex, TopicName, Uuid};
use ottla_storage::{LoadReport, LoadedLog, Log, LogDirError, TopicPartition};

use crate::assignments;
use crate::config::BrokerConfig;
use crate::context::Broker;
use crate::log_dirs::HeldDir;
use crate::partition::settings::PartitionSettings;
use crate::partition::{Leadership, Partition, PartitionParts};

/// How many threads make the logs of new partitions at once.
const CREATING_THREADS_MAX: usize = 8;

/// Opens every log, sets aside those that the image does not know, makes those that are missing.
pub(crate) fn open_all(broker: &Broker, image: &MetadataImage) -> Result<(), LogDirError> {
    let settings = SettingsByTopic::new(broker, image);
    let is_first_start = image.broker(broker.node_id).is_none();
    let mut failed = HashSet::new();
    let threads = broker.live.peek().storage.recovery_threads_per_dir;
    let config = |name: &TopicPartition| settings.of(&name.topic).log.clone();
    let found = broker.log_dirs.load(threads, broker.clock.now_ms(), &config)?;
    for (dir, report) in found.loaded {
        let Some(directory) = broker.log_dirs.find(&dir) else { continue };
        tell(directory, &report, is_first_start);
        failed.extend(report.failed.into_iter().map(|(folder, _)| folder));
        for loaded in report.logs {
            adopt(broker, image, &settings, directory, loaded);
        }
    }
    for (partition, target) in found.interrupted {
        broker.mover.resume(partition, target);
    }
    let missing = image.topics().flat_map(|topic| {
        let held = broker.partitions.topic_by_id(&topic.id);
        numbered(topic).filter_map(move |(index, partition)| {
            let is_held = held.as_ref().is_some_and(|held| held.partition(index).is_some());
            let is_missing = !is_held && partition.replicas.contains(&broker.node_id);
            is_missing.then_some((&**topic, index, partition))
        })
    });
    let missing: Vec<_> = missing.collect();
    let may_be_offline = broker.log_dirs.states().any(|dir| dir.held.is_none());
    for (topic, index, _) in &missing {
        let folder = format!("{}-{index}", topic.name);
        if !failed.contains(&folder) && !may_be_offline {
            tracing::warn!(partition = folder, "no log directory has this partition: it is made anew, empty");
        }
    }
    create_all(broker, &settings, &missing, IsNew(false));
    Ok(())
}

/// Does to the partitions what leads from the published image to this one.
pub(crate) fn apply(broker: &Broker, image: &MetadataImage, delta: &MetadataDelta) {
    let settings = SettingsByTopic::new(broker, image);
    for removed in &delta.removed {
        remove_topic(broker, &removed.topic_id);
    }
    let added = delta.added.iter().map(|added| (&*added.topic, added.index, added.after()));
    create_all(broker, &settings, &added.collect::<Vec<_>>(), IsNew(true));
    assignments::tell(broker, image, delta.added.iter().map(|added| (added.topic.id, added.index)));
    for changed in &delta.changed {
        let held = broker.partitions.topic_by_id(&changed.topic.id);
        if let Some(partition) = held.as_ref().and_then(|held| held.partition(changed.index)) {
            partition.set_leadership(Leadership::of(changed.after(), broker.node_id));
        }
    }
    for resource in &delta.configs {
        reconfigure(broker, &settings, resource);
    }
}

/// Settings are the same for all partitions of a topic, and made once.
struct SettingsByTopic<'a> {
    node: NodeId,
    config: Arc<BrokerConfig>,
    image: &'a MetadataImage,
    made: parking_lot::Mutex<HashMap<TopicName, Arc<PartitionSettings>>>,
}

impl<'a> SettingsByTopic<'a> {
    fn new(broker: &Broker, image: &'a MetadataImage) -> Self {
        Self { node: broker.node_id, config: broker.live.now(), image, made: parking_lot::Mutex::default() }
    }

    fn of(&self, topic: &TopicName) -> Arc<PartitionSettings> {
        if let Some(settings) = self.made.lock().get(topic) {
            return Arc::clone(settings);
        }
        let settings = Arc::new(PartitionSettings::of_topic(&self.config, self.node, self.image, topic));
        self.made.lock().insert(topic.clone(), Arc::clone(&settings));
        settings
    }
}

/// Takes a log that lies on disk under its topic, if the image has it here.
fn adopt(
    broker: &Broker,
    image: &MetadataImage,
    settings: &SettingsByTopic<'_>,
    directory: &HeldDir,
    loaded: LoadedLog,
) {
    let LoadedLog { partition: name, topic_id, log, high_watermark, recovery } = loaded;
    // A stop while it was made leaves a folder that says nothing of its topic. Without a record it is as good as new.
    let never_written = log.positions().log_end.offset == Offset::ZERO && recovery.cut.is_none();
    let known = image.topic(name.topic.as_str()).filter(|topic| match topic_id {
        Some(id) => topic.id == id,
        None => never_written,
    });
    let partition = known.and_then(|topic| Some((topic, topic.partition(name.partition)?)));
    let Some((topic, partition)) = partition.filter(|(_, found)| found.replicas.contains(&broker.node_id))
    else {
        return disown(directory, &name, never_written, broker.clock.now_ms());
    };
    if topic_id.is_none()
        && let Err(error) = directory.dir.claim(&name, topic.id)
    {
        tracing::error!(partition = %name, %error, "a log without partition.metadata stays without");
    }
    let held = hold(broker, settings, directory, topic, partition, Held { name, log, high_watermark });
    if recovery.scanned_segments > 0 {
        directory.queue.note_recovered(&held);
    }
}

/// Takes a log away that the metadata does not have here: for good if it never held a record, else as a stray.
fn disown(directory: &HeldDir, name: &TopicPartition, never_written: bool, now_ms: i64) {
    let taken = if never_written {
        tracing::info!(partition = %name, "the metadata does not know this log, which is empty: it is deleted");
        directory.dir.remove_log(name, now_ms)
    } else {
        tracing::warn!(partition = %name, "the metadata does not know this log: it is set aside as stray");
        directory.dir.set_aside(name)
    };
    if let Err(error) = taken {
        tracing::error!(partition = %name, %error, "a log that the metadata does not know could not be taken away");
    }
}

/// Makes the logs of partitions, several at a time: each waits for the disk several times, and the disk takes the
/// waits of many together.
fn create_all(
    broker: &Broker,
    settings: &SettingsByTopic<'_>,
    partitions: &[(&TopicImage, PartitionIndex, &PartitionImage)],
    is_new: IsNew,
) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((topic, index, partition)) = partitions.get(next.fetch_add(1, Ordering::Relaxed)) {
            create(broker, settings, (topic, *index, partition), is_new);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..partitions.len().min(CREATING_THREADS_MAX) {
            scope.spawn(work);
        }
        work();
    });
}

/// Makes a partition's log, if this broker is to hold it.
fn create(
    broker: &Broker,
    settings: &SettingsByTopic<'_>,
    (topic, index, partition): (&TopicImage, PartitionIndex, &PartitionImage),
    is_new: IsNew,
) {
    let Some(place) = partition.replicas.iter().position(|replica| *replica == broker.node_id) else {
        return;
    };
    let name = TopicPartition { topic: topic.name.clone(), partition: index };
    let placed = match broker.log_dirs.place(partition.directories.get(place).copied(), is_new.0) {
        Ok(placed) => placed,
        Err(error) => return tracing::error!(partition = %name, %error, "the partition is offline"),
    };
    let directory = placed.held;
    let config = settings.of(&topic.name).log.clone();
    match directory.dir.create_log(&name, topic.id, config, broker.clock.now_ms()) {
        Ok(log) => {
            let held = Held { name, log, high_watermark: Offset::ZERO };
            hold(broker, settings, directory, topic, partition, held);
        }
        Err(error) => {
            tracing::error!(partition = %name, %error, "the partition cannot be opened and stays offline")
        }
    }
}

/// Whether a partition was never anywhere before, so that it may be made in any directory.
#[derive(Debug, Clone, Copy)]
struct IsNew(bool);

struct Held {
    name: TopicPartition,
    log: Arc<dyn Log>,
    high_watermark: Offset,
}

fn hold(
    broker: &Broker,
    settings: &SettingsByTopic<'_>,
    directory: &HeldDir,
    topic: &TopicImage,
    image: &PartitionImage,
    held: Held,
) -> Arc<Partition> {
    let parts = PartitionParts {
        name: held.name,
        topic_id: topic.id,
        log: held.log,
        directory: Arc::clone(&directory.dir),
        flush: Arc::clone(&directory.queue),
        settings: settings.of(&topic.name),
        high_watermark: held.high_watermark,
        ready: broker.ready.clone(),
    };
    let partition = Partition::new(parts, Leadership::of(image, broker.node_id));
    broker.partitions.insert(Arc::clone(&partition));
    partition
}

/// The topic is gone: first nobody finds it any more, then its folders get another name. The files go later.
fn remove_topic(broker: &Broker, id: &Uuid) {
    let Some(topic) = broker.partitions.remove_topic(id) else { return };
    for partition in topic.partitions() {
        partition.set_removed();
        broker.mover.forget(partition.name());
        let due_ms = broker.clock.now_ms().saturating_add(partition.settings().log.file_delete_delay_ms);
        if let Err(error) = partition.directory().remove_log(partition.name(), due_ms) {
            tracing::error!(partition = %partition.name(), %error, "a deleted partition's folder was not renamed");
        }
    }
    broker.background.schedule_deletion();
}

/// Gives every partition its settings anew: what all topics inherit has changed.
pub(crate) fn reconfigure_all(broker: &Broker) {
    let image = broker.image();
    let settings = SettingsByTopic::new(broker, &image);
    for topic in broker.partitions.topics() {
        for partition in topic.partitions() {
            partition.set_settings(settings.of(&topic.name));
        }
    }
}

fn reconfigure(broker: &Broker, settings: &SettingsByTopic<'_>, resource: &ConfigResource) {
    let name = TopicName::new(resource.name.clone());
    let topics = match resource.kind {
        ConfigResource::TOPIC => broker.partitions.topic(&name).into_iter().collect(),
        ConfigResource::BROKER => broker.partitions.topics(),
        _ => Vec::new(),
    };
    for topic in topics {
        for partition in topic.partitions() {
            partition.set_settings(settings.of(&topic.name));
        }
    }
}

fn numbered(topic: &TopicImage) -> impl Iterator<Item = (PartitionIndex, &PartitionImage)> {
    (0..).map(PartitionIndex::new).zip(&topic.partitions)
}

/// One event for a clean start, one for each cut after another.
fn tell(directory: &HeldDir, report: &LoadReport, is_first_start: bool) {
    let path = directory.dir.path();
    let path = path.display();
    let partitions = report.logs.len();
    if report.clean || is_first_start {
        tracing::info!(directory = %path, partitions, "log directory opened");
    } else {
        let scanned_bytes: u64 = report.logs.iter().map(|loaded| loaded.recovery.scanned_bytes).sum();
        tracing::info!(directory = %path, partitions, scanned_bytes, "log directory recovered: no clean stop before");
    }
    for loaded in &report.logs {
        if let Some(cut) = &loaded.recovery.cut {
            tracing::warn!(
                file = %cut.file.display(),
                position = cut.position,
                bytes = cut.bytes,
                segments_deleted = cut.segments_deleted,
                damage = %cut.damage,
                "cut off what was not written whole"
            );
        }
    }
    for (folder, error) in &report.failed {
        tracing::error!(
            directory = %path,
            folder,
            %error,
            "a log could not be opened; where the metadata has it here, it is tried once more, scanned from its first byte"
        );
    }
}
