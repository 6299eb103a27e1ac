//! A fetch from its list of partitions to what was read of them: at once if that is enough, else parked until enough
//! has come, something is wrong with one of the partitions, or the time is up. Builds no response.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use ottla_model::ErrorCode;
use ottla_network::BlockingPool;
use ottla_storage::{ReadMode, ReadSlice};

use super::waits::{Patience, Waits, Woken};
use crate::error_map;
use crate::partition::read::{FetchFrom, Fetched, Isolation, ReadResult};
use crate::partition::{Partition, PartitionError};

/// A partition that a fetch asks for.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) partition: Arc<Partition>,
    pub(crate) from: FetchFrom,
}

/// Everything that a fetch asks for of partitions that are here.
#[derive(Debug)]
pub(crate) struct FetchPlan {
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) isolation: Isolation,
    /// Fewer are worth waiting for more.
    pub(crate) bytes_min: u64,
    /// The first batch aside, no more are answered.
    pub(crate) bytes_max: u64,
}

/// What one partition gave.
pub(crate) type FetchResult = Result<Fetched, PartitionError>;

/// What all of them gave, in the order of the plan.
#[derive(Debug)]
pub(crate) struct FetchResults {
    pub(crate) results: Vec<FetchResult>,
}

impl FetchResults {
    /// How many bytes of records.
    pub(crate) fn length(&self) -> u64 {
        self.results.iter().map(length_of).sum()
    }
}

impl FetchPlan {
    /// Reads everything, in the order of the request: the first partition with records gives at least one batch
    /// whatever the limits, later ones what the limits leave. None if a disk would have to be waited for.
    pub(crate) fn read(&self, mode: ReadMode) -> Option<FetchResults> {
        let mut results = Vec::with_capacity(self.wanted.len());
        let mut left = self.bytes_max;
        let mut at_least_one_batch = true;
        for Wanted { partition, from } in &self.wanted {
            let max_bytes = from.max_bytes.min(left);
            let result = match partition.read(from, self.isolation, max_bytes, at_least_one_batch, mode) {
                Ok(ReadResult::WouldBlock) => return None,
                Ok(ReadResult::Fetched(fetched)) => Ok(fetched),
                Err(error) => Err(error),
            };
            let length = length_of(&result);
            left = left.saturating_sub(length);
            at_least_one_batch &= length == 0;
            results.push(result);
        }
        Some(FetchResults { results })
    }

    /// Counts results that are answered.
    pub(crate) fn count(&self, results: &[FetchResult]) {
        for (wanted, result) in self.wanted.iter().zip(results) {
            let traffic = wanted.partition.traffic();
            match result {
                Ok(fetched) => {
                    traffic.fetches.increment();
                    let bytes = fetched.length();
                    if bytes > 0 {
                        traffic.bytes_out.add(bytes);
                    }
                }
                Err(_) => traffic.fetches_failed.increment(),
            }
        }
    }

    /// Whether these results need not wait for more.
    pub(crate) fn is_enough(&self, results: &FetchResults) -> bool {
        let mut bytes = 0;
        for (wanted, result) in self.wanted.iter().zip(&results.results) {
            match result {
                Err(_) => return true,
                Ok(Fetched { diverging: Some(_), .. }) => return true,
                Ok(fetched) => {
                    if wanted.is_behind(fetched) {
                        return true;
                    }
                    bytes += fetched.length();
                }
            }
        }
        bytes >= self.bytes_min
    }
}

impl Wanted {
    /// Whether the reader is in an older segment than the end of the log: what it got ends with that segment, and more
    /// lies behind it, so waiting for more would be in vain.
    fn is_behind(&self, fetched: &Fetched) -> bool {
        let Some(slice) = &fetched.records else { return false };
        let end = self.partition.log().positions().log_end;
        let all_visible = fetched.positions.high_watermark == end.offset;
        all_visible && slice.length < self.from.max_bytes && slice.position + slice.length != end.position
    }

    /// What there is to read of this partition now, or none if an answer is due whatever there is.
    fn available(&self, plan: &FetchPlan) -> Option<u64> {
        let Self { partition, from } = self;
        match partition.read(from, plan.isolation, from.max_bytes, true, ReadMode::Cached) {
            Ok(ReadResult::Fetched(fetched)) if fetched.diverging.is_none() && !self.is_behind(&fetched) => {
                Some(fetched.length())
            }
            _ => None,
        }
    }
}

impl Fetched {
    /// How many bytes of records.
    pub(crate) fn length(&self) -> u64 {
        self.records.as_ref().map_or(0, |ReadSlice { length, .. }| *length)
    }
}

fn length_of(result: &FetchResult) -> u64 {
    result.as_ref().map_or(0, Fetched::length)
}

/// Reads the plan's partitions, waiting until `deadline` for enough to be there. Dropping the future forgets the
/// fetch; nothing was changed by it.
///
/// # Errors
/// The code for all partitions if a cold read could not be made at all.
pub(crate) async fn wait_and_read(
    plan: Arc<FetchPlan>,
    waits: Rc<Waits>,
    pool: BlockingPool,
    deadline: Option<Instant>,
) -> Result<FetchResults, ErrorCode> {
    let partitions = plan.wanted.iter().map(|wanted| &wanted.partition);
    let watch = waits.watch(partitions, deadline, Patience::UntilDrain);
    let first = read_anyhow(&plan, &pool).await?;
    if plan.is_enough(&first) || deadline.is_none() {
        return Ok(first);
    }
    let mut available: Vec<u64> = first.results.iter().map(length_of).collect();
    drop(first);
    while available.iter().sum::<u64>() < plan.bytes_min {
        let Woken::Moved(places) = watch.woken().await else { break };
        let now = |place: usize| plan.wanted.get(place).and_then(|wanted| wanted.available(&plan));
        let mut moved = places.into_iter().map(|place| (place, now(place)));
        let due = moved.any(|(place, bytes)| match (available.get_mut(place), bytes) {
            (Some(known), Some(bytes)) => {
                *known = bytes;
                false
            }
            _ => true,
        });
        if due {
            break;
        }
    }
    drop(watch);
    read_anyhow(&plan, &pool).await
}

/// Reads here if everything is in memory, else where one may wait.
async fn read_anyhow(plan: &Arc<FetchPlan>, pool: &BlockingPool) -> Result<FetchResults, ErrorCode> {
    if let Some(results) = plan.read(ReadMode::Cached) {
        return Ok(results);
    }
    let plan = Arc::clone(plan);
    let read = pool.run(move || plan.read(ReadMode::MayBlock)).await;
    read.map_err(error_map::of_pool)?.ok_or(ErrorCode::UNKNOWN_SERVER_ERROR)
}
