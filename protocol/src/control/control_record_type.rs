//! The key of every control record, version 0. The version stands before it.

use crate::Message;

/// The kind of a control record.
#[derive(Debug, Clone, PartialEq, Eq, Message)]
#[message(versions = 0..=0)]
pub struct ControlRecordTypeSchema {
    /// 0 abort, 1 commit, 2 leader change, 3 and 4 snapshot header and footer, 5 KRaft version, 6 voters.
    #[field(name = "type")]
    pub kind: i16,
}
