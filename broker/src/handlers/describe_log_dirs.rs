//! DescribeLogDirs: what lies in each log directory, what is on its way to it, and how much room its volume has. Reads no
//! disk: sizes are those of the logs in memory, the room is as it was last looked at.

use std::collections::{BTreeMap, HashMap, HashSet};

use ottla_model::{ErrorCode, PartitionIndex, TopicName};
use ottla_network::Outcome;
use ottla_protocol::messages::describe_log_dirs::{
    DescribableLogDirTopic, DescribeLogDirsPartition, DescribeLogDirsRequest, DescribeLogDirsResponse,
    DescribeLogDirsResult, DescribeLogDirsTopic,
};

use crate::background::Moving;
use crate::context::Broker;
use crate::dispatch::Call;
use crate::log_dirs::{DirState, HeldDir};
use crate::partition::Partition;

pub(crate) fn handle(call: &mut Call<'_>, request: DescribeLogDirsRequest) -> Outcome {
    let broker = call.broker();
    let wanted = Wanted::of(request.topics);
    let moving = broker.mover.moving();
    let results = broker.log_dirs.states().map(|dir| described(broker, &dir, &wanted, &moving));
    let results = results.collect();
    call.reply(&DescribeLogDirsResponse { results, ..DescribeLogDirsResponse::default() })
}

/// Which partitions are asked for.
enum Wanted {
    All,
    These(HashMap<TopicName, HashSet<PartitionIndex>>),
}

impl Wanted {
    fn of(topics: Option<Vec<DescribableLogDirTopic>>) -> Self {
        let Some(topics) = topics else { return Self::All };
        let mut these = HashMap::new();
        for topic in topics {
            these.entry(topic.topic).or_insert_with(HashSet::new).extend(topic.partitions);
        }
        Self::These(these)
    }

    fn has(&self, topic: &TopicName, index: PartitionIndex) -> bool {
        match self {
            Self::All => true,
            Self::These(these) => these.get(topic).is_some_and(|partitions| partitions.contains(&index)),
        }
    }
}

fn described(
    broker: &Broker,
    dir: &DirState<'_>,
    wanted: &Wanted,
    moving: &[Moving],
) -> DescribeLogDirsResult {
    let log_dir = dir.path.display().to_string().into();
    let Some(held) = dir.held else {
        return DescribeLogDirsResult {
            error_code: ErrorCode::KAFKA_STORAGE_ERROR,
            log_dir,
            ..DescribeLogDirsResult::default()
        };
    };
    let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    DescribeLogDirsResult {
        error_code: ErrorCode::NONE,
        log_dir,
        topics: topics(broker, held, wanted, moving),
        total_bytes: dir.space.map_or(-1, |space| bytes(space.total_bytes)),
        usable_bytes: dir.space.map_or(-1, |space| bytes(space.usable_bytes)),
        is_cordoned: is_cordoned(broker, held),
    }
}

fn is_cordoned(broker: &Broker, held: &HeldDir) -> bool {
    let registered = broker.own_registration();
    let cordoned = registered.as_ref().map(|registered| &registered.cordoned_log_dirs);
    cordoned.is_some_and(|cordoned| held.dir.id().is_some_and(|id| cordoned.contains(&id)))
}

fn topics(broker: &Broker, held: &HeldDir, wanted: &Wanted, moving: &[Moving]) -> Vec<DescribeLogDirsTopic> {
    let mut topics: BTreeMap<TopicName, Vec<DescribeLogDirsPartition>> = BTreeMap::new();
    for partition in broker.partitions.in_directory(&held.dir) {
        if wanted.has(partition.topic(), partition.index()) {
            topics.entry(partition.topic().clone()).or_default().push(present(&partition));
        }
    }
    let coming = moving.iter().filter(|moving| std::sync::Arc::ptr_eq(&moving.target, &held.dir));
    for moving in coming.filter(|moving| wanted.has(&moving.partition.topic, moving.partition.partition)) {
        let name = &moving.partition;
        let topic = broker.partitions.topic(&name.topic);
        if let Some(partition) = topic.as_ref().and_then(|topic| topic.partition(name.partition)) {
            topics.entry(name.topic.clone()).or_default().push(future(moving, partition));
        }
    }
    topics.into_iter().map(|(name, partitions)| DescribeLogDirsTopic { name, partitions }).collect()
}

fn present(partition: &Partition) -> DescribeLogDirsPartition {
    let segments = partition.log().segments().unwrap_or_default();
    let bytes: u64 = segments.iter().map(|segment| segment.bytes).sum();
    let positions = partition.positions();
    DescribeLogDirsPartition {
        partition_index: partition.index(),
        partition_size: i64::try_from(bytes).unwrap_or(i64::MAX),
        offset_lag: (positions.high_watermark.get() - positions.log_end.get()).max(0),
        is_future_key: false,
    }
}

/// A copy that is on its way; the offsets of a segment that is copied in part count as missing.
fn future(moving: &Moving, partition: &Partition) -> DescribeLogDirsPartition {
    let positions = partition.positions();
    let copied_end = moving.progress.map_or(positions.log_start, |progress| progress.copied_end);
    let bytes = moving.progress.map_or(0, |progress| progress.copied_bytes);
    DescribeLogDirsPartition {
        partition_index: partition.index(),
        partition_size: i64::try_from(bytes).unwrap_or(i64::MAX),
        offset_lag: (positions.log_end.get() - copied_end.get()).max(0),
        is_future_key: true,
    }
}
