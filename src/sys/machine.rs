//! The limits that the machine and its administrator set this process.
//!
//! *Owns:* reading memory limits (available RAM, cgroup v1 and v2, address space), the limit on open files, the
//! process's resident size, and cores. *Invariants:* a limit that cannot be read is no limit; the smallest of those
//! that can be read counts. *Cost:* a few small files of `/proc` and `/sys`, once per run.
//!
//! *Sources:* cgroups(7), proc(5); `DuckDB`'s reader for the fallback to the root group.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

use crate::sys::calls;

/// Returns the bytes of memory that this process could use: the smallest of available RAM, the limits of its cgroups,
/// and its address-space limit. `100%` of `--memory` is this.
pub fn memory_base_bytes() -> u64 {
    let address_space = getrlimit(Resource::As).current;
    // Where nothing can be read, a size that any machine has: 1 GiB.
    [calls::available_ram(), group_limit(), address_space]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(1 << 30)
}

/// Returns the limit that holds without `--memory`, in bytes: half of [`memory_base_bytes`], so that the page cache
/// and other processes keep as much.
pub fn default_memory_bytes() -> u64 {
    memory_base_bytes() / 2
}

/// Cores available to this process, at least 1 (affinity and cgroup quota respected).
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Returns the bytes of address space that this process may still map, where that is limited (`ulimit -v`).
pub(crate) fn address_space_left() -> Option<u64> {
    let limit = getrlimit(Resource::As).current?;
    // What is mapped already counts towards the limit, resident or not.
    Some(limit.saturating_sub(calls::mapped().unwrap_or(0)))
}

/// Returns the most files that this process may have open at a time, where that is limited (`ulimit -n`).
pub(crate) fn most_open_files() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Returns the resident size of this process now, in bytes.
pub(crate) fn resident_bytes() -> u64 {
    calls::resident().unwrap_or(0)
}

/// Returns the largest resident size that this process ever had, in bytes.
pub fn peak_resident_bytes() -> u64 {
    calls::peak_resident().unwrap_or(0)
}

/// Resets the peak to what is resident now, so that a later [`peak_resident_bytes`] is that of what runs from
/// here on. Where the system does not allow this, the peak stays that of the whole process.
pub(crate) fn restart_peak() {
    calls::restart_peak();
}

/// Reads the value of a line `Name:   123 kB`, in bytes.
pub(super) fn kilobytes(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

/// Returns the smallest memory limit of the cgroups this process is in, in bytes; `None` if they have none.
pub(super) fn group_limit() -> Option<u64> {
    // A system without /proc has no groups.
    calls::proc_text("self/cgroup")?;
    cgroup_limit(Path::new("/"))
}

/// Finds the smallest memory limit of the cgroups this process is in, version 1 or 2, the groups above it included.
/// `root` is `/` outside tests.
fn cgroup_limit(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mut limits = Vec::new();
    for line in groups.lines() {
        // "0::/path" is version 2, "5:memory:/path" version 1.
        let mut fields = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        // The memory limit of version 2 is in the one hierarchy; of version 1 in that of the memory controller.
        if number == "0" && controllers.is_empty() {
            limits.extend(limits_up(&root.join("sys/fs/cgroup"), path, "memory.max"));
        } else if controllers
            .split(',')
            .any(|controller| controller == "memory")
        {
            limits.extend(limits_up(
                &root.join("sys/fs/cgroup/memory"),
                path,
                "memory.limit_in_bytes",
            ));
        }
    }
    // Version 1 says "no limit" with a number near 2^63. Of all others the smallest binds.
    limits.into_iter().filter(|&limit| limit < 1 << 60).min()
}

/// Lists the limits in `file`, in bytes, of the group at `path` and of every group above it up to `mount`. Inside a
/// container the path is often that of the host and does not exist; then the mount's root is the container's own
/// group. A limit that is not a number (`max`) is no limit.
fn limits_up(mount: &Path, path: &str, file: &str) -> Vec<u64> {
    let relative = PathBuf::from(path.trim_start_matches('/'));
    relative
        .ancestors()
        .filter_map(|group| fs::read_to_string(mount.join(group).join(file)).ok())
        .filter_map(|text| text.trim().parse().ok())
        .collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn root_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn c2_the_smallest_limit_above_a_version_2_group_counts() {
        let root = root_with(&[
            ("proc/self/cgroup", "0::/slice/job\n"),
            ("sys/fs/cgroup/slice/job/memory.max", "max\n"),
            ("sys/fs/cgroup/slice/memory.max", "268435456\n"),
        ]);
        assert_eq!(cgroup_limit(root.path()), Some(256 << 20));
    }

    #[test]
    fn c2_a_version_1_group_and_its_way_of_saying_none() {
        let limited = root_with(&[
            (
                "proc/self/cgroup",
                "7:cpu:/\n5:hugetlb,memory:/docker/abc\n",
            ),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n"),
        ]);
        assert_eq!(cgroup_limit(limited.path()), Some(128 << 20));
        let unlimited = root_with(&[
            ("proc/self/cgroup", "5:memory:/\n"),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
        ]);
        assert_eq!(cgroup_limit(unlimited.path()), None);
    }

    #[test]
    fn this_process_has_sizes() {
        assert!(resident_bytes() > 0 && peak_resident_bytes() >= resident_bytes() / 2);
        assert!(default_memory_bytes() > 0 && default_threads() > 0);
    }
}
