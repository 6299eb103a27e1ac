//! Random schedules of clients, time, failed appends, restarts and moves of the partition against a twin that knows only
//! what the protocol promises: every request is answered in time, what was committed stays, a generation's assignments
//! are told as the leader made them, and the log alone makes the same groups.

use std::collections::BTreeMap;

use compact_str::CompactString;
use ottla_coordinator::{AppendFailure, Event, Reply, Token};
use ottla_model::{ErrorCode, GroupId, LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, Uuid};
use ottla_protocol::messages::describe_groups::DescribedGroup;
use ottla_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use ottla_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};

use crate::host::{Entry, GROUP, Host, Join, client, defaults};

const REBALANCE_MS: i32 = 20_000;
const STEPS: usize = 600;
const SEEDS: u64 = 20;
/// Steps between two comparisons with the log.
const COMPARE_EVERY: usize = 5;

/// xorshift64*: enough to shuffle.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(drawn).expect("31 bits") % end
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Waits {
    Nothing,
    Join(Token),
    Sync(Token),
}

/// One client: dynamic or with an instance id.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) instance: Option<CompactString>,
    pub(crate) member: CompactString,
    pub(crate) generation: i32,
    leads: Vec<CompactString>,
    /// It has its assignment.
    pub(crate) synced: bool,
    /// It was told to join anew.
    pub(crate) rejoins: bool,
    pub(crate) waits: Waits,
    since_ms: i64,
}

