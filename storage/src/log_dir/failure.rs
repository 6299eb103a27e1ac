//! The health of a directory. After a failed fsync nobody knows what is on the disk, and another fsync may claim
//! success: the directory is offline from then on, as in Kafka. It takes no writes and answers no reads, its first failure
//! is kept and told, and a restart recovers. What was read before stays readable.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::log::LogError;

/// Why a directory is offline.
#[derive(Debug, thiserror::Error)]
#[error("the log directory is offline since a failure: {cause}")]
pub struct DirectoryFailure {
    #[source]
    cause: LogError,
}

impl DirectoryFailure {
    pub(crate) fn new(cause: LogError) -> Self {
        Self { cause }
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

    /// Takes the directory offline, and returns the error to answer. The first failure stays the reason.
    pub(crate) fn fail(&self, action: &'static str, path: PathBuf, source: io::Error) -> LogError {
        self.fail_for(LogError::Io { action, path, source })
    }

    /// As [`Health::fail`], for an error that names file and action already; others pass.
    pub(crate) fn fail_with(&self, error: LogError) -> LogError {
        match error {
            error @ LogError::Io { .. } => self.fail_for(error),
            other => other,
        }
    }

    /// As [`Health::fail`], for any reason.
    pub(crate) fn fail_for(&self, cause: LogError) -> LogError {
        if let LogError::DirectoryFailed(_) = cause {
            return cause;
        }
        let failure = self.failure.get_or_init(|| {
            tracing::error!(error = %cause, "a log directory goes offline");
            Arc::new(DirectoryFailure::new(cause))
        });
        LogError::DirectoryFailed(Arc::clone(failure))
    }
}
