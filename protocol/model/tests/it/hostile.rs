//! Bytes from outside: cut anywhere, changed anywhere, made up. Errors are fine; panics and endless growth are not.

use bytes::Bytes;
use ottla_model::batch::{BatchFrame, BatchHeader, BatchRules, RecordBatch, check_batch};
use proptest::prelude::*;

use crate::vectors::{LIMIT_BYTES, hex_of, lines};

const FILES: [&str; 4] = ["batches-v2", "control-batches", "sequences-of-batches", "invalid-batches"];
/// Longer vectors are only repetition.
const VECTOR_BYTES_MAX: usize = 150;

fn rules() -> BatchRules {
    BatchRules {
        timestamp_after_max_ms: i64::MAX,
        decompressed_batch_bytes_max: LIMIT_BYTES,
        ..BatchRules::default()
    }
}

/// Does all that can be done with bytes.
fn use_up(bytes: &[u8]) {
    let _ = BatchFrame::peek(bytes);
    let _ = BatchHeader::parse(bytes);
    let mut rest = Bytes::copy_from_slice(bytes);
    while let Ok(Some(batch)) = RecordBatch::split_first(&mut rest) {
        let _ = batch.verify_crc();
        let Ok(records) = batch.records(LIMIT_BYTES) else { continue };
        for record in records.iter().map_while(Result::ok) {
            let _ = record.headers.count();
        }
    }
    let _ = check_batch(Bytes::copy_from_slice(bytes), &rules(), 1_700_000_000_000);
}

/// Gives a changed batch the checksum that goes with it, so that what lies behind it is reached.
fn with_right_crc(bytes: &mut [u8]) {
    let size = match BatchFrame::peek(bytes) {
        Ok(Some(frame)) => frame.size().min(bytes.len()),
        _ => return,
    };
    if let Some(covered) = bytes.get(21..size) {
        let crc = crc32c::crc32c(covered).to_be_bytes();
        bytes[17..21].copy_from_slice(&crc);
    }
}

fn vectors() -> Vec<Vec<u8>> {
    let all = FILES.into_iter().flat_map(lines).map(|line| hex_of(&line["hex"]));
    all.filter(|bytes| bytes.len() <= VECTOR_BYTES_MAX).collect()
}

#[test]
fn batches_cut_at_each_byte_are_incomplete() {
    for bytes in vectors() {
        let Ok(Some(frame)) = BatchFrame::peek(&bytes) else { continue };
        for cut in 0..frame.size().min(bytes.len()) {
            let mut part = Bytes::copy_from_slice(&bytes[..cut]);
            assert!(!matches!(RecordBatch::split_first(&mut part), Ok(Some(_))), "cut at {cut}");
            use_up(&bytes[..cut]);
        }
    }
}

#[test]
fn batches_with_a_flipped_byte_are_errors_at_most() {
    for bytes in vectors() {
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                with_right_crc(&mut damaged);
                use_up(&damaged);
            }
        }
    }
}

#[test]
fn a_flipped_byte_behind_the_checksum_is_always_found() {
    for line in lines("batches-v2") {
        let bytes = hex_of(&line["hex"]);
        if bytes.len() > VECTOR_BYTES_MAX {
            continue;
        }
        for at in 17..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            let batch = RecordBatch::split_first(&mut damaged.into()).expect("a batch").expect("all of it");
            assert!(batch.verify_crc().is_err(), "{} at {at}", line["name"]);
        }
    }
}

proptest! {
    #[test]
    fn made_up_bytes_are_errors_at_most(
        codec in 0_u8..8,
        count in prop_oneof![0..4_i32, any::<i32>()],
        body in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = vec![0; 61];
        let length = i32::try_from(49 + body.len()).expect("short");
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        bytes[16] = 2;
        bytes[22] = codec;
        bytes[23..27].copy_from_slice(&count.wrapping_sub(1).to_be_bytes());
        bytes[43..57].copy_from_slice(&[0xff; 14]);
        bytes[57..61].copy_from_slice(&count.to_be_bytes());
        bytes.extend(body);
        with_right_crc(&mut bytes);
        use_up(&bytes);
    }
}
