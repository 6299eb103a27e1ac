//! Record data inside a message. A decoder hands it on as a slice of the frame; an encoder may leave a hole, which
//! the network fills from a file. What the records say is `ottla_model`'s to read.

use bytes::Bytes;

/// The value of a records field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Records {
    /// The data itself: any number of record batches, perhaps cut short.
    Inline(Bytes),
    /// A place for exactly so many bytes that come from elsewhere. Never read, only written.
    Hole {
        /// How many bytes belong here.
        len: u32,
        /// The caller's own name for it, which comes back in [`Piece::Hole`](crate::codec::Piece::Hole).
        id: u32,
    },
}

impl Records {
    /// How many bytes the data has.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Inline(bytes) => bytes.len(),
            Self::Hole { len, .. } => *len as usize,
        }
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The data, if it is here.
    #[must_use]
    pub const fn as_inline(&self) -> Option<&Bytes> {
        match self {
            Self::Inline(bytes) => Some(bytes),
            Self::Hole { .. } => None,
        }
    }

    /// The data, if it is here.
    #[must_use]
    pub fn into_inline(self) -> Option<Bytes> {
        match self {
            Self::Inline(bytes) => Some(bytes),
            Self::Hole { .. } => None,
        }
    }
}

impl Default for Records {
    fn default() -> Self {
        Self::Inline(Bytes::new())
    }
}

impl From<Bytes> for Records {
    fn from(bytes: Bytes) -> Self {
        Self::Inline(bytes)
    }
}
