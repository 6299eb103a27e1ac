//! Subscriptions by regular expression: RE2's syntax and its linear time, by crate `regex`. An expression has to match a
//! topic's whole name. Which members have which expression, and when it is looked at anew, is not decided here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use compact_str::CompactString;
use ottla_model::{ErrorCode, TopicName};
use regex::{Regex, RegexBuilder};

use super::Refusal;
use crate::event::TopicFilter;
use crate::topics::Topics;

/// The longest expression, in bytes. It is stored with each member and compiled for each look at the topics.
const PATTERN_BYTES_MAX: usize = 8 * 1024;
/// How much memory a compiled expression may take, in bytes; `a{1000}{1000}` would take much.
const COMPILED_BYTES_MAX: usize = 1024 * 1024;

/// The topics that an expression was found to match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Resolved {
    /// Their names.
    pub(crate) topics: BTreeSet<TopicName>,
    /// Which state of the cluster's topics was looked at.
    pub(crate) version: i64,
    /// When, on the wall clock.
    pub(crate) timestamp_ms: i64,
}

/// Says whether a member may subscribe by this expression.
///
/// # Errors
/// Error 128 with what is wrong with it.
pub(crate) fn check(pattern: &str) -> Result<(), Refusal> {
    compile(pattern).map(drop)
}

fn compile(pattern: &str) -> Result<Regex, Refusal> {
    if pattern.len() > PATTERN_BYTES_MAX {
        let message =
            format!("SubscribedTopicRegex has {} bytes, the limit is {PATTERN_BYTES_MAX}.", pattern.len());
        return Err(Refusal::new(ErrorCode::INVALID_REGULAR_EXPRESSION, message));
    }
    whole_match(pattern).map_err(|why| {
        let message = format!("SubscribedTopicRegex `{pattern}` is not a valid regular expression: {why}.");
        Refusal::new(ErrorCode::INVALID_REGULAR_EXPRESSION, message)
    })
}

/// An expression of RE2's that has to match whole texts; what is wrong with it otherwise.
pub(crate) fn whole_match(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!("it has {} bytes, the limit is {PATTERN_BYTES_MAX}", pattern.len()));
    }
    let build = |text: &str| {
        let built = RegexBuilder::new(text).size_limit(COMPILED_BYTES_MAX).build();
        built.map_err(|error| one_line(&error))
    };
    let ours = from_re2(pattern);
    // Alone first: what is only whole within the group around it is no expression, as `a)(b`.
    build(&ours)?;
    build(&format!("\\A(?:{ours})\\z"))
}

