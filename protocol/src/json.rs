//! Kafka's JSON form of messages, both ways, and the description of their schemas: for tests and for the tools'
//! decoders, behind the feature `json`. Field names have a small first letter; byte strings are base64, ids base64url;
//! tagged fields appear only when they do not have their default value.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::{
    ErrorCode, GroupId, LeaderEpoch, NodeId, Offset, PartitionIndex, ProducerEpoch, ProducerId, TopicName,
    TransactionalId, Uuid,
};
use serde_json::{Map, Value};

use crate::codec::{EncodeErrorKind, Few, Message, Struct, VersionRange};
use crate::records::Records;

/// Why a value has no JSON form, or a JSON value is not the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// A value of the wrong kind, or out of range.
    #[error("{field}: expected {expected}")]
    Expected {
        /// What is expected.
        expected: &'static str,
        /// The field, from the outermost inwards.
        field: String,
    },
    /// A field that the version has and the object does not.
    #[error("{field} is missing")]
    Missing {
        /// The field, from the outermost inwards.
        field: String,
    },
    /// A value that the version cannot carry: on the wire it would be the same error.
    #[error("{field}: {kind}")]
    Refused {
        /// What is wrong.
        kind: EncodeErrorKind,
        /// The field, from the outermost inwards.
        field: String,
    },
    /// The message does not exist in this version.
    #[error("version {version} is not one of {versions}")]
    UnsupportedVersion {
        /// The version asked for.
        version: i16,
        /// Those that exist.
        versions: VersionRange,
    },
}

impl JsonError {
    const fn expected(expected: &'static str) -> Self {
        Self::Expected { expected, field: String::new() }
    }

    fn within(mut self, outer: &str) -> Self {
        if let Self::Expected { field, .. } | Self::Refused { field, .. } | Self::Missing { field } =
            &mut self
        {
            let dot = if field.is_empty() || field.starts_with('[') { "" } else { "." };
            *field = format!("{outer}{dot}{field}");
        }
        self
    }
}

/// Turns the message into JSON.
///
/// # Errors
/// When the version does not exist or cannot carry the value, or record data is not at hand.
pub fn to_json<M: Message + JsonStruct>(message: &M, version: i16) -> Result<Value, JsonError> {
    check_version::<M>(version)?;
    Json::to_json(message, version)
}

/// Makes the message from JSON.
///
/// # Errors
/// When the version does not exist, or a field is missing or of the wrong kind. Fields that the version does not know
/// are not looked at.
pub fn from_json<M: Message + JsonStruct>(value: &Value, version: i16) -> Result<M, JsonError> {
    check_version::<M>(version)?;
    Json::from_json(value, version)
}

