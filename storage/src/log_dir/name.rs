//! The names of the folders in a log directory: `orders-0`, and the suffixes of those that are no live log any more.

use std::fmt;

use ottla_model::{PartitionIndex, TopicName, Uuid};

/// The longest name that a file system takes, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// A partition's name, as its folder has it: `orders-0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic.
    pub topic: TopicName,
    /// The partition's number.
    pub partition: PartitionIndex,
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// What a folder in a log directory is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FolderName {
    /// A live log.
    Log(TopicPartition),
    /// Of a deleted topic; only its files are still there.
    Deleted,
    /// A log that nobody claimed.
    Stray,
    /// A copy of this log on its way from another directory.
    Future(TopicPartition),
    /// None of ours.
    Other,
}

/// Why a folder is renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Farewell {
    Deleted,
    Stray,
    /// Not gone but to come: the copy of a log that is being moved.
    Future,
}

impl Farewell {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Deleted => "-delete",
            Self::Stray => "-stray",
            Self::Future => "-future",
        }
    }

    /// The folder's new name: topic and partition, an id as 32 hexadecimal digits, the suffix. A long topic is cut; but
    /// not that of a copy, which must be told from others, so that the file system refuses it.
    pub(super) fn folder(self, partition: &TopicPartition, id: Uuid) -> String {
        let id = u128::from_be_bytes(*id.as_bytes());
        let end = format!("-{}.{id:032x}{}", partition.partition, self.suffix());
        let topic = partition.topic.as_str();
        let room = match self {
            Self::Deleted | Self::Stray => NAME_BYTES_MAX.saturating_sub(end.len()),
            Self::Future => topic.len(),
        };
        let room = topic.floor_char_boundary(room);
        format!("{}{end}", topic.get(..room).unwrap_or_default())
    }
}

impl FolderName {
    pub(super) fn parse(name: &str) -> Self {
        let marked = |farewell: Farewell| {
            let (partition, id) = name.strip_suffix(farewell.suffix())?.rsplit_once('.')?;
            let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            partition_of(partition).filter(|_| is_id)
        };
        if marked(Farewell::Deleted).is_some() {
            Self::Deleted
        } else if marked(Farewell::Stray).is_some() {
            Self::Stray
        } else if let Some(partition) = marked(Farewell::Future) {
            Self::Future(partition)
        } else {
            partition_of(name).map_or(Self::Other, Self::Log)
        }
    }
}

fn partition_of(name: &str) -> Option<TopicPartition> {
    let (topic, partition) = name.rsplit_once('-')?;
    let is_number = !partition.is_empty() && partition.bytes().all(|byte| byte.is_ascii_digit());
    let partition = partition.parse().ok().filter(|_| is_number && !topic.is_empty())?;
    Some(TopicPartition { topic: TopicName::from(topic), partition: PartitionIndex::new(partition) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(topic: &str, partition: i32) -> TopicPartition {
        TopicPartition { topic: TopicName::from(topic), partition: PartitionIndex::new(partition) }
    }

    #[test]
    fn folders_are_told_apart_by_their_names() {
        assert_eq!(FolderName::parse("a-b.c-12"), FolderName::Log(named("a-b.c", 12)));
        assert_eq!(FolderName::parse("lost+found"), FolderName::Other);
        assert_eq!(FolderName::parse("topic-abc"), FolderName::Other);
        assert_eq!(FolderName::parse("-1"), FolderName::Other);
        let id = "0123456789abcdef0123456789ABCDEF";
        assert_eq!(FolderName::parse(&format!("t-0.{id}-delete")), FolderName::Deleted);
        assert_eq!(FolderName::parse(&format!("t-0.{id}-stray")), FolderName::Stray);
        assert_eq!(FolderName::parse(&format!("t-0.{id}-future")), FolderName::Future(named("t", 0)));
        assert_eq!(FolderName::parse("t-0.12-delete"), FolderName::Other);
    }

    #[test]
    fn a_long_topic_is_cut_so_that_its_deleted_folder_still_has_a_legal_name() {
        let topic = "x".repeat(249);
        let id = Uuid::from_bytes([0xab; 16]);
        let folder = Farewell::Deleted.folder(&named(&topic, 7), id);
        assert_eq!(folder.len(), NAME_BYTES_MAX);
        assert!(folder.ends_with(&format!("x-7.{}-delete", "ab".repeat(16))));
        assert_eq!(FolderName::parse(&folder), FolderName::Deleted);
        assert_eq!(Farewell::Stray.folder(&named("t", 0), id), format!("t-0.{}-stray", "ab".repeat(16)));
        let folder = Farewell::Future.folder(&named(&topic, 7), id);
        assert_eq!(FolderName::parse(&folder), FolderName::Future(named(&topic, 7)));
    }
}
