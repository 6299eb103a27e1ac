//! Reads the files under `tests/data`.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use bytes::Bytes;
use flate2::read::GzDecoder;
use serde_json::Value;

/// The lines of a compressed file of JSON lines. An empty file is an error: a test that compares nothing shows nothing.
pub(crate) fn lines(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines: Vec<Value> = BufReader::new(GzDecoder::new(file))
        .lines()
        .map(|line| serde_json::from_str(&line.expect("the file is whole")).expect("each line is JSON"))
        .collect();
    assert!(!lines.is_empty(), "{name} has no lines");
    lines
}

/// A field of a line that is a text.
pub(crate) fn text<'a>(line: &'a Value, key: &str) -> &'a str {
    line[key].as_str().unwrap_or_else(|| panic!("{key} of {line} is a text"))
}

/// A field of a line that is a small number.
pub(crate) fn number<T: TryFrom<i64>>(line: &Value, key: &str) -> T {
    let number = line[key].as_i64().and_then(|number| T::try_from(number).ok());
    number.unwrap_or_else(|| panic!("{key} of {line} is a number in range"))
}

/// Bytes written as hexadecimal digits.
pub(crate) fn bytes(hex: &str) -> Bytes {
    assert!(hex.len().is_multiple_of(2), "{hex} has whole bytes");
    let digits = hex.as_bytes().chunks_exact(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal digits")).collect()
}

/// Bytes as hexadecimal digits, which a failed comparison shows better.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
