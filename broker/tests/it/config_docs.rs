//! The tables of docs/config.md are those of the code. With `OTTLA_RENDER=1` the test writes them instead.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ottla_broker::config::broker_properties;
use ottla_broker::config::client_metrics::CLIENT_METRICS_PROPERTIES;
use ottla_broker::config::group_table::GROUP_PROPERTIES;
use ottla_broker::config::property::{Effect, Property};
use ottla_broker::config::topic::TOPIC_PROPERTIES;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/config.md");
/// Defaults that the table does not have, since they are this machine's or this user's.
const MACHINE_DEFAULTS: &[(&str, &str)] =
    &[("log.dir", "the user's data folder"), ("num.network.threads", "one a processor")];

fn default_of(property: &Property) -> String {
    let machine = MACHINE_DEFAULTS.iter().find(|(name, _)| *name == property.name);
    match (machine, property.default) {
        (Some((_, text)), _) => (*text).to_owned(),
        (None, Some(text)) if !text.is_empty() => format!("`{text}`"),
        _ => "–".to_owned(),
    }
}

fn broker_table() -> String {
    let mut text =
        "| property | default | it must be | scope | importance | |\n|---|---|---|---|---|---|\n".to_owned();
    for property in broker_properties().iter().filter(|property| property.effect == Effect::Acts) {
        let (name, default, bounds) = (property.name, default_of(property), property.bounds());
        let (scope, importance) = (property.scope.word(), property.importance.word());
        writeln!(text, "| `{name}` | {default} | {bounds} | {scope} | {importance} | {} |", property.doc)
            .unwrap();
    }
    text
}

fn topic_table() -> String {
    let mut text = "| property | the broker's | it must be | |\n|---|---|---|---|\n".to_owned();
    for row in TOPIC_PROPERTIES {
        let property = &row.property;
        let synonyms: Vec<_> = row.synonyms.iter().map(|synonym| format!("`{}`", synonym.name)).collect();
        let inherited = if synonyms.is_empty() { default_of(property) } else { synonyms.join(", ") };
        let doc = if property.effect == Effect::Acts { property.doc } else { "Does nothing yet." };
        writeln!(text, "| `{}` | {inherited} | {} | {doc} |", property.name, property.bounds()).unwrap();
    }
    text
}

fn group_table() -> String {
    let mut text = "| property | the broker's | it must be | |\n|---|---|---|---|\n".to_owned();
    for row in GROUP_PROPERTIES {
        let property = &row.property;
        let inherited = row.broker.map_or_else(|| default_of(property), |name| format!("`{name}`"));
        let doc = if property.effect == Effect::Acts { property.doc } else { "Does nothing yet." };
        writeln!(text, "| `{}` | {inherited} | {} | {doc} |", property.name, property.bounds()).unwrap();
    }
    text
}

fn client_metrics_table() -> String {
    let mut text = "| property | default | it must be | |\n|---|---|---|---|\n".to_owned();
    for property in CLIENT_METRICS_PROPERTIES {
        let (default, bounds) = (default_of(property), property.bounds());
        writeln!(text, "| `{}` | {default} | {bounds} | {} |", property.name, property.doc).unwrap();
    }
    text
}

fn idle_table() -> String {
    let mut text = "| property | why |\n|---|---|\n".to_owned();
    for property in broker_properties() {
        match property.effect {
            Effect::Acts => {}
            Effect::NotYet => writeln!(text, "| `{}` | not yet |", property.name).unwrap(),
            Effect::Meaningless(reason) => writeln!(text, "| `{}` | {reason} |", property.name).unwrap(),
        }
    }
    text
}

/// Puts a table between its marks.
pub(crate) fn replaced(document: &str, mark: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- {mark}:begin"), format!("<!-- {mark}:end -->"));
    let (before, rest) = document.split_once(&begin).unwrap_or_else(|| panic!("no mark {begin}"));
    let (line, rest) = rest.split_once('\n').unwrap();
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no mark {end}"));
    format!("{before}{begin}{line}\n{table}{end}{after}")
}

#[test]
fn the_tables_of_the_document_are_those_of_the_code() {
    let path = Path::new(DOCUMENT);
    let document = fs::read_to_string(path).unwrap();
    let mut rendered = document.clone();
    let tables = [
        ("broker", broker_table()),
        ("topic", topic_table()),
        ("group", group_table()),
        ("client-metrics", client_metrics_table()),
        ("idle", idle_table()),
    ];
    for (mark, table) in tables {
        rendered = replaced(&rendered, mark, &table);
    }
    if std::env::var_os("OTTLA_RENDER").is_some() {
        fs::write(path, rendered).unwrap();
    } else {
        assert!(
            document == rendered,
            "docs/config.md is stale: OTTLA_RENDER=1 cargo test -p ottla-broker config_docs"
        );
    }
}
