//! Who this node is: the cluster's and the node's id and those of its directories, as `meta.properties` keeps them. A
//! first start makes them, which is all the formatting there is. The machine's randomness is read here and nowhere
//! else.

use std::path::PathBuf;
use std::sync::Arc;

use compact_str::CompactString;
use ottla_cluster::{Entropy, METADATA_FOLDER};
use ottla_model::{NodeId, Uuid};
use ottla_storage::{DirectoryFailure, LogDir, LogDirError, LogError, MetaProperties, UnusableDir};

use crate::config::BrokerConfig;

/// The node's id where neither the configuration nor an earlier start gives one.
const FIRST_NODE_ID: NodeId = NodeId::new(1);

/// Who this node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// `cluster.id`.
    pub(crate) cluster_id: CompactString,
    /// `node.id`.
    pub(crate) node_id: NodeId,
}

/// Why the directories do not say who this node is.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A directory cannot be read or written.
    #[error(transparent)]
    Directory(#[from] LogDirError),
    /// A directory with files in it was never one of ours.
    #[error(
        "The directory {} holds files but no meta.properties, so it is no log directory: name an empty one.",
        path.display()
    )]
    ForeignFiles {
        /// The directory.
        path: PathBuf,
    },
    /// A directory is empty while another belongs to a cluster already.
    #[error(
        "The directory {} is empty, while {} belongs to the cluster {cluster_id}: is its disk mounted?",
        path.display(), other.display()
    )]
    EmptyBesideOthers {
        /// The empty directory.
        path: PathBuf,
        /// The one that is not.
        other: PathBuf,
        /// The other's cluster.
        cluster_id: String,
    },
    /// Two directories, or a directory and the configuration, disagree.
    #[error("The {what} is {found} in {}, but {wanted} {place}.", path.display())]
    Disagree {
        /// Which id.
        what: &'static str,
        /// The one in the directory.
        found: String,
        /// The directory.
        path: PathBuf,
        /// The other one.
        wanted: String,
        /// Where that stands.
        place: &'static str,
    },
    /// Nothing says who this node is, and one directory cannot be asked.
    #[error(
        "The directory {} cannot be used ({failure}), and no other says which cluster this node belongs to: a first start \
         needs every log directory.",
        path.display()
    )]
    UnusableAtFirst {
        /// The directory.
        path: PathBuf,
        /// Why it cannot be used.
        failure: Arc<DirectoryFailure>,
    },
    /// There are partitions, and nothing that says which.
    #[error(
        "The directory {} holds partitions, but {} has no {METADATA_FOLDER}, which says what they are: is a disk not \
         mounted, or does metadata.log.dir name another directory?",
        partitions.display(), metadata.display()
    )]
    NoMetadata {
        /// A directory with partitions.
        partitions: PathBuf,
        /// The directory of the metadata.
        metadata: PathBuf,
    },
    /// The system gives no random bytes.
    #[error("The system gives no random bytes: {0}")]
    NoEntropy(#[from] std::io::Error),
}

