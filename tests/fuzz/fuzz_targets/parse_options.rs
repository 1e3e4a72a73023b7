//! See `fuzzed` in the modules of the command line, which belong to a binary and are compiled here once more.

#![no_main]

#[path = "../../../src/cli/mod.rs"]
#[expect(dead_code, reason = "no command is run here")]
mod cli;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cli::fuzzed::parse_options(data));
