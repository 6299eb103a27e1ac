//! A reactor's hand on its own numbers: what is noted of a request on its way, and which requests were slow. Stays on the
//! reactor's thread.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ottla_model::ErrorCode;
use ottla_network::{Course, Outcome};
use ottla_protocol::api::ApiKey;

use super::requests::{ApiMetrics, Client, Phase, Phases, ReactorMetrics};
use ottla_network::Repeats;

/// The shortest time between two events about slow requests of one reactor.
const SLOW_PAUSE: Duration = Duration::from_secs(1);

/// A request whose turn has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) api: ApiKey,
    pub(crate) version: i16,
    /// Of its frame.
    pub(crate) bytes: usize,
    /// When its last bytes came.
    pub(crate) received: Instant,
    /// When its turn came.
    pub(crate) begun: Instant,
}

/// One reactor's hand. Clones are the same, and cost no atomic.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    own: Rc<Own>,
}

#[derive(Debug)]
struct Own {
    metrics: Arc<ReactorMetrics>,
    slow_after: Option<Duration>,
    slow: Repeats,
}

impl Meter {
    /// On these numbers; a request that takes longer than `slow_after` is told.
    pub(crate) fn new(metrics: Arc<ReactorMetrics>, slow_after: Option<Duration>) -> Self {
        Self { own: Rc::new(Own { metrics, slow_after, slow: Repeats::every(SLOW_PAUSE) }) }
    }

    /// A connection is there; says as what it is counted.
    pub(crate) fn connected(&self, client: Client) -> Client {
        self.own.metrics.connected(client)
    }

    /// A connection that was counted as this has ended, or is counted as something else now.
    pub(crate) fn disconnected(&self, client: &Client) {
        self.own.metrics.disconnected(client);
    }

    /// An answer bears these codes, each so often.
    pub(crate) fn codes(&self, api: ApiKey, codes: &[(ErrorCode, u32)]) {
        for (code, times) in codes {
            self.own.metrics.errors(api, *code, u64::from(*times));
        }
    }

    /// Counts a request that was dealt with, and sees to it that its answer's way is measured.
    pub(crate) fn measured(&self, asked: &Asked, outcome: Outcome) -> Outcome {
        let Some(metrics) = self.own.metrics.api(asked.api) else { return outcome };
        metrics.came(asked.version, asked.bytes);
        let course = begin(asked);
        match outcome {
            Outcome::Ready(reply) => {
                metrics.bytes_out.add_alone(reply.length().unwrap_or(0));
                Outcome::Ready(reply.with_course(course))
            }
            Outcome::Later(later) => {
                let waiting = Waiting::begin(self.clone(), asked.api);
                Outcome::later(async move {
                    let reply = later.await;
                    let ready_ns = nanoseconds_since(course.received, Instant::now());
                    if let Some(metrics) = waiting.metrics() {
                        metrics.bytes_out.add_alone(reply.length().unwrap_or(0));
                    }
                    reply.with_course(Course { ready_ns, ..course })
                })
            }
        }
    }

    /// An answer has left. `client` says whose it was.
    pub(crate) fn left(&self, course: &Course, at: Instant, client: impl FnOnce() -> String) {
        let Some((api, version)) = untagged(course.tag) else { return };
        let Some(metrics) = self.own.metrics.api(api) else { return };
        let phases = Phases::of_course(course, at);
        metrics.left(&phases);
        if self.own.slow_after.is_some_and(|limit| time_that_counts(api, &phases) > limit) {
            self.tell_slow(api, version, &phases, &client());
        }
    }

    #[cold]
    fn tell_slow(&self, api: ApiKey, version: i16, phases: &Phases, client: &str) {
        let Some(left_out) = self.own.slow.due() else { return };
        let ms = |phase| phases.of(phase).as_millis();
        tracing::warn!(
            %api,
            version,
            client,
            total_ms = phases.total().as_millis(),
            queue_ms = ms(Phase::Queue),
            local_ms = ms(Phase::Local),
            wait_ms = ms(Phase::Wait),
            send_ms = ms(Phase::Send),
            left_out,
            "a request was slow: queue is the reactor's, local the disk's or a large request's, wait the flush's or \
             other members', send the client's"
        );
    }
}

