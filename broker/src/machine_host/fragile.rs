//! Tests of a host whose machines can be made to panic, over a real log: what was acknowledged is there when the next machine
//! is loaded. The machines are those of groups, with that one fault planted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ottla_coordinator::{
    Answer, AppendFailure, Compute, Effects, Event, GroupConfig, GroupMachine, Leaves, Machine, Now,
    ReplayError, Replayed, Reply, Token, TopicTable,
};
use ottla_model::compression::Compression;
use ottla_model::{ErrorCode, LeaderEpoch, ProducerId, SystemClock};
use ottla_storage::{LogDirError, LogError};

use super::host::{Coordinator, Host, HostSettings};
use super::shard::tests::{World, commit, fetch, join, told};
use super::shard::{Asked, Shard, Work};
use crate::internal_topics::CONSUMER_OFFSETS;
use crate::partition_map::PartitionMap;

/// Groups that panic at the next event, once, when they are told to.
#[derive(Debug)]
struct Fragile {
    groups: GroupMachine,
    panics: Arc<AtomicBool>,
}

impl Machine for Fragile {
    type Event = Event;
    type Reply = Reply;
    type Work = Compute;

    const WORK_BEGINS: Leaves = <GroupMachine as Machine>::WORK_BEGINS;

    fn replay(
        &mut self,
        key: Bytes,
        value: Option<Bytes>,
        transaction: Option<ProducerId>,
    ) -> Result<Replayed, ReplayError> {
        Machine::replay(&mut self.groups, key, value, transaction)
    }

    fn replay_end_of_transaction(&mut self, producer_id: ProducerId, committed: bool) {
        Machine::replay_end_of_transaction(&mut self.groups, producer_id, committed);
    }

    fn loaded(&mut self, now: Now) -> Effects<Reply, Compute> {
        Machine::loaded(&mut self.groups, now)
    }

    fn handle(&mut self, event: Event, token: Token, now: Now) -> Effects<Reply, Compute> {
        assert!(!self.panics.swap(false, Ordering::SeqCst), "planted in a machine");
        Machine::handle(&mut self.groups, event, token, now)
    }

    fn tick(&mut self, now: Now) -> Effects<Reply, Compute> {
        Machine::tick(&mut self.groups, now)
    }

    fn settle(&mut self, outcome: Result<(), AppendFailure>, now: Now) -> Effects<Reply, Compute> {
        Machine::settle(&mut self.groups, outcome, now)
    }

    fn unload(self) -> Vec<Answer<Reply>> {
        Machine::unload(self.groups)
    }

    fn refusal(event: &Event, error: ErrorCode) -> Option<Reply> {
        <GroupMachine as Machine>::refusal(event, error)
    }

    fn refuse(reply: &mut Reply, error: ErrorCode) {
        <GroupMachine as Machine>::refuse(reply, error);
    }
}

struct Fragiles {
    panics: Arc<AtomicBool>,
}

impl Coordinator for Fragiles {
    type Machine = Fragile;

    const TOPIC: &'static str = CONSUMER_OFFSETS;
    const WHAT: &'static str = "fragile groups";

    fn machine(&self, _epoch: LeaderEpoch) -> Fragile {
        let groups = GroupMachine::new(Arc::new(GroupConfig::default()), Arc::new(TopicTable::default()));
        Fragile { groups, panics: Arc::clone(&self.panics) }
    }

    fn work(_host: &Arc<Host<Self>>, _shard: &Arc<Shard<Fragile>>, _work: Work<Fragile>) {}
}

/// A host of one partition, which it leads.
fn host(world: &World) -> (Arc<Host<Fragiles>>, Arc<AtomicBool>) {
    let panics = Arc::new(AtomicBool::new(false));
    let settings = HostSettings {
        partitions: 1,
        compression: Compression::NONE,
        load_bytes: 1 << 16,
        loading_threads: 1,
        commit_timeout: Duration::from_secs(5),
    };
    let kind = Fragiles { panics: Arc::clone(&panics) };
    let host = Host::of_kind(kind, settings, Arc::new(SystemClock));
    let partitions = PartitionMap::new();
    partitions.insert(Arc::clone(&world.partition));
    host.begin(&partitions);
    (host, panics)
}

/// Asks until the machine is loaded.
fn asked(host: &Arc<Host<Fragiles>>, event: impl Fn() -> Event) -> (ErrorCode, Option<i64>) {
    loop {
        match told(host.ask("g", event())) {
            (ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, _) => std::thread::yield_now(),
            answer => return answer,
        }
    }
}

#[test]
fn a_machine_that_panics_is_loaded_anew_and_nothing_acknowledged_is_lost() {
    let world = World::new();
    let (host, panics) = host(&world);
    for offset in 1..=5 {
        assert_eq!(asked(&host, || commit(offset)).0, ErrorCode::NONE);
        let Asked::Parked(mut waits) = host.ask("g", join()) else {
            panic!("the first round waits for more")
        };
        panics.store(true, Ordering::SeqCst);
        let Asked::Parked(mut asks) = host.ask("g", commit(100)) else { panic!("nobody can answer") };
        // Neither is answered: their connections are closed, and their clients ask again.
        assert!(
            asks.try_recv().is_err_and(|error| error == tokio::sync::oneshot::error::TryRecvError::Closed)
        );
        assert!(
            waits.try_recv().is_err_and(|error| error == tokio::sync::oneshot::error::TryRecvError::Closed)
        );
        assert_eq!(asked(&host, fetch), (ErrorCode::NONE, Some(offset)));
    }
    host.stop_threads();
}

#[test]
fn a_directory_that_fails_takes_its_coordinator_along_and_whoever_waits_is_told() {
    let world = World::new();
    let (host, _) = host(&world);
    assert_eq!(asked(&host, || commit(1)).0, ErrorCode::NONE);
    let Asked::Parked(mut waits) = host.ask("g", join()) else { panic!("the first round waits for more") };
    let source = std::io::Error::from_raw_os_error(5);
    let error = LogError::Io { action: "fsync", path: "a.log".into(), source };
    drop(world.partition.place().directory.fail(LogDirError::Log(error)));
    assert_eq!(asked(&host, || commit(2)).0, ErrorCode::NOT_COORDINATOR);
    assert_eq!(asked(&host, fetch).0, ErrorCode::NOT_COORDINATOR, "what may be lost is not told either");
    let Ok(delivery) = waits.try_recv() else { panic!("the waiter is told") };
    let Reply::JoinGroup(response) = delivery.reply else { panic!("in kind") };
    assert_eq!(response.error_code, ErrorCode::NOT_COORDINATOR);
    host.stop_threads();
}
