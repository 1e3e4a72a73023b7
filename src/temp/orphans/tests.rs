//! The files that are removed for a killed run, and those that never are.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// Makes a directory as a run makes it, with a file in it.
fn made(parent: &Path, name: &str) -> std::path::PathBuf {
    let path = parent.join(name);
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    fs::write(path.join("000001-store0-bucket3"), "x").unwrap();
    path
}

#[test]
fn e11_g3_the_directory_of_a_killed_run_goes_and_that_of_a_live_one_stays() {
    let parent = tempfile::tempdir().unwrap();
    let (dead, alive) = (
        made(parent.path(), "outset-spill-dead"),
        made(parent.path(), "outset-spill-alive"),
    );
    drop(mark_as_alive(&dead));
    let lock = mark_as_alive(&alive);
    assert!(matches!(lock, Mark::Alive(_)));
    remove_orphans(parent.path());
    assert!(!dead.exists() && alive.join("000001-store0-bucket3").exists());
    drop(lock);
    remove_orphans(parent.path());
    assert!(!alive.exists());
}

#[test]
fn e11_g3_a_directory_that_was_never_marked_goes_unless_its_maker_is_at_it() {
    let parent = tempfile::tempdir().unwrap();
    let empty = |name: &str| {
        let path = parent.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        path
    };
    let lock = |path: &Path| {
        let path = path.join(UNLOCKED);
        let file = File::create(&path).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        file
    };
    let (bare, unlocked, locked) = (
        empty("outset-spill-bare"),
        empty("outset-spill-unlocked"),
        empty("outset-spill-locked"),
    );
    lock(&unlocked);
    let held = lock(&locked);
    flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
    remove_orphans(parent.path());
    assert!(!bare.exists() && !unlocked.exists() && locked.join(UNLOCKED).exists());
    assert!(matches!(mark_as_alive(&bare), Mark::Gone));
}

#[test]
fn e9_the_lock_is_the_owners_says_what_it_is_and_takes_nobodys_file() {
    let parent = tempfile::tempdir().unwrap();
    let directory = made(parent.path(), "outset-spill-mine");
    let Mark::Alive(file) = mark_as_alive(&directory) else {
        panic!("it was not marked");
    };
    let lock = directory.join("lock");
    let mark = fs::read(&lock).unwrap();
    let machine = machine::line().unwrap_or_default();
    assert_eq!(mark.strip_prefix(NOTE), Some(machine.as_bytes()));
    let mode = fs::metadata(&lock).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(file);
    // Who can make names in the directory cannot have a file of somebody else written to.
    let theirs = parent.path().join("theirs");
    fs::write(&theirs, "x").unwrap();
    let unlocked = directory.join(UNLOCKED);
    for link in [fs::hard_link::<&Path, &Path>, symlink] {
        link(&theirs, &unlocked).unwrap();
        let mark = mark_as_alive(&directory);
        assert!(matches!(mark, Mark::None));
        assert_eq!(fs::read(&theirs).unwrap(), b"x");
    }
}

#[test]
fn what_is_opened_here_is_closed_in_programs_that_are_started() {
    use rustix::fs::{OFlags, fcntl_getfl};
    use rustix::io::{FdFlags, fcntl_getfd};
    let parent = tempfile::tempdir().unwrap();
    let path = made(parent.path(), "outset-spill-mine");
    let Mark::Alive(mark) = mark_as_alive(&path) else {
        panic!("it was not marked");
    };
    assert_eq!(fcntl_getfd(&mark).unwrap(), FdFlags::CLOEXEC);
    drop(mark);
    let directory = private_directory(&path).unwrap();
    let lock = lock_in(&directory, LOCK.to_bytes()).unwrap();
    // An exclusive lock on a network file system wants a file that can be written.
    assert!(fcntl_getfl(&lock).unwrap().contains(OFlags::RDWR));
    for opened in [opened(&path).unwrap(), directory, lock] {
        assert_eq!(fcntl_getfd(&opened).unwrap(), FdFlags::CLOEXEC);
    }
    let file = path.join("000001-store0-bucket3");
    assert!(opened(&file).is_none() && private_directory(&file).is_none());
}

#[test]
fn only_names_that_a_run_gives_are_its_own() {
    for ours in ["lock", "000001-store0-bucket3", "1234567-pipe"] {
        assert!(is_ours(ours.as_bytes()), "{ours}");
    }
    for other in [
        "lock.new",
        "00001-five-digits",
        "000001",
        "000001x-",
        "-",
        "a-b",
        "",
    ] {
        assert!(!is_ours(other.as_bytes()), "{other}");
    }
}

#[test]
fn e10_a_link_in_the_place_of_the_directory_of_a_run_costs_nobody_a_file() {
    let parent = tempfile::tempdir().unwrap();
    let target = made(parent.path(), "somebody-elses");
    for name in ["lock", "lock.new", "thesis.txt"] {
        fs::write(target.join(name), "x").unwrap();
    }
    let own = parent.path().join("outset-spill-own");
    symlink(&target, &own).unwrap();
    for holds_files in [true, false] {
        remove_own(&own, holds_files);
        assert_eq!(fs::read_dir(&target).unwrap().count(), 4);
    }
    assert!(remove_files(&own, |_| true).is_none());
}

#[test]
fn e10_what_is_not_certainly_an_orphan_is_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    let orphan = |name: &str| {
        let path = made(parent.path(), name);
        drop(mark_as_alive(&path));
        path
    };
    let unmarked = made(parent.path(), "outset-spill-unmarked");
    let elsewhere = orphan("outset-spill-elsewhere");
    fs::write(elsewhere.join("lock"), "A note.\nMachine: another 0-0\n").unwrap();
    // One that is empty has nothing but its name.
    let (results, numbered) = ("outset-results", "outset-k3JdQ1");
    for name in [results, numbered] {
        fs::create_dir(parent.path().join(name)).unwrap();
        let private = Permissions::from_mode(0o700);
        fs::set_permissions(parent.path().join(name), private).unwrap();
    }
    let other_name = orphan("offset-abc");
    let open_to_all = orphan("outset-spill-open");
    fs::set_permissions(&open_to_all, Permissions::from_mode(0o755)).unwrap();
    let foreign_file = orphan("outset-spill-foreign");
    fs::write(foreign_file.join("thesis.txt"), "x").unwrap();
    let foreign_directory = orphan("outset-spill-nested");
    fs::create_dir(foreign_directory.join("000001-directory")).unwrap();
    let target = orphan("linked");
    symlink(&target, parent.path().join("outset-spill-link")).unwrap();
    let linked_lock = made(parent.path(), "outset-spill-lock");
    symlink(target.join("lock"), linked_lock.join("lock")).unwrap();
    remove_orphans(parent.path());
    assert!(parent.path().join(results).exists() && parent.path().join(numbered).exists());
    for path in [
        unmarked,
        elsewhere,
        other_name,
        open_to_all,
        foreign_file,
        target,
        linked_lock,
    ] {
        let left = path.join("000001-store0-bucket3");
        assert!(left.exists(), "{}", left.display());
    }
    assert!(foreign_directory.join("000001-directory").exists());
}
