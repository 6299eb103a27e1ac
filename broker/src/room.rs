//! Whether a log directory has room for more records (`log.dir.free.bytes.min`): producers are refused while there is
//! still room for everything else, and admitted again by itself. Looks at no disk: who does sets it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ottla_storage::VolumeSpace;

/// What the limit is where the configuration leaves it to the broker: so much, or less on a small volume.
const FREE_BYTES_MIN: u64 = 256 << 20;
/// The share of a small volume.
const SMALL_VOLUME_SHARE: u64 = 20;

/// How much room there has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoomRule {
    /// Any: producers are refused by the disk alone.
    None,
    /// 256 MiB, or a twentieth of a volume where that is less.
    ByVolume,
    /// So many bytes.
    Bytes(u64),
}

impl RoomRule {
    /// As the property has it: −1 leaves it to the broker, 0 is none.
    pub(crate) fn of(bytes: i64) -> Self {
        match u64::try_from(bytes) {
            Err(_) => Self::ByVolume,
            Ok(0) => Self::None,
            Ok(bytes) => Self::Bytes(bytes),
        }
    }

    /// The limit that is fallen short of, if it is. Where it was, a tenth more must be there: a directory at the limit
    /// would else go to and fro.
    pub(crate) fn judge(self, space: VolumeSpace, was_short: bool) -> Option<u64> {
        let limit = match self {
            Self::None => return None,
            Self::ByVolume => FREE_BYTES_MIN.min(space.total_bytes / SMALL_VOLUME_SHARE),
            Self::Bytes(bytes) => bytes,
        };
        let wanted = if was_short { limit.saturating_add(limit / 10) } else { limit };
        (space.usable_bytes < wanted).then_some(limit)
    }
}

/// Whether one directory is short of room.
#[derive(Debug, Default)]
pub(crate) struct Room {
    is_short: AtomicBool,
    usable_bytes: AtomicU64,
    limit_bytes: AtomicU64,
}

/// Too little room is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the partition's log directory has {usable_bytes} bytes of free space left, less than log.dir.free.bytes.min={limit_bytes}: \
     make room, and producing goes on by itself"
)]
pub(crate) struct ShortOfRoom {
    usable_bytes: u64,
    limit_bytes: u64,
}

impl Room {
    pub(crate) fn is_short(&self) -> bool {
        self.is_short.load(Ordering::Relaxed)
    }

    /// Passes while there is room.
    pub(crate) fn check(&self) -> Result<(), ShortOfRoom> {
        if !self.is_short() {
            return Ok(());
        }
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Err(ShortOfRoom { usable_bytes: load(&self.usable_bytes), limit_bytes: load(&self.limit_bytes) })
    }

    /// Takes over what was found, and tells when it is another than before.
    pub(crate) fn set(&self, limit: Option<u64>, space: VolumeSpace, directory: &Path) {
        self.usable_bytes.store(space.usable_bytes, Ordering::Relaxed);
        self.limit_bytes.store(limit.unwrap_or(0), Ordering::Relaxed);
        let was_short = self.is_short.swap(limit.is_some(), Ordering::Relaxed);
        let (directory, usable_bytes) = (directory.display(), space.usable_bytes);
        match limit {
            Some(limit_bytes) if !was_short => tracing::error!(
                %directory, usable_bytes, limit_bytes,
                "a log directory is short of space: producers to its partitions are refused until there is more \
                 (log.dir.free.bytes.min)"
            ),
            None if was_short => {
                tracing::info!(%directory, usable_bytes, "a log directory has space again: producers are admitted");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(total_bytes: u64, usable_bytes: u64) -> VolumeSpace {
        VolumeSpace { total_bytes, usable_bytes }
    }

    #[test]
    fn a_small_volume_has_a_small_limit_and_a_large_one_256_mib() {
        assert_eq!(RoomRule::of(-1).judge(space(1 << 40, (256 << 20) - 1), false), Some(256 << 20));
        assert_eq!(RoomRule::of(-1).judge(space(1 << 40, 256 << 20), false), None);
        assert_eq!(RoomRule::of(-1).judge(space(20_000, 999), false), Some(1_000));
        assert_eq!(RoomRule::of(0).judge(space(20_000, 0), false), None);
        assert_eq!(RoomRule::of(500).judge(space(20_000, 499), false), Some(500));
    }

    #[test]
    fn who_was_short_needs_a_tenth_more_to_go_on() {
        let rule = RoomRule::Bytes(1_000);
        assert_eq!(rule.judge(space(9_000, 1_050), true), Some(1_000));
        assert_eq!(rule.judge(space(9_000, 1_050), false), None);
        assert_eq!(rule.judge(space(9_000, 1_100), true), None);
    }

    #[test]
    fn the_refusal_names_both_numbers_and_the_property() {
        let room = Room::default();
        assert_eq!(room.check(), Ok(()));
        room.set(Some(1_000), space(9_000, 999), Path::new("/x"));
        let told = room.check().unwrap_err().to_string();
        assert!(told.contains("999 bytes") && told.contains("log.dir.free.bytes.min=1000"), "{told}");
        room.set(None, space(9_000, 5_000), Path::new("/x"));
        assert_eq!(room.check(), Ok(()));
    }
}
