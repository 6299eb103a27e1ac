//! The machines from outside: events in, effects out, and the log between two lives of a machine.

mod assignors;
mod classic_join;
mod classic_round;
mod consumer;
mod crash;
mod host;
mod kafka_log;
mod offsets;
mod partitions;
mod random;
mod transactions;
