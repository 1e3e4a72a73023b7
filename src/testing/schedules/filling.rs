//! Filling buckets and reading them back, by several threads each.

use std::ops::Range;

use parking_lot::Mutex;

use super::{FilledStore, Size, explore, numbers_in, temp_directory};
use crate::memory::budget::MemoryBudget;
use crate::spill::bucket::Bucket;
use crate::spill::loads::{self, LoadQueue};
use crate::spill::reader::BucketReader;
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::model::Time;
use crate::sys::threads::Workers;

const LINES: Range<usize> = 0..30;

/// Reads `buckets`, each once by one of two readers; each reader gives a reading up before each, if `gives_up`.
fn read_all(store: &FilledStore, buckets: &[Bucket], gives_up: bool) -> Vec<usize> {
    let queue = Mutex::new(buckets.iter().collect::<Vec<_>>());
    let found = Mutex::new(Vec::new());
    let failure = FirstFailure::default();
    let share = |loads: &LoadQueue| {
        Workers::new(2).run(&failure, |found_work| {
            found_work();
            let rules = store.read_rules();
            let budget = MemoryBudget::new(rules.memory_bytes(), 0);
            let mut reader = BucketReader::new(loads, &budget, rules)?;
            loop {
                let next = queue.lock().pop();
                let Some(bucket) = next else {
                    return Ok(());
                };
                if gives_up {
                    reader.read_while(bucket, |_| Ok(false))?;
                }
                let numbers = numbers_in(&mut reader, bucket);
                found.lock().extend(numbers);
            }
        });
    };
    loads::with_queue(&store.space, 4, &failure, share);
    failure.into_result().unwrap();
    let mut found = found.lock().clone();
    found.sort_unstable();
    found
}

fn check(size: &Size, gives_up: bool) {
    let store = FilledStore::new(size);
    let buckets = store.fill(&LINES).unwrap();
    let (taken, claims, _) = store.pool.counts();
    let held: usize = buckets.iter().map(|bucket| bucket.held.len()).sum();
    assert_eq!((taken, claims), (held as u64, 0), "a block was lost");
    assert!(LINES.eq(read_all(&store, &buckets, gives_up)));
    for bucket in buckets {
        bucket.discard(&store.space);
    }
    assert_eq!(store.files(), 0);
}

#[test]
fn j2_all_lines_come_back_once_from_disk() {
    let directory = temp_directory();
    let size = Size::new(&directory, 3);
    explore("lines from disk", Time::Stands, move || check(&size, false));
}

#[test]
fn j2_all_lines_come_back_once_from_memory_and_disk() {
    let directory = temp_directory();
    let mut size = Size::new(&directory, 2);
    size.pool_blocks += 6;
    size.memory_blocks += 6;
    explore("lines from memory and disk", Time::Stands, move || {
        check(&size, false);
    });
}

#[test]
fn j2_a_reading_that_is_given_up_leaves_the_loader_usable() {
    let directory = temp_directory();
    let size = Size::new(&directory, 2);
    explore("readings given up", Time::Stands, move || {
        check(&size, true);
    });
}
