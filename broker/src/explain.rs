//! What the command line prints of the configuration tables: the properties that matter most, under `--help`; all that
//! is known of some of them, for `--explain`; and the values in force, for `--print-config`.

use std::fmt::Write as _;

use crate::config::property::{Effect, Importance, Property};
use crate::config::topic::TOPIC_PROPERTIES;
use crate::config::{self, BrokerConfig, Origin};

/// A line is no longer than this where it can be helped.
const LINE_CHARS_MAX: usize = 100;

/// The properties of high importance that act, for the end of `--help`.
#[must_use]
pub fn most_important() -> String {
    let mut text =
        "Configurations that matter most (--explain WORD tells of all that have the word in their name):\n"
            .to_owned();
    let matters = |property: &&Property| {
        property.importance == Importance::High && property.effect == Effect::Acts && !property.internal
    };
    for property in config::broker_properties().iter().filter(matters) {
        let _ = writeln!(text, "  {} ({})", property.name, default_of(property));
        for line in wrapped(property.doc, LINE_CHARS_MAX - 6) {
            let _ = writeln!(text, "      {line}");
        }
    }
    text
}

/// All that is known of the properties whose names have this word in them.
#[must_use]
pub fn explain(word: &str) -> String {
    let word = word.to_ascii_lowercase();
    let mut text = String::new();
    for property in config::broker_properties().iter().filter(|property| property.name.contains(&word)) {
        explain_one(&mut text, property, &[]);
    }
    for row in TOPIC_PROPERTIES.iter().filter(|row| row.property.name.contains(&word)) {
        let names: Vec<_> = row.synonyms.iter().map(|synonym| synonym.name).collect();
        explain_one(&mut text, &row.property, &names);
    }
    for row in config::group_table::GROUP_PROPERTIES.iter().filter(|row| row.property.name.contains(&word)) {
        explain_one(&mut text, &row.property, &row.broker.into_iter().collect::<Vec<_>>());
    }
    for property in config::client_metrics::CLIENT_METRICS_PROPERTIES {
        if property.name.contains(&word) {
            explain_one(&mut text, property, &[]);
        }
    }
    if text.is_empty() {
        let _ = writeln!(text, "No configuration has {word} in its name.");
    }
    text
}

fn explain_one(text: &mut String, property: &Property, inherited_from: &[&str]) {
    let (scope, importance) = (property.scope.word(), property.importance.word());
    let _ = writeln!(text, "{} ({scope}, importance {importance})", property.name);
    let doc = match property.effect {
        Effect::Acts => property.doc.to_owned(),
        Effect::NotYet => "This version does not act on it yet.".to_owned(),
        Effect::Meaningless(why) => format!("It has no effect here: {why}."),
    };
    for line in wrapped(&doc, LINE_CHARS_MAX - 4) {
        let _ = writeln!(text, "    {line}");
    }
    let _ = writeln!(text, "    It must be {}; {}.", property.bounds(), default_of(property));
    if !inherited_from.is_empty() {
        let _ = writeln!(text, "    Where it is not set it is that of {}.", inherited_from.join(", "));
    }
    text.push('\n');
}

fn default_of(property: &Property) -> String {
    match property.default {
        Some("") | None => "no default".to_owned(),
        Some(default) => format!("default {default}"),
    }
}

/// Every value, or those alone that somebody set, as a properties file; what somebody set stands under a comment that
/// says who.
#[must_use]
pub fn values(config: &BrokerConfig, non_defaults_only: bool) -> String {
    let mut text = String::new();
    for property in config::broker_properties() {
        let Some(value) = config.settings().text(property.name) else { continue };
        let origin = config.settings().origin(property.name);
        match origin {
            Origin::Default if non_defaults_only => continue,
            Origin::Default => {}
            origin => {
                let _ = writeln!(text, "# {origin}");
            }
        }
        let _ = writeln!(text, "{}={}", property.name, property.shown(value).replace('\\', "\\\\"));
    }
    text
}

/// A text in lines.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { continue };
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_finds_what_has_it_in_its_name() {
        let text = explain("retention.ms");
        for part in [
            "log.retention.ms (cluster, importance high)",
            "retention.ms (topic, importance medium)",
            "Where it is not set it is that of log.retention.ms, log.retention.minutes, log.retention.hours.",
            "a whole number from -1 to 9223372036854775807 ms; default 604800000.",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert_eq!(explain("no.such"), "No configuration has no.such in its name.\n");
    }

    #[test]
    fn the_help_names_what_matters_and_nothing_idle() {
        let text = most_important();
        assert!(text.contains("log.dirs") && !text.contains("\n  background.threads"), "{text}");
        assert!(text.lines().all(|line| line.len() <= LINE_CHARS_MAX), "{text}");
    }
}
