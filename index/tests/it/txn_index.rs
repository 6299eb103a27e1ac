//! Transaction indexes against bytes and answers of Apache Kafka's own class, cut, flipped, and beside a plain list.

use std::io;

use ottla_index::{AbortedTransaction, TxnIndex};
use ottla_model::{Offset, ProducerId};
use serde_json::Value;

use crate::{bytes, number, vectors};

fn kafkas() -> Vec<Value> {
    vectors(include_str!("../data/transaction-indexes.jsonl"))
}

fn entry(value: &Value) -> AbortedTransaction {
    AbortedTransaction {
        producer_id: ProducerId::new(number(&value["producerId"])),
        first_offset: Offset::new(number(&value["firstOffset"])),
        last_offset: Offset::new(number(&value["lastOffset"])),
        last_stable: Offset::new(number(&value["lastStableOffset"])),
    }
}

fn entries(value: &Value) -> Vec<AbortedTransaction> {
    value.as_array().unwrap().iter().map(entry).collect()
}

/// What a lookup finds in the bytes, whether it is complete, and how often it read.
fn collect(
    bytes: &[u8],
    entries: u64,
    from: i64,
    end: i64,
) -> (io::Result<bool>, Vec<AbortedTransaction>, usize) {
    let mut reads = 0;
    let mut index = TxnIndex::new(entries, |position, buffer: &mut [u8]| {
        reads += 1;
        let rest = bytes.get(usize::try_from(position).unwrap()..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    });
    let mut found = Vec::new();
    let complete = index.collect(Offset::new(from), Offset::new(end), &mut found);
    (complete, found, reads)
}

fn count(bytes: &[u8]) -> u64 {
    (bytes.len() / AbortedTransaction::BYTES) as u64
}

#[test]
fn kafkas_entries_read_and_are_written_byte_for_byte_and_lookups_answer_as_its_own() {
    let mut lookups = 0;
    for vector in kafkas() {
        let bytes = bytes(&vector);
        let read: Vec<_> = bytes.chunks(34).map(|entry| AbortedTransaction::decode(entry).unwrap()).collect();
        assert_eq!(read, entries(&vector["entries"]));
        let written: Vec<u8> = read.iter().flat_map(AbortedTransaction::to_bytes).collect();
        assert_eq!(written, bytes);
        for lookup in vector["lookups"].as_array().unwrap() {
            let (from, end) = (number(&lookup["fetchOffset"]), number(&lookup["upperBound"]));
            let (complete, found, _) = collect(&bytes, count(&bytes), from, end);
            assert_eq!(found, entries(&lookup["found"]), "{from}..{end} in {}", vector["case"]);
            assert_eq!(Some(complete.unwrap()), lookup["complete"].as_bool(), "{from}..{end}");
            lookups += 1;
        }
    }
    assert_eq!(lookups, 18);
}

#[test]
fn a_file_cut_anywhere_gives_its_whole_entries() {
    for vector in kafkas() {
        let whole = bytes(&vector);
        let all = entries(&vector["entries"]);
        for length in 0..whole.len() {
            let (complete, found, _) = collect(&whole[..length], count(&whole), 0, i64::MAX);
            assert!(!complete.unwrap());
            assert_eq!(found, all[..length / 34]);
            assert_eq!(AbortedTransaction::decode(&whole[..length.min(33)]), None);
        }
    }
}

#[test]
fn a_flipped_bit_gives_an_error_or_other_numbers_and_never_a_panic() {
    for vector in kafkas() {
        let whole = bytes(&vector);
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let is_version = bit / 8 % 34 < 2;
            let (complete, found, _) = collect(&flipped, count(&flipped), 0, i64::MAX);
            match complete {
                Ok(_) => assert!(!is_version && found != entries(&vector["entries"]), "bit {bit}"),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::InvalidData),
            }
        }
    }
}

#[test]
fn zeros_are_no_entry() {
    assert_eq!(AbortedTransaction::decode(&[0; 34]), None);
}

/// Producers in turn, with three transactions open at a time.
fn overlapping(count: i64) -> Vec<AbortedTransaction> {
    (0..count)
        .map(|number| AbortedTransaction {
            producer_id: ProducerId::new(number % 3),
            first_offset: Offset::new(number * 10),
            last_offset: Offset::new(number * 10 + 25),
            last_stable: Offset::new(number * 10 + 10),
        })
        .collect()
}

#[test]
fn a_lookup_among_ten_thousand_reads_a_few_pieces_and_finds_what_a_walk_finds() {
    let all = overlapping(10_000);
    let bytes: Vec<u8> = all.iter().flat_map(AbortedTransaction::to_bytes).collect();
    for from in (0..100_200).step_by(37) {
        for width in [1, 20, 300] {
            let end = from + width;
            let (complete, found, reads) = collect(&bytes, count(&bytes), from, end);
            let overlaps = |entry: &&AbortedTransaction| {
                entry.last_offset.get() >= from && entry.first_offset.get() < end
            };
            let expected: Vec<_> = all.iter().filter(overlaps).copied().collect();
            assert_eq!(found, expected, "{from}..{end}");
            assert_eq!(complete.unwrap(), all.last().unwrap().last_stable.get() >= end);
            assert!(reads <= 10, "{reads} reads for {from}..{end}");
        }
    }
}
