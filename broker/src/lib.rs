//! The broker: Kafka's requests answered from Ottla's logs and metadata.

mod assignments;
mod auto_create;
mod background;
pub mod cli;
pub mod config;
mod connection_state;
pub mod context;
mod delayed;
mod disk_watch;
mod dispatch;
mod error_map;
mod flusher;
mod handlers;
mod identity;
mod internal_topics;
mod log_dirs;
mod machine_host;
mod metadata_thread;
mod partition;
mod partition_map;
mod producer_ids;
mod reconcile;
mod reply;
mod room;
mod run;
mod running;
mod threads;
mod write_errors;

pub use background::{BackgroundState, CleanerState, RetentionState, Uncleanable};
pub use dispatch::{SERVED, Served};
pub use identity::IdentityError;
pub use machine_host::lag::{GroupLag, LagEnds};
pub use metadata_thread::Fault;
pub use run::run;
pub use running::{OpenListener, RunningBroker, StartError, StopError};
