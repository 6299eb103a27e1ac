//! The rules that look at one line of one file at a time.

use super::Finding;
use super::source::Source;

/// Words that must not stand in certain places, and why.
struct Rule {
    words: &'static [&'static str],
    /// Which view of a file the words are looked for in.
    view: View,
    /// Whether unit tests, `tests/`, benches and examples are held to it as well.
    in_tests: bool,
    /// The folders and files that it holds for; none means all.
    only_in: &'static [&'static str],
    /// The folders and files that may.
    places: &'static [&'static str],
    message: &'static str,
}

#[derive(Clone, Copy)]
enum View {
    Code,
    Uncommented,
    Text,
}

const RULES: &[Rule] = &[
    Rule {
        words: &["SystemTime::now", "UNIX_EPOCH.elapsed"],
        view: View::Code,
        in_tests: false,
        only_in: &[],
        places: &["protocol/model/src/clock.rs", "tools/", "xtask/"],
        message: "the wall clock is an argument (model's Clock)",
    },
    Rule {
        words: &["Instant::now"],
        view: View::Code,
        in_tests: false,
        only_in: &[
            "protocol/",
            "index/",
            "storage/",
            "broker/cluster/",
            "broker/coordinator/",
            "broker/security/",
        ],
        places: &[],
        message: "the time is an argument in the layers that do no I/O of their own accord",
    },
    Rule {
        words: &["rand::", "getrandom", "fastrand", "thread_rng", "/dev/urandom"],
        view: View::Uncommented,
        in_tests: false,
        only_in: &[],
        places: RANDOMNESS,
        message: "randomness is an argument, taken from the machine in one place",
    },
    Rule {
        words: &["unsafe"],
        view: View::Code,
        in_tests: true,
        only_in: &[],
        places: &["index/src/mmap.rs"],
        message: "unsafe lives in index/src/mmap.rs alone",
    },
    Rule {
        words: &["ErrorCode", "error_code"],
        view: View::Code,
        in_tests: false,
        only_in: &["storage/", "index/", "network/"],
        places: &["network/peer/"],
        message: "Kafka's error codes are not for this layer; give the cause, the broker translates",
    },
    Rule {
        words: &["todo!", "unimplemented!", "dbg!"],
        view: View::Code,
        in_tests: true,
        only_in: &[],
        places: &[],
        message: "a leftover",
    },
    Rule {
        words: &["FIXME", "TODO", "XXX"],
        view: View::Text,
        in_tests: true,
        only_in: &[],
        places: &["xtask/src/tidy/"],
        message: "a leftover: finish it, or say what is so and why",
    },
];

/// Where the machine's randomness is read: a new cluster's, node's and directory's ids, and chores' seeds.
const RANDOMNESS: &[&str] = &["broker/src/identity.rs", "tools/", "xtask/"];

pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !source.text.starts_with("//!") {
        findings.push(Finding::new(&source.path, 1, "opens with no `//!` that says why the file exists"));
    }
    let path = source.path.to_string_lossy();
    for rule in RULES {
        let held = rule.only_in.is_empty() || rule.only_in.iter().any(|place| path.starts_with(place));
        let excused = rule.places.iter().any(|place| path.starts_with(place));
        if held && !excused {
            findings.extend(breaches(rule, source));
        }
    }
    findings
}

fn breaches(rule: &Rule, source: &Source) -> Vec<Finding> {
    if source.is_test_file() && !rule.in_tests {
        return Vec::new();
    }
    let end = if rule.in_tests { usize::MAX } else { source.unit_tests_line() };
    let view = match rule.view {
        View::Code => &source.code,
        View::Uncommented => &source.uncommented,
        View::Text => &source.text,
    };
    let mut findings = Vec::new();
    for (line, text) in (1..end).zip(view.lines()) {
        if let Some(word) = rule.words.iter().find(|word| holds_word(text, word)) {
            findings.push(Finding::new(&source.path, line, format!("`{word}`: {}", rule.message)));
        }
    }
    findings
}

/// Whether `word` stands in `text` and is not the end or the beginning of a longer one.
fn holds_word(text: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let open_ended = !word.ends_with(part_of_word);
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(|c| part_of_word(c) && word.starts_with(part_of_word))
            && (open_ended || !after.is_some_and(part_of_word))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let source = Source::new(Path::new(path), format!("//! A file.\n{text}\n"));
        check(&source).iter().map(ToString::to_string).collect()
    }

    fn assert_found(path: &str, text: &str) {
        let found = messages(path, text);
        assert_eq!(found.len(), 1, "{path}: {text}: {found:?}");
        assert!(found[0].starts_with(&format!("{path}:2: ")), "{found:?}");
    }

    #[track_caller]
    fn assert_clean(path: &str, text: &str) {
        assert_eq!(messages(path, text), Vec::<String>::new());
    }

    #[test]
    fn a_file_without_a_head_is_found() {
        let source = Source::new(Path::new("broker/src/lib.rs"), "mod a;\n".to_owned());
        assert_eq!(check(&source).len(), 1);
    }

    #[test]
    fn a_clock_outside_its_places_is_found() {
        assert_found("broker/src/run.rs", "let now = SystemTime::now();");
        assert_found("storage/src/log.rs", "let now = std::time::Instant::now();");
        assert_clean("broker/src/run.rs", "let now = Instant::now();");
        assert_clean("protocol/model/src/clock.rs", "let now = SystemTime::now();");
    }

    #[test]
    fn randomness_outside_its_places_is_found() {
        assert_found("broker/src/run.rs", "let file = File::open(\"/dev/urandom\");");
        assert_found("client/src/retry.rs", "let jitter = rand::random();");
        assert_clean("client/src/retry.rs", "let operand = operand::new();");
    }

    #[test]
    fn unsafe_is_found_in_code_and_not_in_words() {
        assert_found("storage/src/io/posix.rs", "unsafe { close(fd) }");
        assert_found("broker/tests/it/main.rs", "unsafe { close(fd) }");
        assert_clean("index/src/mmap.rs", "unsafe { map(fd) }");
        assert_clean(
            "storage/src/io/posix.rs",
            "// unsafe\n#![deny(unsafe_code)] // never unsafe\nlet s = \"unsafe\";",
        );
    }

    #[test]
    fn an_error_code_below_the_broker_is_found() {
        assert_found("storage/src/log.rs", "use ottla_model::ErrorCode;");
        assert_found("network/src/service.rs", "fn error_code() {}");
        assert_clean("network/peer/src/call.rs", "use ottla_model::ErrorCode;");
        assert_clean("broker/src/error_map.rs", "use ottla_model::ErrorCode;");
    }

    #[test]
    fn leftovers_are_found() {
        assert_found("client/src/lib.rs", "dbg!(x);");
        assert_found("client/src/lib.rs", "// FIXME: wrong");
        assert_found("client/tests/it/main.rs", "todo!()");
        assert_clean("client/src/lib.rs", "let toDO = \"dbg!\";");
    }

    #[test]
    fn unit_tests_may_read_the_clock() {
        assert_clean("storage/src/log.rs", "#[cfg(test)]\nmod tests {\n    fn t() { Instant::now(); }\n}");
        assert_clean("storage/tests/it/main.rs", "fn t() { SystemTime::now(); }");
    }
}