fn check_version<M: Message>(version: i16) -> Result<(), JsonError> {
    if M::VERSIONS.contains(version) {
        return Ok(());
    }
    Err(JsonError::UnsupportedVersion { version, versions: M::VERSIONS })
}

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub enum FieldKind {
    /// A type of the schemas' own, such as `int32`.
    Primitive(&'static str),
    /// The same, naming something: type, entity.
    Entity(&'static str, &'static str),
    /// Any number of these.
    Array(&'static FieldKind),
    /// A struct.
    Struct(&'static StructSchema),
}

/// A struct's description.
#[derive(Debug)]
pub struct StructSchema {
    /// The schema's name.
    pub name: &'static str,
    /// In the order of the wire.
    pub fields: &'static [FieldSchema],
}

/// A field's description.
#[derive(Debug)]
pub struct FieldSchema {
    /// The schema's name with a small first letter.
    pub name: &'static str,
    /// What it holds.
    pub kind: FieldKind,
    /// Where it is on the wire.
    pub versions: VersionRange,
    /// Where null is allowed.
    pub nullable: Option<VersionRange>,
    /// Its tag, if it is a tagged field.
    pub tag: Option<u32>,
    /// Whether versions without it drop its value silently.
    pub ignorable: bool,
    /// Whether its length is compact in flexible versions.
    pub flexible: bool,
    /// The JSON form of its default in a version.
    pub default: fn(i16) -> Result<Value, JsonError>,
}

/// A value with a JSON form.
pub trait Json: Sized {
    /// What the schemas call it.
    const KIND: FieldKind;

    /// Turns the value into JSON.
    ///
    /// # Errors
    /// When record data is not at hand.
    fn to_json(&self, version: i16) -> Result<Value, JsonError>;

    /// Makes the value from JSON.
    ///
    /// # Errors
    /// When the JSON value is of the wrong kind.
    fn from_json(value: &Value, version: i16) -> Result<Self, JsonError>;
}

/// A struct with a JSON form: what `#[derive(Message)]` makes.
pub trait JsonStruct: Struct {
    /// Its description.
    const SCHEMA: &'static StructSchema;

    /// Adds the fields.
    ///
    /// # Errors
    /// When the version cannot carry one of them, or record data is not at hand.
    fn put_fields(&self, object: &mut ObjectWriter) -> Result<(), JsonError>;

    /// Makes the struct from the fields.
    ///
    /// # Errors
    /// When a field is missing or of the wrong kind.
    fn take_fields(object: &ObjectReader<'_>) -> Result<Self, JsonError>;
}

/// An object that is being made.
#[derive(Debug)]
pub struct ObjectWriter {
    version: i16,
    fields: Map<String, Value>,
}

impl ObjectWriter {
    /// Whether the version is one of these, both bounds included.
    #[must_use]
    pub const fn in_versions(&self, first: i16, last: i16) -> bool {
        VersionRange::new(first, last).contains(self.version)
    }

    /// Adds a field.
    ///
    /// # Errors
    /// When record data is not at hand.
    pub fn put<T: Json>(&mut self, name: &str, value: &T) -> Result<(), JsonError> {
        let value = value.to_json(self.version).map_err(|error| error.within(name))?;
        self.fields.insert(name.to_owned(), value);
        Ok(())
    }

    /// Adds a field that may be null in these versions.
    ///
    /// # Errors
    /// When it is null in another, or record data is not at hand.
    pub fn put_nullable<T: Json>(
        &mut self,
        name: &str,
        first: i16,
        last: i16,
        value: &Option<T>,
    ) -> Result<(), JsonError> {
        if value.is_none() && !self.in_versions(first, last) {
            return Err(self.refused(name, EncodeErrorKind::Null { version: self.version }));
        }
        self.put(name, value)
    }

    /// The error of a value that the version has no place for.
    #[must_use]
    pub fn not_in_version(&self, name: &str) -> JsonError {
        self.refused(name, EncodeErrorKind::NotInVersion { version: self.version })
    }

    fn refused(&self, name: &str, kind: EncodeErrorKind) -> JsonError {
        JsonError::Refused { kind, field: name.to_owned() }
    }
}

/// An object that is being read.
#[derive(Debug)]
pub struct ObjectReader<'a> {
    version: i16,
    fields: &'a Map<String, Value>,
}

impl ObjectReader<'_> {
    /// A field, or none if the version does not have it.
    ///
    /// # Errors
    /// When the version has it and the object does not, or it is of the wrong kind.
    pub fn take<T: Json>(&self, name: &str, first: i16, last: i16) -> Result<Option<T>, JsonError> {
        let in_version = VersionRange::new(first, last).contains(self.version);
        match self.take_tagged(name, first, last)? {
            None if in_version => Err(JsonError::Missing { field: name.to_owned() }),
            value => Ok(value),
        }
    }

    /// A tagged field, or none if the version or the object does not have it.
    ///
    /// # Errors
    /// When it is of the wrong kind.
    pub fn take_tagged<T: Json>(&self, name: &str, first: i16, last: i16) -> Result<Option<T>, JsonError> {
        if !VersionRange::new(first, last).contains(self.version) {
            return Ok(None);
        }
        let Some(value) = self.fields.get(name) else { return Ok(None) };
        T::from_json(value, self.version).map(Some).map_err(|error| error.within(name))
    }
}

impl<T: JsonStruct> Json for T {
    const KIND: FieldKind = FieldKind::Struct(T::SCHEMA);

    fn to_json(&self, version: i16) -> Result<Value, JsonError> {
        let mut object = ObjectWriter { version, fields: Map::new() };
        self.put_fields(&mut object)?;
        Ok(Value::Object(object.fields))
    }

    fn from_json(value: &Value, version: i16) -> Result<Self, JsonError> {
        let fields = value.as_object().ok_or(JsonError::expected("an object"))?;
        T::take_fields(&ObjectReader { version, fields })
    }
}

impl<T: Json> Json for Option<T> {
    const KIND: FieldKind = T::KIND;

    fn to_json(&self, version: i16) -> Result<Value, JsonError> {
        self.as_ref().map_or(Ok(Value::Null), |value| value.to_json(version))
    }

    fn from_json(value: &Value, version: i16) -> Result<Self, JsonError> {
        if value.is_null() { Ok(None) } else { T::from_json(value, version).map(Some) }
    }
}

impl<T: Json> Json for Vec<T> {
    const KIND: FieldKind = FieldKind::Array(&T::KIND);

    fn to_json(&self, version: i16) -> Result<Value, JsonError> {
        to_array(self, version)
    }

    fn from_json(value: &Value, version: i16) -> Result<Self, JsonError> {
        let elements = value.as_array().ok_or(JsonError::expected("an array"))?;
        let from_json = |(index, element): (usize, &Value)| {
            T::from_json(element, version).map_err(|error| error.within(&format!("[{index}]")))
        };
        elements.iter().enumerate().map(from_json).collect()
    }
}

impl<T: Json> Json for Few<T> {
    const KIND: FieldKind = Vec::<T>::KIND;

    fn to_json(&self, version: i16) -> Result<Value, JsonError> {
        to_array(self, version)
    }

    fn from_json(value: &Value, version: i16) -> Result<Self, JsonError> {
        Vec::from_json(value, version).map(Self::from)
    }
}

fn to_array<T: Json>(elements: &[T], version: i16) -> Result<Value, JsonError> {
    let to_json = |(index, element): (usize, &T)| {
        element.to_json(version).map_err(|error| error.within(&format!("[{index}]")))
    };
    elements.iter().enumerate().map(to_json).collect::<Result<_, _>>().map(Value::Array)
}

macro_rules! integers {
    ($($type:ty = $name:literal)*) => {$(
        impl Json for $type {
            const KIND: FieldKind = FieldKind::Primitive($name);

            fn to_json(&self, _version: i16) -> Result<Value, JsonError> {
                Ok(Value::from(*self))
            }

            fn from_json(value: &Value, _version: i16) -> Result<Self, JsonError> {
                let number = value.as_i64().and_then(|number| Self::try_from(number).ok());
                number.ok_or(JsonError::expected($name))
            }
        }
    )*};
}

integers!(i8 = "int8" i16 = "int16" u16 = "uint16" i32 = "int32" u32 = "uint32" i64 = "int64");

macro_rules! newtypes {
    ($($type:ident = $inner:ty, $kind:expr;)*) => {$(
        impl Json for $type {
            const KIND: FieldKind = $kind;

            fn to_json(&self, version: i16) -> Result<Value, JsonError> {
                self.get().to_json(version)
            }

            fn from_json(value: &Value, version: i16) -> Result<Self, JsonError> {
                <$inner>::from_json(value, version).map(Self::new)
            }
        }
    )*};
}

newtypes! {
    ErrorCode = i16, FieldKind::Primitive("int16");
    LeaderEpoch = i32, FieldKind::Primitive("int32");
    NodeId = i32, FieldKind::Entity("int32", "brokerId");
    Offset = i64, FieldKind::Primitive("int64");
    PartitionIndex = i32, FieldKind::Primitive("int32");
    ProducerEpoch = i16, FieldKind::Primitive("int16");
    ProducerId = i64, FieldKind::Entity("int64", "producerId");
}

macro_rules! texts {
    ($($type:ident, $kind:expr;)*) => {$(
        impl Json for $type {
            const KIND: FieldKind = $kind;

            fn to_json(&self, _version: i16) -> Result<Value, JsonError> {
                Ok(Value::from(self.as_str()))
            }

            fn from_json(value: &Value, _version: i16) -> Result<Self, JsonError> {
                value.as_str().map(Self::from).ok_or(JsonError::expected("a string"))
            }
        }
    )*};
}

texts! {
    CompactString, FieldKind::Primitive("string");
    TopicName, FieldKind::Entity("string", "topicName");
    GroupId, FieldKind::Entity("string", "groupId");
    TransactionalId, FieldKind::Entity("string", "transactionalId");
}

impl Json for bool {
    const KIND: FieldKind = FieldKind::Primitive("bool");

    fn to_json(&self, _version: i16) -> Result<Value, JsonError> {
        Ok(Value::from(*self))
    }

    fn from_json(value: &Value, _version: i16) -> Result<Self, JsonError> {
        value.as_bool().ok_or(JsonError::expected("true or false"))
    }
}

/// What JSON has no numbers for.
const NOT_FINITE: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

/// Kafka's tools write these as texts.
const fn java_name(not_finite: f64) -> &'static str {
    if not_finite.is_nan() {
        "NaN"
    } else if not_finite > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

impl Json for f64 {
    const KIND: FieldKind = FieldKind::Primitive("float64");

    fn to_json(&self, _version: i16) -> Result<Value, JsonError> {
        Ok(serde_json::Number::from_f64(*self).map_or_else(|| Value::from(java_name(*self)), Value::Number))
    }

    fn from_json(value: &Value, _version: i16) -> Result<Self, JsonError> {
        let named = || NOT_FINITE.into_iter().find(|number| value.as_str() == Some(java_name(*number)));
        value.as_f64().or_else(named).ok_or(JsonError::expected("a number"))
    }
}

impl Json for Uuid {
    const KIND: FieldKind = FieldKind::Primitive("uuid");

    fn to_json(&self, _version: i16) -> Result<Value, JsonError> {
        Ok(Value::from(self.to_string()))
    }

    fn from_json(value: &Value, _version: i16) -> Result<Self, JsonError> {
        value.as_str().and_then(|text| text.parse().ok()).ok_or(JsonError::expected("an id of 22 characters"))
    }
}

impl Json for Bytes {
    const KIND: FieldKind = FieldKind::Primitive("bytes");

    fn to_json(&self, _version: i16) -> Result<Value, JsonError> {
        Ok(Value::from(STANDARD.encode(self)))
    }

    fn from_json(value: &Value, _version: i16) -> Result<Self, JsonError> {
        let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
        bytes.map(Self::from).ok_or(JsonError::expected("bytes in base64"))
    }
}

impl Json for Records {
    const KIND: FieldKind = FieldKind::Primitive("records");

    fn to_json(&self, version: i16) -> Result<Value, JsonError> {
        self.as_inline().ok_or(JsonError::expected("record data"))?.to_json(version)
    }

    fn from_json(value: &Value, version: i16) -> Result<Self, JsonError> {
        Bytes::from_json(value, version).map(Self::Inline)
    }
}
