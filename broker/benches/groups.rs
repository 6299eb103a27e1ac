//! What groups cost over sockets: a heartbeat of one of 10,000 members beside an echo, a round of 100 members, and the memory
//! of members that only heartbeat. One reactor serves; times are medians of rounds that take turns, and what a request costs
//! is the CPU time of the reactor's thread. `cargo bench -p ottla-broker --bench groups`.

#![allow(clippy::print_stdout, reason = "the figures are what it is run for")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed bench")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use compact_str::CompactString;
use ottla_network::{
    BlockingPool, ConnectionInfo, ListenerConfig, Outcome, Reply, Server, ServerConfig, Service,
};
use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
use ottla_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ottla_protocol::messages::heartbeat::HeartbeatRequest;
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol};
use ottla_protocol::messages::sasl_handshake::SaslHandshakeRequest;
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment};
use ottla_testkit::{Connection, TestBroker, frame};

const GROUPS: usize = 1_000;
const MEMBERS: usize = 10;
const ROUND_MEMBERS: usize = 100;
/// Rounds of the comparison, and requests of each kind in each.
const ROUNDS: usize = 40;
const REQUESTS: usize = 500;

/// Answers with what it is sent.
struct Echo;

impl Service for Echo {
    type Connection = ();

    fn connect(&self, _info: &ConnectionInfo) {}

    async fn dispatch(&self, _connection: &mut (), frame: Bytes) -> Outcome {
        Reply::bytes(Bytes::copy_from_slice(&frame)).into()
    }
}

/// The threads named so.
fn threads(name: &str) -> BTreeSet<u32> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let tasks = tasks.filter_map(|task| task.unwrap().file_name().to_str()?.parse().ok());
    let named = |task: &u32| {
        fs::read_to_string(format!("/proc/self/task/{task}/comm")).is_ok_and(|comm| comm.trim() == name)
    };
    tasks.filter(named).collect()
}

/// The CPU time of a thread.
fn cpu(thread: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).unwrap();
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}

fn resident_bytes() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn broker() -> (TestBroker, u32) {
    let before = threads("ottla-reactor-0");
    let broker = TestBroker::builder()
        .set("num.network.threads", "1")
        .set("group.initial.rebalance.delay.ms", "0")
        .set("group.consumer.assignment.interval.ms", "0")
        .start();
    let reactor = threads("ottla-reactor-0").difference(&before).copied().next().expect("one reactor");
    (broker, reactor)
}

fn join(group: &str, member: &str) -> JoinGroupRequest {
    JoinGroupRequest {
        group_id: group.into(),
        session_timeout_ms: 1_800_000,
        rebalance_timeout_ms: 300_000,
        member_id: member.into(),
        protocol_type: "consumer".into(),
        protocols: vec![JoinGroupRequestProtocol {
            name: "range".into(),
            metadata: Bytes::from_static(&[0; 64]),
        }],
        ..JoinGroupRequest::default()
    }
}

fn sync(group: &str, member: &str, generation: i32, all: &[CompactString]) -> SyncGroupRequest {
    let assignment = |id: &CompactString| SyncGroupRequestAssignment {
        member_id: id.clone(),
        assignment: Bytes::from_static(&[0; 64]),
    };
    SyncGroupRequest {
        group_id: group.into(),
        generation_id: generation,
        member_id: member.into(),
        protocol_type: Some("consumer".into()),
        protocol_name: Some("range".into()),
        assignments: all.iter().map(assignment).collect(),
        ..SyncGroupRequest::default()
    }
}

