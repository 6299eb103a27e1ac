//! Any bytes as an API key, a version and an answer's frame.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ottla_fuzz::response(data));
