//! The wire's types: how numbers, texts, byte strings, arrays and structs stand in a frame, in both the old and the
//! compact ("flexible", KIP-482) form. Messages are elsewhere; `#[derive(Message)]` makes their reading and writing
//! out of what is here. `Reader` and `Writer` are concrete types, so that every message is compiled once.

mod error;
mod few;
mod nullable;
mod primitives;
mod reader;
mod run;
mod text;
mod writer;

use bytes::Bytes;

pub use error::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind};
pub use few::Few;
pub use nullable::Nullable;
pub use reader::{ARRAY_ELEMENTS_MAX, Reader, TAGS_MAX, TEXT_BYTES_MAX};
pub use run::{Fixed, Run};
pub use writer::{Encoded, Piece, Tags, Writer};

/// A value that stands on the wire. Its form may depend on the version that the reader or writer is set to.
pub trait Wire: Sized + Default {
    /// Reads the value at the reader's position.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    #[inline]
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        let mut value = Self::default();
        value.read_into(reader)?;
        Ok(value)
    }

    /// Reads the value at the reader's position over a default one, where that lies already: what is made of many
    /// parts is then moved nowhere. A list that lies there, if it is not empty, is not given back; debug builds panic. Fields that the version does not have stay as they are. After an error the value is
    /// of no use.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    fn read_into(&mut self, reader: &mut Reader) -> Result<(), DecodeError>;

    /// Appends the value.
    ///
    /// # Errors
    /// When the version cannot carry the value.
    fn write(&self, writer: &mut Writer) -> Result<(), EncodeError>;

    /// Appends the elements of an array, without their number.
    ///
    /// # Errors
    /// When the version cannot carry one of them.
    #[inline]
    fn write_all(elements: &[Self], writer: &mut Writer) -> Result<(), EncodeError> {
        for (index, element) in elements.iter().enumerate() {
            element.write(writer).map_err(|error| error.in_element(index))?;
        }
        Ok(())
    }
}

/// A struct of Kafka's schemas, whole message or part of one: what `#[derive(Message)]` makes.
pub trait Struct: Wire + PartialEq {
    /// The schema's name. Where a request and its answer have different parts of one name, `Request` or `Response` stands
    /// in front.
    const NAME: &'static str;
}

/// An inclusive range of versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VersionRange {
    /// The oldest.
    pub first: i16,
    /// The newest.
    pub last: i16,
}

impl VersionRange {
    /// From the oldest to the newest.
    #[must_use]
    pub const fn new(first: i16, last: i16) -> Self {
        Self { first, last }
    }

    /// Whether the version is one of these.
    #[must_use]
    pub const fn contains(self, version: i16) -> bool {
        self.first <= version && version <= self.last
    }

    /// All of them, ascending.
    pub fn iter(self) -> impl Iterator<Item = i16> {
        self.first..=self.last
    }
}

impl std::fmt::Display for VersionRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.first, self.last)
    }
}

/// A whole message: a request, a response, a record's key or value. A value is read and written in one of several
/// versions; the newest struct holds them all.
pub trait Message: Struct {
    /// What the message is listed under: an API key, a metadata record's type, the type in a coordinator record's key.
    const KEY: Option<i16>;
    /// The versions that can be read and written.
    const VERSIONS: VersionRange;
    /// What an ApiVersions answer names as the oldest version: below `VERSIONS.first` where old clients want to see
    /// a version that nobody serves any more.
    const ADVERTISED_MIN: i16;
    /// The first version with compact lengths and tagged fields, if any has them.
    const FLEXIBLE: Option<i16>;

    /// Whether this version has compact lengths and tagged fields.
    #[must_use]
    fn is_flexible(version: i16) -> bool {
        Self::FLEXIBLE.is_some_and(|first| version >= first)
    }

    /// Reads the message from these bytes. What follows it is not looked at.
    ///
    /// # Errors
    /// When the version does not exist or the bytes are not the message.
    #[inline]
    fn decode(bytes: Bytes, version: i16) -> Result<Self, DecodeError> {
        Self::decode_from(&mut Reader::new(bytes), version)
    }

    /// Reads the message at the reader's position, and leaves the reader behind it.
    ///
    /// # Errors
    /// When the version does not exist or the bytes are not the message.
    #[inline]
    fn decode_from(reader: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let VersionRange { first, last } = Self::VERSIONS;
        if !Self::VERSIONS.contains(version) {
            return Err(reader.error(DecodeErrorKind::UnsupportedVersion { version, first, last }));
        }
        reader.set_version(version, Self::is_flexible(version));
        Self::read(reader)
    }

    /// Writes the message alone.
    ///
    /// # Errors
    /// When the version does not exist or cannot carry the value.
    fn encode(&self, version: i16) -> Result<Encoded, EncodeError> {
        let mut writer = Writer::new();
        self.encode_into(&mut writer, version)?;
        Ok(writer.finish())
    }

    /// Appends the message to what was written before.
    ///
    /// # Errors
    /// When the version does not exist or cannot carry the value; the writer's content is then of no use.
    fn encode_into(&self, writer: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let VersionRange { first, last } = Self::VERSIONS;
        if !Self::VERSIONS.contains(version) {
            return Err(EncodeError::new(EncodeErrorKind::UnsupportedVersion { version, first, last }));
        }
        writer.set_version(version, Self::is_flexible(version));
        self.write(writer)
    }

    /// Writes the message as one run of bytes.
    ///
    /// # Errors
    /// As [`encode`](Self::encode), and [`EncodeErrorKind::Hole`] if record data is missing.
    fn to_bytes(&self, version: i16) -> Result<Bytes, EncodeError> {
        self.encode(version)?.into_bytes()
    }
}
