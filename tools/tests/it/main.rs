//! The tools as a user sees them: what they print and how they end.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod dump_log;
mod get_offset;
