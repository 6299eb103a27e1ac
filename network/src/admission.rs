//! Memory for frames: a budget of bytes that all reactors share. A frame's share is taken whole before its body is
//! read, in order of arrival, and returns when the last slice of its bytes is dropped, whoever holds it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The budget. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    bytes: Arc<Semaphore>,
    bytes_max: u32,
}

/// A frame's share of the budget.
pub(crate) type Share = OwnedSemaphorePermit;

/// A share that is waited for; the place in the queue is kept by polling it, and given up by dropping it.
pub(crate) type ShareWait = Pin<Box<dyn Future<Output = Share>>>;

impl Admission {
    pub(crate) fn new(bytes_max: usize) -> Self {
        let bytes_max = u32::try_from(bytes_max).unwrap_or(u32::MAX);
        Self { bytes: Arc::new(Semaphore::new(bytes_max as usize)), bytes_max }
    }

    /// The share if it is free now and nobody waits.
    pub(crate) fn try_take(&self, bytes: usize) -> Option<Share> {
        Arc::clone(&self.bytes).try_acquire_many_owned(self.cost(bytes)).ok()
    }

    /// The share as soon as those before us are served.
    pub(crate) fn take(&self, bytes: usize) -> ShareWait {
        let (budget, cost) = (Arc::clone(&self.bytes), self.cost(bytes));
        Box::pin(async move { budget.acquire_many_owned(cost).await.expect("the budget is never closed") })
    }

    /// Bytes taken now, or kept for who waits first.
    pub(crate) fn taken(&self) -> usize {
        (self.bytes_max as usize).saturating_sub(self.bytes.available_permits())
    }

    /// A frame above the whole budget takes all of it, rather than wait for ever.
    fn cost(&self, bytes: usize) -> u32 {
        u32::try_from(bytes).unwrap_or(u32::MAX).min(self.bytes_max)
    }
}

/// The frame's bytes, with the share bound to their last slice.
pub(crate) fn bind(frame: Bytes, share: Share) -> Bytes {
    struct Admitted {
        frame: Bytes,
        _share: Share,
    }
    impl AsRef<[u8]> for Admitted {
        fn as_ref(&self) -> &[u8] {
            &self.frame
        }
    }
    Bytes::from_owner(Admitted { frame, _share: share })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_returns_with_the_last_slice() {
        let admission = Admission::new(100);
        let share = admission.try_take(60).expect("free");
        assert_eq!(admission.taken(), 60);
        assert!(admission.try_take(60).is_none());
        let frame = bind(Bytes::from(vec![1; 60]), share);
        let slice = frame.slice(10..20);
        drop(frame);
        assert_eq!(admission.taken(), 60);
        drop(slice);
        assert_eq!(admission.taken(), 0);
    }

    #[test]
    fn a_frame_above_the_budget_takes_all_of_it() {
        let admission = Admission::new(100);
        let share = admission.try_take(1000).expect("free");
        assert_eq!(admission.taken(), 100);
        drop(share);
        assert_eq!(admission.taken(), 0);
    }

    #[test]
    fn shares_go_out_in_order_of_arrival() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let admission = Admission::new(100);
            let first = admission.try_take(100).expect("free");
            let mut large = admission.take(80);
            let mut small = admission.take(30);
            assert!(futures_poll(&mut large).is_none());
            assert!(futures_poll(&mut small).is_none());
            drop(first);
            // The small one would fit beside nothing else, but the large one came first.
            let large = large.await;
            assert!(futures_poll(&mut small).is_none());
            drop(large);
            assert_eq!(small.await.num_permits(), 30);
        });
    }

    fn futures_poll(wait: &mut ShareWait) -> Option<Share> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match wait.as_mut().poll(&mut context) {
            std::task::Poll::Ready(share) => Some(share),
            std::task::Poll::Pending => None,
        }
    }
}
