//! The decoder's side of the codec: a position in a frame. Checks every claimed length against the bytes that are
//! there before anything is reserved for it; knows no message.

use bytes::Bytes;

use super::error::{DecodeError, DecodeErrorKind};
use super::run::Run;
use super::{Nullable, Wire};

/// The longest text in bytes: lengths of texts have 16 bits and a sign, and the compact form allows no more.
pub const TEXT_BYTES_MAX: usize = i16::MAX as usize;
/// The largest number of elements in one array. Kafka's parser has the same limit.
pub const ARRAY_ELEMENTS_MAX: usize = 1_000_000;
/// The largest number of tagged fields in one section. Kafka's parser has the same limit.
pub const TAGS_MAX: usize = 10_000;
/// The most bytes that an unsigned variable-length number of 32 bits takes.
pub(super) const VARINT_BYTES_MAX: usize = 5;

/// Reads one message after another from a frame, which it shares: byte strings and records are slices of it, texts
/// are copied out.
#[derive(Debug, Clone)]
pub struct Reader {
    frame: Bytes,
    at: usize,
    version: i16,
    flexible: bool,
}

impl Reader {
    /// A reader at the start of these bytes. Reading a [`Message`](super::Message) sets the version.
    #[must_use]
    pub const fn new(frame: Bytes) -> Self {
        Self { frame, at: 0, version: 0, flexible: false }
    }

    /// Goes over to another message, or another version, at the same position.
    pub const fn set_version(&mut self, version: i16, flexible: bool) {
        self.version = version;
        self.flexible = flexible;
    }

    /// The version that is read.
    #[must_use]
    pub const fn version(&self) -> i16 {
        self.version
    }

    /// Whether the version has compact lengths and tagged fields.
    #[must_use]
    pub const fn is_flexible(&self) -> bool {
        self.flexible
    }

    /// Whether the version that is read is one of these, both bounds included.
    #[must_use]
    pub const fn in_versions(&self, first: i16, last: i16) -> bool {
        first <= self.version && self.version <= last
    }

