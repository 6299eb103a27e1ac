//! `get-offset`: prints each partition's offset at a time, as `kafka-get-offsets` does: `topic:partition:offset`. A
//! partition without such an offset has no line; one that cannot be asked is named on standard error.

use std::io::{self, Write};

use ottla_client::{Client, ClientError, ClusterMetadata, OffsetSpec, TopicPartition};
use regex::Regex;

use crate::Ending;

/// A text on the command line that means nothing.
#[derive(Debug, thiserror::Error)]
pub enum ArgumentError {
    /// No time.
    #[error(
        "'{text}' is no time: give -1 or latest, -2 or earliest, -3 or max-timestamp, -4 or earliest-local, -5 or \
         latest-tiered, -6 or earliest-pending-upload, or milliseconds since 1970"
    )]
    Time {
        /// The text.
        text: String,
    },
    /// No pattern.
    #[error("'{text}' is no pattern of topic names: {source}")]
    Pattern {
        /// The text.
        text: String,
        /// What is wrong.
        source: regex::Error,
    },
    /// No partition or range of them.
    #[error("'{text}' is no partition and no range: give 3, 3-5 (without 5), 3- or -5")]
    Partitions {
        /// The text.
        text: String,
    },
}

/// Reads `--time`.
///
/// # Errors
/// When the text is neither a word nor a number with a meaning.
pub fn parse_time(text: &str) -> Result<OffsetSpec, ArgumentError> {
    Ok(match text {
        "latest" | "-1" => OffsetSpec::Latest,
        "earliest" | "-2" => OffsetSpec::Earliest,
        "max-timestamp" | "-3" => OffsetSpec::MaxTimestamp,
        "earliest-local" | "-4" => OffsetSpec::EarliestLocal,
        "latest-tiered" | "-5" => OffsetSpec::LatestTiered,
        "earliest-pending-upload" | "-6" => OffsetSpec::EarliestPendingUpload,
        _ => match text.parse() {
            Ok(timestamp_ms @ 0..) => OffsetSpec::Time(timestamp_ms),
            _ => return Err(ArgumentError::Time { text: text.to_owned() }),
        },
    })
}

/// Which partitions are meant.
#[derive(Debug, Default)]
pub struct PartitionFilter {
    rules: Vec<Rule>,
    exclude_internal: bool,
}

#[derive(Debug)]
struct Rule {
    topic: Option<Regex>,
    partitions: Range,
}

/// A range of partition numbers; `end` is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    first: i32,
    end: i32,
}

impl Range {
    const ALL: Self = Self { first: 0, end: i32::MAX };

    fn parse(text: &str) -> Result<Self, ArgumentError> {
        let wrong = || ArgumentError::Partitions { text: text.to_owned() };
        let number = |text: &str| text.parse::<i32>().ok().filter(|number| *number >= 0).ok_or_else(wrong);
        Ok(match text.split_once('-') {
            None => {
                let first = number(text)?;
                Self { first, end: first.checked_add(1).ok_or_else(wrong)? }
            }
            Some(("", "")) => return Err(wrong()),
            Some(("", end)) => Self { first: 0, end: number(end)? },
            Some((first, "")) => Self { first: number(first)?, end: i32::MAX },
            Some((first, end)) => Self { first: number(first)?, end: number(end)? },
        })
    }
}

impl PartitionFilter {
    /// All partitions of all topics.
    #[must_use]
    pub fn all() -> Self {
        Self { rules: vec![Rule { topic: None, partitions: Range::ALL }], exclude_internal: false }
    }

    /// `--topic` and `--partitions`: topics whose whole name fits the pattern, and of these the numbers listed.
    ///
    /// # Errors
    /// When a text is no pattern or no number.
    pub fn topic_and_partitions(topic: Option<&str>, partitions: &[String]) -> Result<Self, ArgumentError> {
        let topic = topic.map(pattern).transpose()?;
        let mut ranges = partitions.iter().map(|text| Range::parse(text)).collect::<Result<Vec<_>, _>>()?;
        if ranges.is_empty() {
            ranges.push(Range::ALL);
        }
        let rules = ranges.into_iter().map(|partitions| Rule { topic: topic.clone(), partitions }).collect();
        Ok(Self { rules, exclude_internal: false })
    }

    /// `--topic-partitions`: a list of `pattern[:partition]`, where the partition may be a range and either may be
    /// left out.
    ///
    /// # Errors
    /// When an entry is none.
    pub fn topic_partitions(entries: &[String]) -> Result<Self, ArgumentError> {
        let rule = |entry: &String| {
            let (topic, partitions) = entry.split_once(':').unwrap_or((entry, ""));
            Ok(Rule {
                topic: (!topic.is_empty()).then(|| pattern(topic)).transpose()?,
                partitions: if partitions.is_empty() { Range::ALL } else { Range::parse(partitions)? },
            })
        };
        Ok(Self { rules: entries.iter().map(rule).collect::<Result<_, _>>()?, exclude_internal: false })
    }

    /// Leaves out the topics that the cluster keeps for itself.
    #[must_use]
    pub const fn excluding_internal(mut self, exclude: bool) -> Self {
        self.exclude_internal = exclude;
        self
    }

    fn matches(&self, topic: &str, is_internal: bool, partition: i32) -> bool {
        let fits = |rule: &Rule| {
            rule.topic.as_ref().is_none_or(|pattern| pattern.is_match(topic))
                && (rule.partitions.first..rule.partitions.end).contains(&partition)
        };
        !(is_internal && self.exclude_internal) && self.rules.iter().any(fits)
    }

