//! The end of the others when one fails: they end, too, and the first error is the one that is reported.

use std::ops::Range;

use super::{BLOCK, FilledStore, Size, explore, temp_directory};
use crate::Error;
use crate::sys::sync::model::Time;

const LINES: Range<usize> = 0..30;

/// Checks that nothing of a store that failed is left once it is given up.
fn check_rest(store: FilledStore) {
    store.space.remove_buckets();
    assert_eq!(store.files(), 0);
    let FilledStore { pool, budget, .. } = store;
    drop(pool);
    assert_eq!(
        budget.available_bytes(),
        budget.limit_bytes(),
        "a block was lost"
    );
}

#[test]
fn j2_a_write_that_fails_ends_the_filling_with_its_error() {
    let directory = temp_directory();
    for blocks in [0, 1, 4] {
        let mut size = Size::new(&directory, 3);
        size.disk_bytes = blocks * BLOCK;
        let name = format!("a disk of {blocks} blocks");
        explore(&name, Time::Passes, move || {
            let store = FilledStore::new(&size);
            let error = store.fill(&LINES).unwrap_err();
            assert!(matches!(error, Error::TempLimit { .. }), "{error}");
            check_rest(store);
        });
    }
}

#[test]
fn j2_a_block_that_is_refused_ends_the_filling_with_its_error() {
    let directory = temp_directory();
    let mut size = Size::new(&directory, 3);
    size.memory_blocks = 2;
    explore("memory for two blocks", Time::Passes, move || {
        let store = FilledStore::new(&size);
        let error = store.fill(&LINES).unwrap_err();
        assert!(matches!(error, Error::Memory { .. }), "{error}");
        check_rest(store);
    });
}

#[test]
fn j2_a_filling_that_was_stopped_ends() {
    let directory = temp_directory();
    let size = Size::new(&directory, 3);
    explore("a run that is stopped", Time::Passes, move || {
        let store = FilledStore::new(&size);
        store.interrupt.stop();
        let error = store.fill(&LINES).unwrap_err();
        assert!(matches!(error, Error::Interrupted), "{error}");
        check_rest(store);
    });
}
