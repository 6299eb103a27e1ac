//! What is done with bytes from outside, as functions that take any bytes and must not panic: the fuzz targets call
//! them with what a fuzzer finds, an ordinary test with what it makes up. Both compile this file.

use bytes::Bytes;
use ottla_model::batch::{BatchRules, LegacyBatch, RecordBatch, check_batch};
use ottla_model::compression::{Codec, decompress};
use ottla_protocol::api::{ApiKey, Request, RequestVisitor};
use ottla_protocol::codec::{Message, VersionRange};
use ottla_protocol::header::{RequestFrame, decode_response};

/// More than any input may grow to when it is decompressed.
const DECOMPRESSED_BYTES_MAX: usize = 1 << 20;
const NOW_MS: i64 = 1_700_000_000_000;

/// A frame as a client sends it, without its length.
pub fn request(data: &[u8]) {
    struct Decode(RequestFrame);

    impl RequestVisitor for Decode {
        type Output = ();

        fn visit<R: Request>(self) {
            if let Ok(request) = self.0.decode::<R>() {
                check_again(&request, self.0.version);
            }
        }
    }

    if let Ok(frame) = RequestFrame::parse(Bytes::copy_from_slice(data), every_version) {
        frame.api.visit(Decode(frame));
    }
}

/// API key and version, then a frame as a broker sends it, without its length.
pub fn response(data: &[u8]) {
    struct Decode(i16, Bytes);

    impl RequestVisitor for Decode {
        type Output = ();

        fn visit<R: Request>(self) {
            if let Ok(response) = decode_response::<R>(self.1, self.0) {
                check_again(&response, self.0);
            }
        }
    }

    let Some((&[k0, k1, v0, v1], frame)) = data.split_first_chunk::<4>() else { return };
    let version = i16::from_be_bytes([v0, v1]);
    let Some(api) = ApiKey::from_number(i16::from_be_bytes([k0, k1])) else { return };
    if every_version(api).is_some_and(|versions| versions.contains(version)) {
        api.visit(Decode(version, Bytes::copy_from_slice(frame)));
    }
}

/// Batches in a row, as they lie in a file or an answer.
pub fn batches(data: &[u8]) {
    let mut rest = Bytes::copy_from_slice(data);
    while let Ok(Some(batch)) = RecordBatch::split_first(&mut rest) {
        let _ = batch.verify_crc();
        let Ok(records) = batch.records(DECOMPRESSED_BYTES_MAX) else { continue };
        for record in records.iter().map_while(Result::ok) {
            let _ = record.headers.count();
        }
    }
    while let Ok(Some(batch)) = LegacyBatch::split_first(&mut rest) {
        let _ = batch.verify_crc();
        let _ = batch.records(DECOMPRESSED_BYTES_MAX);
    }
    let rules = BatchRules {
        timestamp_after_max_ms: i64::MAX,
        decompressed_batch_bytes_max: DECOMPRESSED_BYTES_MAX,
        ..BatchRules::default()
    };
    let _ = check_batch(Bytes::copy_from_slice(data), &rules, NOW_MS);
}

/// The number of a codec, then what it is said to have made.
pub fn decompression(data: &[u8]) {
    let Some((id, data)) = data.split_first() else { return };
    let Some(codec) = Codec::from_id(id % 8) else { return };
    if let Ok(records) = decompress(codec, data, DECOMPRESSED_BYTES_MAX) {
        assert!(records.len() <= DECOMPRESSED_BYTES_MAX, "{} bytes", records.len());
    }
}

/// What was read can be written, and what is written is read as the same: bytes are compared, since numbers may be NaN.
/// Only a text that was no UTF-8 may have grown too long to be written.
fn check_again<M: Message>(message: &M, version: i16) {
    let Ok(bytes) = message.to_bytes(version) else { return };
    let again = M::decode(bytes.clone(), version).expect("what was written is read");
    assert!(again.to_bytes(version) == Ok(bytes), "{} {version} comes back as it was", M::NAME);
}

#[allow(clippy::unnecessary_wraps, reason = "the signature is RequestFrame::parse's")]
fn every_version(api: ApiKey) -> Option<VersionRange> {
    let VersionRange { first, last } = api.api().versions;
    Some(VersionRange::new(first, api.api().unstable.unwrap_or(last)))
}
