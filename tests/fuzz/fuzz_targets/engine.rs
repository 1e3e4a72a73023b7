//! See `differential::targets::engine`.

#![no_main]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use libfuzzer_sys::fuzz_target;
use signal_hook::consts::SIGPIPE;

fuzz_target!(
    init: {
        // A run that ends early closes its FIFO, and without Rust's own main that would end the process.
        let closed = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGPIPE, closed).expect("a handler for SIGPIPE");
    },
    |data: &[u8]| differential::targets::engine(data)
);
