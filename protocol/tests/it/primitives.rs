//! Numbers, texts and byte strings, each in all of its forms.

use bytes::Bytes;
use compact_str::CompactString;
use ottla_protocol::codec::{DecodeErrorKind, EncodeErrorKind, Nullable, Piece, Reader, Wire, Writer};
use ottla_protocol::records::Records;
use serde_json::Value;

use crate::data::{bytes, hex, lines, text};

#[test]
fn unsigned_varints_are_read_and_written_as_by_kafka() {
    for line in lines("vectors/varints.jsonl.gz") {
        let golden = bytes(text(&line, "hex"));
        let mut reader = Reader::new(golden.clone());
        let read = reader.unsigned_varint();
        if line.get("error").is_some() {
            assert!(read.is_err(), "{line}: {read:?}");
            continue;
        }
        let value = read.unwrap_or_else(|error| panic!("{line}: {error}"));
        // Kafka holds the number in an int and may print it as negative.
        let expected: i64 = text(&line, "value").parse().expect("a number");
        assert!(
            expected == i64::from(value) || expected == i64::from(value.cast_signed()),
            "{line}: {value}"
        );
        if line["readOnly"] != true {
            let mut writer = Writer::new();
            writer.put_unsigned_varint(value);
            assert_eq!(writer.finish().into_bytes().expect("no holes"), golden, "{line}");
        }
    }
}

#[test]
fn texts_byte_strings_and_numbers_have_the_forms_of_kafka() {
    for line in lines("vectors/types.jsonl.gz") {
        match text(&line, "type") {
            "string" => check::<CompactString>(&line, false, as_text),
            "nullableString" => check_nullable::<CompactString>(&line, false, as_text),
            "compactString" => check::<CompactString>(&line, true, as_text),
            "compactNullableString" => check_nullable::<CompactString>(&line, true, as_text),
            "bytes" => check::<Bytes>(&line, false, as_bytes),
            "nullableBytes" => check_nullable::<Bytes>(&line, false, as_bytes),
            "compactBytes" => check::<Bytes>(&line, true, as_bytes),
            "compactNullableBytes" => check_nullable::<Bytes>(&line, true, as_bytes),
            "float64" => {
                let golden = bytes(text(&line, "hex"));
                let value = f64::read(&mut Reader::new(golden.clone())).expect("eight bytes");
                let expected: f64 = text(&line, "value").parse().expect("a number");
                assert!(
                    value.to_bits() == expected.to_bits() || (value.is_nan() && expected.is_nan()),
                    "{line}"
                );
                assert_eq!(written(&value, false), hex(&golden));
            }
            "uint16" => check::<u16>(&line, false, as_number),
            "uint32" => check::<u32>(&line, false, as_number),
            other => panic!("{other} is no type that is known here"),
        }
    }
}

#[test]
fn bytes_that_are_no_utf8_become_replacement_characters() {
    let text = CompactString::read(&mut Reader::new(Bytes::from_static(b"\x00\x05a\xffb\xc3(")));
    assert_eq!(text.expect("a text all the same"), "a\u{fffd}b\u{fffd}(");
}

#[test]
fn short_texts_are_what_they_are_in_a_long_frame_and_at_its_end() {
    let ends = ["", "ö", "€"].map(str::as_bytes).into_iter().chain([&[0xc3][..], &[0xe2, 0x82], &[0x80]]);
    for (length, end) in (0..=40_u8).flat_map(|length| ends.clone().map(move |end| (length, end))) {
        let mut text = vec![b'x'; usize::from(length)];
        text.extend_from_slice(end);
        let expected = String::from_utf8_lossy(&text);
        let prefix = [u8::try_from(text.len() + 1).expect("a short text")];
        for behind in [&[][..], &[0xbf; 40]] {
            let mut reader = Reader::new(Bytes::from([&prefix[..], &text, behind].concat()));
            reader.set_version(0, true);
            assert_eq!(CompactString::read(&mut reader).expect("a text"), expected, "{text:x?}");
            assert_eq!(reader.position(), 1 + text.len(), "{text:x?}");
        }
    }
}

#[test]
fn a_text_holds_up_to_32767_bytes_in_either_form() {
    for flexible in [false, true] {
        let longest = CompactString::from("x".repeat(32_767));
        let bytes = write(&longest, flexible).expect("it is short enough");
        assert_eq!(read::<CompactString>(bytes, flexible), Ok(longest));

        let error = write(&CompactString::from("x".repeat(32_768)), flexible).unwrap_err();
        assert_eq!(error.kind(), EncodeErrorKind::TextTooLong { length: 32_768, limit: 32_767 });
    }
    let mut claimed = vec![0x81, 0x80, 0x02];
    claimed.resize(40_000, b'x');
    let error = read::<CompactString>(claimed.into(), true).unwrap_err();
    assert_eq!(error.kind(), DecodeErrorKind::TextTooLong { length: 32_768, limit: 32_767 });
}

