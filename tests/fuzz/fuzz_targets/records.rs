//! See `differential::targets::records`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| differential::targets::records(data));
