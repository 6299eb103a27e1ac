//! Every call of a life fails once: what was acknowledged stays, and the logs go on, or their directory is offline and says
//! why.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ottla_storage::io::sim::{Fault, SimDisk, errno};

use super::dice::Dice;
use super::world::World;
use super::{FIRST_CALL, find_again, lose_power};

/// Steps of each life, and the lives.
const STEPS: usize = 30;
const LIVES: u64 = 3;

/// A short write never reaches the end of a batch.
const FAULTS: [Fault; 3] = [
    Fault::Error(errno::EIO),
    Fault::Error(errno::ENOSPC),
    Fault::ShortWrite { bytes: 40, errno: errno::ENOSPC },
];

fn live(life: u64, fault: Option<(u64, Fault)>) -> (World, bool) {
    let mut dice = Dice(3_000_000 + life);
    let disk = SimDisk::new();
    let mut world = World::new(disk.clone(), &mut dice);
    if let Some((call, fault)) = fault {
        disk.plan(FIRST_CALL + call, fault);
        world.may_fail = true;
    }
    let lived = world.live(&mut dice, STEPS);
    (world, lived.is_ok())
}

fn failing(life: u64, call: u64, fault: Fault) {
    let (mut world, lived) = live(life, Some((call, fault)));
    let mut dice = Dice(life ^ (call << 32));
    let names: Vec<&'static str> = world.twins.keys().copied().collect();
    match world.failure() {
        Some(failure) => {
            assert!(!lived);
            for name in names {
                let refused = world.append(name, &mut dice).unwrap_err();
                assert_eq!(format!("{refused:?}"), failure.to_string());
            }
        }
        // The process could not start, or not stop in good order: its directory is opened again below.
        None if world.directory.is_none() => assert!(!lived),
        None => {
            for name in names {
                world.append(name, &mut dice).unwrap();
            }
        }
    }
    lose_power(&mut world, &mut dice);
    find_again(&mut world);
}

#[test]
fn whatever_call_fails_once_nothing_that_was_acknowledged_is_lost() {
    let mut runs = 0;
    let mut bad = Vec::new();
    for life in 0..LIVES {
        let (world, lived) = live(life, None);
        assert!(lived);
        for call in 0..world.disk.calls() - FIRST_CALL {
            for fault in FAULTS {
                let outcome = catch_unwind(AssertUnwindSafe(|| failing(life, call, fault)));
                if outcome.is_err() {
                    eprintln!("life {life}, call {call}, {fault:?}");
                    bad.push((life, call, fault));
                }
                runs += 1;
            }
        }
    }
    assert!(bad.is_empty(), "{} of {runs} runs: {:?}", bad.len(), bad.first());
    assert!(runs > 1500, "{runs}");
}
