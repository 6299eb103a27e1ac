//! Values that may be null: what has a length writes −1 for it (0 in the compact form), a struct puts a marker in
//! front. In which versions null is allowed is the field's matter.

use bytes::Bytes;
use compact_str::CompactString;
use ottla_model::{GroupId, TopicName, TransactionalId};

use super::error::{DecodeError, EncodeError};
use super::reader::Reader;
use super::writer::Writer;
use super::{Struct, Wire};
use crate::records::Records;

/// A value whose place on the wire may hold null instead.
pub trait Nullable: Wire {
    /// Reads the value or null.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    fn read_nullable(reader: &mut Reader) -> Result<Option<Self>, DecodeError>;

    /// Appends the value or null.
    ///
    /// # Errors
    /// When the version cannot carry the value.
    fn write_nullable(value: Option<&Self>, writer: &mut Writer) -> Result<(), EncodeError>;

    /// Reads the value or null where it is the content of a tagged field.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    fn read_nullable_tag(reader: &mut Reader) -> Result<Option<Self>, DecodeError> {
        Self::read_nullable(reader)
    }

    /// Appends the value or null as the content of a tagged field.
    ///
    /// # Errors
    /// When the version cannot carry the value.
    fn write_nullable_tag(value: Option<&Self>, writer: &mut Writer) -> Result<(), EncodeError> {
        Self::write_nullable(value, writer)
    }
}

/// A marker of one byte, negative for null; in a tagged field an unsigned number instead, zero for null.
impl<T: Struct> Nullable for T {
    fn read_nullable(reader: &mut Reader) -> Result<Option<Self>, DecodeError> {
        if i8::read(reader)? < 0 { Ok(None) } else { Self::read(reader).map(Some) }
    }

    fn write_nullable(value: Option<&Self>, writer: &mut Writer) -> Result<(), EncodeError> {
        match value {
            None => (-1_i8).write(writer),
            Some(value) => {
                1_i8.write(writer)?;
                value.write(writer)
            }
        }
    }

    fn read_nullable_tag(reader: &mut Reader) -> Result<Option<Self>, DecodeError> {
        if reader.unsigned_varint()? == 0 { Ok(None) } else { Self::read(reader).map(Some) }
    }

    fn write_nullable_tag(value: Option<&Self>, writer: &mut Writer) -> Result<(), EncodeError> {
        match value {
            None => {
                writer.put_unsigned_varint(0);
                Ok(())
            }
            Some(value) => {
                writer.put_unsigned_varint(1);
                value.write(writer)
            }
        }
    }
}

/// UTF-8. Bytes that are not become U+FFFD, as in Kafka: whoever looks the name up will not find it.
impl Nullable for CompactString {
    fn read_nullable(reader: &mut Reader) -> Result<Option<Self>, DecodeError> {
        let Some(length) = reader.text_length()? else { return Ok(None) };
        let bytes = reader.take(length)?;
        Ok(Some(match std::str::from_utf8(bytes) {
            Ok(text) => Self::new(text),
            Err(_) => Self::from_utf8_lossy(bytes),
        }))
    }

    fn write_nullable(value: Option<&Self>, writer: &mut Writer) -> Result<(), EncodeError> {
        write_text(value.map(Self::as_str), writer)
    }
}

macro_rules! names {
    ($($type:ident)*) => {$(
        impl Nullable for $type {
            fn read_nullable(reader: &mut Reader) -> Result<Option<Self>, DecodeError> {
                Ok(CompactString::read_nullable(reader)?.map(Self::new))
            }

            fn write_nullable(value: Option<&Self>, writer: &mut Writer) -> Result<(), EncodeError> {
                write_text(value.map(Self::as_str), writer)
            }
        }
    )*};
}

names!(TopicName GroupId TransactionalId);

/// A slice that shares the frame.
impl Nullable for Bytes {
    #[inline]
    fn read_nullable(reader: &mut Reader) -> Result<Option<Self>, DecodeError> {
        reader.nullable_bytes()
    }

    fn write_nullable(value: Option<&Self>, writer: &mut Writer) -> Result<(), EncodeError> {
        match value {
            None => writer.put_null(),
            Some(bytes) => {
                writer.put_length(bytes.len())?;
                writer.put(bytes);
            }
        }
        Ok(())
    }
}

/// Read as a slice that shares the frame; written without copying large data.
impl Nullable for Records {
    #[inline]
    fn read_nullable(reader: &mut Reader) -> Result<Option<Self>, DecodeError> {
        match reader.nullable_bytes()? {
            Some(bytes) => Ok(Some(Self::Inline(bytes))),
            None => Ok(None),
        }
    }

    fn write_nullable(value: Option<&Self>, writer: &mut Writer) -> Result<(), EncodeError> {
        match value {
            None => writer.put_null(),
            Some(Self::Inline(bytes)) => {
                writer.put_length(bytes.len())?;
                writer.put_shared(bytes);
            }
            Some(Self::Hole { len, id }) => {
                writer.put_length(*len as usize)?;
                writer.put_hole(*len, *id);
            }
        }
        Ok(())
    }
}

/// A count and the elements, which cannot be null themselves.
impl<T: Wire> Nullable for Vec<T> {
    fn read_nullable(reader: &mut Reader) -> Result<Option<Self>, DecodeError> {
        let Some(count) = reader.array_count()? else { return Ok(None) };
        let mut elements = Self::with_capacity(capacity::<T>(count, reader.remaining()));
        for index in 0..count {
            elements.push(T::read(reader).map_err(|error| error.in_element(index))?);
        }
        Ok(Some(elements))
    }

    fn write_nullable(value: Option<&Self>, writer: &mut Writer) -> Result<(), EncodeError> {
        let Some(elements) = value else {
            writer.put_null();
            return Ok(());
        };
        writer.put_length(elements.len())?;
        for (index, element) in elements.iter().enumerate() {
            element.write(writer).map_err(|error| error.in_element(index))?;
        }
        Ok(())
    }
}

/// How many elements to make room for at once: no more memory than the bytes that are left, whatever the count says.
const fn capacity<T>(count: usize, remaining: usize) -> usize {
    let element = size_of::<T>();
    if element == 0 {
        return 0;
    }
    let fit = remaining / element;
    if fit < count { fit } else { count }
}

#[inline]
fn write_text(text: Option<&str>, writer: &mut Writer) -> Result<(), EncodeError> {
    match text {
        None => writer.put_null_text(),
        Some(text) => {
            writer.put_text_length(text.len())?;
            writer.put(text.as_bytes());
        }
    }
    Ok(())
}
