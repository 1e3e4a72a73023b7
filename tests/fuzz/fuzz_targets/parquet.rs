//! See `differential::targets::parquet`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| differential::targets::parquet(data));
