//! What the process does with the machine's limits: how many files and sockets it may hold, and how signals reach it.
//! The threads themselves are started by those whose they are.

use std::thread;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};

/// Descriptors for everything that is neither a connection nor a log: standard streams, listeners, locks, the
/// runtimes' own.
const DESCRIPTORS_RESERVED: u64 = 128;
/// Where the limit cannot be read; every system grants so many.
const DESCRIPTORS_FALLBACK: u64 = 1024;

/// How the process's file descriptors are shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DescriptorShares {
    /// For connections.
    pub(crate) connections: usize,
    /// For logs and their indexes.
    pub(crate) files: usize,
}

impl DescriptorShares {
    /// Half for connections and half for files, after the reserve.
    fn of(limit: u64) -> Self {
        let half = limit.saturating_sub(DESCRIPTORS_RESERVED).max(DESCRIPTORS_RESERVED) / 2;
        let half = usize::try_from(half).unwrap_or(usize::MAX);
        Self { connections: half, files: half }
    }
}

/// Raises the soft limit of descriptors to the hard one and shares them out. A limit that cannot be raised is kept.
pub(crate) fn raise_descriptor_limit() -> DescriptorShares {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return DescriptorShares::of(DESCRIPTORS_FALLBACK);
    };
    let raised = soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok();
    DescriptorShares::of(if raised { hard } else { soft })
}

/// The signals that ask the process to stop, and the one that asks it to read its configuration again.
fn caught_signals() -> SigSet {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGHUP);
    signals
}

/// Sends each SIGTERM, SIGINT and SIGHUP from now on to `to`, in the place of their usual effect. To be called before any
/// other thread is started, since those inherit what this one blocks.
///
/// # Errors
///
/// When the system does not let signals be blocked or has no thread left.
pub(crate) fn catch_signals(to: impl Fn(Signal) + Send + 'static) -> std::io::Result<()> {
    let signals = caught_signals();
    signals.thread_block()?;
    thread::Builder::new().name("ottla-signals".to_owned()).spawn(move || {
        while let Ok(signal) = signals.wait() {
            to(signal);
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_and_files_keep_a_share_each_whatever_the_limit_is() {
        for limit in [0, 100, 1024, 20_000, u64::MAX] {
            let shares = DescriptorShares::of(limit);
            assert!(shares.connections >= 64 && shares.files >= 64, "{limit}: {shares:?}");
        }
        assert_eq!(DescriptorShares::of(20_000), DescriptorShares { connections: 9936, files: 9936 });
    }
}
