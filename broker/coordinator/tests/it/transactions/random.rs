//! Random lives: clients of both protocols begin, write, end, repeat themselves, fall silent and come back; partitions are
//! away, appends fail, and the process dies after any append. Beside it a twin that knows only what clients asked for and
//! were told. However it went: a transaction is whole or not there at all, what was told to be committed is, nothing is that
//! nobody asked for, who was replaced writes and ends nothing, and everything ends.

use std::collections::BTreeMap;

use ottla_coordinator::{AppendFailure, Begun};
use ottla_model::ErrorCode;

use super::world::{Died, World, identity};

const IDS: [&str; 4] = ["a", "b", "c", "d"];
const PARTITIONS: usize = 4;
const TIMEOUT_MS: i32 = 30_000;
const STEPS: usize = 300;

/// Deterministic numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn place(&mut self, limit: usize) -> usize {
        usize::try_from(self.below(limit as u64)).expect("small")
    }
}

/// A client with its producer, and the number of the transaction that it is in.
#[derive(Debug, Clone)]
struct Client {
    id: usize,
    begun: Begun,
    version: i16,
    transaction: Option<u64>,
    /// It has asked for this end and waits for an answer: it writes nothing meanwhile.
    ending: Option<bool>,
    /// Another one has the id since.
    is_replaced: bool,
}

/// What is known of a transaction from outside.
#[derive(Debug, Clone, Copy, Default)]
struct Twin {
    asked_to_commit: bool,
    told: Option<bool>,
}

struct Life {
    world: World,
    random: Random,
    clients: Vec<Client>,
    twins: BTreeMap<u64, Twin>,
}

#[derive(Debug, Default)]
struct Seen {
    committed: u64,
    aborted: u64,
    deaths: u64,
}

impl Life {
    fn step(&mut self) -> Result<(), Died> {
        match self.random.below(100) {
            0..12 => self.begin()?,
            12..55 => self.write()?,
            55..75 => self.end()?,
            75..78 => self.forget(),
            78..84 => {
                let place = self.random.place(PARTITIONS);
                self.world.partitions[place].is_away ^= true;
            }
            84..88 => {
                let failures = [None, None, Some(AppendFailure::Unavailable), Some(AppendFailure::NotLeader)];
                self.world.failure = failures[self.random.place(failures.len())];
            }
            _ => {
                let ms = i64::try_from(self.random.below(8_000)).expect("small");
                self.world.advance(ms)?;
            }
        }
        Ok(())
    }

    /// A new instance, or one that goes on with the producer that it has.
    fn begin(&mut self) -> Result<(), Died> {
        let id = self.random.place(IDS.len());
        let idle = |client: &Client| {
            client.id == id && client.transaction.or(client.ending.map(u64::from)).is_none()
        };
        let goes_on = self.clients.iter().position(idle).filter(|_| self.random.below(3) == 0);
        let expected = goes_on.and_then(|place| self.clients.get(place)).map(|client| client.begun);
        let Ok(begun) = self.world.init(IDS[id], TIMEOUT_MS, expected)? else { return Ok(()) };
        for client in self.clients.iter_mut().filter(|client| client.id == id) {
            client.is_replaced = true;
        }
        match goes_on {
            Some(place) => {
                self.clients[place].begun = begun;
                self.clients[place].is_replaced = false;
            }
            None => {
                let version = if self.random.below(2) == 0 { 0 } else { 2 };
                self.clients.push(Client {
                    id,
                    begun,
                    version,
                    transaction: None,
                    ending: None,
                    is_replaced: false,
                });
            }
        }
        Ok(())
    }

    fn pick(&mut self) -> Option<usize> {
        (!self.clients.is_empty()).then(|| self.random.place(self.clients.len()))
    }

    fn write(&mut self) -> Result<(), Died> {
        let Some(place) = self.pick() else { return Ok(()) };
        let client = self.clients[place].clone();
        if client.ending.is_some() {
            return Ok(());
        }
        let partition = self.random.place(PARTITIONS);
        let by = identity(IDS[client.id], client.begun);
        if client.version == 0 && !self.world.add(&by, partition, 0)?.is_none() {
            return Ok(());
        }
        let next = self.twins.len() as u64;
        let transaction = client.transaction.unwrap_or(next);
        // Before the append: the process may die by it.
        self.twins.entry(transaction).or_default();
        self.clients[place].transaction = Some(transaction);
        let written = self.world.write(&by, partition, client.version, transaction)?;
        assert!(!(written.is_none() && client.is_replaced), "a write of one who was replaced: {client:?}");
        Ok(())
    }

