//! The frame's head: a big-endian signed 32-bit length. One place says which lengths are accepted, for both sides.

use bytes::Buf;

/// Bytes before each frame that give its length.
pub const FRAME_HEAD_BYTES: usize = 4;

/// Longest frame that a length can announce.
pub(crate) const FRAME_BYTES_MAX: usize = i32::MAX as usize;

/// A length that is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameLengthError {
    /// Zero or negative.
    #[error("frame length {length} is not positive")]
    NotPositive {
        /// As received.
        length: i32,
    },
    /// Above the limit.
    #[error("frame length {length} is above the limit of {limit}")]
    TooLong {
        /// As received.
        length: i32,
        /// The limit in bytes.
        limit: usize,
    },
}

/// The length that these bytes begin with; `None` while they are too few.
pub(crate) fn frame_length(mut bytes: &[u8], limit: usize) -> Result<Option<usize>, FrameLengthError> {
    let Ok(length) = bytes.try_get_i32() else { return Ok(None) };
    match usize::try_from(length) {
        Err(_) | Ok(0) => Err(FrameLengthError::NotPositive { length }),
        Ok(bytes) if bytes > limit => Err(FrameLengthError::TooLong { length, limit }),
        Ok(bytes) => Ok(Some(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_positive_and_within_the_limit() {
        assert_eq!(frame_length(&[0, 0, 0], 10), Ok(None));
        assert_eq!(frame_length(&[0, 0, 0, 10, 99], 10), Ok(Some(10)));
        assert_eq!(
            frame_length(&[0, 0, 0, 11], 10),
            Err(FrameLengthError::TooLong { length: 11, limit: 10 })
        );
        assert_eq!(frame_length(&[0; 4], 10), Err(FrameLengthError::NotPositive { length: 0 }));
        assert_eq!(frame_length(&[0xff; 4], 10), Err(FrameLengthError::NotPositive { length: -1 }));
        assert_eq!(
            frame_length(&[0x7f, 0xff, 0xff, 0xff], 10),
            Err(FrameLengthError::TooLong { length: i32::MAX, limit: 10 })
        );
    }
}
