//! Ottla's coordinators: one [`GroupMachine`] for each partition of `__consumer_offsets`, with both group protocols and the
//! offsets that groups commit, and one [`TransactionMachine`] for each partition of `__transaction_state`. They open no
//! file and no socket, read no clock and draw no random number: events and time go in, [`Effects`] come out, and the host
//! (the broker) carries them out. What both have in common is [`Machine`].
//!
//! **One path for serving and loading.** What a group or a transaction durably is lies in the partition's log and nowhere else. `handle`
//! decides and gives records; the host appends them as one batch and calls `settle`, and only then are they *replayed*
//! into the state. Loading replays the same records from the log. Hence nothing is to be undone when an append fails:
//! `settle` with a failure only answers those who wait and takes back what was soft.
//!
//! **Soft state** is what a restart may forget: requests that wait, timers, the joins of a round that has not ended, ids
//! handed out and not yet used. It lives beside the durable state, is changed by `handle` and `tick`, and `loaded` makes
//! it anew, as Kafka does: each member of a loaded group gets a whole session to be heard from.
//!
//! **Answers.** Each request is answered once, with its [`Token`]. [`Leaves::WhenCommitted`] says that the answer leaves
//! after the high watermark has passed all that is in the log, reads too: nobody is told of what could still be lost.

mod compute;
mod config;
mod contract;
mod effects;
mod event;
mod group;
mod machine;
mod partition;
mod records;
mod reply;
mod time;
mod timers;
mod topics;
mod transaction;

pub use compute::{Compute, Computed};
pub use config::{
    ClassicConfig, ConsumerConfig, GroupConfig, GroupOverrides, MigrationPolicy, OffsetsConfig,
};
pub use contract::Machine;
pub use effects::{Answer, Append, AppendFailure, Effects, Leaves, Record};
pub use event::{Client, Event, Token, TopicFilter};
pub use group::assignor;
pub use group::offsets::CommittedOffset;
pub use machine::{GroupMachine, GroupView, ReplayError, Replayed};
pub use partition::coordinator_partition;
pub use reply::{ANSWER_BYTES_MAX, Reply, refusal};
pub use time::Now;
pub use topics::{Topic, TopicTable, Topics};
pub use transaction::{
    Begun, Identity, ListFilter, MarkerOrder, MarkerOutcome, Partitions, PatternError, Transaction,
    TransactionConfig, TransactionEffects, TransactionEvent, TransactionMachine, TransactionPattern,
    TransactionRecordError, TransactionReply, TransactionState,
};