/// The few things that RE2 writes otherwise than the crate: `\Q…\E` around literal text, and classes in which `[`, `&` and
/// `~` are characters like others.
fn from_re2(pattern: &str) -> String {
    let mut ours = String::with_capacity(pattern.len());
    let mut rest = pattern;
    // Inside a class: how many characters it has so far, since `]` as the first of them is a character.
    let mut class: Option<usize> = None;
    while let Some(next) = rest.chars().next() {
        let mut taken = next.len_utf8();
        if next == '\\' {
            if let Some(quoted) = rest.strip_prefix("\\Q") {
                let (text, after) = quoted.split_once("\\E").unwrap_or((quoted, ""));
                ours.push_str(&regex::escape(text));
                rest = after;
                continue;
            }
            taken += rest.get(taken..).and_then(|after| after.chars().next()).map_or(0, char::len_utf8);
            ours.push_str(rest.get(..taken).unwrap_or_default());
        } else if let Some(length) = class {
            match next {
                '[' if rest.starts_with("[:") && rest.contains(":]") => {
                    taken = rest.find(":]").map_or(taken, |end| end + 2);
                    ours.push_str(rest.get(..taken).unwrap_or_default());
                }
                '[' | '&' | '~' => ours.extend(['\\', next]),
                ']' if length == 0 => ours.push_str("\\]"),
                _ => ours.push(next),
            }
            class = match next {
                ']' if length > 0 => None,
                '^' if length == 0 && ours.ends_with("[^") => class,
                _ => Some(length + 1),
            };
        } else {
            ours.push(next);
            if next == '[' {
                class = Some(0);
            }
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    ours
}

/// The crate's messages draw the place below the expression; the last line says what is wrong.
fn one_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim().trim_start_matches("error: ").trim_end_matches('.').to_owned()
}

/// A look at all topics for the expressions of one group.
#[derive(Debug)]
pub(crate) struct Search {
    /// The expressions; one that cannot be compiled matches nothing.
    pub(crate) patterns: Vec<CompactString>,
    /// The topics.
    pub(crate) topics: Arc<dyn Topics>,
    /// What the member may see on whose behalf this is.
    pub(crate) may_describe: Option<TopicFilter>,
    /// When it was asked for, on the wall clock.
    pub(crate) now_ms: i64,
}

impl Search {
    /// Which topics each expression matches.
    pub(crate) fn run(self) -> BTreeMap<CompactString, Resolved> {
        let version = self.topics.version();
        let empty = Resolved { topics: BTreeSet::new(), version, timestamp_ms: self.now_ms };
        let mut found: BTreeMap<CompactString, Resolved> =
            self.patterns.iter().map(|pattern| (pattern.clone(), empty.clone())).collect();
        let compiled: Vec<(&CompactString, Regex)> = self
            .patterns
            .iter()
            .filter_map(|pattern| compile(pattern).ok().map(|regex| (pattern, regex)))
            .collect();
        self.topics.for_each_name(&mut |name| {
            for (pattern, regex) in &compiled {
                if regex.is_match(name.as_str())
                    && self.may_see(name)
                    && let Some(resolved) = found.get_mut(*pattern)
                {
                    resolved.topics.insert(name.clone());
                }
            }
        });
        found
    }

    fn may_see(&self, name: &TopicName) -> bool {
        self.may_describe.as_ref().is_none_or(|filter| (filter.0)(name))
    }
}

#[cfg(test)]
mod tests {
    use ottla_model::Uuid;

    use super::*;
    use crate::topics::TopicTable;

    fn matches(pattern: &str, names: &[&str]) -> Vec<String> {
        let mut topics = TopicTable::default();
        for name in names {
            topics.insert(*name, Uuid::ONE, 1);
        }
        let search = Search {
            patterns: vec![pattern.into()],
            topics: Arc::new(topics),
            may_describe: Some(TopicFilter(Arc::new(|name| name.as_str() != "secret"))),
            now_ms: 7,
        };
        let found = search.run().remove(pattern).expect("each expression has an answer");
        assert_eq!(found.timestamp_ms, 7);
        found.topics.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_expression_matches_whole_names_only() {
        let names = ["orders", "orders-eu", "my-orders"];
        assert_eq!(matches("orders", &names), ["orders"]);
        assert_eq!(matches("orders.*", &names), ["orders", "orders-eu"]);
        assert_eq!(matches("my|orders", &names), ["orders"], "both sides of a choice are whole names");
        assert_eq!(matches("(?i)ORDERS", &names), ["orders"]);
        assert_eq!(
            matches(".*", &["secret", "open"]),
            ["open"],
            "what the client may not see it does not get"
        );
    }

    #[test]
    fn what_is_no_expression_is_refused_with_the_reason() {
        for pattern in
            ["[", "a)(b", "(?<=a)b", "(a)\\1", "*", "a{1000}{1000}", &"x".repeat(PATTERN_BYTES_MAX + 1)]
        {
            let refusal = check(pattern).expect_err(pattern);
            assert_eq!(refusal.code, ErrorCode::INVALID_REGULAR_EXPRESSION);
            assert!(refusal.message.len() > 40, "{}", refusal.message);
        }
        for pattern in ["", "a|b", "^orders$", "[[:alpha:]]+", "\\d+"] {
            assert_eq!(check(pattern), Ok(()), "{pattern}");
        }
    }

    #[test]
    fn what_re2_writes_otherwise_is_understood() {
        let names = ["a.b", "axb", "b-c", "b_c"];
        assert_eq!(matches("\\Qa.b\\E", &names), ["a.b"]);
        assert_eq!(matches("\\Qa.", &names), Vec::<String>::new(), "quoted to the end");
        assert_eq!(matches("a[[x]b", &names), ["axb"]);
        assert_eq!(matches("b[a&&_-]c", &names), ["b-c", "b_c"]);
        assert_eq!(matches("[^]a]..", &names), ["b-c", "b_c"]);
        assert_eq!(matches("[[:alpha:][:punct:]]+", &names), names);
    }
}
