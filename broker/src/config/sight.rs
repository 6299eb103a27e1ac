//! What is told about the running broker, and where: the HTTP endpoint, its metrics, the log. The keys are our own.

use std::time::Duration;

use super::conflicts::Conflict;
use super::settings::Settings;

/// The HTTP endpoint and what its metrics hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpConfig {
    /// `http.address`: host and port; `None` opens none.
    pub address: Option<(String, u16)>,
    /// `metrics.compat`: whose names are told beside our own.
    pub compat: Compat,
    /// `metrics.series.max`: the most samples of a family that grows with topics, groups or clients.
    pub series_max: usize,
}

/// Whose metric names are told beside our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compat {
    /// Those of kafka_exporter.
    pub kafka_exporter: bool,
    /// Those of the JMX exporter over Kafka's own beans.
    pub jmx: bool,
    /// Those of Redpanda's public metrics.
    pub redpanda: bool,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogOutput {
    /// `log.format`.
    pub format: LogFormat,
    /// `log.slow.request.ms`: a request that takes longer is told; `None` tells of none.
    pub slow_request: Option<Duration>,
}

/// The form of an event in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// A line for people.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

impl HttpConfig {
    pub(super) fn new(settings: &Settings) -> Result<Self, Conflict> {
        let text = settings.text("http.address").unwrap_or_default().trim();
        let address = match text {
            "" => None,
            text => Some(host_and_port(text).ok_or_else(|| Conflict::HttpAddress {
                value: text.to_owned(),
                origin: settings.origin("http.address"),
            })?),
        };
        let compat = settings.list("metrics.compat");
        let has = |name: &str| compat.iter().any(|other| other == name);
        Ok(Self {
            address,
            compat: Compat {
                kafka_exporter: has("kafka_exporter"),
                jmx: has("jmx"),
                redpanda: has("redpanda"),
            },
            series_max: super::broker::count(settings, "metrics.series.max"),
        })
    }
}

impl LogOutput {
    pub(super) fn new(settings: &Settings) -> Self {
        let slow = u64::try_from(settings.number("log.slow.request.ms")).unwrap_or(0);
        Self {
            format: match settings.text("log.format") {
                Some("json") => LogFormat::Json,
                _ => LogFormat::Text,
            },
            slow_request: (slow > 0).then(|| Duration::from_millis(slow)),
        }
    }
}

/// `host:port`, an IPv6 address in brackets.
fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = match bare {
        Some(bare) => bare,
        None if host.contains(':') || host.is_empty() => return None,
        None => host,
    };
    Some((host.to_owned(), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BrokerConfig;

    fn load(pairs: &[(&str, &str)]) -> Result<BrokerConfig, String> {
        BrokerConfig::from_pairs(pairs.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_address_has_a_host_and_a_port() {
        let split = |text| host_and_port(text).map(|(host, port)| format!("{host} {port}"));
        assert_eq!(split("127.0.0.1:9404").as_deref(), Some("127.0.0.1 9404"));
        assert_eq!(split("[::1]:0").as_deref(), Some("::1 0"));
        for wrong in ["9404", ":9404", "::1:9404", "localhost:", "localhost:65536"] {
            assert_eq!(split(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn without_a_word_it_is_on_the_loopback_address_and_an_empty_value_turns_it_off() {
        let http = |pairs: &[(&str, &str)]| load(pairs).expect("it can be used").http;
        let default = http(&[]);
        assert_eq!(default.address, Some(("127.0.0.1".to_owned(), 9404)));
        assert_eq!(default.compat, Compat::default());
        assert_eq!(http(&[("http.address", "")]).address, None);
        let compat = http(&[("metrics.compat", "kafka_exporter, jmx")]).compat;
        assert_eq!(compat, Compat { kafka_exporter: true, jmx: true, redpanda: false });
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_form() {
        let refused = load(&[("http.address", "9404")]).unwrap_err();
        assert!(refused.contains("http.address") && refused.contains("host:port"), "{refused}");
        let refused = load(&[("metrics.compat", "statsd")]).unwrap_err();
        assert!(refused.contains("statsd") && refused.contains("kafka_exporter"), "{refused}");
    }

    #[test]
    fn the_log_is_text_unless_told_otherwise_and_tells_slow_requests() {
        let log = |pairs: &[(&str, &str)]| load(pairs).expect("it can be used").log_output;
        assert_eq!(log(&[]).format, LogFormat::Text);
        assert_eq!(log(&[("log.format", "json")]).format, LogFormat::Json);
        assert_eq!(log(&[("log.slow.request.ms", "0")]).slow_request, None);
        assert_eq!(log(&[("log.slow.request.ms", "250")]).slow_request, Some(Duration::from_millis(250)));
    }
}
