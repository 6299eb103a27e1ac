//! The command line of `ottla-broker`: a configuration file, pairs that lie above it, the directory for the data.
//! Reads arguments, nothing else.

use std::path::PathBuf;

use clap::Parser;

use crate::config::Sources;

/// What was asked for.
#[derive(Debug, Parser)]
#[command(
    name = "ottla-broker",
    version,
    after_long_help = crate::explain::most_important(),
    about = "A log broker that Kafka's clients and tools can use.",
    long_about = "A log broker that Kafka's clients and tools can use.\n\n\
        Without any argument it listens on 127.0.0.1:9092 and keeps its data in $XDG_DATA_HOME/ottla, or \
        ~/.local/share/ottla. Configurations have Kafka's names. Of several values for one of them the last in this \
        list counts: the default, the file of --config, environment variables (KAFKA_LOG_DIRS or OTTLA_LOG_DIRS for \
        log.dirs), --override, --data. Numbers may have a unit, as 7d or 1GiB. SIGHUP reads the file again and takes over \
        what can change while the broker runs.\n\n\
        OTTLA_LOG or RUST_LOG sets what is logged to stderr: error, warn, info, debug or trace, also a module's."
)]
pub struct Arguments {
    /// A properties file, such as Kafka's server.properties
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The directory for the data; made if it does not exist
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// A configuration that goes before the file's and the environment's; may be repeated
    #[arg(long = "override", value_name = "KEY=VALUE", value_parser = pair)]
    pub overrides: Vec<(String, String)>,

    /// Print every configuration with its value, and who set it, and exit; =non-defaults prints those that somebody set
    #[arg(long, value_name = "WHICH", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub print_config: Option<Which>,

    /// Say all that is wrong with the configuration, look whether its directories and ports can be had, and exit: with 0
    /// if the broker could start. Nothing is written
    #[arg(long, conflicts_with = "print_config")]
    pub check_config: bool,

    /// Say what is known of the configurations that have this word in their names, and exit
    #[arg(long, value_name = "WORD")]
    pub explain: Option<String>,
}

/// What `--print-config` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Which {
    /// Every configuration
    All,
    /// Those that somebody set
    NonDefaults,
}

impl Arguments {
    /// Where the configuration is to be read from, the environment among it.
    #[must_use]
    pub fn sources(&self, environment: Vec<(String, String)>) -> Sources {
        Sources {
            file: self.config.clone(),
            environment,
            overrides: self.overrides.clone(),
            data: self.data.clone(),
        }
    }
}

/// The process's environment. Variables that are not UTF-8 name no configuration.
#[must_use]
pub fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("it must be written KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_become_sources() {
        let arguments = Arguments::try_parse_from([
            "ottla-broker",
            "--config",
            "server.properties",
            "--override",
            "num.partitions=3",
            "--data",
            "/data",
            "--override",
            "listeners=PLAINTEXT://127.0.0.1:0?a=b",
        ])
        .unwrap();
        let sources = arguments.sources(Vec::new());
        assert_eq!(sources.file, Some(PathBuf::from("server.properties")));
        assert_eq!(sources.data, Some(PathBuf::from("/data")));
        assert_eq!(
            sources.overrides,
            [
                ("num.partitions".to_owned(), "3".to_owned()),
                ("listeners".to_owned(), "PLAINTEXT://127.0.0.1:0?a=b".to_owned()),
            ]
        );
    }

    #[test]
    fn an_override_without_a_key_or_a_value_is_refused() {
        for text in ["num.partitions", "=3", " =3"] {
            assert!(Arguments::try_parse_from(["ottla-broker", "--override", text]).is_err(), "{text}");
        }
    }
}