impl Identity {
    /// Reads who this node is, or makes it up where every directory is empty; afterwards every directory knows its own id.
    /// A directory that cannot be read is offline; `unusable` are those that could not even be opened.
    ///
    /// # Errors
    ///
    /// When the directories disagree among each other or with the configuration, or one may be an unmounted disk.
    pub(crate) fn settle(
        config: &BrokerConfig,
        directories: &[Arc<LogDir>],
        unusable: &[UnusableDir],
    ) -> Result<Self, IdentityError> {
        let mut kept = Vec::with_capacity(directories.len());
        for directory in directories {
            match directory.properties() {
                Ok(properties) => kept.push((directory, properties)),
                Err(error @ LogDirError::Log(LogError::Io { .. })) if directories.len() > 1 => {
                    drop(directory.fail(error));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let first = kept.iter().find_map(|(_, properties)| properties.clone());
        let Some(first) = first else {
            let failed = directories.iter().filter_map(|dir| Some((dir.path(), dir.failure()?)));
            let unopened = unusable.iter().map(|dir| (dir.path.clone(), Arc::clone(&dir.failure)));
            return match unopened.chain(failed).next() {
                Some((path, failure)) => Err(IdentityError::UnusableAtFirst { path, failure }),
                None => Self::make(config, directories),
            };
        };
        let cluster_id = config.cluster_id.as_ref().map(ToString::to_string);
        for (directory, properties) in kept {
            let Some(properties) = properties else { return Err(missing(directory, directories, &first)?) };
            let path = directory.path();
            let disagree = |what, found, wanted, place| IdentityError::Disagree {
                what,
                found,
                path: path.clone(),
                wanted,
                place,
            };
            if properties.cluster_id != first.cluster_id {
                let wanted = first.cluster_id.clone();
                return Err(disagree(
                    "cluster's id",
                    properties.cluster_id,
                    wanted,
                    "in another log directory",
                ));
            }
            if properties.node_id != first.node_id {
                let (found, wanted) = (properties.node_id.to_string(), first.node_id.to_string());
                return Err(disagree("node's id", found, wanted, "in another log directory"));
            }
            if let Some(wanted) = cluster_id.as_ref().filter(|id| **id != properties.cluster_id) {
                return Err(disagree("cluster's id", properties.cluster_id, wanted.clone(), "in CLUSTER_ID"));
            }
            if let Some(wanted) = config.node_id.filter(|id| *id != properties.node_id) {
                let found = properties.node_id.to_string();
                return Err(disagree(
                    "node's id",
                    found,
                    wanted.to_string(),
                    "in the configuration (node.id)",
                ));
            }
            if properties.directory_id.is_none() {
                let directory_id = Some(random_id()?);
                directory.write_properties(&MetaProperties { directory_id, ..properties })?;
            }
        }
        Ok(Self { cluster_id: first.cluster_id.into(), node_id: first.node_id })
    }

    fn make(config: &BrokerConfig, directories: &[Arc<LogDir>]) -> Result<Self, IdentityError> {
        for directory in directories {
            if !directory.is_empty()? {
                return Err(IdentityError::ForeignFiles { path: directory.path() });
            }
        }
        let cluster_id = match &config.cluster_id {
            Some(id) => id.clone(),
            None => CompactString::from(random_id()?.to_string()),
        };
        let node_id = config.node_id.unwrap_or(FIRST_NODE_ID);
        for directory in directories {
            directory.write_properties(&MetaProperties {
                cluster_id: cluster_id.to_string(),
                node_id,
                directory_id: Some(random_id()?),
            })?;
        }
        Ok(Self { cluster_id, node_id })
    }
}

/// Requires that the metadata is there where partitions are: a new, empty one would disown them all.
pub(crate) fn require_metadata(metadata: &LogDir, directories: &[Arc<LogDir>]) -> Result<(), IdentityError> {
    if metadata.holds_folder(METADATA_FOLDER)? {
        return Ok(());
    }
    for directory in directories.iter().filter(|directory| directory.failure().is_none()) {
        if directory.holds_partitions()? {
            return Err(IdentityError::NoMetadata {
                partitions: directory.path(),
                metadata: metadata.path(),
            });
        }
    }
    Ok(())
}

/// Why a directory without `meta.properties` cannot be used where another has one.
fn missing(
    directory: &LogDir,
    directories: &[Arc<LogDir>],
    known: &MetaProperties,
) -> Result<IdentityError, LogDirError> {
    let path = directory.path();
    if !directory.is_empty()? {
        return Ok(IdentityError::ForeignFiles { path });
    }
    let mut other = PathBuf::new();
    for directory in directories {
        if directory.failure().is_none() && directory.properties()?.is_some() {
            other = directory.path();
            break;
        }
    }
    Ok(IdentityError::EmptyBesideOthers { path, other, cluster_id: known.cluster_id.clone() })
}

/// A fresh random id.
///
/// # Errors
///
/// When the system gives no random bytes.
pub(crate) fn random_id() -> Result<Uuid, std::io::Error> {
    loop {
        if let Some(id) = Uuid::from_random(random_bytes()?) {
            return Ok(id);
        }
    }
}

/// The system's randomness as the controller takes it.
///
/// # Errors
///
/// When the system gives no random bytes; once it has given some, it always does.
pub(crate) fn entropy() -> Result<Entropy, std::io::Error> {
    random_bytes()?;
    Ok(Arc::new(|| random_bytes().expect("the system has given random bytes before")))
}

/// Random bytes of the system's.
///
/// # Errors
///
/// When it gives none; once it has given some, it always does.
pub(crate) fn random_bytes() -> Result<[u8; 16], std::io::Error> {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_ids_differ_and_are_never_reserved() {
        let (one, other) = (random_id().unwrap(), random_id().unwrap());
        assert_ne!(one, other);
        assert!(!one.is_reserved());
        assert_ne!(entropy().unwrap()(), entropy().unwrap()());
    }
}