#[test]
fn names_do_not_keep_the_frame_alive_and_byte_strings_share_it() {
    let frame = Bytes::from(b"\x00\x05topic\x00\x00\x00\x03key".to_vec());
    let mut reader = Reader::new(frame.clone());
    let name = CompactString::read(&mut reader).expect("a text");
    assert!(!name.is_heap_allocated());
    let key = Bytes::read(&mut reader).expect("a byte string");
    assert_eq!(key.as_ptr(), frame[11..].as_ptr());
}

#[test]
fn records_leave_a_hole_and_large_ones_are_not_copied() {
    let small = Records::Inline(Bytes::from_static(b"small"));
    let large = Bytes::from(vec![7; 100_000]);
    let mut writer = Writer::new();
    writer.set_version(0, false);
    for records in [small, Records::Inline(large.clone()), Records::Hole { len: 1000, id: 3 }] {
        records.write(&mut writer).expect("records fit");
    }
    let encoded = writer.finish();
    assert_eq!(encoded.len(), 4 + 5 + 4 + 100_000 + 4 + 1000);
    let [Piece::Bytes(head), Piece::Bytes(shared), Piece::Bytes(length), Piece::Hole { len: 1000, id: 3 }] =
        encoded.pieces()
    else {
        panic!("{:?}", encoded.pieces().iter().map(Piece::len).collect::<Vec<_>>());
    };
    assert_eq!(head.as_ref(), b"\0\0\0\x05small\x00\x01\x86\xa0");
    assert_eq!(shared.as_ptr(), large.as_ptr());
    assert_eq!(length.as_ref(), 1000_u32.to_be_bytes());
    let error = encoded.into_bytes().unwrap_err();
    assert_eq!(error.kind(), EncodeErrorKind::Hole { length: 1000 });
}

fn check<T: Wire + PartialEq + std::fmt::Debug>(line: &Value, flexible: bool, expected: fn(&Value) -> T) {
    let golden = bytes(text(line, "hex"));
    let value = read::<T>(golden.clone(), flexible).unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_eq!(value, expected(&line["value"]), "{line}");
    assert_eq!(written(&value, flexible), hex(&golden), "{line}");
}

fn check_nullable<T: Nullable + PartialEq + std::fmt::Debug>(
    line: &Value,
    flexible: bool,
    expected: fn(&Value) -> T,
) {
    let golden = bytes(text(line, "hex"));
    let mut reader = Reader::new(golden.clone());
    reader.set_version(0, flexible);
    let value = T::read_nullable(&mut reader).unwrap_or_else(|error| panic!("{line}: {error}"));
    let expected = if line["value"].is_null() { None } else { Some(expected(&line["value"])) };
    assert_eq!((&value, reader.remaining()), (&expected, 0), "{line}");
    let mut writer = Writer::new();
    writer.set_version(0, flexible);
    T::write_nullable(value.as_ref(), &mut writer).expect("it can be written");
    assert_eq!(writer.finish().into_bytes().expect("no holes"), golden, "{line}");
}

fn read<T: Wire>(bytes: Bytes, flexible: bool) -> Result<T, ottla_protocol::DecodeError> {
    let mut reader = Reader::new(bytes);
    reader.set_version(0, flexible);
    let value = T::read(&mut reader)?;
    reader.expect_end()?;
    Ok(value)
}

fn write<T: Wire>(value: &T, flexible: bool) -> Result<Bytes, ottla_protocol::EncodeError> {
    let mut writer = Writer::new();
    writer.set_version(0, flexible);
    value.write(&mut writer)?;
    writer.finish().into_bytes()
}

fn written<T: Wire>(value: &T, flexible: bool) -> String {
    hex(&write(value, flexible).expect("it can be written"))
}

fn as_text(value: &Value) -> CompactString {
    long_value(value, |text| text.as_bytes().to_vec()).map_or_else(
        || CompactString::from(value.as_str().expect("a text")),
        |bytes| CompactString::from_utf8(bytes).expect("UTF-8"),
    )
}

fn as_bytes(value: &Value) -> Bytes {
    long_value(value, |hex| bytes(hex).to_vec())
        .map_or_else(|| bytes(value.as_str().expect("hex")), Bytes::from)
}

fn as_number<T: std::str::FromStr>(value: &Value) -> T {
    value.as_str().and_then(|text| text.parse().ok()).expect("a number in range")
}

/// `{"repeat": …, "times": n}` stands for a long value.
fn long_value(value: &Value, part: impl Fn(&str) -> Vec<u8>) -> Option<Vec<u8>> {
    let times = usize::try_from(value.get("times")?.as_u64()?).ok()?;
    Some(part(value.get("repeat")?.as_str()?).repeat(times))
}
