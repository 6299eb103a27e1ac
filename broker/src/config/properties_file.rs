//! The text format of `server.properties`, that of `java.util.Properties`: `=`, `:` or white space between key and
//! value, `#` and `!` comments, lines continued with `\`, escapes. Knows no key.

/// One `key=value` of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The key, escapes resolved.
    pub(super) key: String,
    /// The value, escapes resolved.
    pub(super) value: String,
    /// The number of the line that the entry begins on, from 1.
    pub(super) line: usize,
}

/// A file that the format does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: \\u must be followed by four hexadecimal digits")]
pub(super) struct MalformedEscape {
    /// The number of the line, from 1.
    pub(super) line: usize,
}

/// Every entry in the order of the text. A key may repeat; the last one counts.
///
/// # Errors
///
/// Only a malformed `\u` escape is one, as in Java.
pub(super) fn parse(text: &str) -> Result<Vec<Entry>, MalformedEscape> {
    let mut entries = Vec::new();
    for (line, logical) in logical_lines(text) {
        let (key, value) = split_entry(&logical);
        let malformed = MalformedEscape { line };
        let key = unescape(key).ok_or_else(|| malformed.clone())?;
        let value = unescape(value).ok_or(malformed)?;
        entries.push(Entry { key, value, line });
    }
    Ok(entries)
}

/// Lines with their continuations joined, comments and blank lines dropped, each with the number of its first line.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let normalised = text.replace("\r\n", "\n").replace('\r', "\n");
    for (index, natural) in normalised.split('\n').enumerate() {
        let content = natural.trim_start_matches(is_blank);
        let (first, mut joined) = match open.take() {
            Some(begun) => begun,
            None if content.is_empty() || content.starts_with(['#', '!']) => continue,
            None => (index + 1, String::new()),
        };
        if ends_with_open_escape(content) {
            joined.push_str(&content[..content.len() - 1]);
            open = Some((first, joined));
        } else {
            joined.push_str(content);
            lines.push((first, joined));
        }
    }
    lines.extend(open);
    lines.retain(|(_, line)| !line.is_empty());
    lines
}

const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{c}')
}

/// Whether the line ends in an odd number of backslashes.
fn ends_with_open_escape(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Cuts a line at its first unescaped separator: white space, then at most one `=` or `:`, then white space.
fn split_entry(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line
        .char_indices()
        .find(|(_, c)| {
            let separates = !escaped && (is_blank(*c) || matches!(c, '=' | ':'));
            escaped = *c == '\\' && !escaped;
            separates
        })
        .map_or(line.len(), |(at, _)| at);
    let (key, rest) = line.split_at(end);
    let rest = rest.trim_start_matches(is_blank);
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (key, rest.trim_start_matches(is_blank))
}

/// Resolves the escapes; `None` for a malformed `\u`. Two `\u` that form a surrogate pair are one character; a lone
/// surrogate, which no UTF-8 text can hold, becomes U+FFFD.
fn unescape(text: &str) -> Option<String> {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut buffer = [0; 2];
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let resolved = match c {
            '\\' => match rest.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\u{c}',
                Some('u') => {
                    let digits: String = rest.by_ref().take(4).collect();
                    if digits.len() != 4 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                        return None;
                    }
                    units.push(u16::from_str_radix(&digits, 16).ok()?);
                    continue;
                }
                Some(other) => other,
                None => break,
            },
            other => other,
        };
        units.extend_from_slice(resolved.encode_utf16(&mut buffer));
    }
    Some(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap().into_iter().map(|entry| (entry.key, entry.value)).collect()
    }

    #[test]
    fn every_way_to_write_an_entry_is_read_as_java_reads_it() {
        let table: &[(&str, &str, &str)] = &[
            ("a=b", "a", "b"),
            ("a = b", "a", "b"),
            ("a:b", "a", "b"),
            ("a : b", "a", "b"),
            ("a b", "a", "b"),
            ("a\tb", "a", "b"),
            ("a", "a", ""),
            ("a=", "a", ""),
            ("=b", "", "b"),
            ("  a  =  b  ", "a", "b  "),
            ("a==b", "a", "=b"),
            ("a=:b", "a", ":b"),
            ("a b=c", "a", "b=c"),
            (r"a\=b=c", "a=b", "c"),
            (r"a\:b=c", "a:b", "c"),
            (r"a\ b=c", "a b", "c"),
            (r"a=b\\", "a", r"b\"),
            ("a=b\\\n  c", "a", "bc"),
            ("a=b\\\r\n\tc", "a", "bc"),
            ("a=b\\\n#c", "a", "b#c"),
            (r"a=\t\n\r\f\q\z", "a", "\t\n\r\u{c}qz"),
            (r"a=\u0041\u00e9", "a", "Aé"),
            (r"a=\ud83d\ude00", "a", "😀"),
            (r"a=\ud83d", "a", "\u{fffd}"),
            (r"path=C:\\data", "path", r"C:\data"),
            ("a=b#c", "a", "b#c"),
            ("a=b\\", "a", "b"),
            ("ключ=значение", "ключ", "значение"),
        ];
        for (text, key, value) in table {
            assert_eq!(pairs(text), [((*key).to_owned(), (*value).to_owned())], "{text:?}");
        }
    }

    #[test]
    fn comments_and_blank_lines_are_dropped_and_lines_are_counted() {
        let entries = parse("# one\n\n  ! two\na=1\n\\\nb=2\\\n3\nc=4\n").unwrap();
        let lines: Vec<_> = entries.iter().map(|entry| (entry.line, entry.key.as_str())).collect();
        assert_eq!(lines, [(4, "a"), (5, "b"), (8, "c")]);
    }

    #[test]
    fn a_blank_line_ends_a_continued_one() {
        assert_eq!(pairs("a=b\\\n\nc=d"), [("a".into(), "b".into()), ("c".into(), "d".into())]);
        assert_eq!(pairs("\\\n\nc=d"), [("c".into(), "d".into())]);
    }

    #[test]
    fn a_comment_is_not_continued() {
        assert_eq!(pairs("# a \\\nb=1"), [("b".to_owned(), "1".to_owned())]);
    }

    #[test]
    fn a_malformed_unicode_escape_names_its_line() {
        assert_eq!(parse("a=1\nb=\\u12").unwrap_err(), MalformedEscape { line: 2 });
        assert_eq!(parse("b=\\u12g4").unwrap_err(), MalformedEscape { line: 1 });
        assert_eq!(parse("b=\\u+123").unwrap_err(), MalformedEscape { line: 1 });
    }
}