pub(crate) struct World {
    pub(crate) host: Host,
    random: Random,
    pub(crate) peers: Vec<Peer>,
    /// Committed offsets by topic.
    pub(crate) committed: BTreeMap<String, i64>,
    /// Offsets of open transactions by producer and topic, with the commits that had been made before.
    pending: BTreeMap<(i64, String), (i64, u64)>,
    /// How many commits there were when a topic's offset was written.
    written: BTreeMap<String, u64>,
    commits: u64,
    /// Which share each owner was told, by generation.
    told: BTreeMap<(i32, String), CompactString>,
    /// The group became empty and that could not be written.
    unwritten: bool,
    /// How often the group was found stable with several members.
    shared: usize,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut config = defaults();
        config.classic.initial_rebalance_delay = std::time::Duration::from_secs(1);
        config.classic.members_max = 5;
        let peer = |instance: Option<&str>| Peer {
            instance: instance.map(CompactString::from),
            member: CompactString::default(),
            generation: -1,
            leads: Vec::new(),
            synced: false,
            rejoins: false,
            waits: Waits::Nothing,
            since_ms: 0,
        };
        let peers = vec![peer(None), peer(None), peer(None), peer(None), peer(Some("i")), peer(Some("k"))];
        Self {
            host: Host::new(config),
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            peers,
            committed: BTreeMap::new(),
            pending: BTreeMap::new(),
            written: BTreeMap::new(),
            commits: 0,
            told: BTreeMap::new(),
            unwritten: false,
            shared: 0,
        }
    }

    pub(crate) fn step(&mut self, number: usize) {
        let failing = self.random.below(12) == 0;
        self.host.failure = failing.then_some(AppendFailure::Unavailable);
        let peer = self.random.below(self.peers.len());
        match self.random.below(60) {
            0..=2 => self.join(peer),
            3 | 4 => self.sync(peer),
            5 => self.leave(peer),
            6..=9 => self.commit(peer),
            10 | 11 => self.commit_in_transaction(),
            12 => self.end_transaction(),
            13 => self.lose(),
            14 => self.delete_group(),
            15 => self.pass(25_000),
            16..=24 => self.pass(1_500),
            _ => self.behave(peer),
        }
        self.host.failure = None;
        self.collect();
        match self.host.state() {
            "Empty" => self.unwritten |= failing,
            "Stable" => self.unwritten = false,
            _ => {}
        }
        self.check();
        if number.is_multiple_of(COMPARE_EVERY) {
            self.compare_with_the_log();
        }
    }

    fn pass(&mut self, ms_max: usize) {
        let ms = i64::try_from(self.random.below(ms_max)).expect("small");
        self.host.advance(ms);
    }

    /// Does what a client does that follows the protocol.
    pub(crate) fn behave(&mut self, index: usize) {
        let peer = &self.peers[index];
        if peer.generation < 0 || peer.rejoins {
            self.join(index);
        } else if peer.synced {
            self.heartbeat(index);
        } else {
            self.sync(index);
        }
    }

    fn join(&mut self, index: usize) {
        let peer = &self.peers[index];
        if !matches!(peer.waits, Waits::Nothing) {
            return;
        }
        let version = if self.random.below(3) == 0 { 3 } else { 9 };
        let token = self.host.join(Join {
            version: if peer.instance.is_some() { 9 } else { version },
            member: peer.member.clone(),
            instance: peer.instance.clone(),
            rebalance_ms: REBALANCE_MS,
            ..Join::new()
        });
        self.wait(index, Waits::Join(token));
    }

    fn wait(&mut self, index: usize, waits: Waits) {
        self.peers[index].waits = waits;
        self.peers[index].since_ms = self.host.now_ms;
    }

    fn sync(&mut self, index: usize) {
        let peer = self.peers[index].clone();
        if !matches!(peer.waits, Waits::Nothing) || peer.generation < 0 {
            return;
        }
        let shares: Vec<String> =
            (0..peer.leads.len()).map(|share| format!("{}/{share}", peer.generation)).collect();
        let assignments: Vec<_> =
            peer.leads.iter().zip(&shares).map(|(member, share)| (member.as_str(), share.as_str())).collect();
        let token = self.host.sync(&peer.member, peer.generation, &assignments);
        self.wait(index, Waits::Sync(token));
    }

    fn heartbeat(&mut self, index: usize) {
        let peer = self.peers[index].clone();
        if peer.generation < 0 {
            return;
        }
        match self.host.heartbeat(&peer.member, peer.instance.as_deref(), peer.generation) {
            ErrorCode::NONE => {}
            ErrorCode::REBALANCE_IN_PROGRESS => self.peers[index].rejoins = true,
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_INSTANCE_ID | ErrorCode::ILLEGAL_GENERATION => {
                self.forget(index);
            }
            other => panic!("a heartbeat is answered {other}"),
        }
    }

    /// The client begins again.
    fn forget(&mut self, index: usize) {
        let peer = &mut self.peers[index];
        peer.generation = -1;
        peer.leads.clear();
        (peer.synced, peer.rejoins) = (false, false);
        peer.member = CompactString::default();
    }

    fn leave(&mut self, index: usize) {
        let peer = self.peers[index].clone();
        if peer.member.is_empty() {
            return;
        }
        let answer = self.host.leave(&[(&peer.member, peer.instance.as_deref())]);
        if answer.error_code.is_none() {
            self.collect();
            self.forget(index);
        }
    }

    fn topic(&mut self) -> String {
        format!("t{}", self.random.below(3))
    }

    fn commit(&mut self, index: usize) {
        let peer = self.peers[index].clone();
        let topic = self.topic();
        self.commits += 1;
        let offset = i64::try_from(self.commits).expect("few");
        let request = OffsetCommitRequest {
            group_id: GROUP.into(),
            generation_id_or_member_epoch: peer.generation,
            member_id: peer.member.clone(),
            group_instance_id: peer.instance.filter(|_| !peer.member.is_empty()),
            retention_time_ms: -1,
            topics: vec![OffsetCommitRequestTopic {
                name: topic.as_str().into(),
                topic_id: Uuid::ZERO,
                partitions: vec![OffsetCommitRequestPartition {
                    partition_index: PartitionIndex::new(0),
                    committed_offset: Offset::new(offset),
                    committed_leader_epoch: LeaderEpoch::UNKNOWN,
                    committed_metadata: None,
                }],
            }],
        };
        let reply = self.host.ask(Event::OffsetCommit { client: client(8), request });
        let Reply::OffsetCommit(response) = reply else { panic!("{reply:?}") };
        if response.topics[0].partitions[0].error_code.is_none() {
            self.written.insert(topic.clone(), self.commits);
            self.committed.insert(topic, offset);
        }
    }

    fn commit_in_transaction(&mut self) {
        let topic = self.topic();
        let producer = i64::try_from(self.random.below(2)).expect("small");
        self.commits += 1;
        let offset = i64::try_from(self.commits).expect("few");
        let request = TxnOffsetCommitRequest {
            transactional_id: "tx".into(),
            group_id: GROUP.into(),
            producer_id: ProducerId::new(producer),
            producer_epoch: ProducerEpoch::new(0),
            generation_id_or_member_epoch: -1,
            member_id: CompactString::default(),
            group_instance_id: None,
            topics: vec![TxnOffsetCommitRequestTopic {
                name: topic.as_str().into(),
                topic_id: Uuid::ZERO,
                partitions: vec![TxnOffsetCommitRequestPartition {
                    partition_index: PartitionIndex::new(0),
                    committed_offset: Offset::new(offset),
                    committed_leader_epoch: LeaderEpoch::UNKNOWN,
                    committed_metadata: None,
                }],
            }],
        };
        let reply = self.host.ask(Event::TxnOffsetCommit { client: client(3), request });
        let Reply::TxnOffsetCommit(response) = reply else { panic!("{reply:?}") };
        if response.topics[0].partitions[0].error_code.is_none() {
            self.pending.insert((producer, topic), (offset, self.commits));
        }
    }

    fn end_transaction(&mut self) {
        let producer = i64::try_from(self.random.below(2)).expect("small");
        let committed = self.random.below(2) == 0;
        let reply = self.host.ask(Event::EndTransaction {
            producer_id: ProducerId::new(producer),
            producer_epoch: ProducerEpoch::new(0),
            coordinator_epoch: 0,
            committed,
            epoch_raised: false,
        });
        if reply != Reply::EndTransaction(ErrorCode::NONE) {
            return;
        }
        let ended: Vec<_> = self.pending.keys().filter(|(id, _)| *id == producer).cloned().collect();
        for key in ended {
            let (offset, at) = self.pending.remove(&key).expect("it is there");
            if committed && self.written.get(&key.1).is_none_or(|written| *written < at) {
                self.written.insert(key.1.clone(), at);
                self.committed.insert(key.1, offset);
            }
        }
    }

    /// The process dies, or the partition moves away and comes back.
    fn lose(&mut self) {
        if self.random.below(2) == 0 {
            let told = self.host.unload();
            let waiting: Vec<_> = self.peers.iter().filter_map(token_of).collect();
            assert_eq!(told.len(), waiting.len(), "everybody who waits is told");
            assert!(told.iter().all(|(token, _)| waiting.contains(token)));
        }
        for index in 0..self.peers.len() {
            self.peers[index].waits = Waits::Nothing;
        }
        self.host.restart();
    }

    fn delete_group(&mut self) {
        let reply = self.host.ask(Event::DeleteGroups { groups: vec![GROUP.into()] });
        let Reply::DeleteGroups(results) = reply else { panic!("{reply:?}") };
        if results[0].error_code.is_none() {
            self.committed.clear();
            self.written.clear();
            self.pending.clear();
            self.told.clear();
        }
    }

    /// Takes the answers that have come.
    pub(crate) fn collect(&mut self) {
        for index in 0..self.peers.len() {
            let Some(token) = token_of(&self.peers[index]) else { continue };
            match self.host.answer(token) {
                None => {}
                Some(Reply::JoinGroup(joined)) => {
                    self.peers[index].waits = Waits::Nothing;
                    match joined.error_code {
                        ErrorCode::NONE => {
                            let peer = &mut self.peers[index];
                            peer.member = joined.member_id;
                            peer.generation = joined.generation_id;
                            (peer.synced, peer.rejoins) = (false, false);
                            peer.leads =
                                joined.members.iter().map(|member| member.member_id.clone()).collect();
                        }
                        ErrorCode::MEMBER_ID_REQUIRED => self.peers[index].member = joined.member_id,
                        _ => self.forget(index),
                    }
                }
                Some(Reply::SyncGroup(synced)) => {
                    self.peers[index].waits = Waits::Nothing;
                    match synced.error_code {
                        ErrorCode::NONE => {
                            self.peers[index].synced = true;
                            self.tell(index, &synced.assignment);
                        }
                        ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_INSTANCE_ID => self.forget(index),
                        _ => self.peers[index].rejoins = true,
                    }
                }
                Some(other) => panic!("{other:?}"),
            }
        }
    }

    /// A share of a generation has one owner, and is of that generation.
    fn tell(&mut self, index: usize, share: &bytes::Bytes) {
        let share = String::from_utf8(share.to_vec()).expect("text");
        if share.is_empty() {
            return;
        }
        let peer = &self.peers[index];
        assert!(share.starts_with(&format!("{}/", peer.generation)), "{share} of {}", peer.generation);
        let owner = peer.instance.clone().unwrap_or_else(|| peer.member.clone());
        let before = self.told.entry((peer.generation, share.clone())).or_insert_with(|| owner.clone());
        assert_eq!(*before, owner, "the share {share} has one owner");
    }

    /// Nobody waits longer than a rebalance may take.
    pub(crate) fn check_waits(&self) {
        for peer in &self.peers {
            if !matches!(peer.waits, Waits::Nothing) {
                let waited = self.host.now_ms - peer.since_ms;
                assert!(waited <= i64::from(REBALANCE_MS), "{peer:?} has waited for {waited} ms");
            }
        }
    }

    fn check(&mut self) {
        self.check_waits();
        let group = GroupId::from(GROUP);
        let found: BTreeMap<String, i64> = self
            .host
            .machine
            .offsets(&group)
            .map(|(topic, _, committed)| (topic.to_string(), committed.offset.get()))
            .collect();
        assert_eq!(found, self.committed);
    }

    /// A machine that has only the log knows the same, where no round is under way.
    fn compare_with_the_log(&mut self) {
        let mut replayed = Host::new(self.host.config.clone());
        replayed.log.clone_from(&self.host.log);
        replayed.now_ms = self.host.now_ms;
        replayed.restart();
        let group = GroupId::from(GROUP);
        let offsets = |host: &Host| -> Vec<_> {
            host.machine.offsets(&group).map(|(topic, _, offset)| (topic.clone(), offset.clone())).collect()
        };
        assert_eq!(offsets(&replayed), offsets(&self.host));
        let live = describe(&mut self.host);
        let logged = describe(&mut replayed);
        match live.group_state.as_str() {
            "Stable" => {
                self.shared += usize::from(live.members.len() > 1);
                assert_eq!(live, logged);
            }
            "Dead" => assert_eq!(live, logged),
            // A failed append leaves a generation in the log that nobody is in any more.
            "Empty" => assert!(self.unwritten || logged.members.is_empty(), "{logged:?}"),
            _ => assert!(["Stable", "Empty"].contains(&logged.group_state.as_str()), "{logged:?}"),
        }
    }
}

