//! Fields of fixed size that follow each other in a struct: read and written as one array, so that what is left in a
//! frame, or what room there is, is looked at once for all of them. `#[derive(Message)]` finds such fields.

/// A value that takes the same number of bytes in every version.
pub trait Fixed: Sized {
    /// How many.
    const BYTES: usize;

    /// The value that these bytes hold; there are [`BYTES`](Self::BYTES) of them.
    fn get(bytes: &[u8]) -> Self;

    /// Writes the value over these bytes, which are [`BYTES`](Self::BYTES).
    fn put(&self, bytes: &mut [u8]);
}

/// The bytes of several such values, taken or put one after the other.
#[derive(Debug)]
pub struct Run<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Run<N> {
    /// A run to put values into.
    #[must_use]
    #[inline]
    #[allow(clippy::new_without_default, reason = "nobody else makes one")]
    pub const fn new() -> Self {
        Self::of([0; N])
    }

    /// A run to take values from.
    #[inline]
    pub(super) const fn of(bytes: [u8; N]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Takes the next value.
    ///
    /// # Panics
    /// When the values are more than the run has bytes.
    #[must_use]
    #[inline]
    pub fn get<T: Fixed>(&mut self) -> T {
        let from = self.at;
        self.at += T::BYTES;
        T::get(&self.bytes[from..self.at])
    }

    /// Puts the next value.
    ///
    /// # Panics
    /// When the values are more than the run has bytes.
    #[inline]
    pub fn put<T: Fixed>(&mut self, value: &T) {
        let from = self.at;
        self.at += T::BYTES;
        value.put(&mut self.bytes[from..self.at]);
    }

    /// The bytes of all values.
    #[must_use]
    #[inline]
    pub const fn bytes(&self) -> &[u8; N] {
        &self.bytes
    }
}
