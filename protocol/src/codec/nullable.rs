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

    /// Reads the value or null over a default one, where that lies already.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    #[inline]
    fn read_nullable_into(value: &mut Option<Self>, reader: &mut Reader) -> Result<(), DecodeError> {
        *value = Self::read_nullable(reader)?;
        Ok(())
    }

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
    #[inline]
    fn read_nullable(reader: &mut Reader) -> Result<Option<Self>, DecodeError> {
        reader.nullable_text()
    }

    #[inline]
    fn read_nullable_into(value: &mut Option<Self>, reader: &mut Reader) -> Result<(), DecodeError> {
        if reader.skip_null() {
            *value = None;
            return Ok(());
        }
        *value = Self::read_nullable(reader)?;
        Ok(())
    }

    fn write_nullable(value: Option<&Self>, writer: &mut Writer) -> Result<(), EncodeError> {
        write_text(value.map(Self::as_str), writer)
    }
}

macro_rules! names {
    ($($type:ident)*) => {$(
        impl Nullable for $type {
            #[inline]
            fn read_nullable(reader: &mut Reader) -> Result<Option<Self>, DecodeError> {
                Ok(reader.nullable_text()?.map(Self::new))
            }

            #[inline]
            fn read_nullable_into(value: &mut Option<Self>, reader: &mut Reader) -> Result<(), DecodeError> {
                if reader.skip_null() {
                    *value = None;
                    return Ok(());
                }
                *value = Self::read_nullable(reader)?;
                Ok(())
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
        Ok(reader.nullable_bytes_length()?.map(|length| reader.split(length)))
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
        let mut value = None;
        Self::read_nullable_into(&mut value, reader)?;
        Ok(value)
    }

    #[inline]
    fn read_nullable_into(value: &mut Option<Self>, reader: &mut Reader) -> Result<(), DecodeError> {
        debug_assert!(
            value.as_ref().is_none_or(|records| records.as_inline().is_some_and(Bytes::is_empty)),
            "records are read over none"
        );
        match reader.nullable_bytes_length()? {
            Some(length) => put_over_default(value, Some(Self::Inline(reader.split(length)))),
            None => *value = None,
        }
        Ok(())
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
        let mut elements = Self::new();
        read_elements(&mut elements, count, reader)?;
        Ok(Some(elements))
    }

    #[inline]
    fn write_nullable(value: Option<&Self>, writer: &mut Writer) -> Result<(), EncodeError> {
        match value {
            None => {
                writer.put_null();
                Ok(())
            }
            Some(elements) => elements.write(writer),
        }
    }
}

/// Reads so many elements over an empty list, each where it will lie.
pub(super) fn read_elements<T: Wire>(
    elements: &mut Vec<T>,
    count: usize,
    reader: &mut Reader,
) -> Result<(), DecodeError> {
    // As a rule all of them at once.
    let mut end = capacity::<T>(count, reader.remaining());
    debug_assert!(elements.capacity() == 0, "a list is read over an empty one");
    put_over_default(elements, Vec::with_capacity(end));
    loop {
        let start = elements.len();
        elements.resize_with(end, T::default);
        for (index, element) in elements.iter_mut().enumerate().skip(start) {
            element.read_into(reader).map_err(|error| error.in_element(index))?;
        }
        if end == count {
            return Ok(());
        }
        end += capacity::<T>(count - end, reader.remaining()).max(1);
    }
}

/// Puts a value where a default one lies. That one has no memory to give back, which the compiler cannot see, and so it
/// is not dropped. That it is a default one its callers check in debug builds.
#[inline]
pub(super) fn put_over_default<T>(place: &mut T, value: T) {
    std::mem::forget(std::mem::replace(place, value));
}

/// How many elements to make room for at once: no more memory than the bytes that are left, whatever the count says.
const fn capacity<T>(count: usize, remaining: usize) -> usize {
    let element = size_of::<T>();
    // Counts and sizes are small enough for this, and it is cheaper than to divide.
    if element * count <= remaining { count } else { remaining / element }
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