    fn end(&mut self) -> Result<(), Died> {
        let Some(place) = self.pick() else { return Ok(()) };
        let client = self.clients[place].clone();
        let committed = client.ending.unwrap_or_else(|| self.random.below(3) > 0);
        let by = identity(IDS[client.id], client.begun);
        self.clients[place].ending = Some(committed);
        if let Some(twin) = client.transaction.and_then(|transaction| self.twins.get_mut(&transaction)) {
            twin.asked_to_commit |= committed;
        }
        let ended = self.world.end(&by, committed, client.version)?;
        assert!(!(ended.is_ok() && client.is_replaced), "an end of one who was replaced: {client:?}");
        if ended.is_ok() && self.world.failure.is_none() && self.random.below(4) == 0 {
            // The answer was lost on the way, and the client asks again.
            let again = self.world.end(&by, committed, client.version)?;
            let waits = again == Err(ErrorCode::CONCURRENT_TRANSACTIONS);
            assert!(waits || again == ended, "{again:?} after {ended:?} to {client:?}");
        }
        let code = ended.err().unwrap_or(ErrorCode::NONE);
        if code.is_retriable() {
            return Ok(());
        }
        let client = &mut self.clients[place];
        client.ending = None;
        let twin = client.transaction.take().and_then(|transaction| self.twins.get_mut(&transaction));
        if let Ok(begun) = ended {
            client.begun = begun.unwrap_or(client.begun);
            if let Some(twin) = twin {
                twin.told = Some(committed);
            }
        }
        Ok(())
    }

    /// A client goes away without a word.
    fn forget(&mut self) {
        if let Some(place) = self.pick() {
            self.clients.swap_remove(place);
        }
    }

    /// Lets everything come to its end, and compares.
    fn check(&mut self, seen: &mut Seen) {
        self.world.failure = None;
        for partition in &mut self.world.partitions {
            partition.is_away = false;
        }
        self.world.advance(2 * i64::from(TIMEOUT_MS)).expect("nobody dies any more");
        for (id, transaction) in self.world.machine.transactions() {
            assert!(transaction.state.is_idle(), "{id:?} has not ended: {transaction:?}");
        }
        let mut outcomes: BTreeMap<u64, bool> = BTreeMap::new();
        for partition in &self.world.partitions {
            assert!(!partition.has_open(), "a transaction hangs: {partition:?}");
            for (transaction, committed) in partition.outcomes() {
                let first = *outcomes.entry(transaction).or_insert(committed);
                assert_eq!(first, committed, "transaction {transaction} is half there");
            }
        }
        for (transaction, committed) in outcomes {
            let twin = self.twins[&transaction];
            assert!(!committed || twin.asked_to_commit, "nobody asked to commit {transaction}");
            assert!(twin.told.is_none_or(|told| told == committed), "{transaction}: {twin:?}, {committed}");
            *(if committed { &mut seen.committed } else { &mut seen.aborted }) += 1;
        }
    }
}

fn live(seed: u64, appends_between_deaths: Option<u64>, seen: &mut Seen) {
    let mut life = Life {
        world: World::new(PARTITIONS),
        random: Random(seed),
        clients: Vec::new(),
        twins: BTreeMap::new(),
    };
    life.world.appends_left = appends_between_deaths;
    for _ in 0..STEPS {
        let mut lived = life.step();
        while lived.is_err() {
            seen.deaths += 1;
            life.world.appends_left = appends_between_deaths.map(|most| 1 + life.random.below(most));
            lived = life.world.start();
        }
    }
    life.world.appends_left = None;
    life.check(seen);
}

#[test]
fn transactions_are_whole_or_not_there_and_all_of_them_end_whatever_happens() {
    let mut seen = Seen::default();
    for seed in 0..200 {
        println!("seed {seed}");
        // Every other life is one in which nobody dies; in the others it happens after each possible append.
        let deaths = (seed % 2 == 0).then_some(1 + seed / 2 % 40);
        live(seed, deaths, &mut seen);
    }
    println!("{seen:?}");
    assert!(seen.committed > 500 && seen.aborted > 500 && seen.deaths > 500, "{seen:?}");
}
