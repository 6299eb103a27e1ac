//! What one reactor counts of its requests and connections. The reactor's thread alone writes, with plain loads and stores;
//! a scrape adds the reactors up. Costs a request its clock readings and some twenty stores, however many records it has.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use compact_str::CompactString;
use ottla_model::ErrorCode;
use ottla_network::Course;
use ottla_protocol::api::ApiKey;
use parking_lot::Mutex;

use super::counter::{Counter, Gauge};
use super::histogram::{Histogram, HistogramSnapshot};

/// Kafka's API keys are below this; so many places cost little.
const APIS_MAX: usize = 128;
/// Versions that are counted one by one. No API has more.
const VERSIONS_MAX: usize = 32;
/// Kinds of client software that are counted one by one on a reactor; what comes later is `other`.
const SOFTWARE_MAX: usize = 200;
/// Pairs of an API and an error code that are counted. There are some 130 codes, of which an API has a dozen.
const ERRORS_MAX: usize = 2000;

/// Where a request's time goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// From the receipt of its last bytes until its turn came.
    Queue,
    /// Reading, checking, doing: until the answer was there or had to wait for others.
    Local,
    /// For others: records to come, members of its group, a flush, the controller.
    Wait,
    /// From the answer's being ready until the system had its last byte.
    Send,
}

impl Phase {
    /// All, in the order in which they come.
    pub(crate) const ALL: [Self; 4] = [Self::Queue, Self::Local, Self::Wait, Self::Send];

    /// As labels name it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Local => "local",
            Self::Wait => "wait",
            Self::Send => "send",
        }
    }
}

/// How long a request was in each phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Phases {
    times: [Duration; Phase::ALL.len()],
}

impl Phases {
    /// Of a request whose answer left at this time.
    pub(crate) fn of_course(course: &Course, sent: Instant) -> Self {
        let Course { received, begun_ns, handled_ns, ready_ns, .. } = *course;
        let sent_ns = nanoseconds(sent.saturating_duration_since(received));
        let marks = [0, begun_ns, handled_ns, ready_ns, sent_ns];
        let between = |place: usize| marks[place + 1].saturating_sub(marks[place]);
        Self { times: std::array::from_fn(|phase| Duration::from_nanos(between(phase))) }
    }

    /// How long in this one.
    pub(crate) const fn of(&self, phase: Phase) -> Duration {
        self.times[phase as usize]
    }

    /// How long in all.
    pub(crate) fn total(&self) -> Duration {
        self.times.iter().sum()
    }
}

/// One reactor's numbers.
#[derive(Debug)]
pub(crate) struct ReactorMetrics {
    /// By the number of the API; made when its first request comes, since most never do.
    apis: Box<[OnceLock<Box<ApiMetrics>>]>,
    errors: Mutex<HashMap<(ApiKey, ErrorCode), u64>>,
    clients: Mutex<HashMap<Client, u64>>,
}

/// What is counted of one API.
#[derive(Debug, Default)]
pub(crate) struct ApiMetrics {
    versions: [Counter; VERSIONS_MAX],
    /// Bytes of its requests, without their lengths.
    pub(crate) bytes_in: Counter,
    /// Bytes of its answers, without their lengths.
    pub(crate) bytes_out: Counter,
    /// Answers that wait for others now.
    pub(crate) waiting: Gauge,
    phases: [Histogram; Phase::ALL.len()],
    total: Histogram,
}

/// The sum over all reactors of what is counted of one API.
#[derive(Debug, Clone)]
pub(crate) struct ApiSum {
    pub(crate) api: ApiKey,
    /// Versions that were asked for, each with how often.
    pub(crate) versions: Vec<(i16, u64)>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) waiting: i64,
    pub(crate) phases: [HistogramSnapshot; Phase::ALL.len()],
    pub(crate) total: HistogramSnapshot,
}

/// Who is connected, as far as connections are told apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Client {
    pub(crate) listener: Arc<str>,
    /// As ApiVersions told it; empty before that.
    pub(crate) software: CompactString,
    pub(crate) version: CompactString,
}

