//! The variable-length integers of Kafka: unsigned (7 bits a byte, least significant group first) and zigzag.
//! Reading accepts what Kafka's reader accepts, so overlong forms too; surplus bits fall off. Writing yields the
//! shortest form only. Nothing here knows what a number means.

/// The most bytes that a 32-bit varint takes: ⌈32 ÷ 7⌉.
pub const VARINT_BYTES_MAX: usize = 5;
/// The most bytes that a 64-bit varint takes: ⌈64 ÷ 7⌉.
pub const VARLONG_BYTES_MAX: usize = 10;

/// Why bytes are no varint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VarintError {
    /// The bytes end inside the number.
    #[error("the bytes end inside a variable-length number")]
    Cut,
    /// The last byte that the width allows says that another one follows.
    #[error("a variable-length number goes on after {bytes_max} bytes")]
    TooLong {
        /// The most bytes that a number of this width may take.
        bytes_max: usize,
    },
}

/// Takes an unsigned varint off the front of `input`.
///
/// # Errors
/// If the bytes end too early or the number has more than five.
#[inline]
pub fn read_unsigned(input: &mut &[u8]) -> Result<u32, VarintError> {
    if let [byte @ ..=0x7f, rest @ ..] = *input {
        *input = rest;
        return Ok(u32::from(*byte));
    }
    let mut value = 0;
    let mut shift = 0;
    for (at, &byte) in input.iter().take(VARINT_BYTES_MAX).enumerate() {
        value |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            *input = input.get(at + 1..).unwrap_or_default();
            return Ok(value);
        }
        shift += 7;
    }
    Err(unfinished(input.len(), VARINT_BYTES_MAX))
}

/// Takes a zigzag varint of 32 bits off the front of `input`.
///
/// # Errors
/// If the bytes end too early or the number has more than five.
#[inline]
pub fn read_varint(input: &mut &[u8]) -> Result<i32, VarintError> {
    read_unsigned(input).map(unzigzag)
}

/// Takes a zigzag varint of 64 bits off the front of `input`.
///
/// # Errors
/// If the bytes end too early or the number has more than ten.
#[inline]
pub fn read_varlong(input: &mut &[u8]) -> Result<i64, VarintError> {
    if let [byte @ ..=0x7f, rest @ ..] = *input {
        *input = rest;
        return Ok(unzigzag_long(u64::from(*byte)));
    }
    let mut value = 0;
    let mut shift = 0;
    for (at, &byte) in input.iter().take(VARLONG_BYTES_MAX).enumerate() {
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            *input = input.get(at + 1..).unwrap_or_default();
            return Ok(unzigzag_long(value));
        }
        shift += 7;
    }
    Err(unfinished(input.len(), VARLONG_BYTES_MAX))
}

/// Appends an unsigned varint.
#[inline]
pub fn write_unsigned(output: &mut Vec<u8>, value: u32) {
    write_long_groups(output, u64::from(value));
}

/// Appends a zigzag varint of 32 bits.
#[inline]
pub fn write_varint(output: &mut Vec<u8>, value: i32) {
    write_unsigned(output, zigzag(value));
}

/// Appends a zigzag varint of 64 bits.
#[inline]
pub fn write_varlong(output: &mut Vec<u8>, value: i64) {
    write_long_groups(output, zigzag_long(value));
}

/// How many bytes an unsigned varint takes.
#[must_use]
#[inline]
pub const fn size_of_unsigned(value: u32) -> usize {
    groups(value as u64)
}

/// How many bytes a zigzag varint of 32 bits takes.
#[must_use]
#[inline]
pub const fn size_of_varint(value: i32) -> usize {
    size_of_unsigned(zigzag(value))
}

/// How many bytes a zigzag varint of 64 bits takes.
#[must_use]
#[inline]
pub const fn size_of_varlong(value: i64) -> usize {
    groups(zigzag_long(value))
}

/// Numbers below 2¹⁴ or so in a machine word, for the records that have no larger ones.
#[derive(Clone, Copy, Default)]
pub(crate) struct Packed {
    bytes: u64,
    bits: u32,
}

/// What the numbers of a [`Packed`] are below: they take two bytes at most.
pub(crate) const PACKED_END: u64 = 1 << 14;
/// What is copied at once, whatever of it counts.
pub(crate) const PACKED_COPY_BYTES: usize = 2 * size_of::<u64>();

impl Packed {
    /// Adds a number below [`PACKED_END`]; the caller sees to it that there is room.
    #[inline]
    pub(crate) const fn unsigned(&mut self, value: u64) {
        if value < 0x80 {
            self.add(value, 1);
        } else {
            self.add((value & 0x7f) | 0x80 | (value << 1) & 0x7f00, 2);
        }
    }

    /// Adds a number of at most 21 bits.
    #[inline]
    pub(crate) const fn wide_unsigned(&mut self, value: u64) {
        if value < PACKED_END {
            return self.unsigned(value);
        }
        self.add((value & 0x7f) | 0x8080 | (value << 1) & 0x7f00 | (value << 2) & 0x7f_0000, 3);
    }

    /// One byte as it is.
    #[inline]
    pub(crate) const fn of(byte: u8) -> Self {
        Self { bytes: byte as u64, bits: 8 }
    }

