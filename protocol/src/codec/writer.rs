//! The encoder's side of the codec. One pass: lengths are patched in behind the writing, and where record data is not
//! at hand a hole is left, so that nobody copies it. Sends nothing.

use bytes::{Bytes, BytesMut};
use ottla_model::ErrorCode;

use super::error::{EncodeError, EncodeErrorKind};
use super::reader::{TEXT_BYTES_MAX, VARINT_BYTES_MAX};
use super::run::{Fixed, Run};
use super::{Nullable, Wire};

/// Record data from this size on is passed on as its own piece instead of being copied into the message.
const SHARED_BYTES_MIN: usize = 4096;
/// What a fresh writer reserves: most messages are smaller.
const FIRST_RESERVE_BYTES: usize = 512;
/// The largest length that a field or a frame of 32 bits can say.
const LENGTH_MAX: usize = i32::MAX as usize;

/// One part of an encoded message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// These bytes.
    Bytes(Bytes),
    /// Record data that the caller provides: exactly so many bytes.
    Hole {
        /// How many bytes belong here.
        len: u32,
        /// The caller's own name for it, as given in [`Records::Hole`](crate::records::Records::Hole).
        id: u32,
    },
}

impl Piece {
    /// How many bytes this part has on the wire.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Hole { len, .. } => *len as usize,
        }
    }

    /// Whether this part has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An encoded message: its parts in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Encoded {
    pieces: Pieces,
}

/// Most messages are one part, which takes no list.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pieces {
    One([Piece; 1]),
    /// None, or more than one.
    Many(Vec<Piece>),
}

impl Default for Pieces {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Encoded {
    /// The parts, in the order of the wire. None is empty, save holes.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        match &self.pieces {
            Pieces::One(piece) => piece,
            Pieces::Many(pieces) => pieces,
        }
    }

    /// The parts, in the order of the wire.
    #[must_use]
    pub fn into_pieces(self) -> Vec<Piece> {
        match self.pieces {
            Pieces::One(piece) => piece.into(),
            Pieces::Many(pieces) => pieces,
        }
    }

    /// How many bytes the message has, holes included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pieces().iter().map(Piece::len).sum()
    }

    /// Whether the message has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The message as one run of bytes; copies only if there are several parts.
    ///
    /// # Errors
    /// [`EncodeErrorKind::Hole`] if there is a hole.
    pub fn into_bytes(self) -> Result<Bytes, EncodeError> {
        let length = self.len();
        let pieces = match self.pieces {
            Pieces::One([Piece::Bytes(bytes)]) => return Ok(bytes),
            Pieces::One(piece) => piece.into(),
            Pieces::Many(pieces) => pieces,
        };
        let mut whole = BytesMut::new();
        for piece in pieces {
            match piece {
                Piece::Hole { len, .. } => {
                    return Err(EncodeError::new(EncodeErrorKind::Hole { length: len }));
                }
                Piece::Bytes(bytes) => {
                    whole.reserve(length - whole.len());
                    whole.extend_from_slice(&bytes);
                }
            }
        }
        Ok(whole.freeze())
    }
}

/// Writes one message after another into the same buffer.
#[derive(Debug, Default)]
pub struct Writer {
    /// Everything but the foreign parts.
    own: Vec<u8>,
    /// Foreign parts, each before the byte of `own` at that position; ascending.
    foreign: Vec<(usize, Piece)>,
    foreign_bytes: usize,
    codes: Vec<(ErrorCode, u32)>,
    version: i16,
    flexible: bool,
}

impl Writer {
    /// An empty writer. Writing a [`Message`](super::Message) sets the version.
    #[must_use]
    pub fn new() -> Self {
        Self { own: Vec::with_capacity(FIRST_RESERVE_BYTES), ..Self::default() }
    }

    /// Goes over to another message, or another version, at the same position.
    pub const fn set_version(&mut self, version: i16, flexible: bool) {
        self.version = version;
        self.flexible = flexible;
    }

    /// The version that is written.
    #[must_use]
    pub const fn version(&self) -> i16 {
        self.version
    }

