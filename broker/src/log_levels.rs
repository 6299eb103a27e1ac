//! How much each part of the broker logs, changed while it runs (`kafka-configs --entity-type broker-loggers`). The
//! loggers are the modules of this program and `root`; a level lasts until the next start. Writes no log itself.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// The logger from which all others have their level that have none of their own.
pub const ROOT: &str = "root";

/// The parts that log, beside `root`.
const LOGGERS: &[&str] = &[
    "ottla_broker",
    "ottla_broker::auto_create",
    "ottla_broker::background",
    "ottla_broker::dispatch",
    "ottla_broker::flusher",
    "ottla_broker::handlers",
    "ottla_broker::machine_host",
    "ottla_broker::metadata_thread",
    "ottla_broker::partition",
    "ottla_broker::reconcile",
    "ottla_broker::reconfigure",
    "ottla_broker::run",
    "ottla_cluster",
    "ottla_coordinator",
    "ottla_network",
    "ottla_storage",
];

/// Loggers that may have a level of their own at once.
const SET_MAX: usize = 1000;
/// The longest name of a logger.
const NAME_BYTES_MAX: usize = 200;

/// How much is logged. The words are Kafka's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Everything.
    Trace,
    /// What helps to find a fault.
    Debug,
    /// One event a decision.
    Info,
    /// What somebody should see to.
    Warn,
    /// What has failed.
    Error,
    /// The same here as [`Error`](Self::Error).
    Fatal,
}

impl Level {
    /// All of them as Kafka lists them.
    pub const ALL: [Self; 6] = [Self::Debug, Self::Error, Self::Fatal, Self::Info, Self::Trace, Self::Warn];

    /// Kafka's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Trace => "TRACE",
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }

    /// The level of Kafka's word, in capitals as Kafka wants it.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.word() == word)
    }

    /// The word in a directive of the log's filter.
    const fn directive(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error | Self::Fatal => "error",
        }
    }

    fn of_directive(word: &str) -> Option<Self> {
        Self::parse(&word.trim().to_ascii_uppercase())
    }
}

/// Why a level is not changed; the words are Kafka's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LevelError {
    /// No part of this program has the name.
    #[error("Logger {0} does not exist!")]
    NoSuchLogger(String),
    /// No such level.
    #[error(
        "Cannot set the log level of {logger} to {level} as it is not a supported log level. Valid log levels are \
         DEBUG, ERROR, FATAL, INFO, TRACE, WARN"
    )]
    NoSuchLevel {
        /// Whose.
        logger: String,
        /// What was asked for.
        level: String,
    },
    /// Every logger needs one from which it has its level.
    #[error("Removing the log level of the root logger is not allowed")]
    Root,
    /// There are too many already.
    #[error("{SET_MAX} loggers have a level of their own already")]
    TooMany,
}

/// A change of one logger's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelChange {
    /// It gets one of its own.
    Set(Level),
    /// It has that of the logger above it again.
    Unset,
}

/// Hands the directives of a filter to whoever writes the log.
type Apply = Box<dyn Fn(&str) + Send + Sync>;

/// The levels now.
pub struct LogLevels {
    /// What the environment said at the start.
    base: String,
    set: Mutex<BTreeMap<String, Level>>,
    apply: Apply,
}

impl LogLevels {
    /// The levels of a log that begins with these directives (`info,ottla_storage=debug`); `apply` is called with other
    /// ones when a level has changed.
    pub fn new(base: &str, apply: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { base: base.to_owned(), set: Mutex::default(), apply: Box::new(apply) }
    }

    /// Levels that nobody's log obeys, for a broker within another program.
    #[must_use]
    pub fn unattached() -> Self {
        Self::new("info", |_| {})
    }

    /// Every logger with the level in force, in the order of their names.
    #[must_use]
    pub fn all(&self) -> Vec<(String, Level)> {
        let set = self.set.lock();
        let mut names: Vec<String> = LOGGERS.iter().map(|name| (*name).to_owned()).collect();
        names.push(ROOT.to_owned());
        names.extend(set.keys().cloned());
        names.sort();
        names.dedup();
        names
            .into_iter()
            .map(|name| (self.level_of(&set, &name), name))
            .map(|(level, name)| (name, level))
            .collect()
    }

