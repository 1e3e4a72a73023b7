//! The facts that a file system tells of itself.
//!
//! *Owns:* the questions whose answers decide whether, and how, temporary files go to a directory.
//!
//! *Invariants:* a file system that does not answer, or answers with zeros only, counts as a disk with room:
//! writing will show. No answer here is an error, and none is stored, because other programs change it.
//!
//! *Cost:* a system call each.
//!
//! *Sources:* statvfs(3), statfs(2).

use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;

use crate::sys::calls::kind_of_file_system;
use crate::sys::file_id::FileId;

/// Returns true if the files of `directory` are in memory and nowhere else: then spilling to it saves no memory.
pub(super) fn is_in_memory(directory: &Path) -> bool {
    /// The magic numbers of tmpfs and ramfs (statfs(2)).
    const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];
    kind_of_file_system(directory).is_some_and(|kind| IN_MEMORY.contains(&kind))
}

/// Returns true if the file system of `directory` can keep files in the page cache for a while: it refuses a write at
/// once if it has no room for it, and takes no more room than is written. Over a network, a lack of room is found out
/// later; XFS takes room ahead of what is written (14 % more was seen), which would exceed a cap.
pub(super) fn may_cache(directory: &Path) -> bool {
    /// The magic numbers of ext4 (and ext2, ext3) and Btrfs (statfs(2)).
    const SUCH: [u32; 2] = [0xef53, 0x9123_683e];
    kind_of_file_system(directory).is_some_and(|kind| SUCH.contains(&kind))
}

/// Returns true if the file system that the file at `path` is, or would be, in has no inode left. Such a disk refuses
/// a new file as a full one does, but freeing bytes does not help.
pub(super) fn has_no_inodes(path: &Path) -> bool {
    path.parent()
        .and_then(|directory| rustix::fs::statvfs(directory).ok())
        .is_some_and(|stat| are_used_up(stat.f_files, stat.f_favail))
}

/// Returns true if a file system with `all` inodes has none `available`. One that does not count inodes reports 0 of
/// 0: it has no such limit.
fn are_used_up(all: u64, available: u64) -> bool {
    all > 0 && available == 0
}

/// Counts the bytes that this process may still use in `directories`, each file system once. Without what is reserved
/// for root. A file system that does not report its size counts as endless.
pub(crate) fn free_bytes(directories: &[PathBuf]) -> u64 {
    let mut devices = Vec::new();
    let mut free = 0u64;
    for directory in directories {
        let device = device_of(directory);
        if !devices.contains(&device) {
            devices.push(device);
            free = free.saturating_add(free_on(directory));
        }
    }
    free
}

/// Works as [`free_bytes`], for each directory alone, in order. Directories on one file system share what is free there
/// equally, or a disk with two directories would get twice its share of files.
pub(super) fn room_of_each<'p>(directories: impl Iterator<Item = &'p Path> + Clone) -> Vec<u64> {
    let devices: Vec<u64> = directories.clone().map(device_of).collect();
    let sharing = |device: u64| devices.iter().filter(|&&other| other == device).count() as u64;
    directories
        .zip(&devices)
        .map(
            |(directory, &device)| match rustix::fs::statvfs(directory) {
                // Without a name to give it, a new file has no room, however much is free.
                Ok(stat) if are_used_up(stat.f_files, stat.f_favail) => 0,
                _ => free_on(directory) / sharing(device),
            },
        )
        .collect()
}

/// Returns true if nothing can be written to the file system of a directory.
pub(crate) fn is_read_only(directory: &Path) -> bool {
    rustix::fs::statvfs(directory).is_ok_and(|stat| stat.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Returns the device that `directory` is on; 0 if the system does not say.
fn device_of(directory: impl AsRef<Path>) -> u64 {
    FileId::at(directory.as_ref()).map_or(0, FileId::device)
}

/// Counts the bytes that are free for this user on the file system of `directory`; 0 if it is mounted read-only.
fn free_on(directory: &Path) -> u64 {
    match rustix::fs::statvfs(directory) {
        Ok(stat) if stat.f_flag.contains(StatVfsMountFlags::RDONLY) => 0,
        // Some, such as ramfs, say that they have no blocks at all.
        Ok(stat) if stat.f_blocks > 0 => stat.f_bavail.saturating_mul(stat.f_frsize),
        _ => u64::MAX,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn inodes_are_used_up_only_where_they_are_counted() {
        assert!(are_used_up(1000, 0));
        assert!(!are_used_up(1000, 1) && !are_used_up(0, 0));
    }

    #[test]
    fn e7_a_file_system_in_memory_is_recognised() {
        assert!(!is_in_memory(Path::new("/proc")) && !is_in_memory(Path::new("/missing")));
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let has_shared_memory = mounts.lines().any(|line| line.contains(" /dev/shm tmpfs "));
        // Without the calls of Linux, every file system counts as a disk.
        let is_told = has_shared_memory && cfg!(not(portable));
        assert!(is_in_memory(Path::new("/dev/shm")) || !is_told);
    }
}
