//! Temporary directories whose run was killed.
//!
//! *Owns:* the mark by which a private directory tells that its run is alive, and the removal of
//! those whose run is not. The mark is a file with an exclusive lock (flock(2)), which the system
//! takes back when the process ends, however it ends.
//!
//! How a directory lives, and what a run that cleans up finds if the maker was killed at that point:
//!
//! ```text
//!  the maker does               the directory contains    a cleaning run
//!  1 mkdir outset-spill-XXXXXX  nothing                   removes it
//!  2 create lock.new            lock.new                  locks lock.new, removes both
//!  3 flock lock.new             lock.new, locked          leaves it while the maker lives, else as 2
//!  4 rename it to lock          lock, locked; files       leaves it while the maker lives, else removes all
//! ```
//!
//! A cleaning run cannot tell a killed maker from a living one between 1 and 3. It removes the directory of
//! either. The living one notices at its next step, which fails, and begins again at 1 ([`Mark::Gone`]).
//!
//! *Invariants.*
//! - The file has its name only once it is locked: a directory with one that is locked is left
//!   alone. So is one of another user, one that others may enter, and one with anything in it that
//!   no run makes. One without it goes if it is empty, or holds nothing but the file before it was
//!   locked: the run that was about to mark it notices, and makes another.
//! - A mark names its machine. Some file systems that machines share lock a file on each by itself: the lock of a live
//!   run elsewhere looks free. So a mark of another machine is left alone ([`machine`]).
//! - An empty directory of the user has nothing but its name to tell that a run made it. So the name begins with
//!   [`PREFIX`], which people do not give their own.
//! - What is removed is removed relative to the directory that was looked at, and no link is followed.
//!   The exception: a run that has no descriptor left for its own directory removes its mark by its path,
//!   after a look at what is there; whoever may rename there could change it in between.
//!
//! *Cost:* one descriptor as long as the directory is there; a listing of each directory that temporary
//! files go to, once per command.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, rename,
    unlinkat,
};
use rustix::io::Errno;

use crate::sys::failpoint::fail_point;

/// The beginning of the names of private directories. Only directories with such a name are ever looked at.
pub(super) const PREFIX: &str = "outset-spill-";
/// The file that is locked.
const LOCK: &CStr = c"lock";
/// Its name before it is locked.
const UNLOCKED: &str = "lock.new";
/// The permission bits of group and others. A private directory has none of them.
const OTHERS: u32 = 0o077;
/// The note that tells a person who finds the directory what it is.
const NOTE: &[u8] =
    b"Temporary files of a run of outset. If that run was killed, the next run with the same temporary directory removes them.\n";

/// The result of marking a directory.
pub(super) enum Mark {
    /// It is one of a live run for as long as the file is open.
    Alive(File),
    /// There can be no mark, as on a file system without locks. Once there is a file in it, the
    /// directory is never taken for an orphan.
    None,
    /// Another run took it for one whose maker was killed before it was marked: make a new one.
    Gone,
}

/// Marks `directory`, which is empty, as one of a live run: steps 2 to 4. Never waits for another run.
pub(super) fn mark_as_alive(directory: &Path) -> Mark {
    let unlocked = directory.join(UNLOCKED);
    match marked(directory, &unlocked) {
        Ok(file) => Mark::Alive(file),
        Err(Errno::NOENT | Errno::WOULDBLOCK) => Mark::Gone,
        Err(_) => {
            let _goes_with_the_directory = std::fs::remove_file(&unlocked);
            Mark::None
        }
    }
}

/// Makes the mark: returns the locked file. The steps fail with `NOENT` if another run has removed directory or file,
/// and with `WOULDBLOCK` if it has the lock now; any other error means that there can be no mark.
fn marked(directory: &Path, unlocked: &Path) -> Result<File, Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(CWD, unlocked, flags, Mode::RUSR | Mode::WUSR)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    let mut file = File::from(file);
    // Before the rename: under its final name, the file is complete.
    let _need_not_be_there = file.write_all(NOTE).and_then(|()| {
        let line = machine::line().unwrap_or_default();
        file.write_all(line.as_bytes())
    });
    rename(unlocked, directory.join(OsStr::from_bytes(LOCK.to_bytes())))?;
    Ok(file)
}

