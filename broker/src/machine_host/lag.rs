//! How far groups are behind: in records, by the positions of the partitions, and in time, by the timestamp of the first
//! record that a group has not consumed. Names no metric; whoever shows them asks here.

use std::collections::HashMap;
use std::os::unix::fs::FileExt as _;

use ottla_coordinator::{GroupMachine, GroupView};
use ottla_model::batch::{BATCH_HEADER_BYTES, BatchHeader, TimestampType};
use ottla_model::{GroupId, Offset, PartitionIndex, TopicName, Uuid};
use ottla_storage::{LogError, ReadEnd, ReadMode, ReadOutcome, ReadRequest, SliceSource};
use parking_lot::Mutex;

use crate::context::Broker;
use crate::partition::Partition;

/// Where a group stands in a partition of which it has committed an offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupLag {
    /// The group.
    pub group: GroupId,
    /// The topic.
    pub topic: TopicName,
    /// The partition.
    pub partition: PartitionIndex,
    /// The offset of the next record that the group consumes.
    pub committed: Offset,
    /// How far the partition goes; none where this broker does not lead it.
    pub ends: Option<LagEnds>,
}

/// The partition's side of a lag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LagEnds {
    /// The end of what a consumer sees (the high watermark), which Kafka's tools call the log end.
    pub end: Offset,
    /// The end of what a consumer of committed records sees.
    pub last_stable: Offset,
    /// How many records lie between the committed offset and the end; 0 for an offset beyond it.
    pub records: u64,
    /// How long ago the first of those records was written, by the timestamps of the log: that of its batch, if the offset
    /// lies within one. 0 where the group is behind by nothing; none where the log cannot tell.
    pub behind_ms: Option<u64>,
}

/// The times of the records at which groups stand, so that a group which does not move costs no read.
#[derive(Debug, Default)]
pub(crate) struct KnownTimes(Mutex<HashMap<(Uuid, PartitionIndex, Offset), Option<i64>>>);

impl Broker {
    /// Calls with the lag of each group in each partition of which it has committed an offset, for the groups that are
    /// coordinated here, in no order.
    ///
    /// Takes about a microsecond for each, and a read of one batch's header for each that has moved since the last call
    /// and is not at the end. That read may wait for a disk: not to be called on a reactor. No lock is held while `each`
    /// runs but the one that keeps a second caller waiting.
    pub fn for_each_group_lag(&self, each: &mut dyn FnMut(GroupLag)) {
        let now_ms = self.clock.now_ms();
        let mut known = self.groups.kind.known_times.0.lock();
        let mut used = HashMap::new();
        for index in self.groups.partitions() {
            for (group, topic, partition, committed) in self.groups.look(index, committed).unwrap_or_default()
            {
                let held = self.partitions.topic(&topic);
                let held = held.as_ref().and_then(|held| held.partition(partition));
                let ends = held.filter(|held| held.leadership().here).map(|held| {
                    let mut time = |at: Offset| {
                        let key = (held.topic_id(), partition, at);
                        let time = known.get(&key).copied().unwrap_or_else(|| time_at(held, at));
                        used.insert(key, time);
                        time
                    };
                    ends(held, committed, now_ms, &mut time)
                });
                each(GroupLag { group, topic, partition, committed, ends });
            }
        }
        *known = used;
    }
}

/// The offsets that groups have committed, each with its group and partition. The machine stands still meanwhile, for about
/// a tenth of a microsecond each.
fn committed(machine: &GroupMachine) -> Vec<(GroupId, TopicName, PartitionIndex, Offset)> {
    let mut all = Vec::with_capacity(machine.offset_count());
    for GroupView { id, .. } in machine.groups() {
        let of_group = machine.offsets(id);
        all.extend(of_group.map(|(topic, index, offset)| (id.clone(), topic.clone(), index, offset.offset)));
    }
    all
}

fn ends(
    partition: &Partition,
    committed: Offset,
    now_ms: i64,
    time: &mut dyn FnMut(Offset) -> Option<i64>,
) -> LagEnds {
    let positions = partition.positions();
    let end = positions.high_watermark;
    let records = u64::try_from(end.get().saturating_sub(committed.get().max(0))).unwrap_or(0);
    let behind_ms = match records {
        0 => Some(0),
        _ => time(committed.max(positions.log_start))
            .map(|time| u64::try_from(now_ms.saturating_sub(time)).unwrap_or(0)),
    };
    LagEnds { end, last_stable: positions.last_stable, records, behind_ms }
}

/// When the record at this offset was written, or the first one after it, as its batch has it.
fn time_at(partition: &Partition, at: Offset) -> Option<i64> {
    let header = header_at(partition, at).unwrap_or_else(|error| {
        tracing::debug!(partition = %partition.name(), %error, "the time of a lag is not known");
        None
    })?;
    // The first record's time is in another place where the broker set it, and no longer known once compaction has put the
    // deadline of its tombstones there.
    let has_other =
        header.timestamp_type() == TimestampType::LogAppendTime || header.delete_horizon_ms().is_some();
    let time = if has_other { header.max_timestamp_ms() } else { header.base_timestamp_ms() };
    (time >= 0).then_some(time)
}

fn header_at(partition: &Partition, at: Offset) -> Result<Option<BatchHeader>, LogError> {
    let request = ReadRequest {
        from: at,
        max_bytes: 1,
        end: ReadEnd::LogEnd,
        at_least_one_batch: true,
        mode: ReadMode::MayBlock,
    };
    let ReadOutcome::Found(slice) = partition.log().read(&request)? else { return Ok(None) };
    let mut bytes = [0; BATCH_HEADER_BYTES];
    match &slice.source {
        SliceSource::File(file) => {
            // A batch of before Kafka 0.11 is shorter and has no header like this.
            if file.read_exact_at(&mut bytes, slice.position).is_err() {
                return Ok(None);
            }
            Ok(BatchHeader::parse(&bytes).ok())
        }
        SliceSource::Memory(memory) => {
            let start = usize::try_from(slice.position).unwrap_or(usize::MAX);
            Ok(memory.get(start..).and_then(|bytes| BatchHeader::parse(bytes).ok()))
        }
    }
}
