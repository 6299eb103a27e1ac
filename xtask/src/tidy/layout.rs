//! The top level of the repository: exactly the folders that the architecture names, and no litter.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Finding;

/// Everything at the top apart from files and folders whose names begin with a dot.
const TOP_LEVEL: &[&str] = &[
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "broker",
    "client",
    "docs",
    "index",
    "network",
    "protocol",
    "rust-toolchain.toml",
    "storage",
    "tools",
    "xtask",
];

/// `files` are all of the repository's, relative to its top.
pub(crate) fn check(files: &[PathBuf]) -> Vec<Finding> {
    let top: BTreeSet<String> = files
        .iter()
        .filter_map(|file| file.iter().next())
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.'))
        .collect();
    let expected: BTreeSet<String> = TOP_LEVEL.iter().map(|name| (*name).to_owned()).collect();
    let surplus =
        top.difference(&expected).map(|name| Finding::new(Path::new(name), 0, "does not belong at the top"));
    let missing =
        expected.difference(&top).map(|name| Finding::new(Path::new(name), 0, "is missing at the top"));
    surplus.chain(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surplus_and_a_missing_entry_are_found() {
        let mut files: Vec<PathBuf> = TOP_LEVEL.iter().map(PathBuf::from).collect();
        files.push(PathBuf::from(".gitignore"));
        assert_eq!(check(&files), []);
        files.push(PathBuf::from("notes/today.md"));
        files.remove(0);
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["notes: does not belong at the top", "CHANGELOG.md: is missing at the top"]);
    }
}