impl Default for ReactorMetrics {
    fn default() -> Self {
        Self {
            apis: (0..APIS_MAX).map(|_| OnceLock::new()).collect(),
            errors: Mutex::default(),
            clients: Mutex::default(),
        }
    }
}

impl ReactorMetrics {
    /// What is counted of this API.
    pub(crate) fn api(&self, api: ApiKey) -> Option<&ApiMetrics> {
        let place = self.apis.get(usize::try_from(api.number()).ok()?)?;
        Some(place.get_or_init(Box::default))
    }

    /// Answers of this API bear these codes, each so often.
    pub(crate) fn errors(&self, api: ApiKey, code: ErrorCode, times: u64) {
        let mut errors = self.errors.lock();
        if errors.len() < ERRORS_MAX || errors.contains_key(&(api, code)) {
            *errors.entry((api, code)).or_default() += times;
        }
    }

    /// A connection is there; says under what name it is counted.
    pub(crate) fn connected(&self, client: Client) -> Client {
        let mut clients = self.clients.lock();
        let is_room = clients.len() < SOFTWARE_MAX || clients.contains_key(&client);
        let other = CompactString::const_new("other");
        let counted = if is_room {
            client
        } else {
            Client { software: other, version: CompactString::default(), ..client }
        };
        *clients.entry(counted.clone()).or_default() += 1;
        counted
    }

    /// A connection that was counted under this name has ended or got another one.
    pub(crate) fn disconnected(&self, client: &Client) {
        let mut clients = self.clients.lock();
        if let Some(count) = clients.get_mut(client) {
            *count -= 1;
            if *count == 0 {
                clients.remove(client);
            }
        }
    }
}

impl ApiMetrics {
    /// A request of this version and size has come.
    pub(crate) fn came(&self, version: i16, bytes: usize) {
        let place = usize::try_from(version).unwrap_or(VERSIONS_MAX).min(VERSIONS_MAX - 1);
        self.versions[place].add_alone(1);
        self.bytes_in.add_alone(bytes as u64);
    }

    /// Its answer has left, after such times.
    pub(crate) fn left(&self, phases: &Phases) {
        for phase in Phase::ALL {
            self.phases[phase as usize].observe_alone(phases.of(phase));
        }
        self.total.observe_alone(phases.total());
    }
}

/// The sums over reactors, by API, of those that were ever asked for.
pub(crate) fn by_api<'a>(reactors: impl Iterator<Item = &'a ReactorMetrics>) -> Vec<ApiSum> {
    let mut sums: Vec<Option<ApiSum>> = vec![None; APIS_MAX];
    for reactor in reactors {
        for (api, metrics) in ApiKey::ALL.iter().filter_map(|api| Some((*api, reactor.seen(*api)?))) {
            let place = usize::try_from(api.number()).ok().and_then(|place| sums.get_mut(place));
            let Some(place) = place else { continue };
            place.get_or_insert_with(|| ApiSum::new(api)).add(metrics);
        }
    }
    sums.into_iter().flatten().collect()
}

/// The sums over reactors of error codes that answers bore, in the order of APIs and codes.
pub(crate) fn errors<'a>(
    reactors: impl Iterator<Item = &'a ReactorMetrics>,
) -> std::collections::BTreeMap<(ApiKey, i16), u64> {
    let mut sums = std::collections::BTreeMap::new();
    for reactor in reactors {
        for ((api, code), times) in reactor.errors.lock().iter() {
            *sums.entry((*api, code.get())).or_default() += times;
        }
    }
    sums
}

/// The sums over reactors of connections, by who is connected.
pub(crate) fn clients<'a>(
    reactors: impl Iterator<Item = &'a ReactorMetrics>,
) -> std::collections::BTreeMap<Client, u64> {
    let mut sums = std::collections::BTreeMap::new();
    for reactor in reactors {
        for (client, count) in reactor.clients.lock().iter() {
            *sums.entry(client.clone()).or_default() += count;
        }
    }
    sums
}

