//! The list of APIs in README.md is what the broker advertises. With `OTTLA_RENDER=1` the test writes it instead.

use std::fmt::Write as _;
use std::fs;

use ottla_broker::SERVED;

use crate::config_docs::replaced;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");

fn table() -> String {
    let mut text = "| API | key | versions |\n|---|---|---|\n".to_owned();
    for served in SERVED {
        let advertised = served.api.api().advertised(served.versions);
        let (first, last) = (advertised.first, advertised.last);
        let range = if first == last { first.to_string() } else { format!("{first}–{last}") };
        writeln!(text, "| {} | {} | {range} |", served.api.name(), served.api.number()).unwrap();
    }
    text
}

#[test]
fn the_list_of_apis_is_what_is_advertised() {
    let document = fs::read_to_string(README).unwrap();
    let rendered = replaced(&document, "apis", &table());
    if std::env::var_os("OTTLA_RENDER").is_some() {
        fs::write(README, rendered).unwrap();
    } else {
        assert!(
            document == rendered,
            "README.md is stale: OTTLA_RENDER=1 cargo test -p ottla-broker api_docs"
        );
    }
}