    /// Whether a change can be made.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, logger: &str, change: LevelChange) -> Result<(), LevelError> {
        if !exists(logger) {
            return Err(LevelError::NoSuchLogger(logger.to_owned()));
        }
        match change {
            LevelChange::Unset if logger == ROOT => Err(LevelError::Root),
            LevelChange::Set(_) if self.set.lock().len() >= SET_MAX => Err(LevelError::TooMany),
            _ => Ok(()),
        }
    }

    /// Changes levels, all at once, and says so in the log.
    pub fn change(&self, changes: &[(String, LevelChange)]) {
        let mut told = Vec::new();
        let directives = {
            let mut set = self.set.lock();
            for (logger, change) in changes {
                let old = self.level_of(&set, logger);
                match change {
                    LevelChange::Set(level) => set.insert(logger.clone(), *level),
                    LevelChange::Unset => set.remove(logger),
                };
                told.push((logger, old, self.level_of(&set, logger)));
            }
            self.directives(&set)
        };
        (self.apply)(&directives);
        for (logger, old, new) in told {
            tracing::info!(
                logger,
                old = old.word(),
                new = new.word(),
                source = "dynamic config",
                "a level of the log has changed"
            );
        }
    }

    fn directives(&self, set: &BTreeMap<String, Level>) -> String {
        let mut text = self.base.clone();
        for (logger, level) in set {
            text.push(',');
            if logger != ROOT {
                text.push_str(logger);
                text.push('=');
            }
            text.push_str(level.directive());
        }
        text
    }

    /// The level of the logger itself, or of the next one above it that has one.
    fn level_of(&self, set: &BTreeMap<String, Level>, logger: &str) -> Level {
        let mut name = logger;
        loop {
            if let Some(level) = set.get(name).copied().or_else(|| self.base_level(name)) {
                return level;
            }
            name = match name.rsplit_once("::") {
                Some((above, _)) => above,
                None if name == ROOT => return Level::Error,
                None => ROOT,
            };
        }
    }

    /// What the first directives say of a logger; those with spans or fields say nothing of it.
    fn base_level(&self, logger: &str) -> Option<Level> {
        let mut found = None;
        for directive in self.base.split(',') {
            let (target, level) = directive.split_once('=').unwrap_or((ROOT, directive));
            if target.trim() == logger {
                found = Level::of_directive(level).or(found);
            }
        }
        found
    }
}

impl std::fmt::Debug for LogLevels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogLevels").field("base", &self.base).field("set", &self.set).finish_non_exhaustive()
    }
}

/// Whether the name is `root`, a part that logs, or a module within one.
fn exists(logger: &str) -> bool {
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let is_within = LOGGERS.iter().any(|known| {
        logger.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    });
    logger == ROOT || (logger.len() <= NAME_BYTES_MAX && is_within && logger.split("::").all(is_word))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_level_holds_for_what_is_below_and_goes_when_unset() {
        let said = Arc::new(Mutex::new(String::new()));
        let sink = Arc::clone(&said);
        let levels =
            LogLevels::new("info,ottla_storage=debug", move |text| text.clone_into(&mut sink.lock()));
        let level =
            |name: &str| levels.all().into_iter().find(|(other, _)| other == name).map(|(_, level)| level);
        assert_eq!(level(ROOT), Some(Level::Info));
        assert_eq!(level("ottla_storage"), Some(Level::Debug));
        levels.change(&[("ottla_broker".to_owned(), LevelChange::Set(Level::Trace))]);
        assert_eq!(level("ottla_broker::flusher"), Some(Level::Trace));
        assert_eq!(*said.lock(), "info,ottla_storage=debug,ottla_broker=trace");
        levels.change(&[(ROOT.to_owned(), LevelChange::Set(Level::Fatal))]);
        assert_eq!(level("ottla_network"), Some(Level::Fatal));
        assert_eq!(*said.lock(), "info,ottla_storage=debug,ottla_broker=trace,error");
        levels.change(&[("ottla_broker".to_owned(), LevelChange::Unset)]);
        assert_eq!(level("ottla_broker::flusher"), Some(Level::Fatal));
    }

    #[test]
    fn only_parts_of_this_program_are_loggers() {
        for name in ["root", "ottla_storage", "ottla_broker::handlers::fetch"] {
            assert!(exists(name), "{name}");
        }
        for name in [
            "",
            "ottla_stor",
            "ottla_storagex",
            "kafka.server.KafkaApis",
            "ottla_broker::",
            "ottla_broker=debug",
        ] {
            assert!(!exists(name), "{name}");
        }
    }
}
