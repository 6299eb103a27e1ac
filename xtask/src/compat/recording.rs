//! The control's answers as they lie in the repository, and the comparison with fresh ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::workspace::list;

/// The lines that each step of a suite answered with.
pub(crate) type Answers = BTreeMap<String, Vec<String>>;

/// How many lines of a difference are shown.
const DIFFERENCE_LINES_MAX: usize = 30;

/// Reads a suite's recording.
pub(crate) fn load(steps: &Path, suite: &str) -> Result<Answers> {
    let path = path(steps, suite);
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!("reading {}; `cargo xtask compat {suite} --record` writes it", path.display())
    })?;
    let json: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))?;
    let answers =
        json["answers"].as_object().with_context(|| format!("{} has no answers", path.display()))?;
    let lines = |value: &Value| list(value).iter().filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(answers.iter().map(|(step, value)| (step.clone(), lines(value))).collect())
}

/// Writes a suite's recording.
pub(crate) fn save(steps: &Path, suite: &str, answers: &Answers) -> Result<PathBuf> {
    let path = path(steps, suite);
    let json = json!({ "suite": suite, "answered by": "Apache Kafka 4.4.0", "answers": answers });
    let text = format!("{:#}\n", json);
    std::fs::create_dir_all(path.parent().context("a folder")?)?;
    std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}

/// For each step of either side: its name and, where they are not the same, how they differ.
pub(crate) fn compare<'a>(recorded: &'a Answers, seen: &'a Answers) -> Vec<(&'a str, Option<String>)> {
    let steps: BTreeSet<&String> = recorded.keys().chain(seen.keys()).collect();
    steps
        .into_iter()
        .map(|step| match (recorded.get(step), seen.get(step)) {
            (Some(wanted), Some(got)) => (step.as_str(), difference(wanted, got)),
            (Some(_), None) => (step.as_str(), Some("it was not answered".to_owned())),
            (None, _) => (step.as_str(), Some("the control has not answered it: record it".to_owned())),
        })
        .collect()
}

/// The lines that differ, without what is the same at the beginning and at the end.
fn difference(wanted: &[String], got: &[String]) -> Option<String> {
    if wanted == got {
        return None;
    }
    let same = |(a, b): &(&String, &String)| a == b;
    let before = wanted.iter().zip(got).take_while(same).count();
    let (wanted, got) = (&wanted[before..], &got[before..]);
    let after = wanted.iter().rev().zip(got.iter().rev()).take_while(same).count();
    let mut lines = vec![format!("from line {} on:", before + 1)];
    for (sign, side) in [("Kafka", &wanted[..wanted.len() - after]), ("here ", &got[..got.len() - after])] {
        lines.extend(side.iter().take(DIFFERENCE_LINES_MAX).map(|line| format!("  {sign} | {line}")));
        if side.len() > DIFFERENCE_LINES_MAX {
            lines.push(format!("  {sign} | … {} more", side.len() - DIFFERENCE_LINES_MAX));
        }
    }
    Some(lines.join("\n"))
}

fn path(steps: &Path, suite: &str) -> PathBuf {
    steps.join("recorded").join(format!("{suite}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(steps: &[(&str, &[&str])]) -> Answers {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        steps.iter().map(|(step, text)| ((*step).to_owned(), lines(text))).collect()
    }

    #[test]
    fn equal_answers_pass_and_each_difference_is_told() {
        let recorded = answers(&[("a", &["1", "2", "3"]), ("b", &["x"]), ("c", &["y"])]);
        let seen = answers(&[("a", &["1", "two", "3"]), ("b", &["x"]), ("d", &["z"])]);
        let compared = compare(&recorded, &seen);
        let names: Vec<(&str, bool)> =
            compared.iter().map(|(step, wrong)| (*step, wrong.is_some())).collect();
        assert_eq!(names, [("a", true), ("b", false), ("c", true), ("d", true)]);
        assert_eq!(compared[0].1.as_deref(), Some("from line 2 on:\n  Kafka | 2\n  here  | two"));
    }

    #[test]
    fn a_missing_last_line_is_a_difference() {
        let recorded = answers(&[("a", &["1", "2"])]);
        assert!(compare(&recorded, &answers(&[("a", &["1"])]))[0].1.is_some());
    }
}
