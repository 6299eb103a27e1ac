//! Numbers, texts, byte strings and arrays, and the newtypes that stand for some of them. Null is nullable.rs's.

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::{
    ErrorCode, GroupId, LeaderEpoch, NodeId, Offset, PartitionIndex, ProducerEpoch, ProducerId, TopicName,
    TransactionalId, Uuid,
};

use super::Wire;
use super::error::{DecodeError, DecodeErrorKind, EncodeError};
use super::nullable::Nullable;
use super::reader::Reader;
use super::run::Fixed;
use super::writer::Writer;
use crate::records::Records;

macro_rules! numbers {
    ($($type:ty)*) => {$(
        /// Big-endian.
        impl Wire for $type {
            #[inline]
            fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
                Ok(Self::from_be_bytes(reader.take_array()?))
            }

            #[inline]
            fn write(&self, writer: &mut Writer) -> Result<(), EncodeError> {
                writer.put(&self.to_be_bytes());
                Ok(())
            }
        }

        impl Fixed for $type {
            const BYTES: usize = size_of::<$type>();

            #[inline]
            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(bytes);
                Self::from_be_bytes(own)
            }

            #[inline]
            fn put(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_be_bytes());
            }
        }
    )*};
}

numbers!(i8 i16 u16 i32 u32 i64 f64);

/// One byte: zero is false, all else true.
impl Wire for bool {
    #[inline]
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        let [byte] = reader.take_array()?;
        Ok(byte != 0)
    }

    #[inline]
    fn write(&self, writer: &mut Writer) -> Result<(), EncodeError> {
        writer.put(&[u8::from(*self)]);
        Ok(())
    }
}

impl Fixed for bool {
    const BYTES: usize = 1;

    #[inline]
    fn get(bytes: &[u8]) -> Self {
        i8::get(bytes) != 0
    }

    #[inline]
    fn put(&self, bytes: &mut [u8]) {
        i8::from(*self).put(bytes);
    }
}

/// Sixteen bytes.
impl Wire for Uuid {
    #[inline]
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self::from_bytes(reader.take_array()?))
    }

    #[inline]
    fn write(&self, writer: &mut Writer) -> Result<(), EncodeError> {
        writer.put(self.as_bytes());
        Ok(())
    }
}

impl Fixed for Uuid {
    const BYTES: usize = 16;

    #[inline]
    fn get(bytes: &[u8]) -> Self {
        let mut own = [0; 16];
        own.copy_from_slice(bytes);
        Self::from_bytes(own)
    }

    #[inline]
    fn put(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(self.as_bytes());
    }
}

macro_rules! newtypes {
    ($($type:ident($inner:ty))*) => {$(
        impl Wire for $type {
            #[inline]
            fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
                Ok(Self::new(<$inner>::read(reader)?))
            }

            #[inline]
            fn write(&self, writer: &mut Writer) -> Result<(), EncodeError> {
                self.get().write(writer)
            }
        }

        impl Fixed for $type {
            const BYTES: usize = <$inner as Fixed>::BYTES;

            #[inline]
            fn get(bytes: &[u8]) -> Self {
                Self::new(<$inner as Fixed>::get(bytes))
            }

            #[inline]
            fn put(&self, bytes: &mut [u8]) {
                self.get().put(bytes);
            }
        }
    )*};
}

newtypes!(ErrorCode(i16) LeaderEpoch(i32) NodeId(i32) Offset(i64) PartitionIndex(i32) ProducerEpoch(i16) ProducerId(i64));

/// A value that cannot be null, read as one that can.
#[inline]
fn not_null<T: Nullable>(reader: &mut Reader) -> Result<T, DecodeError> {
    let at = reader.position();
    match T::read_nullable(reader)? {
        Some(value) => Ok(value),
        None => Err(DecodeError::new(DecodeErrorKind::Null, at)),
    }
}

macro_rules! with_length {
    ($(($($generics:tt)*) $type:ty;)*) => {$(
        impl $($generics)* Wire for $type {
            #[inline]
            fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
                not_null(reader)
            }

            #[inline]
            fn write(&self, writer: &mut Writer) -> Result<(), EncodeError> {
                Self::write_nullable(Some(self), writer)
            }
        }
    )*};
}

with_length!(
    () CompactString;
    () TopicName;
    () GroupId;
    () TransactionalId;
    () Bytes;
    () Records;
    (<T: Wire>) Vec<T>;
);