    /// Adds a byte of which no bit is set.
    #[inline]
    pub(crate) const fn zero(&mut self) {
        self.bits += 8;
    }

    /// Adds those of another.
    #[inline]
    pub(crate) const fn all(&mut self, others: Self) {
        self.bytes |= others.bytes << (self.bits % u64::BITS);
        self.bits += others.bits;
    }

    #[inline]
    const fn add(&mut self, bytes: u64, count: u32) {
        self.bytes |= bytes << (self.bits % u64::BITS);
        self.bits += 8 * count;
    }

    /// How many bytes there are.
    #[inline]
    pub(crate) const fn len(self) -> usize {
        (self.bits / 8) as usize
    }

    /// Appends them behind those of `front`, which are fewer than eight.
    #[inline]
    pub(crate) fn append_behind(self, front: Self, output: &mut Vec<u8>) {
        let shift = front.bits % u64::BITS;
        let first = self.bytes << shift | front.bytes;
        // Without a front these are of no use, and beyond the end.
        let second = self.bytes >> ((u64::BITS - shift) % u64::BITS);
        let end = output.len() + front.len() + self.len();
        // All bytes there could be are copied, since that is two instructions, and then cut off.
        output.extend_from_slice([first.to_le_bytes(), second.to_le_bytes()].as_flattened());
        output.truncate(end);
    }

    /// Appends them.
    #[inline]
    pub(crate) fn append_to(self, output: &mut Vec<u8>) {
        self.append_behind(Self::default(), output);
    }
}

/// A few numbers one after the other, on the stack, until it is known what stands before them. Room for what a record
/// begins with: its length, a byte, three numbers of 32 bits and one of 64.
pub(crate) struct Numbers {
    bytes: [u8; NUMBERS_ROOM],
    start: usize,
    end: usize,
}

/// A power of two, so that a position is kept within it by a mask; twice what is copied at once.
const NUMBERS_ROOM: usize = 64;
/// What is copied at once, whatever of it counts: all that there can be.
pub(crate) const NUMBERS_BYTES_MAX: usize = 32;
const _: () = assert!(VARINT_BYTES_MAX + 1 + 3 * VARINT_BYTES_MAX + VARLONG_BYTES_MAX <= NUMBERS_BYTES_MAX);
const _: () = assert!(VARINT_BYTES_MAX + NUMBERS_BYTES_MAX <= NUMBERS_ROOM);

impl Numbers {
    /// None, with room for a length in front.
    #[inline]
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; NUMBERS_ROOM], start: VARINT_BYTES_MAX, end: VARINT_BYTES_MAX }
    }

    /// How many bytes there are.
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.end - self.start
    }

    #[inline]
    pub(crate) const fn byte(&mut self, byte: u8) {
        self.bytes[self.end % NUMBERS_ROOM] = byte;
        self.end += 1;
    }

    #[inline]
    pub(crate) const fn varint(&mut self, value: i32) {
        self.groups(zigzag(value) as u64);
    }

    #[inline]
    pub(crate) const fn varlong(&mut self, value: i64) {
        self.groups(zigzag_long(value));
    }

    #[inline]
    const fn groups(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.byte(low_byte(value) | 0x80);
            value >>= 7;
        }
        self.byte(low_byte(value));
    }

    /// Puts a number in front of all others; once.
    #[inline]
    pub(crate) const fn varint_in_front(&mut self, value: i32) {
        debug_assert!(self.start == VARINT_BYTES_MAX, "there is room for one number in front");
        let end = self.end;
        self.start -= size_of_varint(value);
        self.end = self.start;
        self.varint(value);
        self.end = end;
    }

    /// Appends all of them.
    #[inline]
    pub(crate) fn append_to(&self, output: &mut Vec<u8>) {
        let [start, end] = [self.start % NUMBERS_BYTES_MAX, self.end % NUMBERS_ROOM];
        let room = output.capacity() - output.len();
        if room < NUMBERS_BYTES_MAX {
            output.extend_from_slice(self.bytes.get(start..end).unwrap_or_default());
            return;
        }
        // A copy whose length the compiler knows is two instructions; then what does not count is cut off.
        let whole = output.len() + self.len();
        let chunk = self.bytes.get(start..start + NUMBERS_BYTES_MAX).unwrap_or_default();
        output.extend_from_slice(chunk);
        output.truncate(whole);
    }
}

/// Groups of seven bits; zero has one.
const fn groups(value: u64) -> usize {
    ((64 - (value | 1).leading_zeros()) as usize).div_ceil(7)
}

#[inline]
fn write_long_groups(output: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        output.push(low_byte(value) | 0x80);
        value >>= 7;
    }
    output.push(low_byte(value));
}

#[inline]
const fn low_byte(value: u64) -> u8 {
    value.to_le_bytes()[0]
}

const fn unfinished(present: usize, bytes_max: usize) -> VarintError {
    if present < bytes_max { VarintError::Cut } else { VarintError::TooLong { bytes_max } }
}

pub(crate) const fn zigzag(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)).cast_unsigned()
}

pub(crate) const fn zigzag_long(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

const fn unzigzag(value: u32) -> i32 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

const fn unzigzag_long(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}
