//! What `#[derive(Message)]` makes of each attribute, seen in the bytes.

use compact_str::CompactString;
use ottla_model::{NodeId, TopicName};
use ottla_protocol::Message;
use ottla_protocol::codec::{DecodeErrorKind, EncodeErrorKind, Reader, Wire as _};
use ottla_protocol::json::{JsonError, from_json, to_json};
use ottla_protocol::messages::metadata::MetadataRequest;

#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 7, versions = 0..=3, flexible = 2)]
struct Everything {
    always: i16,
    #[field(versions = 1.., default = -1)]
    strict: NodeId,
    #[field(versions = 1.., ignorable)]
    lax: bool,
    #[field(nullable = 1..)]
    name: Option<TopicName>,
    #[field(versions = 2.., nullable)]
    part: Option<Part>,
    #[field(versions = 2.., tag = 1, nullable, default = empty)]
    late: Option<Part>,
    #[field(versions = 3.., tag = 0, default = "none")]
    text: CompactString,
}

#[derive(Debug, Clone, PartialEq, Message)]
struct Part {
    a: i8,
    #[field(versions = 3..)]
    b: i8,
}

/// Numbers that are read at once, and some that only one version has.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = 0..=1, flexible = none)]
struct Numbers {
    first: i16,
    second: i64,
    third: bool,
    #[field(versions = 1.., default = 5)]
    fourth: i32,
    #[field(versions = 1.., ignorable)]
    fifth: ottla_model::Uuid,
}

#[test]
fn numbers_in_a_row_are_told_apart_where_the_input_ends() {
    let numbers = Numbers { first: 1, second: -2, third: true, fourth: 4, ..Numbers::default() };
    let bytes = numbers.to_bytes(1).expect("it encodes");
    assert_eq!(bytes.len(), 2 + 8 + 1 + 4 + 16);
    for (field, range) in
        [("first", 0..2), ("second", 2..10), ("third", 10..11), ("fourth", 11..15), ("fifth", 15..31)]
    {
        for at in range.clone() {
            let error = Numbers::decode(bytes.slice(..at), 1).unwrap_err();
            let kind = DecodeErrorKind::Truncated { needed: range.len(), left: at - range.start };
            assert_eq!((error.kind(), error.at(), error.field().as_str()), (kind, range.start, field));
        }
    }
    assert_eq!(Numbers::decode(bytes, 1), Ok(numbers.clone()));
    let error = numbers.to_bytes(0).unwrap_err();
    assert_eq!(
        (error.kind(), error.field().as_str()),
        (EncodeErrorKind::NotInVersion { version: 0 }, "fourth")
    );
    let older = Numbers { fourth: 5, fifth: ottla_model::Uuid::ONE, ..numbers };
    let bytes = older.to_bytes(0).expect("what is not the default may be left out");
    assert_eq!(&bytes[..], b"\0\x01\xff\xff\xff\xff\xff\xff\xff\xfe\x01");
    assert_eq!(Numbers::decode(bytes, 0), Ok(Numbers { fifth: ottla_model::Uuid::ZERO, ..older }));
}

fn encode(value: &Everything, version: i16) -> Vec<u8> {
    let bytes = value.to_bytes(version).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(Everything::decode(bytes.clone(), version).as_ref(), Ok(value), "version {version}");
    bytes.to_vec()
}

fn named() -> Everything {
    Everything { name: Some("t".into()), ..Everything::default() }
}

#[test]
fn a_fresh_message_has_the_declared_defaults() {
    let fresh = Everything::default();
    assert_eq!(fresh.strict, NodeId::NONE);
    assert_eq!((fresh.name, fresh.part), (None, None));
    assert_eq!(fresh.late, Some(Part { a: 0, b: 0 }));
    assert_eq!(fresh.text, "none");
}

#[test]
fn each_version_has_its_own_fields() {
    assert_eq!(encode(&named(), 0), b"\0\0\0\x01t");
    assert_eq!(encode(&named(), 1), b"\0\0\xff\xff\xff\xff\0\0\x01t");
    assert_eq!(encode(&named(), 2), b"\0\0\xff\xff\xff\xff\0\x02t\xff\0");
    assert_eq!(encode(&named(), 3), b"\0\0\xff\xff\xff\xff\0\x02t\xff\0");
}

