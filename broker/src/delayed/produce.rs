//! A produce whose batches are appended and that still waits: for the replicas that its acks ask for, or for the
//! fsync that its topic asks for. The appends stand whatever becomes of the wait.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ottla_model::{ErrorCode, LeaderEpoch, Offset};

use super::waits::{Patience, Waits, Woken};
use crate::error_map;
use crate::partition::Partition;

/// A batch that is not yet acknowledged.
#[derive(Debug)]
pub(crate) struct Unacknowledged {
    pub(crate) partition: Arc<Partition>,
    /// The batch's last offset.
    pub(crate) last: Offset,
}

/// Waits until every batch is acknowledged, cannot be any more, or the time is up. Gives each one's code, in order.
pub(crate) async fn wait(
    waits: Rc<Waits>,
    batches: Vec<Unacknowledged>,
    timeout: Duration,
) -> Vec<ErrorCode> {
    let deadline = Instant::now().checked_add(timeout);
    let partitions = batches.iter().map(|batch| &batch.partition);
    let watch = waits.watch(partitions, deadline, Patience::UntilDeadline);
    let mut codes: Vec<Option<ErrorCode>> = batches.iter().map(Unacknowledged::outcome).collect();
    while codes.iter().any(Option::is_none) {
        match watch.woken().await {
            Woken::Moved(places) => {
                for place in places {
                    if let (Some(code), Some(batch)) = (codes.get_mut(place), batches.get(place)) {
                        *code = code.or_else(|| batch.outcome());
                    }
                }
            }
            Woken::Expired => break,
        }
    }
    codes.into_iter().map(|code| code.unwrap_or(ErrorCode::REQUEST_TIMED_OUT)).collect()
}

impl Unacknowledged {
    fn outcome(&self) -> Option<ErrorCode> {
        if self.partition.is_acknowledged(self.last) {
            return Some(ErrorCode::NONE);
        }
        let able = self.partition.check_leader(LeaderEpoch::UNKNOWN).map(drop);
        able.and_then(|()| self.partition.check_writable()).err().map(|error| error_map::of_partition(&error))
    }
}
