//! Numbers, texts, byte strings and arrays, and the newtypes that stand for some of them. Null is nullable.rs's.

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::{
    ErrorCode, GroupId, LeaderEpoch, NodeId, Offset, PartitionIndex, ProducerEpoch, ProducerId, TopicName,
    TransactionalId, Uuid,
};

use super::Wire;
use super::error::{DecodeError, DecodeErrorKind, EncodeError};
use super::nullable::{Nullable, read_elements};
use super::reader::Reader;
use super::run::Fixed;
use super::writer::Writer;
use crate::records::Records;

macro_rules! numbers {
    ($($type:ty)*) => {$(
        /// Big-endian.
        impl Wire for $type {
            #[inline]
            fn read_into(&mut self, reader: &mut Reader) -> Result<(), DecodeError> {
                *self = Self::from_be_bytes(reader.take_array()?);
                Ok(())
            }

            #[inline]
            fn write(&self, writer: &mut Writer) -> Result<(), EncodeError> {
                writer.put(&self.to_be_bytes());
                Ok(())
            }

            #[inline]
            fn write_all(elements: &[Self], writer: &mut Writer) -> Result<(), EncodeError> {
                writer.put_numbers::<Self, { 3 * size_of::<$type>() }>(elements)
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
    fn read_into(&mut self, reader: &mut Reader) -> Result<(), DecodeError> {
        let [byte] = reader.take_array()?;
        *self = byte != 0;
        Ok(())
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
    fn read_into(&mut self, reader: &mut Reader) -> Result<(), DecodeError> {
        *self = Self::from_bytes(reader.take_array()?);
        Ok(())
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
            fn read_into(&mut self, reader: &mut Reader) -> Result<(), DecodeError> {
                *self = Self::new(<$inner>::read(reader)?);
                Ok(())
            }

            #[inline]
            fn write(&self, writer: &mut Writer) -> Result<(), EncodeError> {
                self.get().write(writer)
            }

            #[inline]
            fn write_all(elements: &[Self], writer: &mut Writer) -> Result<(), EncodeError> {
                writer.put_numbers::<Self, { 3 * size_of::<$inner>() }>(elements)
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

/// The error of a null at this byte where there may be none.
#[cold]
pub(super) fn null_at(at: usize) -> DecodeError {
    DecodeError::new(DecodeErrorKind::Null, at)
}

macro_rules! texts {
    ($($type:ident)*) => {$(
        impl Wire for $type {
            fn read_into(&mut self, reader: &mut Reader) -> Result<(), DecodeError> {
                if let Some(text) = reader.short_text() {
                    *self = text.into();
                    return Ok(());
                }
                let at = reader.position();
                *self = reader.nullable_text()?.ok_or_else(|| null_at(at))?.into();
                Ok(())
            }

            #[inline]
            fn write(&self, writer: &mut Writer) -> Result<(), EncodeError> {
                Self::write_nullable(Some(self), writer)
            }
        }
    )*};
}

texts!(CompactString TopicName GroupId TransactionalId);

macro_rules! shared {
    ($($type:ident)*) => {$(
        impl Wire for $type {
            #[inline]
            fn read_into(&mut self, reader: &mut Reader) -> Result<(), DecodeError> {
                let at = reader.position();
                *self = Self::read_nullable(reader)?.ok_or_else(|| null_at(at))?;
                Ok(())
            }

            #[inline]
            fn write(&self, writer: &mut Writer) -> Result<(), EncodeError> {
                Self::write_nullable(Some(self), writer)
            }
        }
    )*};
}

shared!(Bytes Records);

impl<T: Wire> Wire for Vec<T> {
    #[inline]
    fn read_into(&mut self, reader: &mut Reader) -> Result<(), DecodeError> {
        let at = reader.position();
        let count = reader.array_count()?.ok_or_else(|| null_at(at))?;
        read_elements(self, count, reader)
    }

    // A call would cost more than an array of three numbers does.
    #[inline(always)]
    fn write(&self, writer: &mut Writer) -> Result<(), EncodeError> {
        writer.put_length(self.len())?;
        T::write_all(self, writer)
    }
}
