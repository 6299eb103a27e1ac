//! A log that was not opened at the start, since all is remembered that a start asks for. Whoever first reads its records or
//! appends opens it then: its files are looked at as after every clean stop. Where it does not end as is remembered, it
//! refuses, and the next start recovers it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arc_swap::ArcSwap;
use ottla_model::Offset;
use parking_lot::Mutex;

use super::memo::{LogMemo, Proof};
use super::{DiskLog, Writer, load};
use crate::checkpoint;
use crate::log::{Log, LogError, ReadMode};
use crate::producer_state::ProducerStates;
use crate::segments::Segments;

/// What an open log has.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) segments: ArcSwap<Segments>,
    pub(super) writer: Mutex<Writer>,
}

/// What a log has that was not opened yet.
#[derive(Debug, Default)]
pub(super) struct Asleep {
    /// Its epochs are those of the file. Empty once the log is open.
    pub(super) memo: LogMemo,
    /// The log start when the log was remembered.
    pub(super) log_start: Offset,
    pub(super) is_closed: bool,
    /// It could not be opened as it was remembered.
    pub(super) is_suspect: bool,
}

impl DiskLog {
    /// Whether the log was not opened yet.
    #[must_use]
    pub fn is_asleep(&self) -> bool {
        self.body.get().is_none()
    }

    /// The open log, of which the first to ask opens it.
    pub(super) fn body(&self) -> Result<&Body, LogError> {
        match self.body.get() {
            Some(body) => Ok(body),
            None => self.wake(),
        }
    }

    /// The open log, or none where it would have to be opened by a reader who may not wait.
    pub(super) fn body_in(&self, mode: ReadMode) -> Result<Option<&Body>, LogError> {
        match (self.body.get(), mode) {
            (Some(body), _) => Ok(Some(body)),
            (None, ReadMode::Cached) => Ok(None),
            (None, ReadMode::MayBlock) => self.wake().map(Some),
        }
    }

    /// What an open log says, or else one that is not; nobody opens it meanwhile.
    pub(super) fn told<T>(&self, open: impl FnOnce(&Body) -> T, asleep: impl FnOnce(&Asleep) -> T) -> T {
        if let Some(body) = self.body.get() {
            return open(body);
        }
        let held = self.asleep.lock();
        match self.body.get() {
            Some(body) => {
                drop(held);
                open(body)
            }
            None => asleep(&held),
        }
    }

    /// What the producers say; none where the log could not be opened to ask them, which is told.
    pub(super) fn ask_producers<T>(&self, ask: impl FnOnce(&ProducerStates) -> T) -> Option<T> {
        if self.body.get().is_none() {
            let asleep = self.asleep.lock();
            if self.body.get().is_none() && !asleep.memo.has_producers {
                return Some(ask(&ProducerStates::default()));
            }
        }
        match self.body() {
            Ok(body) => Some(ask(&body.writer.lock().producers)),
            Err(error) => {
                tracing::error!(path = %self.directory.path().display(), %error, "producers are not known");
                None
            }
        }
    }

    fn wake(&self) -> Result<&Body, LogError> {
        // Whoever else needs the log waits until it is open.
        let mut asleep = self.asleep.lock();
        if let Some(body) = self.body.get() {
            return Ok(body);
        }
        self.check_not_abandoned()?;
        let opening = load::LogOpening {
            directory: Arc::clone(&self.directory),
            config: (*self.config()).clone(),
            is_clean: true,
            log_start: asleep.log_start,
            recovery_point: self.positions().recovery_point,
            // The time of the start.
            now_ms: self.last_flush_ms.load(Ordering::Relaxed),
        };
        let woken = match load::wake(opening, &self.shared, &asleep.memo) {
            Ok(woken) => woken,
            Err(error) => {
                if !matches!(error, LogError::Io { .. }) && !std::mem::replace(&mut asleep.is_suspect, true) {
                    // Told once: whoever comes is refused with the same.
                    tracing::error!(path = %self.directory.path().display(), %error, "a log cannot be used");
                }
                return Err(error);
            }
        };
        let load::Woken { segments, mut writer, names_changed } = woken;
        writer.is_closed = asleep.is_closed;
        if names_changed {
            self.names_dirty.store(true, Ordering::Release);
        }
        let body = Body { segments: ArcSwap::from_pointee(segments), writer: Mutex::new(writer) };
        let body = self.body.get_or_init(|| Box::new(body));
        asleep.memo = LogMemo::default();
        Ok(body)
    }

    /// Closes a log that is not open: all of it is durable but what was noted of epochs. Says whether it was one.
    pub(super) fn close_asleep(&self) -> Result<bool, LogError> {
        let mut asleep = self.asleep.lock();
        if self.body.get().is_some() {
            return Ok(false);
        }
        if asleep.is_closed {
            return Ok(true);
        }
        // What began at the log's end and got no record is forgotten by a start.
        let mut entries = self.epochs.lock().entries();
        entries.retain(|(_, start)| *start < asleep.memo.log_end);
        if entries != asleep.memo.epochs {
            let written = checkpoint::write_epochs(&*self.directory, &entries);
            written.map_err(|error| self.shared.health.fail_with(error))?;
            asleep.memo.epochs = entries;
            match Proof::take(&*self.directory, asleep.memo.active.base)? {
                Some(proof) if proof.is_of_same_log(&asleep.memo.proof) => asleep.memo.proof = proof,
                _ => asleep.is_suspect = true,
            }
        }
        asleep.is_closed = true;
        Ok(true)
    }
}
