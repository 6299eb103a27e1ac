//! Groups of the classic protocol. Members join a round and wait for each other; one of them, the leader, assigns, and
//! the coordinator passes on what it says without reading it.

use ottla_model::GroupId;

/// A group of the classic protocol.
#[derive(Debug)]
pub(crate) struct ClassicGroup {
    /// Its name.
    pub(crate) id: GroupId,
}

/// What is to be done after the records of an event were appended, or were not.
#[derive(Debug)]
pub(crate) enum ClassicAfter {}