fn token_of(peer: &Peer) -> Option<Token> {
    match peer.waits {
        Waits::Nothing => None,
        Waits::Join(token) | Waits::Sync(token) => Some(token),
    }
}

fn describe(host: &mut Host) -> DescribedGroup {
    match host.ask(Event::DescribeGroups { client: client(5), groups: vec![GROUP.into()] }) {
        Reply::DescribeGroups(mut groups) => groups.remove(0),
        other => panic!("an answer to DescribeGroups, not {other:?}"),
    }
}

#[test]
fn whatever_happens_in_whatever_order_the_protocol_keeps_its_promises() {
    let only = std::env::var("OTTLA_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut shared = 0;
    for seed in only.map_or(0..SEEDS, |seed: u64| seed..seed + 1) {
        println!("OTTLA_SEED={seed}");
        let mut world = World::new(seed);
        for number in 0..STEPS {
            world.step(number);
        }
        shared += world.shared;
        let log: Vec<Entry> = world.host.log.clone();
        for end in (0..=log.len()).rev().take(50) {
            let mut host = Host::new(world.host.config.clone());
            host.log = log[..end].to_vec();
            host.restart();
            host.advance(60_000);
            assert!(["Empty", "Dead", "PreparingRebalance"].contains(&host.state()), "{}", host.state());
        }
    }
    assert!(only.is_some() || shared > 100, "{shared} times several members shared the topics");
}
