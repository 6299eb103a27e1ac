//! Positions in a log. An [`Offset`] counts records from the start of a partition's life; positions in a file are
//! plain byte counts and belong to storage.

use std::fmt;

/// A record's place in its partition. Negative numbers are no place: the wire uses −1 for "unknown".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Offset(i64);

impl Offset {
    /// The first record of a log that has lost none.
    pub const ZERO: Self = Self(0);
    /// Not known, not there, or not asked for.
    pub const UNKNOWN: Self = Self(-1);
    /// The largest place.
    pub const MAX: Self = Self(i64::MAX);

    /// The offset with this number.
    #[must_use]
    pub const fn new(value: i64) -> Self {
        Self(value)
    }

    /// The number itself.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The place after this one.
    ///
    /// # Panics
    /// At 2⁶³−1, which no log reaches.
    #[must_use]
    pub fn next(self) -> Self {
        self.checked_add(1).expect("an offset is below 2^63 - 1")
    }

    /// The place `count` further on, or none beyond 2⁶³−1.
    #[must_use]
    pub const fn checked_add(self, count: i64) -> Option<Self> {
        match self.0.checked_add(count) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }

    /// How many places lie between `base` and this one; negative when it lies before.
    #[must_use]
    pub const fn distance_from(self, base: Self) -> i64 {
        self.0.saturating_sub(base.0)
    }
}

impl From<i64> for Offset {
    fn from(value: i64) -> Self {
        Self(value)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_on_offsets_stops_at_the_last_one() {
        assert_eq!(Offset::new(7).next(), Offset::new(8));
        assert_eq!(Offset::new(7).checked_add(-7), Some(Offset::ZERO));
        assert_eq!(Offset::MAX.checked_add(1), None);
        assert_eq!(Offset::new(10).distance_from(Offset::new(4)), 6);
        assert_eq!(Offset::new(4).distance_from(Offset::new(10)), -6);
    }
}
