//! What the command-line tools do, apart from reading their arguments: each prints to a writer that it is handed and
//! says how it ended, so that a test can run it without a process. Data go to standard output in Apache Kafka's own
//! text, findings and errors to standard error.

pub mod dump_log;
pub mod get_offset;

use std::process::ExitCode;

/// How a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All was well.
    Fine,
    /// What was asked for could not be done.
    Failed,
    /// It was done, and something was found that should not be: damage, a skipped partition.
    Findings,
}

impl From<Ending> for ExitCode {
    /// 0, 1 and 3; 2 is what wrong usage ends with.
    fn from(ending: Ending) -> Self {
        Self::from(match ending {
            Ending::Fine => 0,
            Ending::Failed => 1,
            Ending::Findings => 3,
        })
    }
}
