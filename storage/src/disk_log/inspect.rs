//! A look at a log that changes nothing: whether it is damaged before its end. A torn end is what a loss of power leaves
//! and may be cut; sound batches behind damage are records that were once durable, and to cut there loses them. Whether
//! that is a reason to stop is decided by whoever owns the log.

use std::path::PathBuf;
use std::sync::Arc;

use ottla_model::Offset;

use crate::io::Directory;
use crate::log::{Damage, LogError};
use crate::segment::name::{FileKind, Stage, parse};
use crate::segment::{Segment, Shared};

/// What a look at a log found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The offset after the last sound batch before any damage; 0 in a log without segments.
    pub end: Offset,
    /// Damage with sound batches behind it.
    pub inner_damage: Option<InnerDamage>,
}

/// Damage with sound batches behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InnerDamage {
    /// The damaged file.
    pub file: PathBuf,
    /// Where the bad batch begins, or where batches are missing.
    pub position: u64,
    /// What is wrong there.
    pub damage: Damage,
    /// The first offset of the next sound batch.
    pub next_sound: Offset,
}

pub(crate) fn inspect(directory: &Arc<dyn Directory>, shared: &Shared) -> Result<Inspection, LogError> {
    let listed = directory.list();
    let listed = listed.map_err(|source| LogError::Io { action: "list", path: directory.path(), source })?;
    let mut segments: Vec<Segment> = listed
        .iter()
        .filter_map(|entry| Some((parse(&entry.name)?, entry.bytes)))
        .filter(|(name, _)| name.stage == Stage::Live && name.kind == FileKind::Log)
        .map(|(name, bytes)| Segment::existing(directory, shared, name.base, bytes, 0))
        .collect();
    segments.sort_unstable_by_key(Segment::base);
    let mut end = segments.first().map_or(Offset::ZERO, Segment::base);
    let mut rest = segments.as_slice();
    while let Some((segment, later)) = rest.split_first() {
        let next_base = later.first().map_or(Offset::MAX, Segment::base);
        let scan = segment.scan(0, segment.bytes(), segment.base()..next_base, |_| {})?;
        end = scan.next;
        let hole = later.first().map(Segment::base).filter(|base| *base > end);
        let damage = match (scan.damage, hole) {
            // Room that was never written, or a truncation that was lost: no record is missing.
            (None | Some(Damage::ZeroTail | Damage::Overlap { .. }), None) => None,
            (None | Some(Damage::ZeroTail), Some(base)) => Some(Damage::Gap { end, base }),
            (damage, _) => damage,
        };
        if let Some(damage) = damage {
            // Offsets are not covered by the checksum: where they go back, the batch before may be the bad one.
            let is_sound = matches!(damage, Damage::Offsets { .. });
            let from = if is_sound { scan.bytes } else { scan.bytes + 1 };
            let next_sound = next_sound(segment, from, later)?;
            let file = segment.log_path();
            let inner = |next_sound| InnerDamage { file, position: scan.bytes, damage, next_sound };
            return Ok(Inspection { end, inner_damage: next_sound.map(inner) });
        }
        rest = later;
    }
    Ok(Inspection { end, inner_damage: None })
}

/// The base of the first sound batch behind the damage, in its segment or a later one.
fn next_sound(damaged: &Segment, from: u64, later: &[Segment]) -> Result<Option<Offset>, LogError> {
    if let Some(base) = damaged.next_sound(from)? {
        return Ok(Some(base));
    }
    for segment in later {
        if let Some(base) = segment.next_sound(0)? {
            return Ok(Some(base));
        }
    }
    Ok(None)
}