#[test]
fn a_value_that_the_version_cannot_carry_is_an_error_unless_it_is_ignorable() {
    let strict = Everything { strict: NodeId::new(5), ..named() };
    let error = strict.to_bytes(0).unwrap_err();
    assert_eq!(
        (error.kind(), error.field().as_str()),
        (EncodeErrorKind::NotInVersion { version: 0 }, "strict")
    );

    let lax = Everything { lax: true, ..named() };
    assert_eq!(lax.to_bytes(0).expect("it is dropped"), named().to_bytes(0).expect("the same"));

    let tagged = Everything { text: "more".into(), ..named() };
    for version in 0..=2 {
        let error = tagged.to_bytes(version).unwrap_err();
        assert_eq!(
            (error.kind(), error.field().as_str()),
            (EncodeErrorKind::NotInVersion { version }, "text")
        );
    }
    let error = tagged.to_bytes(4).unwrap_err();
    assert_eq!(error.kind(), EncodeErrorKind::UnsupportedVersion { version: 4, first: 0, last: 3 });
}

#[test]
fn null_is_an_error_where_the_version_does_not_allow_it() {
    let error = Everything::default().to_bytes(0).unwrap_err();
    assert_eq!((error.kind(), error.field().as_str()), (EncodeErrorKind::Null { version: 0 }, "name"));
    assert_eq!(encode(&Everything::default(), 1), b"\0\0\xff\xff\xff\xff\0\xff\xff");
}

#[test]
fn a_nullable_struct_has_a_marker_which_is_a_varint_in_a_tag() {
    let value = Everything { part: Some(Part { a: 1, b: 2 }), late: Some(Part { a: 3, b: 4 }), ..named() };
    let head = b"\0\0\xff\xff\xff\xff\0\x02t";
    assert_eq!(encode(&value, 3), [&head[..], b"\x01\x01\x02\0", b"\x01\x01\x04\x01\x03\x04\0"].concat());

    let value = Everything { late: None, ..named() };
    assert_eq!(encode(&value, 2), [&head[..], b"\xff", b"\x01\x01\x01\0"].concat());
}

#[test]
fn tags_are_written_in_ascending_order_and_with_a_size_of_any_length() {
    let text: CompactString = "x".repeat(200).into();
    let value = Everything { text: text.clone(), late: None, ..named() };
    let head = b"\0\0\xff\xff\xff\xff\0\x02t\xff";
    let tagged = [b"\x02\x00\xca\x01\xc9\x01", text.as_bytes(), b"\x01\x01\0"].concat();
    assert_eq!(encode(&value, 3), [&head[..], &tagged].concat());
}

#[test]
fn what_a_version_cannot_carry_is_the_same_error_in_json() {
    let strict = Everything { strict: NodeId::new(5), ..named() };
    let tagged = Everything { text: "more".into(), ..named() };
    let part = Everything { part: Some(Part { a: 0, b: 2 }), ..named() };
    let mut refused = 0;
    for value in [strict, tagged, part, Everything { lax: true, ..named() }, Everything::default()] {
        for version in 0..=3 {
            let json = to_json(&value, version);
            match (value.to_bytes(version), json) {
                (Ok(_), Ok(_)) => {}
                (Err(error), Err(JsonError::Refused { kind, field })) => {
                    assert_eq!((kind, &field), (error.kind(), &error.field()), "{value:?} {version}");
                    refused += 1;
                }
                other => panic!("{value:?} {version}: {other:?}"),
            }
        }
    }
    assert_eq!(refused, 1 + 3 + 3 + 1);

    let request = MetadataRequest { allow_auto_topic_creation: false, ..MetadataRequest::default() };
    assert_eq!(
        to_json(&request, 1).unwrap_err().to_string(),
        "allowAutoTopicCreation: version 1 cannot carry a value other than the default"
    );
}

#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = 0..=0)]
struct Quota {
    value: f64,
}

#[test]
fn numbers_that_are_not_finite_are_texts_in_json_as_in_java() {
    for (value, text) in [(f64::NAN, "NaN"), (f64::INFINITY, "Infinity"), (f64::NEG_INFINITY, "-Infinity")] {
        let json = to_json(&Quota { value }, 0).expect("a text");
        assert_eq!(json["value"], text);
        let back: Quota = from_json(&json, 0).expect("the same");
        assert_eq!(back.value.to_bits(), value.to_bits());
    }
    from_json::<Quota>(&serde_json::json!({ "value": "1.5" }), 0).unwrap_err();
}

#[test]
#[should_panic(expected = "a list is read over an empty one")]
#[cfg(debug_assertions)]
fn a_list_is_not_read_over_one_with_elements() {
    let mut list = vec![1, 2, 3];
    let _ = list.read_into(&mut Reader::new(bytes::Bytes::from_static(&[0; 4])));
}
