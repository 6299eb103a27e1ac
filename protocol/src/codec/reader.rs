//! The decoder's side of the codec: a position in a frame. Checks every claimed length against the bytes that are
//! there before anything is reserved for it; knows no message.

use bytes::{Buf as _, Bytes};
use compact_str::CompactString;

use super::error::{DecodeError, DecodeErrorKind};
use super::run::Run;
use super::text::lossy_text;
use super::{Nullable, Wire};

/// The longest text in bytes: lengths of texts have 16 bits and a sign, and the compact form allows no more.
pub const TEXT_BYTES_MAX: usize = i16::MAX as usize;
/// The largest number of elements in one array. Kafka's parser has the same limit.
pub const ARRAY_ELEMENTS_MAX: usize = 1_000_000;
/// The largest number of tagged fields in one section. Kafka's parser has the same limit.
pub const TAGS_MAX: usize = 10_000;
/// What errors call a section of tagged fields, which has no name of its own.
const TAGS_NAME: &str = "taggedFields";
/// The most bytes that an unsigned variable-length number of 32 bits takes.
pub(super) const VARINT_BYTES_MAX: usize = 5;
/// The longest text that is looked at as a whole.
const SHORT_TEXT_BYTES_MAX: usize = size_of::<u128>();
/// For each length of a short text, what leaves that many bytes of a little-endian number and makes the others zero.
const SHORT_TEXT_MASKS: [u128; SHORT_TEXT_BYTES_MAX] = {
    let mut masks = [0; SHORT_TEXT_BYTES_MAX];
    let mut length = 1;
    while length < SHORT_TEXT_BYTES_MAX {
        masks[length] = u128::MAX >> (8 * (SHORT_TEXT_BYTES_MAX - length));
        length += 1;
    }
    masks
};

/// Reads one message after another from a frame, which it shares: byte strings and records are slices of it, texts
/// are copied out.
#[derive(Debug, Clone)]
pub struct Reader {
    rest: Bytes,
    /// How long the whole frame is.
    len: usize,
    version: i16,
    flexible: bool,
}

impl Reader {
    /// A reader at the start of these bytes. Reading a [`Message`](super::Message) sets the version.
    #[must_use]
    pub const fn new(frame: Bytes) -> Self {
        Self { len: frame.len(), rest: frame, version: 0, flexible: false }
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
        self.len - self.rest.len()
    }

    /// How many bytes are left.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.rest.len()
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

    /// Reads a field over its default value, as [`Wire::read_into`] does; errors carry its name.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    #[inline]
    pub fn field_into<T: Wire>(&mut self, name: &'static str, value: &mut T) -> Result<(), DecodeError> {
        value.read_into(self).map_err(|error| error.in_field(name))
    }

    /// Reads a field that may be null; errors carry its name.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    #[inline]
    pub fn nullable_field<T: Nullable>(&mut self, name: &'static str) -> Result<Option<T>, DecodeError> {
        T::read_nullable(self).map_err(|error| error.in_field(name))
    }

