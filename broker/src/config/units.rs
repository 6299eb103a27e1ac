//! Numbers as people write them: `7d`, `1GiB`, `500ms`. What counts is the property's own unit, and nothing is rounded:
//! ninety minutes are no number of hours. Only files, the environment and the command line are read so; clients send
//! numbers.

/// Spans of time in milliseconds.
const SPANS: &[(&str, i64)] = &[
    ("ms", 1),
    ("s", 1000),
    ("m", 60_000),
    ("min", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
    ("w", 604_800_000),
];
/// Sizes in bytes; the letters alone are powers of two, as where memory is meant.
const SIZES: &[(&str, i64)] = &[
    ("b", 1),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("kb", 1000),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("mb", 1_000_000),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("gb", 1_000_000_000),
    ("t", 1 << 40),
    ("tib", 1 << 40),
    ("tb", 1_000_000_000_000),
];

/// The number of a property's units that a text with a unit stands for; none if it is no such text.
pub(super) fn number(text: &str, unit: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, given) = text.split_at_checked(digits)?;
    let (number, given) = (number.parse::<i64>().ok()?, given.trim().to_ascii_lowercase());
    let find = |table: &[(&str, i64)]| table.iter().find(|(name, _)| *name == given).map(|(_, size)| *size);
    let (size, own) = match unit {
        "ms" => (find(SPANS)?, 1),
        "seconds" => (find(SPANS)?, 1000),
        "minutes" => (find(SPANS)?, 60_000),
        "hours" => (find(SPANS)?, 3_600_000),
        "bytes" => (find(SIZES)?, 1),
        _ => return None,
    };
    let whole = number.checked_mul(size)?;
    (whole % own == 0).then_some(whole / own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_with_a_unit_is_one_of_the_propertys() {
        for (text, unit, expected) in [
            ("7d", "ms", Some(604_800_000)),
            ("1 GiB", "bytes", Some(1 << 30)),
            ("5mb", "bytes", Some(5_000_000)),
            ("64k", "bytes", Some(65_536)),
            ("2d", "hours", Some(48)),
            ("90m", "hours", None),
            ("5", "ms", None),
            ("5x", "ms", None),
            ("5d", "", None),
            ("d", "ms", None),
            ("-1d", "ms", None),
            ("9999999999999999d", "ms", None),
        ] {
            assert_eq!(number(text, unit), expected, "{text} {unit}");
        }
    }
}
