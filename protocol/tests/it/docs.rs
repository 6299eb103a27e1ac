//! `docs/protocol.md` lists the APIs as the table has them: rendered here, compared with the file. `OTTLA_RENDER=1` writes
//! it anew.

use std::fmt::Write as _;
use std::path::Path;

use ottla_protocol::api::{ApiKey, Listeners};
use ottla_protocol::codec::VersionRange;

use crate::data::{lines, number};

const HEAD: &str = "\
# Protocol

Every API of Apache Kafka 4.4 has its messages in `protocol/src/messages`, one file each, which says what each version
changed. The table is rendered from `protocol/src/api.rs` by a test; which of the APIs a broker serves is another
question, answered by the README.

* **versions**: those that the messages have. What Kafka removed in 4.0 is not among them. An unstable version is in
  brackets: it can be read and written, its form may still change, and it is never advertised.
* **Kafka**: what a 4.4.0 broker advertises, or its controller where only that serves it; – for what it serves without
  saying so.
* **flexible**: the first version with compact lengths and tagged fields (KIP-482), and so with the newer headers. The
  answer to ApiVersions keeps the old header in all versions.
* **before login**: whether a client may send it before it has authenticated.

| key | API | versions | Kafka | flexible | listener | before login |
|----:|-----|----------|-------|----------|----------|--------------|
";

const TAIL: &str = "
What is read beyond the letter of the schemas, as Kafka reads it: unsigned variable-length numbers longer than needed;
tagged fields out of order or given twice (the last one counts), with any announced size if they are known; texts that
are no UTF-8, whose bad bytes become U+FFFD; bytes behind a request. What is refused, as Kafka refuses it: arrays of more
than 1,000,000 elements, sections of more than 10,000 tagged fields, null where the version does not allow it.
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
    rendered.push_str(TAIL);

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/protocol.md");
    if std::env::var_os("OTTLA_RENDER").is_some() {
        std::fs::write(&path, &rendered).expect("docs/protocol.md can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == rendered,
        "docs/protocol.md is stale: OTTLA_RENDER=1 cargo test -p ottla-protocol docs"
    );
}

fn range_text(versions: VersionRange) -> String {
    match versions {
        VersionRange { first, last } if first == last => first.to_string(),
        VersionRange { first, last } => format!("{first}–{last}"),
    }
}
