//! The bodies of the fuzz targets: whatever the bytes are, the body returns, or it has found something.
//!
//! *Owns:* one function per target. `fuzz/` calls them with what a fuzzer makes, and the tests with the corpora in the
//! repository. *Invariants:* a body panics where a promise is broken, and only there. *Cost:* well under a millisecond a call,
//! save that of the engine.

mod engine;
mod read_block;
mod split_lines;

pub use engine::engine;
pub use read_block::read_block;
pub use split_lines::split_lines;

use std::path::PathBuf;

use crate::place::Place;

/// A place for all calls of a process: one that is made for each would cost more than the call. It goes with the system's
/// temporary directory, for nothing tells that the last call was made.
fn place() -> (std::sync::MutexGuard<'static, Option<Place>>, PathBuf) {
    static PLACE: std::sync::Mutex<Option<Place>> = std::sync::Mutex::new(None);
    let mut place = PLACE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let made = place
        .take()
        .or_else(|| Place::new(&std::env::temp_dir()).ok());
    assert!(made.is_some(), "no temporary directory");
    let temp = made.as_ref().map(Place::temp).unwrap_or_default();
    *place = made;
    (place, temp)
}
