//! The tools as a user sees them: what they print and how they end.

mod dump_log;
