//! The shape of CHANGELOG.md: that of "Keep a Changelog", newest first.

use std::path::Path;

use super::Finding;

const KINDS: &[&str] = &["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

pub(crate) fn check(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |line: usize, message: &str| {
        findings.push(Finding::new(Path::new("CHANGELOG.md"), line, message));
    };
    if text.lines().next() != Some("# Changelog") {
        report(1, "begins with `# Changelog`");
    }
    let mut newest: Option<Version> = None;
    let mut release_count = 0;
    let mut kind_seen = false;
    for (line, content) in (1..).zip(text.lines()) {
        if let Some(heading) = content.strip_prefix("## ") {
            kind_seen = false;
            release_count += 1;
            match Release::parse(heading) {
                None => {
                    report(line, "a release is `## [1.2.3] - 2026-01-31`, the next one `## [Unreleased]`")
                }
                Some(Release::Unreleased) if release_count > 1 => {
                    report(line, "what is unreleased comes first")
                }
                Some(Release::Unreleased) => {}
                Some(Release::Numbered(version)) => {
                    if newest.is_some_and(|newer| newer <= version) {
                        report(line, "releases stand newest first");
                    }
                    newest = Some(version);
                }
            }
        } else if let Some(kind) = content.strip_prefix("### ") {
            kind_seen = true;
            if release_count == 0 || !KINDS.contains(&kind) {
                report(
                    line,
                    "entries stand under a release, in Added, Changed, Deprecated, Removed, Fixed, Security",
                );
            }
        } else if content.starts_with("- ") && !kind_seen {
            report(line, "an entry stands under a heading that says of which kind it is");
        }
    }
    if release_count == 0 {
        report(0, "names no release");
    }
    findings
}

type Version = (u64, u64, u64);

enum Release {
    Unreleased,
    Numbered(Version),
}

impl Release {
    fn parse(heading: &str) -> Option<Self> {
        if heading == "[Unreleased]" {
            return Some(Self::Unreleased);
        }
        let (version, date) = heading.strip_prefix('[')?.split_once("] - ")?;
        numbers(date, '-')?;
        Some(Self::Numbered(numbers(version, '.')?))
    }
}

/// Exactly three numbers.
fn numbers(text: &str, separator: char) -> Option<Version> {
    let mut parts = text.split(separator).map(|part| part.parse().ok());
    let three = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(three)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(text).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn the_usual_shape_passes() {
        let text = "# Changelog\n\nNewest first.\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n\
            ## [0.2.0] - 2026-12-01\n\n### Fixed\n\n- A fault.\n\n## [0.1.0] - 2026-11-30\n";
        assert_eq!(lines(text), Vec::<usize>::new());
    }

    #[test]
    fn departures_are_found_with_their_lines() {
        assert_eq!(lines("# Changes\n\n## [Unreleased]\n"), [1]);
        assert_eq!(lines("# Changelog\n## 0.1\n- An entry.\n"), [2, 3]);
        assert_eq!(lines("# Changelog\n## [0.1.0] - 2026-11-30\n## [0.2.0] - 2026-12-01\n"), [3]);
        assert_eq!(lines("# Changelog\n## [Unreleased]\n### Various\n"), [3]);
        assert_eq!(lines("# Changelog\n"), [0]);
    }
}
