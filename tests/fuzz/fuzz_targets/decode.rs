//! See `differential::targets::decode`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| differential::targets::decode(data));
