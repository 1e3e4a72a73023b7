//! Writes to temporary space that are lost (row E8 of `tests/matrix.tsv`): every such run must say that a file is
//! damaged.
//!
//! strace makes a write of a block do nothing and claim to have written its first page: once, so that a block has a
//! hole in its front, or from then on, so that nothing of it arrives. Bytes that come back altered are tried in the
//! library's tests (`alterations.rs`), where the moment between writing and reading can be held.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::data::lines;
use crate::sandbox::{Sandbox, can_trace};

/// Those whose strategy is `memory` spill nothing: what they write are the runs of the order.
const JOBS: [&str; 11] = [
    "intersect a b --memory 16M -j 1 --count-only --strategy partition --buckets 1",
    "intersect a b --memory 16M --count-only --strategy partition --buckets 4",
    "union a b --memory 16M --strategy memory --order input",
    "intersect a b --memory 16M --count-only --strategy sieve --buckets 12",
    "diff a b --memory 16M --count-only --strategy partition --buckets 4",
    "diff a b --memory 16M --strategy sieve --order input --repeats",
    "union a b --memory 16M --count-only --strategy sieve --buckets 4",
    "union a b --memory 16M -j 1 --strategy memory --order sorted",
    "union a b --memory 16M --count-only --strategy partition --buckets 4",
    "symdiff a b --memory 16M --strategy partition --buckets 4 --order sorted",
    "intersect a b --memory 16M --count-only --strategy partition --buckets 30",
];

/// Loses the N-th write of each thread, for every N up to `last`, and all from then on. Returns how many runs lost one.
fn lose(last: usize) -> usize {
    let mut faults = Vec::new();
    for (job_number, job) in JOBS.into_iter().enumerate() {
        for number in 1..=last {
            let mut both = vec![(job, format!("{number}")), (job, format!("{number}+"))];
            if last == 1 {
                // Quick: the one or the other.
                both.remove(job_number % 2);
            }
            faults.extend(both);
        }
    }
    let (next, lost) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let unnoticed = Mutex::new(Vec::new());
    let work = || {
        let sandbox = Sandbox::with(&lines(0..20_000), &lines(10_000..34_000));
        let trace = sandbox.root().join("trace");
        let trace_name = trace.to_str().unwrap();
        while let Some((job, when)) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
            let inject = format!("inject=pwrite64:retval=4096:when={when}");
            let words = [
                "strace",
                "-f",
                "-o",
                trace_name,
                "-e",
                "trace=pwrite64",
                "-e",
                &inject,
            ];
            let outcome = sandbox.start(sandbox.command_under(&words, job)).finish();
            if !fs::read_to_string(&trace).unwrap().contains("INJECTED") {
                continue;
            }
            lost.fetch_add(1, Ordering::Relaxed);
            // A count is one line; what is put in order may have begun before the damage is met.
            let may_write = !job.contains("--count-only");
            if outcome.status.code() != Some(7) || !(may_write || outcome.stdout.is_empty()) {
                let what = format!("strace -f -e {inject} outset {job}: {outcome}");
                unnoticed.lock().unwrap().push(what);
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let (unnoticed, lost) = (unnoticed.into_inner().unwrap(), lost.into_inner());
    println!(
        "{lost} runs lost a write, {} did not notice",
        unnoticed.len()
    );
    assert!(unnoticed.is_empty(), "{}", unnoticed.join("\n"));
    lost
}

#[test]
fn e8_a_write_that_is_lost_is_noticed() {
    if can_trace() {
        assert!(lose(1) > 7);
    }
}

#[test]
#[ignore = "slow: hundreds of runs under strace"]
fn e8_any_write_that_is_lost_is_noticed() {
    if can_trace() {
        assert!(lose(40) > 100);
    }
}
