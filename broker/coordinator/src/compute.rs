//! Work that is too long for a reactor: assignments and regular expressions. A machine hands it out as values, the
//! host's pool runs it, and what it finds comes back as an event with the epoch for which it was made.

use crate::group::consumer::{Task, TaskResult};

/// Something to work out; it needs nothing but itself.
#[derive(Debug)]
pub struct Compute(pub(crate) Task);

/// What was worked out, for [`crate::Event::Computed`].
#[derive(Debug, Clone)]
pub struct Computed(pub(crate) TaskResult);

impl Compute {
    /// Works it out; may take as long as a large group needs. Without effects.
    #[must_use]
    pub fn run(self) -> Computed {
        Computed(self.0.run())
    }
}
