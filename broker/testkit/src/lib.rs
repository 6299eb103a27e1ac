//! A broker for tests, in two ways: [`TestBroker`] runs within the test's process, [`TestProcess`] is the real binary,
//! to be stopped, killed and started again. Both listen on a free port of the loopback address and keep their data in
//! a directory of their own that outlives restarts. [`Connection`] speaks to either in frames. No stand-in: it is the
//! broker itself.
//!
//! What cannot work ends the test with a panic that says why.

mod broker;
mod connection;
mod process;

pub use broker::{TestBroker, TestBrokerBuilder};
pub use connection::{Connection, TIME_MAX, frame};
pub use process::{Exit, TestProcess, TestProcessBuilder};
