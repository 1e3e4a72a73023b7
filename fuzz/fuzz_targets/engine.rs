//! See `differential::targets::engine`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| differential::targets::engine(data));
