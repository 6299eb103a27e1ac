//! The attribute bits of a batch. Bits that Kafka leaves undefined are kept as they came.

use crate::compression::Codec;

/// Which clock a batch's timestamps come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TimestampType {
    /// The producer set a time for each record (`CreateTime`).
    #[default]
    CreateTime,
    /// The broker set one time for the whole batch (`LogAppendTime`).
    LogAppendTime,
}

/// The attributes field: codec in bits 0–2, then timestamp type, transactional, control, delete horizon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Attributes(i16);

impl Attributes {
    const CODEC: i16 = 0b111;
    const LOG_APPEND_TIME: i16 = 1 << 3;
    const TRANSACTIONAL: i16 = 1 << 4;
    const CONTROL: i16 = 1 << 5;
    const DELETE_HORIZON: i16 = 1 << 6;
    /// All bits that have a meaning.
    const DEFINED: i16 = 0x7f;

    /// The attributes with these bits.
    #[must_use]
    pub const fn new(bits: i16) -> Self {
        Self(bits)
    }

    /// The bits.
    #[must_use]
    pub const fn get(self) -> i16 {
        self.0
    }

    /// The codec's number, which need not be one that exists.
    #[must_use]
    pub const fn codec_id(self) -> u8 {
        (self.0 & Self::CODEC).to_le_bytes()[0]
    }

    /// The codec of the records, or none if no codec has the number.
    #[must_use]
    pub const fn codec(self) -> Option<Codec> {
        Codec::from_id(self.codec_id())
    }

    /// Whose clock the timestamps are from.
    #[must_use]
    pub const fn timestamp_type(self) -> TimestampType {
        if self.has(Self::LOG_APPEND_TIME) { TimestampType::LogAppendTime } else { TimestampType::CreateTime }
    }

    /// Whether the batch belongs to a transaction.
    #[must_use]
    pub const fn is_transactional(self) -> bool {
        self.has(Self::TRANSACTIONAL)
    }

    /// Whether the batch holds control records, which no application sees.
    #[must_use]
    pub const fn is_control(self) -> bool {
        self.has(Self::CONTROL)
    }

    /// Whether the base timestamp is a delete horizon, set by compaction.
    #[must_use]
    pub const fn has_delete_horizon(self) -> bool {
        self.has(Self::DELETE_HORIZON)
    }

    /// The same with another codec.
    #[must_use]
    pub const fn with_codec(self, codec: Codec) -> Self {
        Self((self.0 & !Self::CODEC) | codec.id() as i16)
    }

    /// The same with another timestamp type.
    #[must_use]
    pub const fn with_timestamp_type(self, timestamp_type: TimestampType) -> Self {
        self.with(Self::LOG_APPEND_TIME, matches!(timestamp_type, TimestampType::LogAppendTime))
    }

    /// The same, in a transaction or not.
    #[must_use]
    pub const fn with_transactional(self, transactional: bool) -> Self {
        self.with(Self::TRANSACTIONAL, transactional)
    }

    /// The same, with control records or not.
    #[must_use]
    pub const fn with_control(self, control: bool) -> Self {
        self.with(Self::CONTROL, control)
    }

    /// The same, with a delete horizon or not.
    #[must_use]
    pub const fn with_delete_horizon(self, delete_horizon: bool) -> Self {
        self.with(Self::DELETE_HORIZON, delete_horizon)
    }

    /// The same without the bits that mean nothing. Kafka drops them whenever it writes the field anew.
    #[must_use]
    pub const fn only_defined(self) -> Self {
        Self(self.0 & Self::DEFINED)
    }

    const fn has(self, bit: i16) -> bool {
        self.0 & bit != 0
    }

    const fn with(self, bit: i16, set: bool) -> Self {
        if set { Self(self.0 | bit) } else { Self(self.0 & !bit) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_has_its_own_bit_and_leaves_the_others_alone() {
        let all = Attributes::new(0)
            .with_codec(Codec::Zstd)
            .with_timestamp_type(TimestampType::LogAppendTime)
            .with_transactional(true)
            .with_control(true)
            .with_delete_horizon(true);
        assert_eq!(all.get(), 0b111_1100);
        let less = all.with_transactional(false).with_codec(Codec::Gzip);
        assert_eq!(less.get(), 0b110_1001);
        assert!(less.is_control() && less.has_delete_horizon() && !less.is_transactional());
        assert_eq!(less.timestamp_type(), TimestampType::LogAppendTime);
    }

    #[test]
    fn undefined_bits_are_kept_until_they_are_dropped_on_purpose() {
        let odd = Attributes::new(i16::MIN | 0x80 | 0x40);
        assert_eq!(odd.with_control(true).get(), i16::MIN | 0x80 | 0x60);
        assert_eq!(odd.only_defined().get(), 0x40);
    }

    #[test]
    fn a_codec_that_does_not_exist_has_a_number_and_no_name() {
        assert_eq!(Attributes::new(5).codec_id(), 5);
        assert_eq!(Attributes::new(5).codec(), None);
    }
}
