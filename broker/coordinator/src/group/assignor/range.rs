//! Assignor `range`: each topic's partitions in order, cut into as many ranges as it has subscribers. Static members come
//! first, by instance id, then the others by member id; what was assigned before plays no part.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use compact_str::CompactString;
use ottla_model::{PartitionIndex, Uuid};

use super::{GroupSpec, MemberSpec, Partitions};

/// How a topic is cut, and where the next range begins.
#[derive(Debug)]
struct Cut {
    partitions: i32,
    subscribers: i32,
    next: i32,
    longer_left: i32,
}

impl Cut {
    fn new(partitions: i32, subscribers: i32) -> Self {
        Self { partitions, subscribers, next: 0, longer_left: partitions % subscribers }
    }

    /// The next subscriber's range; the first ones are longer by one until the remainder is used up.
    fn take(&mut self) -> impl Iterator<Item = PartitionIndex> + use<> {
        let longer = i32::from(self.longer_left > 0);
        self.longer_left -= longer;
        let start = self.next;
        self.next = (start + self.partitions / self.subscribers + longer).min(self.partitions);
        (start..self.next).map(PartitionIndex::new)
    }
}

pub(super) fn assign(group: &GroupSpec) -> BTreeMap<CompactString, Partitions> {
    let mut members: Vec<&MemberSpec> = group.members.iter().collect();
    members.sort_by(|a, b| order(a, b));
    let mut subscribers: BTreeMap<Uuid, i32> = BTreeMap::new();
    for topic in members.iter().flat_map(|member| &member.topics) {
        *subscribers.entry(*topic).or_default() += 1;
    }
    let mut cuts: BTreeMap<Uuid, Cut> = subscribers
        .iter()
        .map(|(topic, count)| (*topic, Cut::new(group.partitions_of(topic), *count)))
        .collect();
    let mut assigned = BTreeMap::new();
    for member in members {
        let mut partitions = Partitions::new();
        for topic in &member.topics {
            let range: std::collections::BTreeSet<_> =
                cuts.get_mut(topic).into_iter().flat_map(Cut::take).collect();
            if !range.is_empty() {
                partitions.insert(*topic, range);
            }
        }
        assigned.insert(member.id.clone(), partitions);
    }
    assigned
}

fn order(a: &MemberSpec, b: &MemberSpec) -> Ordering {
    match (&a.instance_id, &b.instance_id) {
        (Some(a), Some(b)) => as_java(a, b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => as_java(&a.id, &b.id),
    }
}

/// As Java compares strings: by UTF-16 units, which differs from ours beyond the basic plane.
fn as_java(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}
