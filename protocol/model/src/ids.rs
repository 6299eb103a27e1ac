//! Identifiers: topics, nodes, directories, epochs. They say what a number or a text names and nothing of its
//! meaning in a log; positions are in `offset.rs`.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use compact_str::CompactString;

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name($inner);

        impl $name {
            /// The identifier that carries this number.
            #[must_use]
            pub const fn new(value: $inner) -> Self {
                Self(value)
            }

            /// The number itself.
            #[must_use]
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        impl From<$inner> for $name {
            fn from(value: $inner) -> Self {
                Self(value)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number_id!(
    /// A broker or controller (`node.id`); −1 stands for none.
    NodeId(i32)
);
number_id!(
    /// The number of a partition within its topic, from 0.
    PartitionIndex(i32)
);
number_id!(
    /// How often a partition changed its leader; −1 stands for unknown.
    LeaderEpoch(i32)
);
number_id!(
    /// Names an idempotent or transactional producer; −1 stands for none.
    ProducerId(i64)
);
number_id!(
    /// The incarnation of a producer id; −1 stands for none.
    ProducerEpoch(i16)
);

impl NodeId {
    /// No node.
    pub const NONE: Self = Self(-1);
}

impl LeaderEpoch {
    /// The epoch is not known, or the peer does not say.
    pub const UNKNOWN: Self = Self(-1);
}

impl ProducerId {
    /// The batch has no producer id.
    pub const NONE: Self = Self(-1);

    /// Whether it names a producer.
    #[must_use]
    pub const fn is_some(self) -> bool {
        self.0 >= 0
    }
}

impl ProducerEpoch {
    /// The batch has no producer epoch.
    pub const NONE: Self = Self(-1);
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(CompactString);

        impl $name {
            /// The name as text. Nothing is checked: a peer may send any.
            #[must_use]
            pub fn new(text: impl Into<CompactString>) -> Self {
                Self(text.into())
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether the text has no characters; wire formats without names leave it so.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl From<CompactString> for $name {
            fn from(text: CompactString) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// A topic's name; up to 24 bytes are held inline, so it pins no frame.
    TopicName
);
text_id!(
    /// A group's name.
    GroupId
);
text_id!(
    /// A transactional producer's name.
    TransactionalId
);

/// The longest topic name that Kafka accepts, in characters.
pub const TOPIC_NAME_CHARS_MAX: usize = 249;

impl TopicName {
    /// Whether a topic may be created under this name: 1 to 249 of `[A-Za-z0-9._-]`, neither `.` nor `..`.
    ///
    /// # Errors
    /// Says which rule the name breaks.
    pub fn check(&self) -> Result<(), TopicNameError> {
        let name = self.as_str();
        if name.is_empty() {
            return Err(TopicNameError::Empty);
        }
        if name == "." || name == ".." {
            return Err(TopicNameError::Dots);
        }
        if name.chars().count() > TOPIC_NAME_CHARS_MAX {
            return Err(TopicNameError::TooLong { chars: name.chars().count() });
        }
        match name.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))) {
            Some(character) => Err(TopicNameError::IllegalCharacter { character }),
            None => Ok(()),
        }
    }
}

/// Why a topic cannot have a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopicNameError {
    /// No characters at all.
    #[error("the empty string is not allowed")]
    Empty,
    /// A folder of that name would not be a folder of ours.
    #[error("'.' or '..' is not allowed")]
    Dots,
    /// Longer than a folder's name may be.
    #[error("the length {chars} is longer than the maximum of {TOPIC_NAME_CHARS_MAX} characters")]
    TooLong {
        /// The name's length in characters.
        chars: usize,
    },
    /// A character outside the allowed set.
    #[error("'{character}' is not one of the allowed characters: ASCII letters and digits, '.', '_' and '-'")]
    IllegalCharacter {
        /// The first such character.
        character: char,
    },
}

/// A 16-byte identifier in Kafka's forms: big-endian on the wire, base64url without padding as text (22 characters).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// All zero: absent.
    pub const ZERO: Self = Self([0; 16]);
    /// Reserved: the id of `__cluster_metadata`, and of an unassigned directory (`AAAAAAAAAAAAAAAAAAAAAQ`).
    pub const ONE: Self = Self([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    /// The first hundred numbers name no directory, whichever of them Kafka may give a meaning.
    const RESERVED_DIRECTORIES_END: u128 = 100;

    /// The identifier with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes in wire order.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// A random (version 4) identifier made of these bytes, or none where Kafka would draw again: a text that begins
    /// with a dash, which tools take for an option. The version keeps it clear of the reserved numbers.
    #[must_use]
    pub fn from_random(mut bytes: [u8; 16]) -> Option<Self> {
        let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
        *version = (*version & 0x0f) | 0x40;
        *variant = (*variant & 0x3f) | 0x80;
        let id = Self(bytes);
        (!id.to_string().starts_with('-')).then_some(id)
    }

    /// Whether it is all zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// Whether it is one of the two that no topic is given when it is created.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        *self == Self::ZERO || *self == Self::ONE
    }

    /// Whether it is one of the hundred that no log directory is given.
    #[must_use]
    pub fn is_reserved_for_directories(&self) -> bool {
        u128::from_be_bytes(self.0) < Self::RESERVED_DIRECTORIES_END
    }
}

/// Writes no padding; reads, as Kafka does, with it and without, and whatever the last character's spare bits are.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64.encode(self.0))
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no [`Uuid`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not 22 characters of base64url that hold 16 bytes")]
pub struct UuidError {
    text: String,
}

impl FromStr for Uuid {
    type Err = UuidError;

    fn from_str(text: &str) -> Result<Self, UuidError> {
        let bytes = BASE64.decode(text).ok().and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
        bytes.map(Self).ok_or_else(|| UuidError { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_names_are_checked_as_kafka_checks_them() {
        for good in ["a", "orders.eu-1_x", "...", &"x".repeat(TOPIC_NAME_CHARS_MAX)] {
            assert_eq!(TopicName::from(good).check(), Ok(()), "{good}");
        }
        let too_long = "x".repeat(TOPIC_NAME_CHARS_MAX + 1);
        assert_eq!(TopicName::from(too_long).check(), Err(TopicNameError::TooLong { chars: 250 }));
        assert_eq!(TopicName::from("").check(), Err(TopicNameError::Empty));
        assert_eq!(TopicName::from("..").check(), Err(TopicNameError::Dots));
        for (name, character) in [("a b", ' '), ("größe", 'ö'), ("a/b", '/')] {
            assert_eq!(TopicName::from(name).check(), Err(TopicNameError::IllegalCharacter { character }));
        }
    }

    #[test]
    fn a_random_id_is_of_version_4_and_never_looks_like_an_option() {
        let id = Uuid::from_random([0; 16]).expect("version and variant lift it above the reserved ones");
        assert_eq!(id.as_bytes(), &[0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Uuid::from_random([0xf8; 16]), None, "it would begin with a dash");
    }

    #[test]
    fn two_ids_are_reserved_and_a_hundred_for_directories() {
        assert!(Uuid::ZERO.is_reserved() && Uuid::ZERO.is_zero() && Uuid::ONE.is_reserved());
        let number = |number: u128| Uuid::from_bytes(number.to_be_bytes());
        assert!(!number(2).is_reserved() && number(99).is_reserved_for_directories());
        assert!(!number(100).is_reserved_for_directories());
    }
}