impl ReactorMetrics {
    fn seen(&self, api: ApiKey) -> Option<&ApiMetrics> {
        self.apis.get(usize::try_from(api.number()).ok()?)?.get().map(|metrics| &**metrics)
    }
}

impl ApiSum {
    fn new(api: ApiKey) -> Self {
        Self {
            api,
            versions: Vec::new(),
            bytes_in: 0,
            bytes_out: 0,
            waiting: 0,
            phases: std::array::from_fn(|_| HistogramSnapshot::default()),
            total: HistogramSnapshot::default(),
        }
    }

    fn add(&mut self, metrics: &ApiMetrics) {
        for (version, count) in (0_i16..).zip(&metrics.versions) {
            let count = count.get();
            match self.versions.iter_mut().find(|(known, _)| *known == version) {
                Some((_, sum)) => *sum += count,
                None if count > 0 => self.versions.push((version, count)),
                None => {}
            }
        }
        self.versions.sort_unstable();
        self.bytes_in += metrics.bytes_in.get();
        self.bytes_out += metrics.bytes_out.get();
        self.waiting += metrics.waiting.get();
        for (sum, phase) in self.phases.iter_mut().zip(&metrics.phases) {
            phase.add_to(sum);
        }
        metrics.total.add_to(&mut self.total);
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(begin_ns: u64, [begun_ns, handled_ns, ready_ns]: [u64; 3], sent_ns: u64) -> Phases {
        let received = Instant::now() + Duration::from_nanos(begin_ns);
        let course = Course { tag: 0, received, begun_ns, handled_ns, ready_ns };
        Phases::of_course(&course, received + Duration::from_nanos(sent_ns))
    }

    #[test]
    fn reactors_add_up_by_api_and_version() {
        let reactors = [ReactorMetrics::default(), ReactorMetrics::default()];
        for (reactor, version) in [(0, 12), (1, 12), (1, 13)] {
            let api = reactors[reactor].api(ApiKey::Produce).expect("it has a place");
            api.came(version, 100);
            api.left(&course(0, [0, 50_000, 50_000], 57_000));
        }
        let sums = by_api(reactors.iter());
        assert_eq!(sums.len(), 1, "of an API that nobody asked for nothing is told");
        let produce = &sums[0];
        assert_eq!((produce.api, produce.bytes_in), (ApiKey::Produce, 300));
        assert_eq!(produce.versions, [(12, 2), (13, 1)]);
        assert!((produce.total.sum_seconds() - 171e-6).abs() < 1e-12);
        assert_eq!(produce.phases[Phase::Wait as usize].count(), 3);
    }

    #[test]
    fn connections_are_counted_by_software_and_no_more_kinds_than_there_is_room_for() {
        let reactor = ReactorMetrics::default();
        let client = |software: &str| Client {
            listener: Arc::from("PLAINTEXT"),
            software: software.into(),
            version: "1".into(),
        };
        let first = reactor.connected(client("librdkafka"));
        reactor.connected(client("librdkafka"));
        reactor.disconnected(&first);
        for number in 0..2 * SOFTWARE_MAX {
            reactor.connected(client(&format!("made-up-{number}")));
        }
        let sums = clients([&reactor].into_iter());
        assert_eq!(sums.get(&client("librdkafka")), Some(&1));
        assert_eq!(sums.len(), SOFTWARE_MAX + 1);
        let other = sums.iter().find(|(client, _)| client.software == "other");
        assert_eq!(other.map(|(_, count)| *count), Some(SOFTWARE_MAX as u64 + 1));
    }

    #[test]
    fn a_course_gives_the_times_of_its_phases_and_none_below_zero() {
        let phases = course(5_000, [2_000, 10_000, 30_000], 34_000);
        let micros = Phase::ALL.map(|phase| phases.of(phase).as_micros());
        assert_eq!(micros, [2, 8, 20, 4]);
        assert_eq!(phases.total(), Duration::from_micros(34));
        assert_eq!(course(0, [2_000, 10_000, 30_000], 9_000).of(Phase::Send), Duration::ZERO);
    }
}
