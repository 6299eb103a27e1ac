//! The table of what a subscription to clients' metrics says (KIP-714), with the rules of its values. What clients are
//! then told is not decided here.

use regex::Regex;

use super::property::{INT_MAX, INT_MIN, Kind, Property, Scope};

/// The properties of a subscription in the order of their names.
pub static CLIENT_METRICS_PROPERTIES: &[Property] = &[
    Property::new("interval.ms", Kind::Int(INT_MIN, INT_MAX), Some("300000"))
        .of(Scope::ClientMetrics)
        .acts("How often a client that matches pushes its metrics."),
    Property::new("match", Kind::List, Some(""))
        .of(Scope::ClientMetrics)
        .acts("Whose metrics: a list separated by commas of selector=regular expression, all of which hold."),
    Property::new("metrics", Kind::List, Some(""))
        .of(Scope::ClientMetrics)
        .acts("Which metrics, as beginnings of names; * for all."),
];

/// The shortest and the longest `interval.ms`.
const INTERVAL_MS: std::ops::RangeInclusive<i64> = 100..=3_600_000;

/// What a client can be selected by.
const SELECTORS: &[&str] = &[
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
];
/// A regular expression takes no more memory than this.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Why a subscription cannot be so; the message is Kafka's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SubscriptionError {
    /// The request is wrong in itself.
    Request(String),
    /// A value is.
    Config(String),
}

/// The property of this name.
pub(super) fn find(key: &str) -> Option<&'static Property> {
    CLIENT_METRICS_PROPERTIES.iter().find(|property| property.name == key)
}

/// Checks one value.
pub(super) fn check(key: &str, text: &str) -> Result<(), SubscriptionError> {
    let Some(property) = find(key) else {
        return Err(SubscriptionError::Request(format!("Unknown client metrics configuration: {key}")));
    };
    property.parse(text).map_err(|invalid| SubscriptionError::Config(invalid.kafka.into()))?;
    match key {
        "interval.ms" => match text.trim().parse() {
            Ok(ms) if INTERVAL_MS.contains(&ms) => Ok(()),
            _ => Err(SubscriptionError::Request(format!(
                "Invalid value {} for interval.ms, interval must be between {} and {} (1 hour)",
                text.trim(),
                INTERVAL_MS.start(),
                INTERVAL_MS.end()
            ))),
        },
        "match" => check_patterns(text),
        _ => Ok(()),
    }
}

fn check_patterns(text: &str) -> Result<(), SubscriptionError> {
    for pattern in text.split(',').map(str::trim).filter(|pattern| !pattern.is_empty()) {
        let fine = pattern.split_once('=').is_some_and(|(selector, expression)| {
            let expression = regex::RegexBuilder::new(expression).size_limit(PATTERN_BYTES_MAX).build();
            SELECTORS.contains(&selector.trim()) && expression.is_ok_and(|_: Regex| true)
        });
        if !fine {
            let message = format!("Illegal client matching pattern: {pattern}");
            return Err(SubscriptionError::Config(message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_a_selector_and_a_regular_expression() {
        for fine in ["", "client_id=x", "client_id=x, client_software_name=y.*", "client_source_port=1"] {
            assert_eq!(check("match", fine), Ok(()), "{fine}");
        }
        for wrong in ["nonsense", "no_such=x", "client_id=["] {
            let message = format!("Illegal client matching pattern: {wrong}");
            assert_eq!(check("match", wrong), Err(SubscriptionError::Config(message)));
        }
    }
}