    fn select(&self, metadata: &ClusterMetadata) -> Vec<TopicPartition> {
        let mut selected = Vec::new();
        for topic in metadata.topics() {
            for partition in &topic.partitions {
                if self.matches(topic.name.as_str(), topic.is_internal, partition.index.get()) {
                    selected.push(TopicPartition { topic: topic.name.clone(), partition: partition.index });
                }
            }
        }
        selected
    }
}

/// A pattern that must fit the whole name.
fn pattern(text: &str) -> Result<Regex, ArgumentError> {
    Regex::new(&format!("^(?:{text})$"))
        .map_err(|source| ArgumentError::Pattern { text: text.to_owned(), source })
}

/// Asks and prints.
///
/// # Errors
/// When the output cannot be written.
pub async fn get_offsets(
    client: &mut Client,
    filter: &PartitionFilter,
    spec: OffsetSpec,
    out: &mut dyn Write,
    notes: &mut dyn Write,
) -> io::Result<Ending> {
    match ask(client, filter, spec).await {
        Ok(answers) if answers.is_empty() => {
            writeln!(
                notes,
                "Error occurred: Could not match any topic-partitions with the specified filters"
            )?;
            Ok(Ending::Failed)
        }
        Ok(answers) => print(answers, out, notes),
        Err(error) => {
            writeln!(notes, "Error occurred: {error}")?;
            Ok(Ending::Failed)
        }
    }
}

type Answer = (TopicPartition, ottla_client::PartitionOffset);

async fn ask(
    client: &mut Client,
    filter: &PartitionFilter,
    spec: OffsetSpec,
) -> Result<Vec<Answer>, ClientError> {
    let metadata = client.metadata(None).await?;
    let selected = filter.select(&metadata);
    if selected.is_empty() {
        return Ok(Vec::new());
    }
    Ok(client.list_offsets(&selected, spec).await?.into_iter().collect())
}

/// Kafka's tool sorts by the text `topic-partition`, so that partition 10 stands before 2.
fn print(mut answers: Vec<Answer>, out: &mut dyn Write, notes: &mut dyn Write) -> io::Result<Ending> {
    let name = |(at, _): &Answer| format!("{}-{}", at.topic, at.partition);
    answers.sort_by_cached_key(name);
    let mut ending = Ending::Fine;
    for answer in &answers {
        let (at, offset) = answer;
        match offset {
            Ok(Some(found)) => writeln!(out, "{}:{}:{}", at.topic, at.partition, found.offset)?,
            Ok(None) => {}
            Err(code) => {
                let name = name(answer);
                writeln!(notes, "Skip getting offsets for topic-partition {name} due to error: {code}")?;
                ending = Ending::Findings;
            }
        }
    }
    out.flush()?;
    Ok(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    fn selected(filter: &PartitionFilter) -> Vec<String> {
        let all = ["a", "ab", "b"].iter().flat_map(|topic| (0..4).map(move |partition| (*topic, partition)));
        all.filter(|(topic, partition)| filter.matches(topic, false, *partition))
            .map(|(topic, partition)| format!("{topic}{partition}"))
            .collect()
    }

    #[test]
    fn a_pattern_must_fit_the_whole_name_and_ranges_exclude_their_end() {
        let filter = |text| PartitionFilter::topic_partitions(&entries(text)).expect("a filter");
        assert_eq!(selected(&filter("a:1")), ["a1"]);
        assert_eq!(selected(&filter("a:1-3")), ["a1", "a2"]);
        assert_eq!(selected(&filter("a.*:2-")), ["a2", "a3", "ab2", "ab3"]);
        assert_eq!(selected(&filter(":-1")), ["a0", "ab0", "b0"]);
        assert_eq!(selected(&filter("b,a|ab:0")), ["a0", "ab0", "b0", "b1", "b2", "b3"]);
        let both = PartitionFilter::topic_and_partitions(Some("ab?"), &entries("0,3")).expect("a filter");
        assert_eq!(selected(&both), ["a0", "a3", "ab0", "ab3"]);
        assert_eq!(selected(&PartitionFilter::all()).len(), 12);
    }

    #[test]
    fn internal_topics_are_left_out_when_asked_for() {
        assert!(PartitionFilter::all().matches("__consumer_offsets", true, 0));
        assert!(!PartitionFilter::all().excluding_internal(true).matches("__consumer_offsets", true, 0));
        assert!(PartitionFilter::all().excluding_internal(true).matches("orders", false, 0));
    }

    #[test]
    fn what_is_no_partition_no_pattern_and_no_time_is_named() {
        for text in ["a:x", "a:-", "a:1-x", "a:2147483648", "a:2147483647"] {
            let error = PartitionFilter::topic_partitions(&entries(text)).expect_err("no range");
            assert!(error.to_string().starts_with(&format!("'{}' is no partition", &text[2..])), "{error}");
        }
        assert!(PartitionFilter::topic_and_partitions(Some("("), &[]).is_err());
        for text in ["", "-7", "now", "1.5"] {
            assert!(matches!(parse_time(text), Err(ArgumentError::Time { .. })), "{text}");
        }
        assert_eq!(parse_time("1700000003000").expect("a time"), OffsetSpec::Time(1_700_000_003_000));
        assert_eq!(parse_time("-3").expect("a time"), OffsetSpec::MaxTimestamp);
    }
}
