//! A directory of a run and a link to what is somebody else's, which are swapped all the time while
//! runs clean up.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;

/// The times that each way of cleaning up is tried: with every change, and before a release.
const TRIES: [u32; 2] = [10_000, 100_000];
/// The files that a killed run leaves, and any clean-up removes where it may.
const LEFT: [&str; 2] = ["000001-store0-bucket3", "lock"];

/// The least number of swaps with which a race shows much.
const LEAST_SWAPS: u64 = 1000;
/// The longest time that a race may take for these.
const LONGEST_RACE: Duration = Duration::from_secs(60);

/// Makes a directory that looks like one of a killed run.
fn made(path: &Path) {
    fs::create_dir(path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
    for name in LEFT {
        fs::write(path.join(name), "x").unwrap();
        fs::set_permissions(path.join(name), Permissions::from_mode(0o600)).unwrap();
    }
}

/// Lets `own` be a directory and a link to `target` alternately until `is_over`; returns how often.
fn swap(own: &Path, target: &Path, is_over: &AtomicBool, swaps: &AtomicU64) {
    let aside: PathBuf = own.with_file_name("aside");
    symlink(target, &aside).unwrap();
    while !is_over.load(Ordering::Relaxed) {
        if renameat_with(CWD, own, CWD, &aside, RenameFlags::EXCHANGE).is_ok() {
            swaps.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        // The thread that cleans up has removed the directory.
        let again = own.with_file_name("again");
        made(&again);
        if fs::rename(&again, own).is_err() {
            // A file system that cannot exchange names.
            return;
        }
    }
}

/// Cleans up with `clean`, `tries` times, while the directory and the link are swapped; more often where a busy
/// machine lets them change too seldom meanwhile.
fn race(tries: u32, clean: impl Fn(&Path, u32)) {
    let parent = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("somebody-elses");
    made(&target);
    let own = parent.path().join("outset-spill-own");
    made(&own);
    let (is_over, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    let lost = thread::scope(|scope| {
        let start = Instant::now();
        let swapper = scope.spawn(|| swap(&own, &target, &is_over, &swaps));
        let goes_on = |number: &u32| {
            let is_racing = swaps.load(Ordering::Relaxed) > LEAST_SWAPS;
            *number < tries
                || !is_racing && !swapper.is_finished() && start.elapsed() < LONGEST_RACE
        };
        let lost = (0..).take_while(goes_on).find_map(|number| {
            clean(&own, number);
            let is_gone = |name: &&str| !target.join(name).exists();
            LEFT.into_iter().find(is_gone).map(|name| (name, number))
        });
        // Whatever was found: the other thread must end.
        is_over.store(true, Ordering::Relaxed);
        lost
    });
    assert_eq!(lost, None, "a file of somebody else is gone");
    let swaps = swaps.load(Ordering::Relaxed);
    if swaps == 0 {
        eprintln!("skipped: names cannot be swapped here");
        return;
    }
    assert!(swaps > LEAST_SWAPS, "there was hardly a race: {swaps}");
}

#[test]
fn e10_a_link_that_takes_the_place_of_an_orphan_meanwhile_costs_nobody_a_file() {
    race(TRIES[0], |own, _| remove_orphans(own.parent().unwrap()));
}

#[test]
fn e10_a_link_that_takes_the_place_of_a_runs_own_directory_meanwhile_costs_nobody_a_file() {
    race(TRIES[0], |own, number| remove_own(own, number % 2 == 0));
}

#[test]
#[ignore = "slow: 200,000 clean-ups"]
fn e10_a_link_that_takes_the_place_of_a_directory_many_times_costs_nobody_a_file() {
    race(TRIES[1], |own, _| remove_orphans(own.parent().unwrap()));
    race(TRIES[1], |own, number| remove_own(own, number % 2 == 0));
}
