//! The group machines from outside: events in, effects out, and the log between two lives of a machine.

mod classic_join;
mod classic_round;
mod host;
mod partitions;