/// A stable group with a member on each connection; how long after the last join everybody had joined, and how long until
/// everybody had its assignment.
fn form(connections: &mut [Connection], group: &str) -> (Vec<CompactString>, i32, Duration, Duration) {
    let find = FindCoordinatorRequest { key: group.into(), ..FindCoordinatorRequest::default() };
    while !connections[0].call(&find, 0).error_code.is_none() {}
    let ids: Vec<CompactString> = connections
        .iter_mut()
        .map(|connection| {
            loop {
                let id = connection.call(&join(group, ""), 9).member_id;
                if !id.is_empty() {
                    break id;
                }
            }
        })
        .collect();
    // The first one is alone for a moment; the others then wait for it to come again.
    assert!(connections[0].call(&join(group, &ids[0]), 9).error_code.is_none());
    let mut waiting: Vec<i32> = connections
        .iter_mut()
        .zip(&ids)
        .skip(1)
        .map(|(connection, id)| connection.send(&join(group, id), 9))
        .collect();
    let begin = Instant::now();
    waiting.insert(0, connections[0].send(&join(group, &ids[0]), 9));
    let answers = connections.iter_mut().zip(&waiting);
    let joined: Vec<_> =
        answers.map(|(connection, number)| connection.receive::<JoinGroupRequest>(9, *number)).collect();
    let joining = begin.elapsed();
    let (leader, generation) = (joined[0].leader.clone(), joined[0].generation_id);
    let waiting: Vec<i32> = connections
        .iter_mut()
        .zip(&ids)
        .map(|(connection, id)| {
            let all = if *id == leader { ids.as_slice() } else { &[] };
            connection.send(&sync(group, id, generation, all), 5)
        })
        .collect();
    for (connection, number) in connections.iter_mut().zip(waiting) {
        assert!(connection.receive::<SyncGroupRequest>(5, number).error_code.is_none());
    }
    (ids, generation, joining, begin.elapsed())
}

/// One side of the comparison: frames in turn, on a connection of its own or not.
struct Side<'a> {
    name: &'static str,
    stream: &'a TcpStream,
    reactor: u32,
    frames: Vec<Bytes>,
    next: usize,
    times: Vec<Duration>,
    cpu: Duration,
}

impl Side<'_> {
    fn round(&mut self) {
        let (begin, cpu_before) = (Instant::now(), cpu(self.reactor));
        let mut answer = vec![0; 1 << 16];
        for _ in 0..REQUESTS {
            // A stride that is prime to the count, so that neighbours are not neighbours in memory.
            self.next = (self.next + 7_919) % self.frames.len();
            self.stream.write_all(&self.frames[self.next]).unwrap();
            let mut length = [0; 4];
            self.stream.read_exact(&mut length).unwrap();
            let length = u32::from_be_bytes(length) as usize;
            self.stream.read_exact(&mut answer[..length]).unwrap();
        }
        self.times.push(begin.elapsed() / u32::try_from(REQUESTS).unwrap());
        self.cpu += cpu(self.reactor) - cpu_before;
    }

    fn print(&mut self, echo: Option<Duration>) -> Duration {
        self.times.sort_unstable();
        let median = self.times[self.times.len() / 2];
        let cpu = self.cpu / u32::try_from(ROUNDS * REQUESTS).unwrap();
        let ratio = echo.map_or(1.0, |echo| median.as_secs_f64() / echo.as_secs_f64());
        println!("{:<48} {:>8.2?} {:>8.2?} {:>6.2}", self.name, median, cpu, ratio);
        median
    }
}

fn with_length(frame: &Bytes) -> Bytes {
    let length = u32::try_from(frame.len()).unwrap().to_be_bytes();
    [&length[..], frame].concat().into()
}

fn echo_server() -> (SocketAddr, u32, ottla_network::ServerHandle) {
    let before = threads("ottla-reactor-0");
    let listener = ListenerConfig { name: Arc::from("ECHO"), address: "127.0.0.1:0".parse().unwrap() };
    let server =
        Server::bind(ServerConfig { reactors: 1, listeners: vec![listener], ..ServerConfig::default() })
            .unwrap();
    let address = server.local_addresses().next().unwrap().1;
    let handle = server.start(BlockingPool::new("bench", 1, 1), |_| Echo).unwrap();
    let reactor = threads("ottla-reactor-0").difference(&before).copied().next().expect("one reactor");
    (address, reactor, handle)
}