/// Removes what killed runs of this user have left in `parent`. What cannot be removed stays, and no error is
/// reported: a run does not depend on it. Several runs may do this at the same time.
pub(super) fn remove_orphans(parent: &Path) {
    let Some(opened) = opened(parent) else {
        return;
    };
    let _some_may_stay = names(&opened, |name| {
        if name.to_bytes().starts_with(PREFIX.as_bytes()) {
            // With a mark and nothing strange, it is an orphan; without one, it may be one from step 1 or 2.
            let path = parent.join(OsStr::from_bytes(name.to_bytes()));
            if let Some(orphan) = Orphan::recognised(&path) {
                orphan.remove(&path);
            } else {
                remove_unmarked(&path);
            }
        }
        true
    });
}

/// Removes the directory of this run, in an order that another run can finish:
///
/// 1. Try to remove it as it is: enough without a mark.
/// 2. Remove the files. If that fails, the mark stays, and the next run with this directory removes the rest.
/// 3. Remove the mark under both of its names, then the directory.
///
/// `holds_files` is false if there is certainly nothing but the mark: then no listing is needed, and the
/// directory goes even if the process has no descriptor left.
pub(super) fn remove_own(path: &Path, holds_files: bool) {
    fail_point!("clean-up");
    // Only ever removes an empty directory: one without a mark, here.
    let is_gone = std::fs::remove_dir(path).is_ok();
    if is_gone || (holds_files && remove_files(path, |_| true).is_none()) {
        return;
    }
    let directory = open_directory(path);
    for name in [LOCK.to_str().unwrap_or_default(), UNLOCKED] {
        let _may_not_be_there = match &directory {
            Ok(directory) => {
                is_private(directory, FileType::Directory)
                    && unlinkat(directory, name, AtFlags::empty()).is_ok()
            }
            // A link of its name leads to what is somebody else's.
            Err(Errno::LOOP | Errno::NOTDIR | Errno::NOENT) => false,
            // There is no descriptor left for it, or its disk fails.
            Err(_) => is_directory(path) && std::fs::remove_file(path.join(name)).is_ok(),
        };
    }
    let _may_be_gone = std::fs::remove_dir(path);
}

/// Removes the files in a private directory whose names `is_meant`, but not the mark. `None` if one cannot be
/// removed, or the directory is not private.
///
/// Takes one descriptor, because a lack of descriptors may be why the run ends. Names are removed relative to
/// it: a link that replaces the directory meanwhile leads nowhere.
pub(super) fn remove_files(path: &Path, is_meant: impl Fn(&[u8]) -> bool) -> Option<()> {
    let mut directory = Dir::new(private_directory(path)?).ok()?;
    while let Some(entry) = directory.read() {
        let entry = entry.ok()?;
        let name = entry.file_name();
        let stays = [c".", c"..", LOCK].contains(&name) || !is_meant(name.to_bytes());
        if !stays {
            unlinkat(directory.fd().ok()?, name, AtFlags::empty()).ok()?;
        }
    }
    Some(())
}

/// Opens a directory to look at its names, following links: the user named it. Not by `std::fs::read_dir`,
/// which panics where closing fails.
fn opened(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).ok()
}

