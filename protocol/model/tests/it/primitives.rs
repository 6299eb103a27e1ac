//! Variable-length integers, identifiers and checksums.

use ottla_model::Uuid;
use ottla_model::crc32c::{append, checksum};
use ottla_model::varint::{
    read_unsigned, read_varint, read_varlong, size_of_unsigned, size_of_varint, size_of_varlong,
    write_unsigned, write_varint, write_varlong,
};
use serde_json::Value;

use crate::vectors::{hex_of, lines, to_hex};

/// Reads a number of the line's type, as text, and says how many bytes it took.
fn read(kind: &Value, bytes: &[u8]) -> Option<(String, usize)> {
    let mut rest = bytes;
    let text = match kind.as_str().expect("a type") {
        "unsignedVarint" => read_unsigned(&mut rest).ok()?.to_string(),
        "varint" => read_varint(&mut rest).ok()?.to_string(),
        "varlong" => read_varlong(&mut rest).ok()?.to_string(),
        other => panic!("unknown type {other}"),
    };
    Some((text, bytes.len() - rest.len()))
}

/// Writes the number, and says how many bytes it was announced to take.
fn write(kind: &Value, text: &str) -> (Vec<u8>, usize) {
    let mut output = Vec::new();
    let size = match kind.as_str().expect("a type") {
        "unsignedVarint" => {
            // The vectors give unsigned numbers as Java's signed ones where they came in as such.
            let value: i64 = text.parse().expect("a number");
            let value = u32::try_from(value & 0xffff_ffff).expect("32 bits");
            write_unsigned(&mut output, value);
            size_of_unsigned(value)
        }
        "varint" => {
            let value = text.parse().expect("a number");
            write_varint(&mut output, value);
            size_of_varint(value)
        }
        _ => {
            let value = text.parse().expect("a number");
            write_varlong(&mut output, value);
            size_of_varlong(value)
        }
    };
    (output, size)
}

#[test]
fn variable_length_integers_are_those_of_kafka() {
    for line in lines("varints") {
        let bytes = hex_of(&line["hex"]);
        let found = read(&line["type"], &bytes);
        if line.get("error").is_some() {
            assert_eq!(found, None, "{line}");
            continue;
        }
        let text = line["value"].as_str().expect("a value");
        let (value, taken) = found.unwrap_or_else(|| panic!("not read: {line}"));
        assert_eq!(value, text, "{line}");
        if line.get("readOnly").is_some() {
            assert_eq!(taken as u64, line["bytesRead"].as_u64().expect("a count"), "{line}");
            continue;
        }
        assert_eq!(taken, bytes.len(), "{line}");
        let (written, size) = write(&line["type"], text);
        assert_eq!(to_hex(&written), to_hex(&bytes), "{line}");
        assert_eq!(size, bytes.len(), "{line}");
        for cut in 0..bytes.len() {
            assert_eq!(read(&line["type"], &bytes[..cut]), None, "{line} cut at {cut}");
        }
    }
}

#[test]
fn uuids_read_and_print_as_in_kafka() {
    for line in lines("uuids") {
        let text = line["text"].as_str().expect("a text");
        let parsed: Option<Uuid> = text.parse().ok();
        if line.get("error").is_some() {
            assert_eq!(parsed, None, "{line}");
            continue;
        }
        let parsed = parsed.unwrap_or_else(|| panic!("not read: {line}"));
        assert_eq!(to_hex(parsed.as_bytes()), line["hex"].as_str().expect("hex"), "{line}");
        if line.get("readOnly").is_none() {
            assert_eq!(parsed.to_string(), text, "{line}");
            assert_eq!(parsed.is_reserved(), line["reserved"].as_bool().expect("a flag"), "{line}");
        }
    }
}

#[test]
fn the_checksum_is_that_of_another_crate_at_every_length_and_in_any_two_pieces() {
    let bytes: Vec<u8> = (0..3000_u32).map(|at| (at * 31 % 251).to_le_bytes()[0]).collect();
    for length in 0..bytes.len() {
        let whole = &bytes[..length];
        assert_eq!(checksum(whole), crc32c::crc32c(whole), "{length} bytes");
        let (first, second) = whole.split_at(length * 7 % (length + 1));
        assert_eq!(append(checksum(first), second), checksum(whole), "{} and {}", first.len(), second.len());
    }
}

#[test]
fn the_checksum_of_batches_is_the_crc_32c_of_kafka() {
    for line in lines("checksums") {
        let bytes = crate::vectors::bytes_of(&line["hex"]).expect("bytes");
        // The checksum's function takes a header; an all but empty one leaves a known start to append to.
        let header = [0; 61];
        let whole: Vec<u8> = header[21..].iter().copied().chain(bytes.iter().copied()).collect();
        assert_eq!(ottla_model::batch::compute_crc(&header, &bytes), crc32c::crc32c(&whole), "{line}");
        assert_eq!(u64::from(crc32c::crc32c(&bytes)), line["crc32c"].as_u64().expect("a checksum"), "{line}");
    }
}
