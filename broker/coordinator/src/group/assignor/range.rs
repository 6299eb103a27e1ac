//! Assignor `range`: the partitions of each topic are a line that its subscribers cut into consecutive pieces, as long as
//! each other or longer by one, the longer ones in front. Who stands where on the line is the same for all topics: static
//! members by instance id, then the others by member id. What a member had before plays no part.

use std::collections::BTreeMap;
use std::ops::Range;

use compact_str::CompactString;
use ottla_model::{PartitionIndex, Uuid};

use super::{GroupSpec, MemberSpec, Partitions};

pub(super) fn assign(group: &GroupSpec) -> BTreeMap<CompactString, Partitions> {
    let mut line: Vec<&MemberSpec> = group.members.iter().collect();
    line.sort_by_cached_key(|member| place_in_line(member));
    let mut subscribers: BTreeMap<&Uuid, Vec<&CompactString>> = BTreeMap::new();
    for member in &line {
        for topic in &member.topics {
            subscribers.entry(topic).or_default().push(&member.id);
        }
    }
    let mut assigned: BTreeMap<CompactString, Partitions> =
        line.iter().map(|member| (member.id.clone(), Partitions::new())).collect();
    for (topic, ids) in subscribers {
        for (id, piece) in ids.iter().zip(pieces(group.partitions_of(topic), ids.len())) {
            if let Some(partitions) = assigned.get_mut(*id).filter(|_| !piece.is_empty()) {
                partitions.insert(*topic, piece.map(PartitionIndex::new).collect());
            }
        }
    }
    assigned
}

/// A line of so many partitions in so many pieces.
fn pieces(partitions: i32, count: usize) -> impl Iterator<Item = Range<i32>> {
    let (partitions, count) = (i64::from(partitions), i64::try_from(count).unwrap_or(i64::MAX).max(1));
    let cut = move |at: i64| {
        let whole = at * (partitions / count) + at.min(partitions % count);
        i32::try_from(whole).unwrap_or(i32::MAX)
    };
    (0..count).map(move |at| cut(at)..cut(at + 1))
}

/// Java compares texts by UTF-16 units, which differs from ours beyond the basic plane.
fn place_in_line(member: &MemberSpec) -> (bool, Vec<u16>) {
    let name = member.instance_id.as_ref().unwrap_or(&member.id);
    (member.instance_id.is_none(), name.encode_utf16().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_line_meet_and_the_longer_ones_are_in_front() {
        assert_eq!(pieces(7, 3).collect::<Vec<_>>(), [0..3, 3..5, 5..7]);
        assert_eq!(pieces(2, 3).collect::<Vec<_>>(), [0..1, 1..2, 2..2]);
        assert_eq!(pieces(i32::MAX, 1).last(), Some(0..i32::MAX));
    }
}