/// Removes a directory whose maker was killed before it was marked: one that is empty, or holds nothing but a
/// `lock.new` that is not locked. A maker that is alive notices ([`Mark::Gone`]). `None` if it stays.
fn remove_unmarked(path: &Path) -> Option<()> {
    let directory = private_directory(path)?;
    // Without locks there are no marks, and empty directories may be those of live runs.
    flock(&directory, FlockOperation::NonBlockingLockExclusive).ok()?;
    names(&directory, |name| name.to_bytes() == UNLOCKED.as_bytes())?;
    // Held until the directory is removed, so that a living maker cannot lock the file in between.
    let _lock = match lock_in(&directory, UNLOCKED.as_bytes()) {
        Some(lock) => {
            unlinkat(&directory, UNLOCKED, AtFlags::empty()).ok()?;
            Some(lock)
        }
        None => None,
    };
    // Only ever removes an empty directory.
    std::fs::remove_dir(path).ok()
}

/// Opens a directory that belongs to this user and that others may not enter; `None` for any other.
fn private_directory(path: &Path) -> Option<OwnedFd> {
    let directory = open_directory(path).ok()?;
    is_private(&directory, FileType::Directory).then_some(directory)
}

/// Opens a directory. A link to one is an error.
fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
}

/// Returns true if there is a directory now that is not a link to one.
fn is_directory(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// Locks the file with this name in a directory, until the returned descriptor is closed. `None` if another
/// process has locked it, or it is not a private regular file of this user.
fn lock_in(directory: &OwnedFd, name: &[u8]) -> Option<OwnedFd> {
    // Not blocking: a FIFO of this name must not stop the run.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::RDWR | OFlags::CLOEXEC;
    let lock = openat(directory, OsStr::from_bytes(name), flags, Mode::empty()).ok()?;
    is_private(&lock, FileType::RegularFile).then_some(())?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(lock)
}

/// The directory of a killed run. This run has locked its mark, so no other removes it at the same time.
struct Orphan {
    /// The directory that names are relative to when they are removed.
    directory: OwnedFd,
    /// The mark, locked until this is dropped.
    _lock: OwnedFd,
}

impl Orphan {
    /// Locks the mark of the directory at `path` and looks at what is there. `None` if the run is alive or may be on
    /// another machine, if the directory is not a private one of this user, or if it has a file that no run makes.
    fn recognised(path: &Path) -> Option<Self> {
        let directory = private_directory(path)?;
        let lock = lock_in(&directory, LOCK.to_bytes())?;
        (!machine::is_another(&lock)).then_some(())?;
        names(&directory, |name| is_ours(name.to_bytes()))?;
        Some(Self {
            directory,
            _lock: lock,
        })
    }

    /// Removes the files, then the mark, then the directory. The mark goes last of the files: until then, other
    /// runs find it locked, and after a failure it is still there for the next one.
    fn remove(self, path: &Path) {
        let emptied = names(&self.directory, |name| {
            name == LOCK || unlinkat(&self.directory, name, AtFlags::empty()).is_ok()
        });
        if emptied.is_some() && unlinkat(&self.directory, LOCK, AtFlags::empty()).is_ok() {
            // Only ever removes an empty directory.
            let _may_be_gone = std::fs::remove_dir(path);
        }
    }
}

/// Returns true if an open file is of this kind, belongs to this user, and gives no rights to group or others.
fn is_private(file: &OwnedFd, kind: FileType) -> bool {
    fstat(file).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == kind
            && stat.st_uid == rustix::process::geteuid().as_raw()
            && stat.st_mode & OTHERS == 0
    })
}

/// Calls `is_fine` with all names in a directory; `None` as soon as it returns false, or when the directory
/// cannot be read.
fn names(directory: &OwnedFd, is_fine: impl Fn(&CStr) -> bool) -> Option<()> {
    for entry in Dir::read_from(directory).ok()? {
        let entry = entry.ok()?;
        let name = entry.file_name();
        if name != c"." && name != c".." && !is_fine(name) {
            return None;
        }
    }
    Some(())
}

/// Returns true if a run makes files of this name: `lock`, or at least six digits, a dash, and a label. A directory
/// with any other name in it may be of use to somebody, and is left alone.
fn is_ours(name: &[u8]) -> bool {
    let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
    name == LOCK.to_bytes() || (digits >= 6 && name.get(digits) == Some(&b'-'))
}

mod machine;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod race;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
