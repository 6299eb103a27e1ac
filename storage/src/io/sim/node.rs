//! Files and folders of the simulated disk: what they hold, what of it is durable, and what a crash leaves.

use std::collections::BTreeMap;

/// A crash keeps or loses written bytes in pieces of this size.
const SECTOR_BYTES: usize = 512;

#[derive(Debug, Clone)]
pub(super) enum Node {
    File { content: Vec<u8>, durable: Vec<u8>, unsynced: Vec<Change> },
    Folder { names: Names, durable: Names, unsynced: Vec<NameChange> },
}

pub(super) type Names = BTreeMap<String, usize>;

/// A change of a file's content.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Write { position: usize, bytes: Vec<u8> },
    Size(usize),
}

/// A change of a folder's names.
#[derive(Debug, Clone)]
pub(super) enum NameChange {
    Put(String, usize),
    Remove(String),
    Rename(String, String),
}

impl Node {
    pub(super) fn folder() -> Self {
        Self::Folder { names: Names::new(), durable: Names::new(), unsynced: Vec::new() }
    }

    pub(super) fn after_crash(&self, dice: &mut Dice) -> Self {
        match self {
            Self::File { durable, unsynced, .. } => {
                let mut content = durable.clone();
                for change in unsynced {
                    change.apply_in_part(&mut content, dice);
                }
                Self::File { durable: content.clone(), content, unsynced: Vec::new() }
            }
            Self::Folder { durable, unsynced, .. } => {
                let mut names = durable.clone();
                let kept = dice.below(unsynced.len() + 1);
                for change in unsynced.iter().take(kept) {
                    change.apply(&mut names);
                }
                Self::Folder { durable: names.clone(), names, unsynced: Vec::new() }
            }
        }
    }
}

impl Change {
    pub(super) fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Size(bytes) => content.resize(*bytes, 0),
            Self::Write { position, bytes } => put(content, *position, bytes),
        }
    }

    /// Applies all of it, nothing, or some sectors.
    fn apply_in_part(&self, content: &mut Vec<u8>, dice: &mut Dice) {
        match (self, dice.below(4)) {
            (_, 0) => {}
            (_, 1 | 2) | (Self::Size(_), _) => self.apply(content),
            (Self::Write { position, bytes }, _) => {
                let mut start = 0;
                while let Some(rest) = bytes.get(start..).filter(|rest| !rest.is_empty()) {
                    let in_sector = SECTOR_BYTES - (position + start) % SECTOR_BYTES;
                    let sector = rest.get(..in_sector).unwrap_or(rest);
                    if dice.below(2) == 0 {
                        put(content, position + start, sector);
                    }
                    start += sector.len();
                }
            }
        }
    }
}

impl NameChange {
    pub(super) fn apply(&self, names: &mut Names) {
        match self {
            Self::Put(name, id) => {
                names.insert(name.clone(), *id);
            }
            Self::Remove(name) => {
                names.remove(name);
            }
            Self::Rename(from, to) => {
                if let Some(id) = names.remove(from) {
                    names.insert(to.clone(), id);
                }
            }
        }
    }
}

fn put(content: &mut Vec<u8>, position: usize, bytes: &[u8]) {
    let end = position + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    if let Some(place) = content.get_mut(position..end) {
        place.copy_from_slice(bytes);
    }
}

/// SplitMix64: enough to choose what a crash leaves.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % bound.max(1) as u64).unwrap_or_default()
    }
}
