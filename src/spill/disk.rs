//! What a file system says of itself.
//!
//! *Owns:* the questions whose answers decide whether, and how, temporary files go to a place.
//! *Invariants:* one that does not tell counts as one with room, on a disk. *Cost:* a system call each.
//!
//! *Sources:* statvfs(3), statfs(2).

use std::path::{Path, PathBuf};

use crate::file_id::FileId;

/// Whether the files of `directory` are in memory and nowhere else.
pub(super) fn is_in_memory(directory: &Path) -> bool {
    /// The magic numbers of tmpfs and ramfs (statfs(2)).
    const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];
    rustix::fs::statfs(directory).is_ok_and(|stat| IN_MEMORY.contains(&(stat.f_type as u32)))
}

/// Whether the file system of a file has room for no more files.
pub(super) fn has_no_inodes(path: &Path) -> bool {
    path.parent()
        .and_then(|directory| rustix::fs::statvfs(directory).ok())
        .is_some_and(|stat| are_used_up(stat.f_files, stat.f_favail))
}

/// Whether none are available of `all` inodes. Some file systems count none at all, and then say that
/// there are none in all.
fn are_used_up(all: u64, available: u64) -> bool {
    all > 0 && available == 0
}

/// Bytes that this process may still use in `places`, each file system counted once; one that does
/// not tell counts as endless.
pub(crate) fn free_bytes(places: &[PathBuf]) -> u64 {
    let mut devices = Vec::new();
    let mut free = 0u64;
    for place in places {
        let device = FileId::at(place).map_or(0, FileId::device);
        if !devices.contains(&device) {
            devices.push(device);
            let stat = rustix::fs::statvfs(place.as_path());
            let bytes = match stat {
                // Some, such as ramfs, say that they have no blocks at all.
                Ok(stat) if stat.f_blocks > 0 => stat.f_bavail.saturating_mul(stat.f_frsize),
                _ => u64::MAX,
            };
            free = free.saturating_add(bytes);
        }
    }
    free
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
    fn e7_a_file_system_in_memory_is_told_from_others() {
        assert!(!is_in_memory(Path::new("/proc")) && !is_in_memory(Path::new("/missing")));
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let has_shared_memory = mounts.lines().any(|line| line.contains(" /dev/shm tmpfs "));
        assert!(is_in_memory(Path::new("/dev/shm")) || !has_shared_memory);
    }
}
