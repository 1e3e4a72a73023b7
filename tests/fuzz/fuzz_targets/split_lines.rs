//! See `differential::targets::split_lines`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| differential::targets::split_lines(data));
