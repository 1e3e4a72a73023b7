//! See `differential::targets::read_block`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| differential::targets::read_block(data));
