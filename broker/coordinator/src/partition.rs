//! Which partition of an internal topic a group or a transaction belongs to: the absolute value of Java's hash of its
//! name, modulo the number of partitions. Not the partitioner of producers, which hashes and masks differently.

use ottla_model::PartitionIndex;

/// The partition of `__consumer_offsets` or `__transaction_state` that holds what is told of this name. None for a topic
/// without partitions.
#[must_use]
pub fn coordinator_partition(name: &str, partitions: i32) -> Option<PartitionIndex> {
    if partitions <= 0 {
        return None;
    }
    // Kafka's Utils.abs: the one number that has no absolute value counts as 0.
    let hash = java_hash(name).checked_abs().unwrap_or(0);
    Some(PartitionIndex::new(hash % partitions))
}

/// `String.hashCode`, which counts UTF-16 units.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_hash_without_an_absolute_value_is_partition_0() {
        assert_eq!(java_hash("polygenelubricants"), i32::MIN);
        assert_eq!(coordinator_partition("polygenelubricants", 50), Some(PartitionIndex::new(0)));
    }

    #[test]
    fn a_topic_without_partitions_has_none_for_a_group() {
        assert_eq!(coordinator_partition("g", 0), None);
    }
}