    /// Reads a field that may be null over its default value; errors carry its name.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    #[inline]
    pub fn nullable_field_into<T: Nullable>(
        &mut self,
        name: &'static str,
        value: &mut Option<T>,
    ) -> Result<(), DecodeError> {
        T::read_nullable_into(value, self).map_err(|error| error.in_field(name))
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
                self.rest.advance(N);
                Ok(run)
            }
            None => Err(self.cut_in(fields)),
        }
    }

    #[cold]
    fn cut_in(&self, fields: &[(&'static str, usize)]) -> DecodeError {
        let mut left = self.remaining();
        let mut at = self.position();
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
        let at = self.position();
        let count = self.unsigned_varint().map_err(|error| error.in_field(TAGS_NAME))? as usize;
        if count > TAGS_MAX {
            let error = DecodeError::new(DecodeErrorKind::TooManyTags { count, limit: TAGS_MAX }, at);
            return Err(error.in_field(TAGS_NAME));
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
        let tag = self.unsigned_varint().map_err(|error| error.in_field(TAGS_NAME))?;
        let size = self.unsigned_varint().map_err(|error| error.in_tag(tag))?;
        Ok((tag, size as usize))
    }

    /// Checks that the version has the tagged field whose value comes next. Kafka does not pass over it as over one that
    /// no version has.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TagNotInVersion`] when the field exists in these versions only, and this is another.
    #[inline]
    pub fn check_tag(&self, tag: u32, name: &'static str, first: i16, last: i16) -> Result<(), DecodeError> {
        if self.in_versions(first, last) {
            return Ok(());
        }
        Err(self.error(DecodeErrorKind::TagNotInVersion { tag, version: self.version }).in_field(name))
    }

    /// Passes over the value of a tagged field that no version has.
    ///
    /// # Errors
    /// When fewer bytes are left than were announced.
    #[cold]
    pub fn skip_tag(&mut self, tag: u32, size: usize) -> Result<(), DecodeError> {
        self.skip(size).map_err(|error| error.in_tag(tag))
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
        if self.rest.first() == Some(&0) {
            self.rest.advance(1);
            return Ok(());
        }
        self.skip_tags()
    }

    #[cold]
    fn skip_tags(&mut self) -> Result<(), DecodeError> {
        for _ in 0..self.tag_count()? {
            let (tag, size) = self.tag()?;
            self.skip_tag(tag, size)?;
        }
        Ok(())
    }

    /// Passes over so many bytes.
    ///
    /// # Errors
    /// When fewer are left.
    pub fn skip(&mut self, count: usize) -> Result<(), DecodeError> {
        self.check_left(count)?;
        self.rest.advance(count);
        Ok(())
    }

    /// The next bytes, as a slice that shares the frame.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn take_bytes(&mut self, count: usize) -> Result<Bytes, DecodeError> {
        self.check_left(count)?;
        Ok(self.split(count))
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
                self.rest.advance(N);
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
        match self.rest.first() {
            Some(&byte @ ..0x80) => {
                self.rest.advance(1);
                Ok(byte.into())
            }
            _ => self.long_unsigned_varint(),
        }
    }

    /// The same of a field; errors carry its name.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn unsigned_varint_field(&mut self, name: &'static str) -> Result<u32, DecodeError> {
        self.unsigned_varint().map_err(|error| error.in_field(name))
    }

    /// The same where most are lengths of records, in two or three bytes.
    #[inline]
    fn wide_unsigned_varint(&mut self) -> Result<u32, DecodeError> {
        if let Some(&[first, second, third, ..]) = self.next_chunk::<VARINT_BYTES_MAX>() {
            let both = u32::from(u16::from_le_bytes([first, second]));
            let low = both & 0x7f | both >> 1 & 0x3f80;
            match both & 0x8080 {
                0x0080 => {
                    self.rest.advance(2);
                    return Ok(low);
                }
                0x8080 if third < 0x80 => {
                    self.rest.advance(3);
                    return Ok(low | u32::from(third) << 14);
                }
                _ => {}
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
                self.rest.advance(index + 1);
                return Ok(value);
            }
        }
        Err(self.error(DecodeErrorKind::VarintTooLong))
    }

    /// The same where fewer bytes are left than the longest takes.
    #[cold]
    fn last_unsigned_varint(&mut self) -> Result<u32, DecodeError> {
        let mut value = 0_u32;
        for (index, byte) in self.rest.iter().enumerate() {
            value |= u32::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                self.rest.advance(index + 1);
                return Ok(value);
            }
        }
        Err(DecodeError::new(DecodeErrorKind::Truncated { needed: 1, left: 0 }, self.len))
    }

    /// Passes over null in the compact form, if that comes next.
    #[inline]
    pub(super) fn skip_null(&mut self) -> bool {
        let null = self.flexible && self.rest.first() == Some(&0);
        if null {
            self.rest.advance(1);
        }
        null
    }

    /// A text, in either form; none for null. Bytes that are not UTF-8 become U+FFFD, as Java makes them.
    pub(super) fn nullable_text(&mut self) -> Result<Option<CompactString>, DecodeError> {
        let Some(length) = self.text_length()? else { return Ok(None) };
        let Some(bytes) = self.rest.get(..length) else { return Err(self.cut(length)) };
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => CompactString::new(text),
            Err(_) => lossy_text(bytes),
        };
        self.rest.advance(length);
        Ok(Some(text))
    }

    /// A short text in the compact form; none if it is another, or damaged. It is looked at with zeros behind it, as two
    /// whole words: `from_utf8` goes byte by byte through what does not fill words.
    #[inline(always)]
    pub(super) fn short_text(&mut self) -> Option<CompactString> {
        if !self.flexible {
            return None;
        }
        let (&[length], behind) = self.rest.split_first_chunk::<1>()?;
        let bytes = u128::from_le_bytes(*behind.first_chunk::<SHORT_TEXT_BYTES_MAX>()?);
        let length = usize::from(length).wrapping_sub(1);
        let mask = SHORT_TEXT_MASKS.get(length)?;
        let text = (bytes & mask).to_le_bytes();
        let text = CompactString::new(std::str::from_utf8(&text).ok()?.get(..length)?);
        self.rest.advance(1 + length);
        Some(text)
    }

    /// The length of a text, in either form; none for null.
    #[inline]
    pub(super) fn text_length(&mut self) -> Result<Option<usize>, DecodeError> {
        let at = self.position();
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

    /// The next bytes, as a slice that shares the frame. There are as many.
    #[inline]
    pub(super) fn split(&mut self, count: usize) -> Bytes {
        self.rest.split_to(count)
    }

    /// The length of a byte string or records; none for null. There are as many bytes.
    #[inline]
    pub(super) fn nullable_bytes_length(&mut self) -> Result<Option<usize>, DecodeError> {
        let length = if self.flexible {
            self.wide_unsigned_varint()?.checked_sub(1).map(|length| length as usize)
        } else {
            usize::try_from(i32::from_be_bytes(self.take_array()?)).ok()
        };
        if let Some(length) = length {
            self.check_left(length)?;
        }
        Ok(length)
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
            self.rest.advance(1);
            return Ok(Some(usize::from(byte) - 1));
        }
        self.any_array_count()
    }

    fn any_array_count(&mut self) -> Result<Option<usize>, DecodeError> {
        let at = self.position();
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
        DecodeError::new(kind, self.position())
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
        self.rest.first_chunk::<N>()
    }

    /// The error where fewer bytes are left than are needed.
    #[cold]
    fn cut(&self, needed: usize) -> DecodeError {
        self.error(DecodeErrorKind::Truncated { needed, left: self.remaining() })
    }
}
