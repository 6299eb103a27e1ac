//! Randomness for tests, the same each time, and random messages made out of the description of their schemas.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ottla_protocol::json::{FieldKind, StructSchema};
use serde_json::{Map, Value, json};

/// Enough randomness for tests.
pub(crate) struct XorShift(u64);

impl XorShift {
    /// A test that fails shows the seed.
    #[allow(clippy::print_stdout, reason = "tests print what a failure is understood by")]
    pub(crate) fn new(seed: u64) -> Self {
        println!("seed {seed:#x}");
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below this.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 33).expect("31 bits") % end
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let [.., byte] = self.next().to_le_bytes();
        byte
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.byte()).collect()
    }
}

/// A message of this schema in this version, in Kafka's JSON form: null here and there where it may be, arrays and
/// texts of any length, numbers at their ends more often than elsewhere.
pub(crate) fn message(random: &mut XorShift, schema: &StructSchema, version: i16) -> Value {
    let fields = schema.fields.iter().filter(|field| field.versions.contains(version));
    let fields = fields.map(|field| {
        let nullable = field.nullable.is_some_and(|versions| versions.contains(version));
        let value = match nullable && random.below(4) == 0 {
            true => Value::Null,
            false => value(random, field.kind, version),
        };
        (field.name.to_owned(), value)
    });
    Value::Object(fields.collect::<Map<_, _>>())
}

fn value(random: &mut XorShift, kind: FieldKind, version: i16) -> Value {
    match kind {
        FieldKind::Array(element) => {
            let count = random.below(4);
            (0..count).map(|_| value(random, *element, version)).collect()
        }
        FieldKind::Struct(schema) => message(random, schema, version),
        FieldKind::Primitive(kind) | FieldKind::Entity(kind, _) => primitive(random, kind),
    }
}

fn primitive(random: &mut XorShift, kind: &str) -> Value {
    match kind {
        "bool" => json!(random.below(2) == 1),
        "int8" => integer(random, i8::MIN.into(), i8::MAX.into()),
        "int16" => integer(random, i16::MIN.into(), i16::MAX.into()),
        "uint16" => integer(random, 0, u16::MAX.into()),
        "int32" => integer(random, i32::MIN.into(), i32::MAX.into()),
        "uint32" => integer(random, 0, u32::MAX.into()),
        "int64" => integer(random, i64::MIN, i64::MAX),
        "float64" => loop {
            let number = f64::from_bits(random.next());
            if number.is_finite() {
                break json!(number);
            }
        },
        "string" => {
            let length = length(random);
            json!((0..length).map(|_| letter(random)).collect::<String>())
        }
        "bytes" | "records" => {
            let length = length(random);
            json!(STANDARD.encode(random.bytes(length)))
        }
        "uuid" => json!(URL_SAFE_NO_PAD.encode(random.bytes(16))),
        other => panic!("{other} is a type of the schemas"),
    }
}

fn integer(random: &mut XorShift, min: i64, max: i64) -> Value {
    let any = i64::from_le_bytes(random.next().to_le_bytes());
    json!(match random.below(8) {
        0 => min,
        1 => max,
        2 => 0,
        3 => (-1).clamp(min, max),
        _ if min == 0 => any & max,
        _ => any.clamp(min, max),
    })
}

/// Beyond one byte of a compact length now and then.
fn length(random: &mut XorShift) -> usize {
    match random.below(16) {
        0 => 126 + random.below(4),
        1..=4 => 0,
        _ => random.below(12),
    }
}

fn letter(random: &mut XorShift) -> char {
    match random.below(8) {
        0 => char::from_u32(u32::try_from(random.below(0x11_0000)).expect("a small number")).unwrap_or('ß'),
        _ => char::from(b' ' + random.byte() % 95),
    }
}
