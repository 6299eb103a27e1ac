//! The health of a directory. After a failed fsync nobody knows what is on the disk, and another fsync may claim
//! success: the directory takes no more writes, its first failure is kept and told, reads go on, and a restart recovers.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::log::LogError;

/// Why a directory takes no more writes.
#[derive(Debug)]
pub struct DirectoryFailure {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl fmt::Display for DirectoryFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { action, path, source } = self;
        write!(f, "no more writes after a failure to {action} {}: {source}", path.display())
    }
}

/// Sound, or failed for good.
#[derive(Debug, Default)]
pub(crate) struct Health {
    failure: OnceLock<Arc<DirectoryFailure>>,
}

impl Health {
    /// Refuses where the directory has failed.
    pub(crate) fn check(&self) -> Result<(), LogError> {
        match self.failure.get() {
            Some(failure) => Err(LogError::DirectoryFailed(Arc::clone(failure))),
            None => Ok(()),
        }
    }

    pub(crate) fn failure(&self) -> Option<&Arc<DirectoryFailure>> {
        self.failure.get()
    }

    /// Ends writing, and returns the error to answer. The first failure stays the reason.
    pub(crate) fn fail(&self, action: &'static str, path: PathBuf, source: io::Error) -> LogError {
        let failure = self.failure.get_or_init(|| {
            tracing::error!(action, path = %path.display(), error = %source, "a log directory takes no more writes");
            Arc::new(DirectoryFailure { action, path, source })
        });
        LogError::DirectoryFailed(Arc::clone(failure))
    }

    /// As [`Health::fail`], for an error that names file and action already.
    pub(crate) fn fail_with(&self, error: LogError) -> LogError {
        match error {
            LogError::Io { action, path, source } => self.fail(action, path, source),
            other => other,
        }
    }
}