fn heartbeats() {
    let (broker, reactor) = broker();
    let mut connections: Vec<Connection> = (0..MEMBERS).map(|_| broker.connect()).collect();
    // What the first groups take once: partitions, buffers, tables.
    form(&mut connections, "first");
    let before = resident_bytes();
    let mut members = Vec::new();
    for number in 0..GROUPS {
        let group = format!("group-of-a-service-{number}");
        let (ids, generation, ..) = form(&mut connections, &group);
        members.extend(ids.into_iter().map(|id| (group.clone(), id, generation)));
    }
    let classic_bytes = resident_bytes().saturating_sub(before) / members.len();
    let before = resident_bytes();
    let mut newer = Vec::new();
    for number in 0..GROUPS {
        for member in 0..MEMBERS {
            let request = ConsumerGroupHeartbeatRequest {
                group_id: format!("newer-group-{number}").into(),
                member_id: format!("{member:022}").into(),
                rebalance_timeout_ms: 300_000,
                subscribed_topic_names: Some(vec!["t".into()]),
                topic_partitions: Some(Vec::new()),
                ..ConsumerGroupHeartbeatRequest::default()
            };
            let answer = connections[0].call(&request, 1);
            assert!(answer.error_code.is_none(), "{:?}", answer.error_message);
            newer.push((request.group_id, request.member_id, answer.member_epoch));
        }
    }
    // All are brought to their group's last epoch, so that their heartbeats change nothing.
    let newer: Vec<_> = newer
        .into_iter()
        .map(|(group_id, member_id, member_epoch)| {
            let mut alive = ConsumerGroupHeartbeatRequest {
                group_id,
                member_id,
                member_epoch,
                ..ConsumerGroupHeartbeatRequest::default()
            };
            for _ in 0..3 {
                alive.member_epoch = connections[0].call(&alive, 1).member_epoch;
            }
            alive
        })
        .collect();
    let newer_bytes = resident_bytes().saturating_sub(before) / newer.len();

    let beat = |(group, member, generation): &(String, CompactString, i32)| {
        let request = HeartbeatRequest {
            group_id: group.as_str().into(),
            generation_id: *generation,
            member_id: member.clone(),
            group_instance_id: None,
        };
        with_length(&frame(&request, 4, 1))
    };
    let beats: Vec<Bytes> = members.iter().map(beat).collect();
    let (address, echo_reactor, echo) = echo_server();
    let echo_stream = TcpStream::connect(address).unwrap();
    echo_stream.set_nodelay(true).unwrap();
    let stream = connections[1].stream();
    let side = |name, stream, reactor, frames| Side {
        name,
        stream,
        reactor,
        frames,
        next: 0,
        times: Vec::new(),
        cpu: Duration::ZERO,
    };
    let handshake = SaslHandshakeRequest { mechanism: "group-of-a-service-1234567890-1234567890".into() };
    let mut sides = [
        side("echo of such a frame by the network alone", &echo_stream, echo_reactor, beats.clone()),
        side(
            "SaslHandshake, the least that is decoded",
            stream,
            reactor,
            vec![with_length(&frame(&handshake, 1, 1))],
        ),
        side("Heartbeat, one of 10,000 members", stream, reactor, beats),
        side(
            "ConsumerGroupHeartbeat, one of 10,000 members",
            stream,
            reactor,
            newer.iter().map(|alive| with_length(&frame(alive, 1, 1))).collect(),
        ),
    ];
    for _ in 0..ROUNDS {
        sides.iter_mut().for_each(Side::round);
    }
    println!("{:<48} {:>8} {:>8} {:>6}", "one request after the other", "time", "CPU", "ratio");
    let [echo_side, rest @ ..] = &mut sides;
    let base = echo_side.print(None);
    for side in rest {
        side.print(Some(base));
    }
    println!("memory of an idle member, classic: {classic_bytes} B; of the newer protocol: {newer_bytes} B");
    let _ = echo.shutdown(Duration::from_secs(1));
}

fn rounds() {
    let (broker, _) = broker();
    let mut connections: Vec<Connection> = (0..ROUND_MEMBERS).map(|_| broker.connect()).collect();
    let mut times: Vec<(Duration, Duration)> = (0..11)
        .map(|number| {
            let (.., joining, all) = form(&mut connections, &format!("g{number}"));
            (all, joining)
        })
        .collect();
    times.sort_unstable();
    let (all, joining) = times[times.len() / 2];
    println!("a round of {ROUND_MEMBERS}, after the last join: joined {joining:.2?}, assigned {all:.2?}");
}

fn main() {
    heartbeats();
    rounds();
}
