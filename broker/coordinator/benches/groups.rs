//! What classic groups cost their coordinator: a heartbeat among 10,000 members, and a round of 100.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use compact_str::{CompactString, format_compact};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use ottla_coordinator::{Client, Effects, Event, GroupConfig, GroupMachine, Now, Reply, Token, TopicTable};
use ottla_model::GroupId;
use ottla_protocol::messages::heartbeat::HeartbeatRequest;
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol};
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment};

const GROUPS: usize = 1_000;
const MEMBERS: usize = 10;
const ROUND_MEMBERS: usize = 100;

struct World {
    machine: GroupMachine,
    asked: u64,
}

impl World {
    fn new() -> Self {
        let mut config = GroupConfig::default();
        config.classic.initial_rebalance_delay = Duration::ZERO;
        let mut machine = GroupMachine::new(Arc::new(config), Arc::new(TopicTable::default()));
        machine.loaded(Now::same(0));
        Self { machine, asked: 0 }
    }

    fn ask(&mut self, event: Event) -> Effects {
        self.asked += 1;
        let mut effects = self.machine.handle(event, Token(self.asked), Now::same(0));
        if !effects.append.is_nothing() {
            effects.replies.extend(self.machine.settle(Ok(()), Now::same(0)).replies);
        }
        effects
    }

    /// Who has joined, and who leads.
    fn joined(&mut self, group: &GroupId, ids: &[CompactString]) -> (Vec<CompactString>, CompactString, i32) {
        let mut effects: Vec<Effects> =
            ids.iter().map(|id| self.ask(join(group, id.clone(), self.asked))).collect();
        while effects.last().is_some_and(|effects| effects.deadline == Some(0)) {
            effects.push(self.machine.tick(Now::same(0)));
        }
        let replies = effects.into_iter().flat_map(|effects| effects.replies);
        let joined: Vec<_> = replies
            .filter_map(|answer| match answer.reply {
                Reply::JoinGroup(joined) if joined.error_code.is_none() => Some(joined),
                _ => None,
            })
            .collect();
        let (leader, generation) = (joined[0].leader.clone(), joined[0].generation_id);
        (joined.into_iter().map(|joined| joined.member_id).collect(), leader, generation)
    }

    fn round(&mut self, group: &GroupId, ids: &[CompactString]) -> (Vec<CompactString>, i32) {
        let (ids, leader, generation) = self.joined(group, ids);
        for id in ids.iter().filter(|id| **id != leader) {
            self.ask(sync(group, id, generation, &[]));
        }
        self.ask(sync(group, &leader, generation, &ids));
        (ids, generation)
    }
}

fn client() -> Client {
    Client { id: "client".into(), host: "/127.0.0.1".into(), version: 3 }
}

fn join(group: &GroupId, member_id: CompactString, number: u64) -> Event {
    let request = JoinGroupRequest {
        group_id: group.clone(),
        session_timeout_ms: 45_000,
        rebalance_timeout_ms: 300_000,
        member_id,
        group_instance_id: None,
        protocol_type: "consumer".into(),
        // What it says changes each time, so that everybody's joining counts.
        protocols: vec![JoinGroupRequestProtocol {
            name: "range".into(),
            metadata: Bytes::copy_from_slice(&number.to_be_bytes()),
        }],
        reason: None,
    };
    Event::JoinGroup { client: client(), request, random: u128::from(number).to_be_bytes() }
}

fn sync(group: &GroupId, member: &CompactString, generation: i32, all: &[CompactString]) -> Event {
    let assignments = all.iter().map(|id| SyncGroupRequestAssignment {
        member_id: id.clone(),
        assignment: Bytes::from_static(&[0; 64]),
    });
    let request = SyncGroupRequest {
        group_id: group.clone(),
        generation_id: generation,
        member_id: member.clone(),
        group_instance_id: None,
        protocol_type: None,
        protocol_name: None,
        assignments: assignments.collect(),
    };
    Event::SyncGroup { client: client(), request }
}

fn heartbeat(group: &GroupId, member: &CompactString, generation: i32) -> Event {
    let request = HeartbeatRequest {
        group_id: group.clone(),
        generation_id: generation,
        member_id: member.clone(),
        group_instance_id: None,
    };
    Event::Heartbeat { client: client(), request }
}

fn heartbeats(criterion: &mut Criterion) {
    let mut world = World::new();
    let mut members = Vec::new();
    for number in 0..GROUPS {
        let group = GroupId::from(format!("group-of-a-service-{number}"));
        let (ids, generation) = world.round(&group, &vec![CompactString::default(); MEMBERS]);
        members.extend(ids.into_iter().map(|id| (group.clone(), id, generation)));
    }
    assert_eq!(members.len(), GROUPS * MEMBERS);
    let mut next = 0;
    criterion.bench_function(&format_compact!("heartbeat, one of {}", members.len()), |bencher| {
        bencher.iter(|| {
            // A stride that is prime to the count, so that neighbours are not neighbours in memory.
            next = (next + 7_919) % members.len();
            let (group, id, generation) = &members[next];
            black_box(world.ask(heartbeat(group, id, *generation)));
        });
    });
}

fn rounds(criterion: &mut Criterion) {
    let group = GroupId::from("g");
    criterion.bench_function(&format_compact!("round of {ROUND_MEMBERS}"), |bencher| {
        bencher.iter_batched(
            || {
                let mut world = World::new();
                let (ids, _) = world.round(&group, &vec![CompactString::default(); ROUND_MEMBERS]);
                (world, ids)
            },
            |(mut world, ids)| {
                let (ids, generation) = world.round(&group, &ids);
                assert_eq!((ids.len(), generation), (ROUND_MEMBERS, 2));
            },
            BatchSize::LargeInput,
        );
    });
}

criterion_group!(benches, heartbeats, rounds);
criterion_main!(benches);
