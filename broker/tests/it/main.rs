//! Black-box tests of the broker: each starts one, in this process or as one of its own, and speaks Kafka's protocol
//! to it or reads what it prints. One module a behaviour.

mod describe_configs;
mod start;
mod stop;

/// The binary under test.
const BROKER: &str = env!("CARGO_BIN_EXE_ottla-broker");
