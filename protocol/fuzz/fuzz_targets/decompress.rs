//! Any bytes as a codec's number and compressed data.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ottla_fuzz::decompression(data));
