//! Any bytes as record batches of any magic.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ottla_fuzz::batches(data));
