//! A crash at each written record of the random schedules: the machine that is loaded from what the log has then is the one
//! that was promised, it tells its members what Kafka tells them (errors 25, 22, 82, or that all is well), and they find back
//! without a person. A batch is whole in a real log; here it also ends within one, which is worse.

use std::collections::BTreeMap;

use compact_str::CompactString;
use ottla_model::{ErrorCode, GroupId};
use ottla_protocol::internal::ConsumerOffsetsRecord;
use ottla_protocol::internal::group::GroupMetadataValue;

use crate::host::{Entry, GROUP};
use crate::random::{Peer, Waits, World};

const SEEDS: u64 = 12;
const STEPS: usize = 600;
/// How often everybody does what a client does until all have to be members of one generation.
const ROUNDS_MAX: usize = 60;

/// What clients knew, and what was promised to them, when the log had so many records.
struct Moment {
    records: usize,
    peers: Vec<Peer>,
    committed: BTreeMap<String, i64>,
    now_ms: i64,
}

impl Moment {
    fn of(world: &World) -> Self {
        Self {
            records: world.host.log.len(),
            peers: world.peers.clone(),
            committed: world.committed.clone(),
            now_ms: world.host.now_ms,
        }
    }
}

/// The group as the last record of it says; none without one, or after its tombstone.
fn logged(log: &[Entry]) -> Option<GroupMetadataValue> {
    let records = log.iter().rev().filter_map(|entry| match entry {
        Entry::Record { record, .. } => Some(record),
        Entry::Marker { .. } => None,
    });
    let mut decoded = records.map(|record| {
        ConsumerOffsetsRecord::decode(record.key.clone(), record.value.clone()).expect("a known record")
    });
    decoded.find_map(|record| match record {
        ConsumerOffsetsRecord::GroupMetadata(_, value) => Some(value),
        _ => None,
    })?
}

/// What Kafka answers to the heartbeat of a member when it has loaded this group, in which no round is under way.
fn expected(group: Option<&GroupMetadataValue>, peer: &Peer) -> ErrorCode {
    let members = group.map(|group| group.members.as_slice()).unwrap_or_default();
    let place = members.iter().find(|member| match &peer.instance {
        Some(_) => member.group_instance_id == peer.instance,
        None => member.member_id == peer.member,
    });
    match (place, group) {
        (Some(place), _) if place.member_id != peer.member => ErrorCode::FENCED_INSTANCE_ID,
        (Some(_), Some(group)) if group.generation == peer.generation => ErrorCode::NONE,
        (Some(_), _) => ErrorCode::ILLEGAL_GENERATION,
        (None, _) => ErrorCode::UNKNOWN_MEMBER_ID,
    }
}

/// The world after a crash at this record, with clients that know what they had been told by then.
fn crashed(seed: u64, log: &[Entry], moment: &Moment) -> World {
    let mut world = World::new(seed);
    // All may be members now, so that there is an end to wait for.
    world.host.config.classic.members_max = usize::MAX;
    world.host.now_ms = moment.now_ms;
    world.host.log = log.to_vec();
    world.host.restart();
    // No id is drawn twice.
    world.host.asked = 1 << 32;
    world.peers.clone_from(&moment.peers);
    for peer in &mut world.peers {
        peer.waits = Waits::Nothing;
    }
    world
}

fn check_codes(world: &mut World, seen: &mut BTreeMap<i16, usize>, context: &str) {
    let group = logged(&world.host.log);
    for peer in world.peers.clone().iter().filter(|peer| peer.generation >= 0) {
        let instance: Option<&CompactString> = peer.instance.as_ref();
        let code = world.host.heartbeat(&peer.member, instance.map(CompactString::as_str), peer.generation);
        assert_eq!(code, expected(group.as_ref(), peer), "{context}: {peer:?} in {group:?}");
        *seen.entry(code.get()).or_default() += 1;
    }
}

/// Everybody does what clients do; says how often somebody was told to join anew (error 27).
fn recover(world: &mut World, context: &str) -> usize {
    let mut told = 0;
    for _ in 0..ROUNDS_MAX {
        for index in 0..world.peers.len() {
            let before = world.peers[index].rejoins;
            world.behave(index);
            told += usize::from(world.peers[index].rejoins && !before);
            world.collect();
        }
        world.host.advance(1_500);
        world.collect();
        world.check_waits();
        let generations: Vec<i32> = world.peers.iter().map(|peer| peer.generation).collect();
        let all_in = world.peers.iter().all(|peer| peer.synced && !peer.rejoins);
        if all_in && world.host.state() == "Stable" && generations.windows(2).all(|two| two[0] == two[1]) {
            return told;
        }
    }
    panic!(
        "{context}: the group has not come to rest: {} {:?} {:?}",
        world.host.state(),
        world.peers,
        logged(&world.host.log)
    );
}

#[test]
fn after_a_crash_at_each_record_members_are_told_as_by_kafka_and_find_back() {
    let mut seen = BTreeMap::new();
    let mut crashes = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        let mut moments = vec![Moment::of(&world)];
        for number in 0..STEPS {
            world.step(number);
            moments.push(Moment::of(&world));
        }
        let log = world.host.log.clone();
        for end in 0..=log.len() {
            let context = format!("seed {seed}, record {end} of {}", log.len());
            let log = log.get(..end).expect("a part of the log");
            // Of several moments with the same log, the last: its clients know most.
            let moment =
                moments.iter().rev().find(|moment| moment.records <= end).expect("the log begins empty");
            let mut world = crashed(seed, log, moment);
            if moment.records == end {
                let group = GroupId::from(GROUP);
                let offsets = world.host.machine.offsets(&group);
                let found: BTreeMap<String, i64> =
                    offsets.map(|(topic, _, at)| (topic.to_string(), at.offset.get())).collect();
                assert_eq!(found, moment.committed, "{context}");
            }
            check_codes(&mut world, &mut seen, &context);
            let told = recover(&mut world, &context);
            *seen.entry(ErrorCode::REBALANCE_IN_PROGRESS.get()).or_default() += told;
            crashes += 1;
        }
    }
    println!("{crashes} crashes, heartbeats after them by code: {seen:?}");
    assert!(crashes > 500, "{crashes} crashes");
    for code in [
        ErrorCode::NONE,
        ErrorCode::UNKNOWN_MEMBER_ID,
        ErrorCode::ILLEGAL_GENERATION,
        ErrorCode::REBALANCE_IN_PROGRESS,
    ] {
        let times = seen.get(&code.get()).copied().unwrap_or_default();
        assert!(times > 0, "{code} was told to nobody: {seen:?}");
    }
}
