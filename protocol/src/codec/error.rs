//! What can be wrong with bytes that were read, and with a value that is to be written. Errors tell the cause, the
//! byte and the field; which answer a peer gets for it is not decided here.

use std::fmt;

/// Why bytes are not the message that they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeErrorKind {
    /// The input ends before the value does.
    #[error("{needed} bytes are needed, {left} are left")]
    Truncated {
        /// How many bytes the value takes from here on.
        needed: usize,
        /// How many bytes there are.
        left: usize,
    },
    /// Null where the version does not allow it.
    #[error("null is not allowed here")]
    Null,
    /// A text longer than a 16-bit length can say, whatever the form of its length.
    #[error("a text of {length} bytes is longer than {limit}")]
    TextTooLong {
        /// The length that the input claims.
        length: usize,
        /// The longest text there may be.
        limit: usize,
    },
    /// An array with more elements than any message has.
    #[error("an array of {count} elements has more than {limit}")]
    ArrayTooLong {
        /// The number of elements that the input claims.
        count: usize,
        /// The largest number there may be.
        limit: usize,
    },
    /// A section of tagged fields with more of them than any message has.
    #[error("{count} tagged fields are more than {limit}")]
    TooManyTags {
        /// The number of fields that the input claims.
        count: usize,
        /// The largest number there may be.
        limit: usize,
    },
    /// A tagged field of other versions than this. One that no version has is passed over.
    #[error("tag {tag} is not valid for version {version}")]
    TagNotInVersion {
        /// The field's tag.
        tag: u32,
        /// The version that is read.
        version: i16,
    },
    /// A variable-length number that goes on beyond its fifth byte.
    #[error("a variable-length number has more than 5 bytes")]
    VarintTooLong,
    /// The message exists, but not in this version.
    #[error("version {version} is not one of {first} to {last}")]
    UnsupportedVersion {
        /// The version asked for.
        version: i16,
        /// The oldest that can be read.
        first: i16,
        /// The newest that can be read.
        last: i16,
    },
    /// Bytes after the end of a value that should be the last.
    #[error("{left} bytes follow the value")]
    Surplus {
        /// How many there are.
        left: usize,
    },
}

/// A message that cannot be read: what is wrong, at which byte, in which field.
#[derive(Clone, PartialEq, Eq)]
pub struct DecodeError(Box<Located<DecodeErrorKind>>);

impl DecodeError {
    /// An error at this byte, counted from the start of the reader's input. The fields it lies in are added on the
    /// way out.
    #[must_use]
    #[cold]
    pub fn new(kind: DecodeErrorKind, at: usize) -> Self {
        Self(Box::new(Located { kind, at, path: Path::default() }))
    }

    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> DecodeErrorKind {
        self.0.kind
    }

    /// The byte at which it is wrong, counted from the start of the reader's input.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.0.at
    }

    /// The field, from the outermost inwards: `topics[0].partitions[3].records`, or `topics[0].taggedFields` and
    /// `topics[0].tag 9` where it is none that is known. Empty where the message as a whole is wrong: its version, or
    /// what follows it.
    #[must_use]
    pub fn field(&self) -> String {
        self.0.path.to_string()
    }

    #[cold]
    pub(super) fn in_field(mut self, name: &'static str) -> Self {
        self.0.path.0.push(Step::Field(name));
        self
    }

    #[cold]
    pub(super) fn in_element(mut self, index: usize) -> Self {
        self.0.path.0.push(Step::Element(index));
        self
    }

    #[cold]
    pub(super) fn in_tag(mut self, tag: u32) -> Self {
        self.0.path.0.push(Step::Tag(tag));
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Located { kind, at, path } = &*self.0;
        if path.0.is_empty() {
            write!(f, "at byte {at}: {kind}")
        } else {
            write!(f, "{path} at byte {at}: {kind}")
        }
    }
}

impl fmt::Debug for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for DecodeError {}

/// Why a value cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeErrorKind {
    /// The version has no place for the field, and the field says something.
    #[error("version {version} cannot carry a value other than the default")]
    NotInVersion {
        /// The version that is written.
        version: i16,
    },
    /// Null where the version does not allow it.
    #[error("version {version} does not allow null")]
    Null {
        /// The version that is written.
        version: i16,
    },
    /// The message does not exist in this version.
    #[error("version {version} is not one of {first} to {last}")]
    UnsupportedVersion {
        /// The version asked for.
        version: i16,
        /// The oldest that can be written.
        first: i16,
        /// The newest that can be written.
        last: i16,
    },
    /// A text longer than a 16-bit length can say.
    #[error("a text of {length} bytes is longer than {limit}")]
    TextTooLong {
        /// The text's length in bytes.
        length: usize,
        /// The longest text there may be.
        limit: usize,
    },
    /// Bytes, an array or a whole frame whose length does not fit its field of 32 bits.
    #[error("a length of {length} is more than {limit}")]
    TooLong {
        /// The length in bytes or elements.
        length: usize,
        /// The largest there may be.
        limit: usize,
    },
    /// A place left open for record data where one run of bytes is wanted.
    #[error("a hole of {length} bytes cannot be part of a contiguous encoding")]
    Hole {
        /// The hole's length.
        length: u32,
    },
}

/// A value that cannot be written: what is wrong, in which field.
#[derive(Clone, PartialEq, Eq)]
pub struct EncodeError(Box<Located<EncodeErrorKind>>);

impl EncodeError {
    /// An error; the fields it lies in are added on the way out.
    #[must_use]
    #[cold]
    pub fn new(kind: EncodeErrorKind) -> Self {
        Self(Box::new(Located { kind, at: 0, path: Path::default() }))
    }

    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> EncodeErrorKind {
        self.0.kind
    }

    /// The field, from the outermost inwards. Empty outside every field.
    #[must_use]
    pub fn field(&self) -> String {
        self.0.path.to_string()
    }

    #[cold]
    pub(super) fn in_field(mut self, name: &'static str) -> Self {
        self.0.path.0.push(Step::Field(name));
        self
    }

    #[cold]
    pub(super) fn in_element(mut self, index: usize) -> Self {
        self.0.path.0.push(Step::Element(index));
        self
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Located { kind, path, .. } = &*self.0;
        if path.0.is_empty() { kind.fmt(f) } else { write!(f, "{path}: {kind}") }
    }
}

impl fmt::Debug for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for EncodeError {}

#[derive(Clone, PartialEq, Eq)]
struct Located<K> {
    kind: K,
    at: usize,
    path: Path,
}

/// The way to a value, innermost step first: errors collect it while they leave the nested fields.
#[derive(Clone, PartialEq, Eq, Default)]
struct Path(Vec<Step>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Field(&'static str),
    Element(usize),
    /// A tagged field that is not known by name.
    Tag(u32),
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, step) in self.0.iter().rev().enumerate() {
            match step {
                Step::Field(name) if depth == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Element(index) => write!(f, "[{index}]")?,
                Step::Tag(tag) if depth == 0 => write!(f, "tag {tag}")?,
                Step::Tag(tag) => write!(f, ".tag {tag}")?,
            }
        }
        Ok(())
    }
}
