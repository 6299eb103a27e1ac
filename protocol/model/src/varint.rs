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

const fn zigzag(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)).cast_unsigned()
}

const fn zigzag_long(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

const fn unzigzag(value: u32) -> i32 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

const fn unzigzag_long(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}