/// An answer that waits for others, while it does.
struct Waiting {
    meter: Meter,
    api: ApiKey,
}

impl Waiting {
    fn begin(meter: Meter, api: ApiKey) -> Self {
        let waiting = Self { meter, api };
        if let Some(metrics) = waiting.metrics() {
            metrics.waiting.add(1);
        }
        waiting
    }

    fn metrics(&self) -> Option<&ApiMetrics> {
        self.meter.own.metrics.api(self.api)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(metrics) = self.metrics() {
            metrics.waiting.add(-1);
        }
    }
}

fn begin(asked: &Asked) -> Course {
    let begun_ns = nanoseconds_since(asked.received, asked.begun);
    let handled_ns = nanoseconds_since(asked.received, Instant::now());
    let tag = tagged(asked.api, asked.version);
    Course { tag, received: asked.received, begun_ns, handled_ns, ready_ns: handled_ns }
}

/// Time for which a request asked to wait is not the broker's.
fn time_that_counts(api: ApiKey, phases: &Phases) -> Duration {
    let waits_on_purpose =
        matches!(api, ApiKey::Fetch | ApiKey::JoinGroup | ApiKey::SyncGroup | ApiKey::ConsumerGroupHeartbeat);
    let counted = if waits_on_purpose { phases.of(Phase::Wait) } else { Duration::ZERO };
    phases.total().saturating_sub(counted)
}

fn nanoseconds_since(start: Instant, at: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(start).as_nanos()).unwrap_or(u64::MAX)
}

/// An API and a version in one number.
fn tagged(api: ApiKey, version: i16) -> u32 {
    u32::from(api.number().cast_unsigned()) << 16 | u32::from(version.cast_unsigned())
}

fn untagged(tag: u32) -> Option<(ApiKey, i16)> {
    let part = |bits: u32| u16::try_from(bits & u32::from(u16::MAX)).ok().map(u16::cast_signed);
    Some((ApiKey::from_number(part(tag >> 16)?)?, part(tag)?))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use ottla_network::Reply;

    use super::*;
    use crate::metrics::requests::by_api;

    #[test]
    fn a_tag_is_its_api_and_version() {
        for api in ApiKey::ALL {
            assert_eq!(untagged(tagged(*api, 13)), Some((*api, 13)));
        }
    }

    #[test]
    fn time_for_which_a_fetch_asked_does_not_count() {
        let received = Instant::now();
        let course =
            |tag| Course { tag, received, begun_ns: 1_000, handled_ns: 3_000, ready_ns: 500_003_000 };
        let sent = received + Duration::from_nanos(500_004_000);
        let phases = Phases::of_course(&course(0), sent);
        assert_eq!(time_that_counts(ApiKey::Fetch, &phases), Duration::from_micros(4));
        assert_eq!(time_that_counts(ApiKey::Produce, &phases), Duration::from_micros(500_004));
    }

    #[test]
    fn an_answer_that_waits_is_counted_as_waiting_until_it_is_there_or_dropped() {
        let metrics = Arc::new(ReactorMetrics::default());
        let meter = Meter::new(Arc::clone(&metrics), None);
        let at = Instant::now();
        let asked = Asked { api: ApiKey::Fetch, version: 18, bytes: 50, received: at, begun: at };
        let waiting = || by_api([&*metrics].into_iter()).first().map(|sum| sum.waiting);
        let later = || Outcome::later(std::future::ready(Reply::bytes(Bytes::from_static(b"abc"))));
        let dropped = meter.measured(&asked, later());
        assert_eq!(waiting(), Some(1));
        drop(dropped);
        assert_eq!(waiting(), Some(0));
        let Outcome::Later(reply) = meter.measured(&asked, later()) else { panic!("it waits") };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        drop(runtime.block_on(reply));
        assert_eq!(waiting(), Some(0));
        let sums = by_api([&*metrics].into_iter());
        assert_eq!(sums.first().map(|sum| (sum.bytes_in, sum.bytes_out)), Some((100, 3)));
    }
}
