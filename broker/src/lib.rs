//! The broker: Kafka's requests answered from Ottla's logs and metadata.

pub mod cli;
pub mod config;
mod identity;
mod run;
mod running;
mod threads;

pub use identity::IdentityError;
pub use run::run;
pub use running::{Fault, OpenListener, RunningBroker, StartError, StopError};