    /// Whether the version has compact lengths and tagged fields.
    #[must_use]
    pub const fn is_flexible(&self) -> bool {
        self.flexible
    }

    /// Whether the version that is written is one of these, both bounds included.
    #[must_use]
    pub const fn in_versions(&self, first: i16, last: i16) -> bool {
        first <= self.version && self.version <= last
    }

    /// How many bytes were written, foreign parts included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.own.len() + self.foreign_bytes
    }

    /// Whether nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was written.
    #[must_use]
    pub fn finish(self) -> Encoded {
        if self.foreign.is_empty() && !self.own.is_empty() {
            return Encoded { pieces: Pieces::One([Piece::Bytes(self.own.into())]) };
        }
        let mut pieces = Vec::with_capacity(2 * self.foreign.len() + 1);
        let mut own = Bytes::from(self.own);
        let mut taken = 0;
        for (position, piece) in self.foreign {
            if position > taken {
                pieces.push(Piece::Bytes(own.split_to(position - taken)));
                taken = position;
            }
            pieces.push(piece);
        }
        if !own.is_empty() {
            pieces.push(Piece::Bytes(own));
        }
        match <[Piece; 1]>::try_from(pieces) {
            Ok(piece) => Encoded { pieces: Pieces::One(piece) },
            Err(pieces) => Encoded { pieces: Pieces::Many(pieces) },
        }
    }

    /// Notes the code in a field of a message, for whoever counts them; none is no code.
    #[inline]
    pub fn note_code(&mut self, code: ErrorCode) {
        if !code.is_none() {
            self.count_code(code);
        }
    }

    /// The error codes in the fields that were written, each with how often.
    #[must_use]
    pub fn codes(&self) -> &[(ErrorCode, u32)] {
        &self.codes
    }

    #[cold]
    fn count_code(&mut self, code: ErrorCode) {
        match self.codes.iter_mut().find(|(known, _)| *known == code) {
            Some((_, times)) => *times += 1,
            None => self.codes.push((code, 1)),
        }
    }

    /// Writes a field; errors carry its name.
    ///
    /// # Errors
    /// When the version cannot carry the value.
    #[inline]
    pub fn field<T: Wire>(&mut self, name: &'static str, value: &T) -> Result<(), EncodeError> {
        value.write(self).map_err(|error| error.in_field(name))
    }

    /// Writes a field that may be null; errors carry its name.
    ///
    /// # Errors
    /// When the version cannot carry the value.
    #[inline]
    pub fn nullable_field<T: Nullable>(
        &mut self,
        name: &'static str,
        value: Option<&T>,
    ) -> Result<(), EncodeError> {
        T::write_nullable(value, self).map_err(|error| error.in_field(name))
    }

    /// Writes a field whose length has the form of inflexible versions, whatever the version.
    ///
    /// # Errors
    /// When the version cannot carry the value.
    pub fn inflexible_field<T: Nullable>(
        &mut self,
        name: &'static str,
        value: Option<&T>,
    ) -> Result<(), EncodeError> {
        let flexible = std::mem::replace(&mut self.flexible, false);
        let written = self.nullable_field(name, value);
        self.flexible = flexible;
        written
    }

    /// Ends a struct that has no tagged fields: in a flexible version it says so.
    #[inline]
    pub fn end_struct(&mut self) {
        if self.flexible {
            self.put(&[0]);
        }
    }

    /// Begins the section of tagged fields, which ends a struct in flexible versions.
    pub fn tags(&mut self) -> Tags<'_> {
        let count_at = self.own.len();
        self.put(&[0]);
        Tags { writer: self, count_at }
    }

    /// The error of a field that this version has no place for, though it says something.
    #[must_use]
    #[cold]
    pub fn not_in_version(&self, name: &'static str) -> EncodeError {
        EncodeError::new(EncodeErrorKind::NotInVersion { version: self.version }).in_field(name)
    }

    /// The error of a field that is null though this version does not allow it.
    #[must_use]
    #[cold]
    pub fn null_in_version(&self, name: &'static str) -> EncodeError {
        self.null_error().in_field(name)
    }

    /// Writes these bytes as they are.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        self.own.extend_from_slice(bytes);
    }

    /// Writes an unsigned number in as few bytes as it takes, seven bits each, the lowest first.
    #[inline]
    pub fn put_unsigned_varint(&mut self, value: u32) {
        // Most are lengths of a name, or how many tags there are: one byte.
        match u8::try_from(value) {
            Ok(byte) if byte < 0x80 => self.own.push(byte),
            _ => self.put_long_unsigned_varint(value),
        }
    }

    fn put_long_unsigned_varint(&mut self, value: u32) {
        // Most of the others are lengths of records: two or three bytes.
        if value < 1 << 14 {
            self.put(&[low_bits(value) | 0x80, low_bits(value >> 7)]);
        } else if value < 1 << 21 {
            self.put(&[low_bits(value) | 0x80, low_bits(value >> 7) | 0x80, low_bits(value >> 14)]);
        } else {
            let (bytes, length) = unsigned_varint(value);
            self.put(bytes.get(..length).unwrap_or(&bytes));
        }
    }

    /// The length of a text, in either form.
    #[inline]
    pub(super) fn put_text_length(&mut self, length: usize) -> Result<(), EncodeError> {
        match i16::try_from(length) {
            Ok(_) if self.flexible => self.put_compact_length(length),
            Ok(length) => {
                self.put(&length.to_be_bytes());
                Ok(())
            }
            Err(_) => Err(EncodeError::new(EncodeErrorKind::TextTooLong { length, limit: TEXT_BYTES_MAX })),
        }
    }

    /// A text that is null, in either form.
    pub(super) fn put_null_text(&mut self) {
        if self.flexible { self.put(&[0]) } else { self.put(&(-1_i16).to_be_bytes()) }
    }

    /// The length of a byte string, records or an array, in either form.
    #[inline]
    pub(super) fn put_length(&mut self, length: usize) -> Result<(), EncodeError> {
        if self.flexible { self.put_compact_length(length) } else { self.put_plain_length(length) }
    }

    fn put_plain_length(&mut self, length: usize) -> Result<(), EncodeError> {
        self.put(&length_i32(length)?.to_be_bytes());
        Ok(())
    }

    /// A byte string, records or an array that is null, in either form.
    #[inline]
    pub(super) fn put_null(&mut self) {
        if self.flexible { self.put(&[0]) } else { self.put(&(-1_i32).to_be_bytes()) }
    }

    /// Record data: a part of its own if it is worth it.
    pub(crate) fn put_shared(&mut self, bytes: &Bytes) {
        if bytes.len() < SHARED_BYTES_MIN {
            self.put(bytes);
        } else {
            self.put_foreign(Piece::Bytes(bytes.clone()));
        }
    }

    /// A place for record data.
    pub(crate) fn put_hole(&mut self, len: u32, id: u32) {
        self.put_foreign(Piece::Hole { len, id });
    }

    #[cold]
    pub(super) fn null_error(&self) -> EncodeError {
        EncodeError::new(EncodeErrorKind::Null { version: self.version })
    }

    /// Writes numbers; `THREE` is how many bytes three of them take.
    ///
    /// # Errors
    /// None: a number can be written in every version.
    #[inline]
    pub(super) fn put_numbers<T: Fixed + Wire, const THREE: usize>(
        &mut self,
        numbers: &[T],
    ) -> Result<(), EncodeError> {
        // Most arrays of numbers are a partition's replicas, and most partitions have three.
        if let [first, second, third] = numbers {
            let mut run = Run::<THREE>::new();
            run.put(first);
            run.put(second);
            run.put(third);
            self.put(run.bytes());
            return Ok(());
        }
        if numbers.is_empty() { Ok(()) } else { self.put_each(numbers) }
    }

    #[inline(never)]
    fn put_each<T: Wire>(&mut self, numbers: &[T]) -> Result<(), EncodeError> {
        numbers.iter().try_for_each(|number| number.write(self))
    }

    fn put_foreign(&mut self, piece: Piece) {
        self.foreign_bytes += piece.len();
        self.foreign.push((self.own.len(), piece));
    }

    #[inline]
    fn put_compact_length(&mut self, length: usize) -> Result<(), EncodeError> {
        // Most lengths, one more than said, are one byte.
        match u8::try_from(length) {
            Ok(short @ ..0x7f) => {
                self.own.push(short + 1);
                Ok(())
            }
            _ => self.put_long_compact_length(length),
        }
    }

    fn put_long_compact_length(&mut self, length: usize) -> Result<(), EncodeError> {
        self.put_long_unsigned_varint(length_i32(length)?.unsigned_abs() + 1);
        Ok(())
    }
}

