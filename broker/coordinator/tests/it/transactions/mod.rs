//! The transaction machine: what it answers to whom, and that what it decides is carried out whatever happens.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod random;
mod rules;
mod world;
