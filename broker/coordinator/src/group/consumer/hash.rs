//! What a consumer group remembers of the topics that it subscribes to: one number that changes when one of them comes, is
//! another of the same name, grows, or has replicas in other racks (KIP-1101). It is Kafka's number, so that a group which
//! moves between Kafka and Ottla sees no change where there is none: XXH3 over fields in little-endian order, texts as
//! UTF-16 with their length behind.

use std::cell::RefCell;
use std::collections::HashMap;

use ottla_model::{PartitionIndex, TopicName};
use twox_hash::XxHash3_64;

use crate::topics::{Topic, Topics};

/// The layout of what is hashed of a topic.
const TOPIC_LAYOUT: u8 = 0;

/// The hash of the topics with these hashes, in the order of the topics' names; 0 if there are none.
pub(crate) fn of_group(topics: impl Iterator<Item = u64>) -> i64 {
    let bytes: Vec<u8> = topics.flat_map(u64::to_le_bytes).collect();
    if bytes.is_empty() { 0 } else { XxHash3_64::oneshot(&bytes).cast_signed() }
}

/// The hashes of topics that groups subscribe to, so that a join does not walk a thousand partitions. It is forgotten what
/// changes.
#[derive(Debug, Default)]
pub(crate) struct TopicHashes(RefCell<HashMap<TopicName, u64>>);

impl TopicHashes {
    /// The hash of the topic.
    pub(crate) fn of(&self, topic: &Topic, topics: &dyn Topics) -> u64 {
        let mut known = self.0.borrow_mut();
        match known.get(&topic.name) {
            Some(hash) => *hash,
            None => *known.entry(topic.name.clone()).or_insert_with(|| of_topic(topic, topics)),
        }
    }

    /// These topics are others now.
    pub(crate) fn forget(&mut self, changed: &[TopicName]) {
        let known = self.0.get_mut();
        for name in changed {
            known.remove(name);
        }
    }
}

/// The hash of one topic.
fn of_topic(topic: &Topic, topics: &dyn Topics) -> u64 {
    let mut bytes = vec![TOPIC_LAYOUT];
    for half in topic.id.as_bytes().chunks(8) {
        bytes.extend(half.iter().rev());
    }
    put_text(&mut bytes, topic.name.as_str());
    bytes.extend(topic.partitions.to_le_bytes());
    for partition in 0..topic.partitions {
        bytes.extend(partition.to_le_bytes());
        let racks = topics.racks(&topic.id, PartitionIndex::new(partition));
        for rack in racks {
            bytes.extend(units(&rack).to_le_bytes());
            put_text(&mut bytes, &rack);
        }
    }
    XxHash3_64::oneshot(&bytes)
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    bytes.extend(units(text).to_le_bytes());
}

fn units(text: &str) -> i32 {
    i32::try_from(text.encode_utf16().count()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use ottla_model::Uuid;

    use super::*;
    use crate::topics::TopicTable;

    fn id(text: &str) -> Uuid {
        text.parse().expect("an id")
    }

    fn hash(topics: &TopicTable, name: &str) -> u64 {
        of_topic(&topics.by_name(name).expect("the topic"), topics)
    }

    #[test]
    fn the_hash_of_a_topic_is_that_of_kafkas_classes() {
        let mut topics = TopicTable::default();
        let (first, second) = (id("pX2z3fYmQ9mYI4eC4xkq0w"), id("AAAAAAAAAAAAAAAAAAAABQ"));
        topics.insert("orders", first, 3);
        topics.insert("größe-ø", second, 1);
        topics.set_racks(second, PartitionIndex::new(0), ["rack-b".into(), "rack-a".into()].into());
        assert_eq!(hash(&topics, "orders").cast_signed(), 6_762_494_582_378_093_909);
        assert_eq!(hash(&topics, "größe-ø").cast_signed(), 3_222_476_743_629_328_928);
        let both = [hash(&topics, "orders"), hash(&topics, "größe-ø")];
        assert_eq!(of_group(both.into_iter()), -1_407_947_155_475_780_154);
        assert_eq!(of_group(both.into_iter().take(1)), -4_201_389_438_956_323_958);
        topics.insert("big", first, 100);
        topics.insert("t", first, 0);
        assert_eq!(hash(&topics, "big").cast_signed(), 2_203_678_654_867_898_312, "more than 240 bytes");
        assert_eq!(hash(&topics, "t").cast_signed(), 5_278_094_993_478_859_960);
    }

    #[test]
    fn the_hash_of_a_group_is_that_which_a_running_kafka_wrote() {
        let mut topics = TopicTable::default();
        topics.insert("source", id("t1lRm0iLSsy9nWmWIDhI2g"), 2);
        assert_eq!(of_group([hash(&topics, "source")].into_iter()), 4_260_084_622_594_172_133);
        assert_eq!(of_group([].into_iter()), 0);
    }
}
