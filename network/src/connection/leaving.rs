//! Which replies of a connection are on their way out, by the place of their last byte in the stream of all that was
//! accepted. Most connections have one at a time, which takes no list.

use std::collections::VecDeque;

use crate::service::Course;

/// Replies that bear a course and have not left, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    first: Option<(u64, Course)>,
    more: VecDeque<(u64, Course)>,
}

impl Leaving {
    /// A reply ends with the byte before `end`.
    pub(super) fn push(&mut self, end: u64, course: Course) {
        match self.first {
            None => self.first = Some((end, course)),
            Some(_) => self.more.push_back((end, course)),
        }
    }

    /// The next one that has left, now that so many bytes have.
    pub(super) fn pop(&mut self, sent: u64) -> Option<Course> {
        let (_, course) = self.first.filter(|(end, _)| *end <= sent)?;
        self.first = self.more.pop_front();
        if self.first.is_none() && self.more.capacity() > 0 {
            // A burst must not be remembered by an idle connection.
            self.more = VecDeque::new();
        }
        Some(course)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn replies_leave_in_order_once_their_last_byte_has() {
        let course = |tag| Course { tag, received: Instant::now(), begun_ns: 0, handled_ns: 0, ready_ns: 0 };
        let mut leaving = Leaving::default();
        for (end, tag) in [(10, 1), (10, 2), (30, 3)] {
            leaving.push(end, course(tag));
        }
        let tags = |leaving: &mut Leaving, sent| {
            std::iter::from_fn(|| leaving.pop(sent)).map(|course| course.tag).collect::<Vec<_>>()
        };
        assert_eq!(tags(&mut leaving, 9), []);
        assert_eq!(tags(&mut leaving, 29), [1, 2]);
        leaving.push(31, course(4));
        assert_eq!(tags(&mut leaving, 31), [3, 4]);
        assert_eq!(leaving.more.capacity(), 0);
    }
}
