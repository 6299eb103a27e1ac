//! How much an answer may hold where a request of few bytes can ask for much, as one that names a group a million times.
//! Answers of every client's everyday are far below it; what goes beyond is refused piece by piece, not cut off.

use std::sync::Arc;

use ottla_coordinator::{ANSWER_BYTES_MAX, Event, Reply, refusal};
use ottla_model::ErrorCode;

use crate::machine_host::group::GroupHost;
use crate::machine_host::{Asked, Delivery};

/// What comes too much is answered with this code, so that no client tries the same again.
pub(super) const TOO_MUCH: ErrorCode = ErrorCode::INVALID_REQUEST;

/// The room that is left in an answer.
#[derive(Debug)]
pub(super) struct AnswerRoom {
    bytes_left: usize,
}

impl AnswerRoom {
    pub(super) const fn new() -> Self {
        Self { bytes_left: ANSWER_BYTES_MAX }
    }

    /// Whether nothing more is to be put into the answer. The piece that uses the room up is still in it.
    pub(super) const fn is_used_up(&self) -> bool {
        self.bytes_left == 0
    }

    pub(super) const fn take(&mut self, bytes: usize) {
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
    }

    /// Asks for a group's piece of the answer, or refuses it.
    pub(super) fn ask(&mut self, groups: &Arc<GroupHost>, group: &str, event: Event) -> Asked<Reply> {
        if self.is_used_up() {
            let reply = refusal(&event, TOO_MUCH).expect("an event that asks something has an answer");
            return Asked::Answered(Delivery { reply, after: None });
        }
        let asked = groups.ask(group, event);
        if let Asked::Answered(delivery) = &asked {
            self.take(delivery.reply.bytes());
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_piece_that_uses_the_room_up_is_still_in_the_answer_and_the_next_is_not() {
        let mut room = AnswerRoom::new();
        room.take(ANSWER_BYTES_MAX - 1);
        assert!(!room.is_used_up());
        room.take(1 << 40);
        assert!(room.is_used_up());
    }
}
