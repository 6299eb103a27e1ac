//! What neither rustc nor clippy checks about our sources: text rules with a small scanner, no parser. Lists the
//! longest files and functions without failing on them.

mod changelog;
mod layout;
mod modules;
mod rules;
mod source;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use self::source::Source;
use crate::workspace::Workspace;

/// How many of the longest files and functions are listed.
const LONGEST_COUNT: usize = 5;

/// Sources that no rule holds for: wrong code that a test hands to the compiler.
const NOT_OURS: &[&str] = &["protocol/derive/tests/mistakes/"];

/// One place that is not as it should be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: PathBuf,
    /// Counted from 1; 0 stands for the file as a whole.
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &Path, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_path_buf(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.message)
    }
}

pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let files = workspace.files()?;
    let mut sources = Vec::new();
    let is_source = |path: &&PathBuf| {
        path.extension().is_some_and(|extension| extension == "rs")
            && !NOT_OURS.iter().any(|place| path.starts_with(place))
    };
    for path in files.iter().filter(is_source) {
        let text = std::fs::read_to_string(workspace.root.join(path))
            .with_context(|| format!("reading {}", path.display()))?;
        sources.push(Source::new(path, text));
    }
    let mut findings = layout::check(&files);
    findings.extend(sources.iter().flat_map(rules::check));
    // What a package outside this workspace compiles is not known here.
    let members = workspace.package_folders();
    let manifests = files.iter().filter(|path| path.ends_with("Cargo.toml"));
    let folders = manifests.filter_map(|path| path.parent()).filter(|folder| *folder != Path::new(""));
    let foreign: Vec<&Path> = folders.filter(|folder| !members.contains(*folder)).collect();
    let roots = workspace.target_roots();
    let roots = roots.iter().filter_map(|root| Some(root.strip_prefix(&workspace.root).ok()?.to_path_buf()));
    let ours = sources.iter().filter(|source| !foreign.iter().any(|folder| source.path.starts_with(folder)));
    findings.extend(modules::check(ours, roots.collect()));
    let changelog = std::fs::read_to_string(workspace.root.join("CHANGELOG.md")).unwrap_or_default();
    findings.extend(changelog::check(&changelog));

    list_longest(&sources);
    for finding in &findings {
        println!("tidy: {finding}");
    }
    println!("tidy: {} findings in {} files, {} of them Rust", findings.len(), files.len(), sources.len());
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn list_longest(sources: &[Source]) {
    let mut files: Vec<(usize, String)> = sources
        .iter()
        .map(|source| (source.text.lines().count(), source.path.display().to_string()))
        .collect();
    let mut functions: Vec<(usize, String)> = sources
        .iter()
        .flat_map(|source| source.functions().into_iter().map(move |function| (source, function)))
        .map(|(source, function)| {
            (function.lines, format!("{} at {}:{}", function.name, source.path.display(), function.line))
        })
        .collect();
    for (what, list) in [("files", &mut files), ("functions", &mut functions)] {
        list.sort_by(|a, b| b.cmp(a));
        println!("the longest {what}:");
        for (lines, name) in list.iter().take(LONGEST_COUNT) {
            println!("  {lines:5} lines  {name}");
        }
    }
}