    /// The position: how many bytes were read.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.frame.len().saturating_sub(self.at)
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// [`DecodeErrorKind::Surplus`] when there is.
    pub fn expect_end(&self) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(self.error(DecodeErrorKind::Surplus { left })),
        }
    }

    /// Reads a field; errors carry its name.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    #[inline]
    pub fn field<T: Wire>(&mut self, name: &'static str) -> Result<T, DecodeError> {
        T::read(self).map_err(|error| error.in_field(name))
    }

    /// Reads a field that may be null; errors carry its name.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    #[inline]
    pub fn nullable_field<T: Nullable>(&mut self, name: &'static str) -> Result<Option<T>, DecodeError> {
        T::read_nullable(self).map_err(|error| error.in_field(name))
    }

    /// Reads fields of fixed size that follow each other, together `N` bytes: [`Run::get`] takes one after the other.
    ///
    /// # Errors
    /// When the input ends within them, in the first one that it does not hold; `fields` have their names and sizes.
    #[inline]
    pub fn run<const N: usize>(&mut self, fields: &[(&'static str, usize)]) -> Result<Run<N>, DecodeError> {
        match self.next_chunk::<N>() {
            Some(bytes) => {
                let run = Run::of(*bytes);
                self.at += N;
                Ok(run)
            }
            None => Err(self.cut_in(fields)),
        }
    }

    #[cold]
    fn cut_in(&self, fields: &[(&'static str, usize)]) -> DecodeError {
        let mut left = self.remaining();
        let mut at = self.at;
        for &(name, needed) in fields {
            if needed > left {
                return DecodeError::new(DecodeErrorKind::Truncated { needed, left }, at).in_field(name);
            }
            left -= needed;
            at += needed;
        }
        debug_assert!(false, "the fields of a run are as long as the run");
        DecodeError::new(DecodeErrorKind::Truncated { needed: 1, left: 0 }, at)
    }

    /// Reads a field whose length has the form of inflexible versions, whatever the version.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn inflexible_field<T: Nullable>(&mut self, name: &'static str) -> Result<Option<T>, DecodeError> {
        let flexible = std::mem::replace(&mut self.flexible, false);
        let value = self.nullable_field(name);
        self.flexible = flexible;
        value
    }

    /// Reads the value of a tagged field that may be null; errors carry its name.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn nullable_tagged_field<T: Nullable>(
        &mut self,
        name: &'static str,
    ) -> Result<Option<T>, DecodeError> {
        T::read_nullable_tag(self).map_err(|error| error.in_field(name))
    }

    /// Reads the number of tagged fields that follow.
    ///
    /// # Errors
    /// When there are more than [`TAGS_MAX`].
    pub fn tag_count(&mut self) -> Result<usize, DecodeError> {
        let at = self.at;
        let count = self.unsigned_varint()? as usize;
        if count > TAGS_MAX {
            return Err(DecodeError::new(DecodeErrorKind::TooManyTags { count, limit: TAGS_MAX }, at));
        }
        Ok(count)
    }

    /// Reads a tagged field's number and the size of its value, which follows. The size is for those who do not know
    /// the field and pass over it: a known field's value ends where its own type says, whatever size was announced. So
    /// Kafka reads it.
    ///
    /// # Errors
    /// When the input ends within them.
    pub fn tag(&mut self) -> Result<(u32, usize), DecodeError> {
        Ok((self.unsigned_varint()?, self.unsigned_varint()? as usize))
    }

    /// Ends a struct that knows no tagged fields: passes over those that a flexible version may have.
    ///
    /// # Errors
    /// When the section of tagged fields is damaged.
    #[inline]
    pub fn end_struct(&mut self) -> Result<(), DecodeError> {
        if !self.flexible {
            return Ok(());
        }
        // Nearly always there are none.
        if self.frame.get(self.at) == Some(&0) {
            self.at += 1;
            return Ok(());
        }
        self.skip_tags()
    }

    #[cold]
    fn skip_tags(&mut self) -> Result<(), DecodeError> {
        for _ in 0..self.tag_count()? {
            let (_, size) = self.tag()?;
            self.skip(size)?;
        }
        Ok(())
    }

    /// Passes over so many bytes.
    ///
    /// # Errors
    /// When fewer are left.
    pub fn skip(&mut self, count: usize) -> Result<(), DecodeError> {
        self.take(count).map(|_| ())
    }

    /// The next bytes, borrowed.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&[u8], DecodeError> {
        match self.frame.get(self.at..).and_then(|rest| rest.get(..count)) {
            Some(taken) => {
                self.at += count;
                Ok(taken)
            }
            None => Err(self.cut(count)),
        }
    }

    /// The next bytes, as a slice that shares the frame.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn take_bytes(&mut self, count: usize) -> Result<Bytes, DecodeError> {
        match self.at.checked_add(count) {
            Some(end) if end <= self.frame.len() => {
                let taken = self.frame.slice(self.at..end);
                self.at = end;
                Ok(taken)
            }
            _ => Err(self.cut(count)),
        }
    }

    /// The next bytes, copied.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn take_array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        match self.next_chunk::<N>() {
            Some(taken) => {
                let taken = *taken;
                self.at += N;
                Ok(taken)
            }
            None => Err(self.cut(N)),
        }
    }

    /// An unsigned number of 32 bits in one to five bytes, seven bits each, the lowest first. Longer forms than needed
    /// are accepted and bits beyond the 32nd dropped, as in Kafka.
    ///
    /// # Errors
    /// When the input ends within it or a sixth byte would follow.
    #[inline]
    pub fn unsigned_varint(&mut self) -> Result<u32, DecodeError> {
        // Most are lengths of a name, or how many tags there are: one byte.
        match self.frame.get(self.at) {
            Some(byte) if byte & 0x80 == 0 => {
                self.at += 1;
                Ok((*byte).into())
            }
            _ => self.long_unsigned_varint(),
        }
    }

    /// The same where most are lengths of records, in two or three bytes.
    #[inline]
    fn wide_unsigned_varint(&mut self) -> Result<u32, DecodeError> {
        if let Some(&[first @ 0x80..=0xff, second, third, ..]) = self.next_chunk::<VARINT_BYTES_MAX>() {
            let low = u32::from(first & 0x7f) | u32::from(second & 0x7f) << 7;
            if second < 0x80 {
                self.at += 2;
                return Ok(low);
            }
            if third < 0x80 {
                self.at += 3;
                return Ok(low | u32::from(third) << 14);
            }
        }
        self.unsigned_varint()
    }

    fn long_unsigned_varint(&mut self) -> Result<u32, DecodeError> {
        let Some(bytes) = self.next_chunk::<VARINT_BYTES_MAX>() else { return self.last_unsigned_varint() };
        let mut value = 0_u32;
        for (index, byte) in bytes.iter().enumerate() {
            value |= u32::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                self.at += index + 1;
                return Ok(value);
            }
        }
        Err(self.error(DecodeErrorKind::VarintTooLong))
    }

    /// The same where fewer bytes are left than the longest takes.
    #[cold]
    fn last_unsigned_varint(&mut self) -> Result<u32, DecodeError> {
        let rest = self.frame.get(self.at..).unwrap_or_default();
        let mut value = 0_u32;
        for (index, byte) in rest.iter().enumerate() {
            value |= u32::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                self.at += index + 1;
                return Ok(value);
            }
        }
        Err(DecodeError::new(DecodeErrorKind::Truncated { needed: 1, left: 0 }, self.at + rest.len()))
    }

    /// The length of a text, in either form; none for null.
    #[inline]
    pub(super) fn text_length(&mut self) -> Result<Option<usize>, DecodeError> {
        let at = self.at;
        let length = if self.flexible {
            self.compact_length()?
        } else {
            usize::try_from(i16::from_be_bytes(self.take_array()?)).ok()
        };
        match length {
            Some(length) if length > TEXT_BYTES_MAX => {
                Err(DecodeError::new(DecodeErrorKind::TextTooLong { length, limit: TEXT_BYTES_MAX }, at))
            }
            length => Ok(length),
        }
    }

    /// A byte string or records, which share the frame; none for null.
    #[inline]
    pub(super) fn nullable_bytes(&mut self) -> Result<Option<Bytes>, DecodeError> {
        let length = if self.flexible {
            self.wide_unsigned_varint()?.checked_sub(1).map(|length| length as usize)
        } else {
            usize::try_from(i32::from_be_bytes(self.take_array()?)).ok()
        };
        match length {
            Some(length) => Ok(Some(self.take_bytes(length)?)),
            None => Ok(None),
        }
    }

    /// The number of an array's elements, in either form; none for null.
    #[inline]
    pub(super) fn bytes_length(&mut self) -> Result<Option<usize>, DecodeError> {
        if self.flexible {
            self.compact_length()
        } else {
            Ok(usize::try_from(i32::from_be_bytes(self.take_array()?)).ok())
        }
    }

    /// The number of an array's elements, in either form; none for null. Every element takes a byte at least, so a
    /// count above the bytes left is an error before anything is reserved.
    #[inline]
    pub(super) fn array_count(&mut self) -> Result<Option<usize>, DecodeError> {
        // In flexible versions that of a short array is a byte.
        if self.flexible
            && let Some(&[byte @ 1..=0x7f]) = self.next_chunk::<1>()
            && self.remaining() >= usize::from(byte)
        {
            self.at += 1;
            return Ok(Some(usize::from(byte) - 1));
        }
        self.any_array_count()
    }

    fn any_array_count(&mut self) -> Result<Option<usize>, DecodeError> {
        let at = self.at;
        let Some(count) = self.bytes_length()? else { return Ok(None) };
        if count > ARRAY_ELEMENTS_MAX {
            return Err(DecodeError::new(
                DecodeErrorKind::ArrayTooLong { count, limit: ARRAY_ELEMENTS_MAX },
                at,
            ));
        }
        self.check_left(count)?;
        Ok(Some(count))
    }

    /// An error at the present position.
    #[cold]
    pub(super) fn error(&self, kind: DecodeErrorKind) -> DecodeError {
        DecodeError::new(kind, self.at)
    }

    #[inline]
    fn compact_length(&mut self) -> Result<Option<usize>, DecodeError> {
        Ok(self.unsigned_varint()?.checked_sub(1).map(|length| length as usize))
    }

    #[inline]
    fn check_left(&self, needed: usize) -> Result<(), DecodeError> {
        if needed > self.remaining() { Err(self.cut(needed)) } else { Ok(()) }
    }

    #[inline]
    fn next_chunk<const N: usize>(&self) -> Option<&[u8; N]> {
        self.frame.get(self.at..).and_then(<[u8]>::first_chunk::<N>)
    }

    /// The error where fewer bytes are left than are needed.
    #[cold]
    fn cut(&self, needed: usize) -> DecodeError {
        self.error(DecodeErrorKind::Truncated { needed, left: self.remaining() })
    }
}
