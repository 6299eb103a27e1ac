//! What a log promises, seen from outside: over files that Apache Kafka wrote, and over its own after every kind of end.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod append;
mod archive;
mod clean_stop;
mod compaction;
mod contract;
mod crash;
mod damage;
mod directory;
mod faults;
mod kafka_damage;
mod kafka_logs;
mod kafka_sets;
mod manager;
mod old_formats;
mod recovery;
mod retention;
mod start;
mod support;
mod times;
mod transactions;
