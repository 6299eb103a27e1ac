//! Black-box tests of the broker: each starts one, in this process or as one of its own, and speaks Kafka's protocol
//! to it or reads what it prints. One module a behaviour.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod admin;
mod alter_configs;
mod api_docs;
mod api_versions;
mod bomb;
mod checkpoints;
mod cleanup;
mod config_docs;
mod config_fuzz;
mod config_life;
mod delete_records;
mod describe_configs;
mod fetch;
mod find_coordinator;
mod folders;
mod group_answers;
mod group_lag;
mod group_offsets;
mod group_requests;
mod group_restart;
mod groups;
mod hostile;
mod http;
mod idempotence;
mod kill;
mod list_offsets;
mod listeners;
mod log_dirs;
mod metadata;
mod metrics;
mod produce;
mod quotas;
mod read_committed;
mod requests;
mod service_manager;
mod start;
mod stop;
mod topics;
mod transactions;
mod twin;

/// The binary under test.
const BROKER: &str = env!("CARGO_BIN_EXE_ottla-broker");
