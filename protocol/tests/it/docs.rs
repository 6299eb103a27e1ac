//! `docs/protocol.md` lists the APIs as the table has them: rendered here between its two marks, compared with the file.
//! `OTTLA_RENDER=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use ottla_protocol::api::{ApiKey, Listeners};
use ottla_protocol::codec::VersionRange;

use crate::data::{lines, number};

const BEGIN: &str = "<!-- apis:begin (rendered from protocol/src/api.rs) -->\n";
const END: &str = "<!-- apis:end -->";
const HEAD: &str = "\
| key | API | versions | Kafka | flexible | listener | before login |
|----:|-----|----------|-------|----------|----------|--------------|
";

#[test]
fn protocol_md_lists_every_api_of_the_table() {
    let kafka = lines("schemas/api-versions.jsonl.gz");
    let mut rendered = HEAD.to_owned();
    for key in ApiKey::ALL {
        let api = key.api();
        let line =
            kafka.iter().find(|line| number::<i16>(line, "key") == key.number()).expect("a line of Kafka's");
        let advertised = [&line["broker"], &line["controller"]].into_iter().find(|range| range.is_object());
        let advertised = advertised.map_or("–".to_owned(), |range| {
            range_text(VersionRange::new(number(range, "min"), number(range, "max")))
        });
        let unstable = api.unstable.map_or(String::new(), |version| format!(" ({version})"));
        let flexible = api.flexible.map_or("–".to_owned(), |first| first.to_string());
        let listener = match api.listeners {
            Listeners::Broker => "broker",
            Listeners::Controller => "controller",
            Listeners::Both => "both",
        };
        let before_auth = if api.before_auth { "yes" } else { "" };
        writeln!(
            rendered,
            "| {} | {} | {}{unstable} | {advertised} | {flexible} | {listener} | {before_auth} |",
            key.number(),
            api.name,
            range_text(api.versions),
        )
        .expect("a text grows");
    }

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/protocol.md");
    let document = std::fs::read_to_string(&path).expect("docs/protocol.md is there");
    let (before, rest) = document.split_once(BEGIN).expect("the table's begin is marked");
    let (_, after) = rest.split_once(END).expect("the table's end is marked");
    let rendered = format!("{before}{BEGIN}{rendered}{END}{after}");
    if std::env::var_os("OTTLA_RENDER").is_some() {
        std::fs::write(&path, rendered).expect("docs/protocol.md can be written");
    } else {
        assert!(
            document == rendered,
            "docs/protocol.md is stale: OTTLA_RENDER=1 cargo test -p ottla-protocol docs"
        );
    }
}

fn range_text(versions: VersionRange) -> String {
    match versions {
        VersionRange { first, last } if first == last => first.to_string(),
        VersionRange { first, last } => format!("{first}–{last}"),
    }
}
