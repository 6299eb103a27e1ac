//! Texts that are not UTF-8, which Kafka does not refuse: whoever looks such a name up will not find it, under the same
//! replacement characters as there. Texts that are UTF-8 do not come here.

use compact_str::CompactString;

/// The text with U+FFFD for what is not UTF-8: one for as many bytes as Java's decoder gives one for. That is one for the
/// longest start of a character, as Rust has it, save that a surrogate is one and not as many as it has bytes.
#[cold]
pub(super) fn lossy_text(mut bytes: &[u8]) -> CompactString {
    let mut text = CompactString::default();
    while let Some(chunk) = bytes.utf8_chunks().next() {
        text.push_str(chunk.valid());
        let rest = bytes.get(chunk.valid().len()..).unwrap_or_default();
        let bad = match rest {
            [] => return text,
            [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..] => 3,
            [0xed, 0xa0..=0xbf, ..] => 2,
            _ => chunk.invalid().len(),
        };
        text.push(char::REPLACEMENT_CHARACTER);
        bytes = rest.get(bad..).unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes, and what `new String(bytes, UTF_8)` of Java 17 makes of them.
    #[rustfmt::skip]
    const JAVA: [(&str, &str); 66] = [
        ("eda080", "\u{fffd}"),
        ("edbfbf", "\u{fffd}"),
        ("eda080edb080", "\u{fffd}\u{fffd}"),
        ("eda0", "\u{fffd}"),
        ("ed", "\u{fffd}"),
        ("edbf41", "\u{fffd}A"),
        ("80", "\u{fffd}"),
        ("bfbf", "\u{fffd}\u{fffd}"),
        ("c080", "\u{fffd}\u{fffd}"),
        ("c1bf", "\u{fffd}\u{fffd}"),
        ("c241", "\u{fffd}A"),
        ("c2", "\u{fffd}"),
        ("e08080", "\u{fffd}\u{fffd}\u{fffd}"),
        ("e09f41", "\u{fffd}\u{fffd}A"),
        ("e0a0", "\u{fffd}"),
        ("e0a041", "\u{fffd}A"),
        ("e180", "\u{fffd}"),
        ("e1", "\u{fffd}"),
        ("e141", "\u{fffd}A"),
        ("e18041", "\u{fffd}A"),
        ("f08080", "\u{fffd}\u{fffd}\u{fffd}"),
        ("f0808080", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ("f08f8080", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ("f09080", "\u{fffd}"),
        ("f0908041", "\u{fffd}A"),
        ("f090", "\u{fffd}"),
        ("f09041", "\u{fffd}A"),
        ("f0", "\u{fffd}"),
        ("f041", "\u{fffd}A"),
        ("f4908080", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ("f48fbf", "\u{fffd}"),
        ("f5808080", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ("f888808080", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ("fe", "\u{fffd}"),
        ("ff", "\u{fffd}"),
        ("61ff62", "a\u{fffd}b"),
        ("e28228", "\u{fffd}("),
        ("e282ac", "\u{20ac}"),
        ("f09f9880", "\u{1f600}"),
        ("eda08062", "\u{fffd}b"),
        ("e0809f", "\u{fffd}\u{fffd}\u{fffd}"),
        ("f180", "\u{fffd}"),
        ("f18080", "\u{fffd}"),
        ("f1808041", "\u{fffd}A"),
        ("f180804180", "\u{fffd}A\u{fffd}"),
        ("edededed", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ("e2e282ac", "\u{fffd}\u{20ac}"),
        ("f0f0908080", "\u{fffd}\u{10000}"),
        ("f090e282ac", "\u{fffd}\u{20ac}"),
        ("e1a0c0", "\u{fffd}\u{fffd}"),
        ("f1c0", "\u{fffd}\u{fffd}"),
        ("fbbfbfbfbf", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ("fc8080808080", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ("efbfbf", "\u{ffff}"),
        ("c3c3a9", "\u{fffd}\u{e9}"),
        ("e182c3a9", "\u{fffd}\u{e9}"),
        ("eda0c3a9", "\u{fffd}\u{e9}"),
        ("ede080", "\u{fffd}\u{fffd}\u{fffd}"),
        ("edb0", "\u{fffd}"),
        ("eda041", "\u{fffd}A"),
        ("f48f80", "\u{fffd}"),
        ("f490", "\u{fffd}\u{fffd}"),
        ("f49080", "\u{fffd}\u{fffd}\u{fffd}"),
        ("f4", "\u{fffd}"),
        ("f7bfbfbf", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ("f0809041", "\u{fffd}\u{fffd}\u{fffd}A"),
    ];

    #[test]
    fn what_is_no_utf8_is_replaced_as_java_replaces_it() {
        for (hex, expected) in JAVA {
            let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
            let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(digit).collect();
            assert_eq!(lossy_text(&bytes), expected, "{hex}");
            let within = [b"\xc3\xa9", &bytes[..], b"z"].concat();
            assert_eq!(lossy_text(&within), format!("\u{e9}{expected}z"), "{hex} within a text");
        }
    }
}
