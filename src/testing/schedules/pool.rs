//! The blocks of a pool: who waits gets one, nobody gets one that another has, and all come back.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{BLOCK, IN_FLIGHT, explore};
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::spill::pool::BlockPool;
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::channel::{Sender, unbounded};
use crate::sys::sync::model::Time;
use crate::sys::sync::thread;
use crate::sys::threads;

/// A pool and what is known of its blocks besides.
struct Watched {
    pool: BlockPool,
    capacity: u64,
    /// The addresses of the blocks that somebody has. A lock of the system: no thread changes while it is held.
    taken: Mutex<HashSet<usize>>,
    failure: FirstFailure,
}

impl Watched {
    fn new(capacity: u64) -> Self {
        // Memory for these blocks and no more: one too many is refused.
        let budget = MemoryBudget::new(capacity * BLOCK, 0);
        Self {
            pool: BlockPool::new(&budget, BLOCK, capacity, IN_FLIGHT),
            capacity,
            taken: Mutex::default(),
            failure: FirstFailure::default(),
        }
    }

    fn check(&self) {
        let (taken, claims, free) = self.pool.counts();
        assert!(
            taken + claims <= self.capacity,
            "{taken} taken, {claims} claimed"
        );
        assert!(
            taken + free as u64 <= self.capacity,
            "{taken} taken, {free} free"
        );
    }

    fn note(&self, mut block: Buffer) -> Buffer {
        let mut taken = self.taken.lock();
        assert!(
            taken.insert(block.as_ptr().addr()),
            "a block was handed out twice"
        );
        drop(taken);
        assert_eq!(block[0], 0, "somebody still has this block");
        block[0] = 1;
        self.check();
        block
    }

    fn put(&self, mut block: Buffer) {
        block[0] = 0;
        let mut taken = self.taken.lock();
        assert!(
            taken.remove(&block.as_ptr().addr()),
            "a block came back twice"
        );
        drop(taken);
        self.pool.put(block);
        self.check();
    }

    /// Takes the blocks that filling one bucket `rounds` times takes, and gives them back.
    fn fill_bucket(&self, rounds: usize, to_writers: &Sender<Buffer>) {
        let mut held = Vec::new();
        let mut open = self.note(self.pool.take_claimed().unwrap());
        for _ in 0..rounds {
            open = if let Some(next) = self.pool.take_if_roomy().unwrap() {
                held.push(open);
                self.note(next)
            } else {
                let successor = self.pool.successor();
                to_writers.send(open).unwrap();
                self.note(successor.take_or_wait(&self.failure).unwrap())
            };
        }
        let may_hold = self.pool.may_hold(1);
        assert!(may_hold || held.len() < self.capacity as usize);
        held.push(open);
        for block in held {
            self.put(block);
        }
    }
}

/// Lets several buckets take their blocks from a pool of `capacity`, while two writers give back what is written.
fn buckets_take_and_writers_put(buckets: u64, capacity: u64) {
    let watched = Watched::new(capacity);
    watched.pool.claim(buckets + 1).unwrap();
    watched.check();
    thread::scope(|scope| {
        let (to_writers, inbox) = unbounded();
        let watched = &watched;
        for _ in 0..2 {
            let inbox = inbox.clone();
            let write = move || {
                for block in &inbox {
                    watched.put(block);
                }
            };
            threads::spawn(scope, "write", write).unwrap();
        }
        for bucket in 0..buckets as usize {
            let to_writers = to_writers.clone();
            let fill = move || watched.fill_bucket(2 + bucket % 2, &to_writers);
            threads::spawn(scope, "fill", fill).unwrap();
        }
        // One bucket gets no line.
        watched.pool.unclaim(1);
        watched.check();
    });
    let (taken, claims, free) = watched.pool.counts();
    assert_eq!((taken, claims), (0, 0), "a block was lost");
    assert!(free as u64 <= capacity);
}

#[test]
fn j2_a_pool_with_a_block_for_each_bucket_lets_nobody_wait_for_ever() {
    let name = "a pool with a block for each bucket";
    explore(name, Time::Stands, || buckets_take_and_writers_put(3, 5));
}

#[test]
fn j2_a_pool_with_room_holds_blocks_and_never_more_than_it_has() {
    let name = "a pool with room";
    let capacity = 3 + 1 + IN_FLIGHT + 2;
    explore(name, Time::Stands, move || {
        buckets_take_and_writers_put(3, capacity);
    });
}

#[test]
fn j2_who_waits_for_a_block_learns_of_a_failure() {
    explore("a failure while one waits", Time::Passes, || {
        let watched = Arc::new(Watched::new(3));
        watched.pool.claim(2).unwrap();
        let _open = (
            watched.pool.take_claimed().unwrap(),
            watched.pool.take_claimed().unwrap(),
            watched
                .pool
                .successor()
                .take_or_wait(&watched.failure)
                .unwrap(),
        );
        thread::scope(|scope| {
            let watched = &watched;
            let wait = || {
                let successor = watched.pool.successor();
                let refused = successor.take_or_wait(&watched.failure).unwrap_err();
                assert!(matches!(refused, crate::Error::Interrupted), "{refused}");
            };
            threads::spawn(scope, "wait", wait).unwrap();
            watched.failure.note(crate::Error::Interrupted);
        });
    });
}
