//! The files of buckets: they are removed when they were read, and nobody reads one that was removed.

use parking_lot::Mutex;

use super::{FilledStore, Size, explore, numbers_in, temp_directory};
use crate::memory::budget::MemoryBudget;
use crate::spill::bucket::Bucket;
use crate::spill::loads::{self, LoadQueue};
use crate::spill::reader::BucketReader;
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::channel::{Sender, bounded};
use crate::sys::sync::model::Time;
use crate::sys::sync::thread;
use crate::sys::threads::{self, Workers};

/// Buckets of both inputs with the same number.
type Group = (Bucket, Bucket);

/// Reads a bucket as the join does: a part first, then all of it.
fn read(reader: &mut BucketReader<'_>, bucket: &Bucket) -> Vec<usize> {
    reader.read_while(bucket, |_| Ok(false)).unwrap();
    numbers_in(reader, bucket)
}

/// Works as a worker of a join: what both have goes to `found`, and the buckets to their removal.
fn join(
    mut reader: BucketReader<'_>,
    queue: &Mutex<Vec<Group>>,
    found: &Mutex<Vec<usize>>,
    joined: &Sender<Bucket>,
) {
    loop {
        let next = queue.lock().pop();
        let Some((first, second)) = next else {
            return;
        };
        let build = read(&mut reader, &first);
        joined.send(first).unwrap();
        let mut common = read(&mut reader, &second);
        common.retain(|number| build.contains(number));
        found.lock().extend(common);
        // The reading of this one is given up, and it goes at once.
        reader.read_while(&second, |_| Ok(false)).unwrap();
        joined.send(second).unwrap();
    }
}

fn join_and_sweep(size: &Size) {
    let store = &FilledStore::new(size);
    let (first, second) = (store.fill(&(0..18)).unwrap(), store.fill(&(9..27)).unwrap());
    assert!(store.files() > size.buckets as usize, "too few to remove");
    let queue = &Mutex::new(first.into_iter().zip(second).collect::<Vec<_>>());
    let found = &Mutex::new(Vec::new());
    let failure = FirstFailure::default();
    let share = |loads: &LoadQueue| {
        thread::scope(|scope| {
            let (joined, to_remove) = bounded::<Bucket>(1);
            let sweep = move || {
                for bucket in &to_remove {
                    bucket.discard(&store.space);
                }
            };
            threads::spawn(scope, "sweep", sweep).unwrap();
            Workers::new(2).run(&failure, |found_work| {
                found_work();
                let rules = store.read_rules();
                let budget = MemoryBudget::new(rules.memory_bytes(), 0);
                let reader = BucketReader::new(loads, &budget, rules)?;
                join(reader, queue, found, &joined);
                Ok(())
            });
        });
    };
    loads::with_queue(&store.space, 4, &failure, share);
    failure.into_result().unwrap();
    let mut found = std::mem::take(&mut *found.lock());
    found.sort_unstable();
    assert!((9..18).eq(found));
    assert_eq!(store.files(), 0, "a file is left");
    assert_eq!(store.quota.used_bytes(), 0, "disk was lost");
}

#[test]
fn j3_no_reader_sees_a_file_that_was_removed() {
    let directory = temp_directory();
    let size = Size::new(&directory, 3);
    explore("joined buckets go", Time::Stands, move || {
        join_and_sweep(&size);
    });
}
