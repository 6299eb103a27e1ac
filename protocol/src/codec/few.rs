//! An array that is one element as a rule, which then lies in the message itself: a producer's request has one topic and
//! one partition more often than not, and taking and giving back memory for them would be most of its decoding.

use std::fmt;
use std::iter::Chain;
use std::ops::{Deref, DerefMut};
use std::{option, slice, vec};

use super::Wire;
use super::error::{DecodeError, EncodeError};
use super::nullable::{put_over_default, read_elements};
use super::primitives::null_at;
use super::reader::Reader;
use super::writer::Writer;

/// Any number of elements. One takes no allocation.
#[derive(Clone)]
pub struct Few<T>(Elements<T>);

#[derive(Clone)]
enum Elements<T> {
    One([T; 1]),
    /// Any number, one too if they became fewer or more afterwards.
    Any(Vec<T>),
}

impl<T> Few<T> {
    /// Appends an element.
    pub fn push(&mut self, element: T) {
        let mut elements: Vec<T> = std::mem::take(self).into_iter().collect();
        elements.push(element);
        *self = elements.into();
    }
}

impl<T> Default for Few<T> {
    #[inline]
    fn default() -> Self {
        Self(Elements::Any(Vec::new()))
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Elements::One(element) => element,
            Elements::Any(elements) => elements,
        }
    }
}

impl<T> DerefMut for Few<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Elements::One(element) => element,
            Elements::Any(elements) => elements,
        }
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(elements: Vec<T>) -> Self {
        match <[T; 1]>::try_from(elements) {
            Ok(element) => Self(Elements::One(element)),
            Err(elements) => Self(Elements::Any(elements)),
        }
    }
}

impl<T, const N: usize> From<[T; N]> for Few<T> {
    fn from(elements: [T; N]) -> Self {
        Vec::from(elements).into()
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Vec::from_iter(elements).into()
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = Chain<option::IntoIter<T>, vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        let (one, others) = match self.0 {
            Elements::One([element]) => (Some(element), Vec::new()),
            Elements::Any(elements) => (None, elements),
        };
        one.into_iter().chain(others)
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: PartialEq> PartialEq for Few<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Few<T> {}

impl<T: fmt::Debug> fmt::Debug for Few<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// As a `Vec`.
impl<T: Wire> Wire for Few<T> {
    #[inline]
    fn read_into(&mut self, reader: &mut Reader) -> Result<(), DecodeError> {
        debug_assert!(self.is_fresh(), "a list is read over an empty one");
        let at = reader.position();
        match reader.array_count()?.ok_or_else(|| null_at(at))? {
            1 => {
                put_over_default(&mut self.0, Elements::One([T::default()]));
                let Elements::One([element]) = &mut self.0 else { unreachable!("it was put there") };
                element.read_into(reader).map_err(|error| error.in_element(0))
            }
            count => self.read_any(count, reader),
        }
    }

    #[inline]
    fn write(&self, writer: &mut Writer) -> Result<(), EncodeError> {
        writer.put_length(self.len())?;
        T::write_all(self, writer)
    }
}

impl<T: Wire> Few<T> {
    /// Whether there is no memory to give back.
    const fn is_fresh(&self) -> bool {
        matches!(&self.0, Elements::Any(elements) if elements.capacity() == 0)
    }

    #[inline(never)]
    fn read_any(&mut self, count: usize, reader: &mut Reader) -> Result<(), DecodeError> {
        put_over_default(self, Self::default());
        let Elements::Any(elements) = &mut self.0 else { unreachable!("it was put there") };
        read_elements(elements, count, reader)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn encoded(few: &Few<i32>) -> Vec<u8> {
        let mut writer = Writer::new();
        few.write(&mut writer).expect("an array");
        writer.finish().into_bytes().expect("bytes").to_vec()
    }

    #[test]
    fn any_number_of_elements_is_written_as_a_vec_is_and_comes_back() {
        for count in 0..4_usize {
            let elements: Vec<i32> = (0..4).take(count).collect();
            let few = Few::from(elements.clone());
            assert_eq!(few.len(), count);
            assert_eq!(few.iter().copied().collect::<Few<_>>(), few);
            assert_eq!(few.clone().into_iter().collect::<Vec<_>>(), elements);
            let mut writer = Writer::new();
            elements.write(&mut writer).expect("an array");
            let bytes = writer.finish().into_bytes().expect("bytes");
            assert_eq!(encoded(&few), bytes);
            assert_eq!(Few::read(&mut Reader::new(bytes.clone())).as_ref(), Ok(&few));
            assert_eq!(format!("{few:?}"), format!("{elements:?}"));
            if let Some(last) = bytes.len().checked_sub(1) {
                let cut = Few::<i32>::read(&mut Reader::new(bytes.slice(..last))).expect_err("it is cut");
                let as_vec = Vec::<i32>::read(&mut Reader::new(bytes.slice(..last))).expect_err("it is cut");
                assert_eq!(cut, as_vec);
            }
        }
        let null = Few::<i32>::read(&mut Reader::new(Bytes::from_static(&[0xff; 4]))).expect_err("null");
        assert_eq!(null.to_string(), "at byte 0: null is not allowed here");
    }

    #[test]
    fn elements_are_appended_one_after_the_other() {
        let mut few = Few::default();
        for element in 0..3 {
            few.push(element);
            assert_eq!(*few, Vec::from_iter(0..=element));
        }
        few[1] = 9;
        assert_eq!(few, [0, 9, 2].into());
    }
}
