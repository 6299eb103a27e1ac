//! Requests that wait: for records to be there, for a flush. Waiting costs an entry in a table and a place in the
//! connection's ring; no task, channel or timer of its own.

mod deadlines;
pub(crate) mod fetch;
pub(crate) mod produce;
pub(crate) mod waits;
