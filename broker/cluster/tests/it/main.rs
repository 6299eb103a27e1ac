//! What the controller decides and what the image makes of it, seen from outside: one module a behaviour.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod alter_configs;
mod create_topics;
mod damage;
mod delete_topics;
mod deltas;
mod embedded;
mod failure;
mod kafka_log;
mod node;
mod operations;
mod producer_ids;
mod registration;
mod replay;
mod support;
