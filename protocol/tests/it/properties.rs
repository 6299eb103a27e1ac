//! Any value of any message in any version comes back as it was.

use crate::random::{XorShift, message};
use crate::registry::all;

/// How many values of each message in each version.
const VALUES: usize = 24;

#[test]
fn a_random_message_comes_back_as_it_was_in_each_version() {
    let mut random = XorShift::new(0x6f74_746c_6132);
    let mut versions = 0;
    for entry in all() {
        for version in entry.versions.iter() {
            versions += 1;
            for _ in 0..VALUES {
                let value = message(&mut random, entry.schema, version);
                assert!((entry.round_trip)(&value, version), "{} {version}: {value}", entry.name);
            }
        }
    }
    assert!(versions > 700, "{versions} versions of messages");
}
