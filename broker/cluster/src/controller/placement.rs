//! Where new partitions go: rules that CreateTopics, CreatePartitions and AlterPartitionReassignments share, with Kafka's
//! messages, and the first state of a partition that is made.

use std::collections::HashSet;

use ottla_model::{ErrorCode, LeaderEpoch, NodeId, Uuid};
use ottla_protocol::metadata::PartitionRecord;

use super::usable_brokers;
use crate::image::MetadataImage;

/// The id of a log directory that the broker has yet to choose.
const DIRECTORY_UNASSIGNED: Uuid = Uuid::ONE;

/// An error code and the message that goes with it.
pub(super) type Refusal = (ErrorCode, String);

/// Replicas of so many partitions, of which the first has this number. Each begins one broker further on, so that leaders and
/// replicas are spread.
pub(super) fn spread(
    image: &MetadataImage,
    first: usize,
    count: usize,
    factor: i16,
) -> Result<Vec<Vec<NodeId>>, Refusal> {
    let usable: Vec<NodeId> = usable_brokers(image).collect();
    let factor_usize = usize::try_from(factor).unwrap_or(0);
    if usable.is_empty() || factor_usize > usable.len() {
        let why = if usable.is_empty() {
            "All brokers are currently fenced or have all their log directories cordoned.".to_owned()
        } else {
            format!(
                "The target replication factor of {factor} cannot be reached because only {} broker(s) are registered \
                 or some brokers have all their log directories cordoned.",
                usable.len()
            )
        };
        let message = format!("Unable to replicate the partition {factor} time(s): {why}");
        return Err((ErrorCode::INVALID_REPLICATION_FACTOR, message));
    }
    let replicas = |number: usize| {
        usable.iter().cycle().skip(number % usable.len()).take(factor_usize).copied().collect()
    };
    Ok((first..first.saturating_add(count)).map(replicas).collect())
}

/// Whether somebody may name these replicas for a partition. `factor` is how many it has to have.
pub(super) fn check_replicas(
    image: &MetadataImage,
    replicas: &[NodeId],
    factor: Option<usize>,
) -> Result<(), Refusal> {
    const SUBJECT: &str = "The manual partition assignment includes";
    if replicas.is_empty() {
        return bad_assignment(format!("{SUBJECT} an empty replica list."));
    }
    let mut ascending = replicas.to_vec();
    ascending.sort();
    let mut earlier = HashSet::new();
    for broker in ascending {
        if image.broker(broker).is_none() {
            return bad_assignment(format!("{SUBJECT} broker {broker}, but no such broker is registered."));
        }
        if !earlier.insert(broker) {
            return bad_assignment(format!("{SUBJECT} the broker {broker} more than once."));
        }
    }
    if let Some(factor) = factor.filter(|factor| *factor != replicas.len()) {
        return bad_assignment(format!(
            "{SUBJECT} a partition with {} replica(s), but this is not consistent with previous partitions, which have \
             {factor} replica(s).",
            replicas.len()
        ));
    }
    Ok(())
}

/// Whether one of them may serve.
pub(super) fn has_usable(image: &MetadataImage, replicas: &[NodeId]) -> bool {
    replicas.iter().any(|replica| usable_brokers(image).any(|usable| usable == *replica))
}

/// A partition's first state: every usable replica is in sync, the first of them leads.
pub(super) fn first_state(image: &MetadataImage, replicas: Vec<NodeId>) -> PartitionRecord {
    let isr: Vec<NodeId> = {
        let usable: HashSet<NodeId> = usable_brokers(image).collect();
        replicas.iter().copied().filter(|replica| usable.contains(replica)).collect()
    };
    PartitionRecord {
        directories: replicas.iter().map(|replica| directory(image, *replica)).collect(),
        leader: isr.first().copied().unwrap_or(NodeId::NONE),
        leader_epoch: LeaderEpoch::new(0),
        partition_epoch: 0,
        isr,
        replicas,
        ..PartitionRecord::default()
    }
}

/// Where there is no choice the directory is assigned at once; otherwise the broker chooses.
fn directory(image: &MetadataImage, broker: NodeId) -> Uuid {
    match image.broker(broker).map(|broker| broker.log_dirs.as_slice()) {
        Some([only]) => *only,
        _ => DIRECTORY_UNASSIGNED,
    }
}

pub(super) fn bad_assignment<T>(message: String) -> Result<T, Refusal> {
    Err((ErrorCode::INVALID_REPLICA_ASSIGNMENT, message))
}
