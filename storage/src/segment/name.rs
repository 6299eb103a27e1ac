//! The names of a partition's files: twenty digits of base offset, a kind, and a suffix while a file comes or goes.
//! Names of any other shape are nobody's business here: they are left alone.

use ottla_model::Offset;

/// What a file of a segment holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum FileKind {
    Log,
    OffsetIndex,
    TimeIndex,
    TxnIndex,
    /// Producer state at the offset that the name says.
    Snapshot,
}

/// Whether a file is part of the log, or was on its way in or out when the process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Live,
    /// Taken out of the log, not yet deleted.
    Deleted,
    /// Being written by a compaction.
    Cleaned,
    /// Written by a compaction, about to replace live files.
    Swap,
}

/// A file name, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileName {
    pub(crate) base: Offset,
    pub(crate) kind: FileKind,
    pub(crate) stage: Stage,
}

const DIGITS: usize = 20;

const KINDS: [(FileKind, &str); 5] = [
    (FileKind::Log, ".log"),
    (FileKind::OffsetIndex, ".index"),
    (FileKind::TimeIndex, ".timeindex"),
    (FileKind::TxnIndex, ".txnindex"),
    (FileKind::Snapshot, ".snapshot"),
];

/// The files that go with a segment when it goes.
pub(crate) const SEGMENT_KINDS: [FileKind; 4] =
    [FileKind::Log, FileKind::OffsetIndex, FileKind::TimeIndex, FileKind::TxnIndex];

/// The log file of the segment to come, before it has a base. Kafka leaves files of such names alone.
pub(crate) const PREPARED: &str = "next-segment";

const STAGES: [(Stage, &str); 3] =
    [(Stage::Deleted, ".deleted"), (Stage::Cleaned, ".cleaned"), (Stage::Swap, ".swap")];

/// The name of a live file.
pub(crate) fn file_name(base: Offset, kind: FileKind) -> String {
    let suffix = KINDS.iter().find(|(known, _)| *known == kind).map_or("", |(_, suffix)| suffix);
    format!("{:0DIGITS$}{suffix}", base.get())
}

/// The name of a file that is on its way in or out.
pub(crate) fn staged(live: &str, stage: Stage) -> String {
    let suffix = STAGES.iter().find(|(known, _)| *known == stage).map_or("", |(_, suffix)| suffix);
    format!("{live}{suffix}")
}

/// Takes a name apart; none if it is not one of ours.
pub(crate) fn parse(name: &str) -> Option<FileName> {
    let (name, stage) = STAGES
        .iter()
        .find_map(|(stage, suffix)| Some((name.strip_suffix(suffix)?, *stage)))
        .unwrap_or((name, Stage::Live));
    let (kind, digits) = KINDS.iter().find_map(|(kind, suffix)| Some((*kind, name.strip_suffix(suffix)?)))?;
    let is_number = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    let base = Offset::new(digits.parse().ok().filter(|_| is_number)?);
    Some(FileName { base, kind, stage })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_and_stage_reads_as_it_is_written() {
        for (kind, _) in KINDS {
            let name = file_name(Offset::new(1234), kind);
            assert_eq!(parse(&name), Some(FileName { base: Offset::new(1234), kind, stage: Stage::Live }));
            for (stage, suffix) in STAGES {
                let staged = staged(&name, stage);
                assert_eq!(staged, format!("{name}{suffix}"));
                assert_eq!(parse(&staged), Some(FileName { base: Offset::new(1234), kind, stage }));
            }
        }
        assert_eq!(file_name(Offset::new(7), FileKind::TimeIndex), "00000000000000000007.timeindex");
    }

    #[test]
    fn other_names_are_not_ours() {
        for name in [
            "7000.log",
            "leader-epoch-checkpoint",
            "00000000000000000000-0000000000.checkpoint",
            "0000000000000000000x.log",
            "+0000000000000000007.log",
            "99999999999999999999.log",
            ".log",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
