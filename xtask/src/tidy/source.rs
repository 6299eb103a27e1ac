//! A Rust file in three views: as it is, without its comments, and without literals either. A scanner that knows just
//! enough of the language for that; it judges nothing.

use std::path::{Path, PathBuf};

pub(crate) struct Source {
    /// Relative to the workspace.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// Comments blanked out, byte for byte; literals still there.
    pub(crate) uncommented: String,
    /// Comments and the contents of literals blanked out.
    pub(crate) code: String,
}

/// A function with a body.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) lines: usize,
}

impl Source {
    pub(crate) fn new(path: &Path, text: String) -> Self {
        let (uncommented, code) = blank(text.as_bytes());
        Self { path: path.to_path_buf(), text, uncommented, code }
    }

    /// Whether the file is compiled for tests, benches and examples only.
    pub(crate) fn is_test_file(&self) -> bool {
        let mut parts = self.path.iter().map(|part| part.to_string_lossy());
        parts.any(|part| matches!(part.as_ref(), "tests" | "benches" | "examples" | "testkit" | "tests.rs"))
    }

    /// The line, from 1, on which the unit tests at the end of the file begin; one past the end if there are none.
    pub(crate) fn unit_tests_line(&self) -> usize {
        let lines: Vec<&str> = self.code.lines().collect();
        let starts = |at: usize| {
            lines[at].trim() == "#[cfg(test)]"
                && lines.get(at + 1).is_some_and(|next| next.trim().starts_with("mod ") && next.contains('{'))
        };
        (0..lines.len()).find(|at| starts(*at)).unwrap_or(lines.len()) + 1
    }

    /// Every function that has a body, by matching braces.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        for (at, _) in self.code.match_indices("fn ") {
            let before = self.code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let rest = &self.code[at + 3..];
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let Some(open) = rest.find(['{', ';']) else { continue };
            if name.is_empty() || rest[open..].starts_with(';') {
                continue;
            }
            let line = self.code[..at].matches('\n').count() + 1;
            found.push(Function { name, line, lines: body_lines(rest, open) });
        }
        found
    }
}

/// How many lines a function has from its name to the brace that closes the one at `open`.
fn body_lines(rest: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, c) in rest.char_indices().skip_while(|(at, _)| *at < open) {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return rest[..at].matches('\n').count() + 1;
        }
    }
    rest.matches('\n').count() + 1
}

/// What the scanner is inside of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Code,
    LineComment,
    BlockComment(usize),
    Text,
    RawText(usize),
    Character,
}

/// The text without comments, and without comments and literals; both with the line breaks of the original.
fn blank(text: &[u8]) -> (String, String) {
    let mut uncommented = Vec::with_capacity(text.len());
    let mut code = Vec::with_capacity(text.len());
    let mut state = State::Code;
    let mut at = 0;
    while at < text.len() {
        let (next, length) = step(state, text, at);
        for &byte in &text[at..(at + length).min(text.len())] {
            let comment = matches!(state, State::LineComment | State::BlockComment(_))
                || matches!(next, State::LineComment | State::BlockComment(_));
            let literal = state != State::Code && next != State::Code && !comment;
            let keep = |hide: bool| if hide && byte != b'\n' { b' ' } else { byte };
            uncommented.push(keep(comment));
            code.push(keep(comment || literal));
        }
        state = next;
        at += length;
    }
    (String::from_utf8_lossy(&uncommented).into_owned(), String::from_utf8_lossy(&code).into_owned())
}

/// The state after the bytes at `at`, and how many bytes that takes.
fn step(state: State, text: &[u8], at: usize) -> (State, usize) {
    let here = &text[at..];
    match state {
        State::Code => step_in_code(text, at),
        State::LineComment if here[0] == b'\n' => (State::Code, 1),
        State::BlockComment(depth) if here.starts_with(b"/*") => (State::BlockComment(depth + 1), 2),
        State::BlockComment(1) if here.starts_with(b"*/") => (State::Code, 2),
        State::BlockComment(depth) if here.starts_with(b"*/") => (State::BlockComment(depth - 1), 2),
        State::Text | State::Character if here[0] == b'\\' => (state, 2),
        State::Text if here[0] == b'"' => (State::Code, 1),
        State::Character if here[0] == b'\'' => (State::Code, 1),
        State::RawText(hashes) if here[0] == b'"' && hash_count(&here[1..]) >= hashes => {
            (State::Code, 1 + hashes)
        }
        other => (other, 1),
    }
}

fn step_in_code(text: &[u8], at: usize) -> (State, usize) {
    let here = &text[at..];
    if here.starts_with(b"//") {
        return (State::LineComment, 2);
    }
    if here.starts_with(b"/*") {
        return (State::BlockComment(1), 2);
    }
    let after_word = at > 0 && (text[at - 1].is_ascii_alphanumeric() || text[at - 1] == b'_');
    let prefix = usize::from(here.starts_with(b"br"));
    if !after_word && here[prefix] == b'r' {
        let hashes = hash_count(&here[prefix + 1..]);
        if here.get(prefix + 1 + hashes) == Some(&b'"') {
            return (State::RawText(hashes), prefix + 2 + hashes);
        }
    }
    match here[0] {
        b'"' => (State::Text, 1),
        // A lifetime has no closing quote after its first character.
        b'\'' if here.get(1) == Some(&b'\\') || character_closes(&here[1..]) => (State::Character, 1),
        _ => (State::Code, 1),
    }
}

fn hash_count(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| **byte == b'#').count()
}

/// Whether a quote follows the first character, of up to four bytes.
fn character_closes(after_quote: &[u8]) -> bool {
    let Some(first) = after_quote.first() else { return false };
    let length = match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    };
    after_quote.get(length) == Some(&b'\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new(Path::new("storage/src/log.rs"), text.to_owned())
    }

    #[test]
    fn comments_and_literals_are_blanked_and_lines_kept() {
        let text = "a // unsafe\n/* b /* c */ d */ e \"f // \\\" g\" 'h' 'i: r#\"j \" k\"# l\n";
        let source = source(text);
        assert_eq!(source.uncommented.len(), text.len());
        assert_eq!(source.code.lines().count(), 2);
        for gone in ["unsafe", "b", "c", "d"] {
            assert!(!source.uncommented.contains(gone), "{gone} in {}", source.uncommented);
        }
        for gone in ["f", "g", "h", "j", "k"] {
            assert!(source.uncommented.contains(gone), "{gone} not in {}", source.uncommented);
            assert!(!source.code.contains(gone), "{gone} in {}", source.code);
        }
        for kept in ["a", "e", "'i:", "l"] {
            assert!(source.code.contains(kept), "{kept} not in {}", source.code);
        }
    }

    #[test]
    fn functions_are_measured_to_their_closing_brace() {
        let functions =
            source("trait T { fn no_body(&self); }\n\nfn one() {}\npub fn three(a: u8) {\n  if a { b }\n}\n");
        let functions = functions.functions();
        let found: Vec<(&str, usize, usize)> = functions
            .iter()
            .map(|function| (function.name.as_str(), function.line, function.lines))
            .collect();
        assert_eq!(found, [("one", 3, 1), ("three", 4, 3)]);
    }

    #[test]
    fn the_unit_tests_at_the_end_are_found() {
        assert_eq!(source("fn a() {}\n\n#[cfg(test)]\nmod tests {\n}\n").unit_tests_line(), 3);
        assert_eq!(source("fn a() {}\n").unit_tests_line(), 2);
    }
}
