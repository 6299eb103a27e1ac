//! Which partition a group belongs to, compared with Kafka's.

use ottla_coordinator::coordinator_partition;
use ottla_model::PartitionIndex;
use serde_json::Value;

#[test]
fn a_group_is_in_the_partition_where_kafka_keeps_it() {
    let text = include_str!("../data/coordinator-partitions.jsonl");
    let mut compared = 0;
    for line in text.lines() {
        let vector: Value = serde_json::from_str(line).expect("a line is JSON");
        let id = vector["id"].as_str().expect("an id");
        for (count, partition) in vector["partition"].as_object().expect("partitions by count") {
            let count = count.parse().expect("a count is a number");
            let partition = i32::try_from(partition.as_i64().expect("a number")).expect("a partition");
            assert_eq!(
                coordinator_partition(id, count),
                Some(PartitionIndex::new(partition)),
                "{id:?} of {count}"
            );
            compared += 1;
        }
    }
    assert!(compared >= 40, "{compared} partitions compared");
}
