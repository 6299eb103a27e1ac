//! Finds source files that no `mod` names: cargo would not compile them and nobody would notice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Finding;
use super::source::Source;

/// `roots` are the entry files of all targets, and `sources` everything that they may be made of.
pub(crate) fn check<'a>(sources: impl Iterator<Item = &'a Source>, roots: BTreeSet<PathBuf>) -> Vec<Finding> {
    let by_path: BTreeMap<&Path, &Source> = sources.map(|source| (source.path.as_path(), source)).collect();
    let mut named: BTreeSet<PathBuf> = BTreeSet::new();
    let mut open: Vec<PathBuf> = roots.iter().cloned().collect();
    while let Some(path) = open.pop() {
        let Some(source) = by_path.get(path.as_path()) else { continue };
        if named.insert(path.clone()) {
            open.extend(children(source, roots.contains(&path)));
        }
    }
    by_path
        .keys()
        .filter(|path| !named.contains(**path))
        .map(|path| Finding::new(path, 0, "no `mod` names this file"))
        .collect()
}

/// The files that a file's `mod` lines may mean; some of them do not exist.
fn children(source: &Source, is_root: bool) -> Vec<PathBuf> {
    let folder = source.path.parent().unwrap_or(Path::new(""));
    let stem = source.path.file_stem().unwrap_or_default();
    let below = if is_root || stem == "mod" { folder.to_path_buf() } else { folder.join(stem) };
    let mut found = Vec::new();
    let mut explicit = None;
    for (code, line) in source.code.lines().zip(source.uncommented.lines()) {
        let code = code.trim();
        if let Some(path) = line.trim().strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]"))
        {
            explicit = Some(folder.join(path));
            continue;
        }
        let Some(name) = module_name(code) else { continue };
        match explicit.take() {
            Some(path) => found.push(path),
            None => found.extend([below.join(format!("{name}.rs")), below.join(name).join("mod.rs")]),
        }
    }
    found
}

/// The name in `mod name;`, whatever its visibility.
fn module_name(code: &str) -> Option<&str> {
    let at = code.find("mod ")?;
    let visibility = code[..at].trim();
    let plain = visibility.is_empty() || visibility == "pub" || visibility.starts_with("pub(");
    let name = code[at + 4..].strip_suffix(';')?.trim();
    plain.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unnamed(files: &[(&str, &str)], root: &str) -> Vec<String> {
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(Path::new(path), (*text).to_owned())).collect();
        let found = check(sources.iter(), BTreeSet::from([PathBuf::from(root)]));
        found.iter().map(|finding| finding.path.display().to_string()).collect()
    }

    #[test]
    fn a_file_that_no_mod_names_is_found() {
        let files = [
            ("a/src/lib.rs", "mod one;\npub(crate) mod two;\n// mod gone;\n"),
            ("a/src/one.rs", "pub mod deep;\n"),
            ("a/src/one/deep.rs", ""),
            ("a/src/two/mod.rs", "mod leaf;\n"),
            ("a/src/two/leaf.rs", ""),
            ("a/src/gone.rs", ""),
        ];
        assert_eq!(unnamed(&files, "a/src/lib.rs"), ["a/src/gone.rs"]);
    }

    #[test]
    fn a_path_attribute_names_a_file() {
        let files = [("a/src/lib.rs", "#[path = \"odd.rs\"]\nmod even;\n"), ("a/src/odd.rs", "")];
        assert!(unnamed(&files, "a/src/lib.rs").is_empty());
    }
}