/// A section of tagged fields that is being written: those that do not have their default value, in ascending order.
#[derive(Debug)]
pub struct Tags<'a> {
    writer: &'a mut Writer,
    count_at: usize,
}

impl Tags<'_> {
    /// Whether the version that is written is one of these, both bounds included.
    #[must_use]
    pub const fn in_versions(&self, first: i16, last: i16) -> bool {
        self.writer.in_versions(first, last)
    }

    /// Writes a tagged field; errors carry its name.
    ///
    /// # Errors
    /// When the version cannot carry the value.
    pub fn field<T: Wire>(&mut self, tag: u32, name: &'static str, value: &T) -> Result<(), EncodeError> {
        self.sized(tag, |writer| value.write(writer)).map_err(|error| error.in_field(name))
    }

    /// Writes a tagged field that may be null; errors carry its name.
    ///
    /// # Errors
    /// When the version cannot carry the value.
    pub fn nullable_field<T: Nullable>(
        &mut self,
        tag: u32,
        name: &'static str,
        value: Option<&T>,
    ) -> Result<(), EncodeError> {
        self.sized(tag, |writer| T::write_nullable_tag(value, writer)).map_err(|error| error.in_field(name))
    }

    /// The error of a field that this version has no place for, though it says something.
    #[must_use]
    #[cold]
    pub fn not_in_version(&self, name: &'static str) -> EncodeError {
        self.writer.not_in_version(name)
    }

    /// The size stands before the value and has as many bytes as it takes: the value is written first and moved
    /// behind its size.
    fn sized(
        &mut self,
        tag: u32,
        write: impl FnOnce(&mut Writer) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        // The derive refuses structs with more than 127 tagged fields, so the count stays one byte.
        if let Some(count) = self.writer.own.get_mut(self.count_at) {
            *count += 1;
        }
        self.writer.put_unsigned_varint(tag);
        let start = self.writer.own.len();
        let foreign = self.writer.foreign.len();
        write(self.writer)?;
        assert_eq!(foreign, self.writer.foreign.len(), "no tagged field of Kafka's holds records");
        let (size, size_bytes) = unsigned_varint(length_i32(self.writer.own.len() - start)?.unsigned_abs());
        self.writer.put(size.get(..size_bytes).unwrap_or(&size));
        if let Some(value_and_size) = self.writer.own.get_mut(start..) {
            value_and_size.rotate_right(size_bytes);
        }
        Ok(())
    }
}

fn length_i32(length: usize) -> Result<i32, EncodeError> {
    i32::try_from(length)
        .map_err(|_| EncodeError::new(EncodeErrorKind::TooLong { length, limit: LENGTH_MAX }))
}

/// The lowest seven bits.
fn low_bits(value: u32) -> u8 {
    let [low, ..] = value.to_le_bytes();
    low & 0x7f
}

/// The bytes of a variable-length number and how many of them count.
fn unsigned_varint(value: u32) -> ([u8; VARINT_BYTES_MAX], usize) {
    let mut bytes = [0; VARINT_BYTES_MAX];
    let mut rest = value;
    let mut length = 0;
    for byte in &mut bytes {
        let [low, ..] = rest.to_le_bytes();
        rest >>= 7;
        length += 1;
        if rest == 0 {
            *byte = low & 0x7f;
            break;
        }
        *byte = low | 0x80;
    }
    (bytes, length)
}
