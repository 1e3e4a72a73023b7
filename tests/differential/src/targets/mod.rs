//! The bodies of the fuzz targets: whatever the bytes are, the body returns, or it has found something.
//!
//! *Owns:* one function per target. `fuzz/` calls them with what a fuzzer makes, and the tests with the corpora in the
//! repository. *Invariants:* a body panics where a promise is broken, and only there. *Cost:* well under a millisecond
//! a call, save those of the decoders and the engine.

mod decode;
mod engine;
pub mod parquet;
mod read_block;
mod records;
mod split_lines;

pub use decode::decode;
pub use engine::engine;
pub use parquet::parquet;
pub use read_block::read_block;
pub use records::records;
pub use split_lines::split_lines;

use crate::sandbox::{Sandbox, quick_directory};

/// A sandbox for one call, removed with it: nothing tells that a call was the last.
fn sandbox() -> Sandbox {
    match Sandbox::new(&quick_directory()) {
        Ok(sandbox) => sandbox,
        Err(error) => panic!("no temporary directory: {error}"),
    }
}
