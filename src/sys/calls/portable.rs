//! What takes the place of the calls of Linux where there are none.
//!
//! *Invariants:* the functions are those of `linux`, and say what a Linux would say that refuses. Some know more on
//! macOS: the memory of the machine, and the resident size and the peak of this process.
//!
//! *Sources:* of macOS getrusage(2), sysctl(3) on `hw.memsize`, and `libproc.h`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use memmap2::{MmapMut, UncheckedAdvice};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// True if code that has run stays resident: no call finds it without `/proc`.
pub(crate) const CODE_STAYS: bool = true;

/// Turns direct I/O on or off: it is always off.
pub(crate) fn set_direct(_file: &File, on: bool) -> bool {
    !on
}

/// Refuses to open a file for direct I/O.
///
/// # Errors
/// Always the one for which [`super::super::direct_io::is_refusal`] is true.
pub(crate) fn open_direct(_: &OpenOptions, _flags: OFlags, _path: &Path) -> io::Result<File> {
    Err(Errno::INVAL.into())
}

/// Makes no file without a name.
pub(crate) fn make_unnamed(_directory: &Path, _mode: Mode) -> Option<File> {
    None
}

/// Gives no file a name, as there is none without one.
///
/// # Errors
/// Always.
pub(crate) fn name_unnamed(_file: &File, _path: &Path) -> io::Result<()> {
    Err(Errno::OPNOTSUPP.into())
}

/// Returns true if another file system is mounted at `path`. A part of the same one is not noticed.
pub(crate) fn is_mount_point(path: &Path) -> bool {
    crate::sys::file_id::is_of_another_device(path)
}

/// Does nothing: the system begins by itself.
pub(crate) fn begin_writing(_file: &File) {}

/// Does nothing: pages are as large as they are.
pub(crate) fn on_huge_pages(_map: &MmapMut) {}

/// The bytes of a mapping that are in memory twice while it is copied.
const COPIED_BYTES: usize = 1 << 20;

/// Changes the length of an anonymous mapping to `bytes`, a multiple of a page, by copying it piece by piece into a new
/// one. Each piece is given back to the system before the next is copied.
///
/// # Errors
/// What the system reports; nothing has changed then.
pub(crate) fn remap(map: &mut MmapMut, bytes: usize) -> io::Result<()> {
    let mut moved = MmapMut::map_anon(bytes)?;
    for start in (0..map.len().min(bytes)).step_by(COPIED_BYTES) {
        let end = (start + COPIED_BYTES).min(map.len()).min(bytes);
        moved[start..end].copy_from_slice(&map[start..end]);
        #[expect(unsafe_code, reason = "the advice changes what the memory contains")]
        // SAFETY: no reference to this part is left, nobody reads it again, and the mapping is anonymous.
        let _refused_costs_memory =
            unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end - start) };
    }
    *map = moved;
    Ok(())
}

/// Returns false: nothing is known.
pub(crate) fn would_wait(_file: &File, _offset: u64) -> bool {
    false
}

/// Leaves a pipe as large as it is.
pub(crate) fn enlarge_pipe(_pipe: &File, _bytes: usize) {}

/// Leaves the room of a part of a file where it is.
pub(crate) fn punch_hole(_file: &File, _offset: u64, _bytes: u64) {}

/// Waits until everything in all file systems is on its way to the disk: no call does that for one.
///
/// # Errors
/// None: this call reports nothing.
#[expect(clippy::unnecessary_wraps, reason = "as on Linux, where it can fail")]
pub(crate) fn sync_file_system(_file: &File) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Returns `None`: numbers of kinds of file systems are those of Linux.
pub(crate) fn kind_of_file_system(_directory: &Path) -> Option<u32> {
    None
}

/// Returns `None`: who waits for the end of a process has to look again and again.
pub(crate) fn end_of(_process: u32) -> Option<OwnedFd> {
    None
}

/// Returns `None`: there is no `/proc`.
pub(crate) fn proc_text(_path: &str) -> Option<String> {
    None
}

/// Returns the bytes of memory of the machine: how many of them are free is not known.
#[cfg(target_os = "macos")]
pub(crate) fn available_ram() -> Option<u64> {
    let mut bytes = 0u64;
    let mut length = size_of::<u64>();
    #[expect(unsafe_code, reason = "sysctlbyname has no safe wrapper")]
    // SAFETY: the name ends with a zero byte; `bytes` has room for `length` bytes, and any bytes are a u64.
    let status = unsafe {
        libc::sysctlbyname(
            c"hw.memsize".as_ptr(),
            (&raw mut bytes).cast(),
            &raw mut length,
            std::ptr::null_mut(),
            0,
        )
    };
    (status == 0 && length == size_of::<u64>()).then_some(bytes)
}

/// Returns `None`: nothing is known.
#[cfg(not(target_os = "macos"))]
pub(crate) fn available_ram() -> Option<u64> {
    None
}

/// Returns the resident size of this process now, in bytes.
#[cfg(target_os = "macos")]
pub(crate) fn resident() -> Option<u64> {
    let mut sizes = std::mem::MaybeUninit::<libc::proc_taskinfo>::zeroed();
    let length = size_of::<libc::proc_taskinfo>() as i32;
    #[expect(unsafe_code, reason = "proc_pidinfo has no safe wrapper")]
    // SAFETY: `sizes` has room for the `length` bytes that the call writes, and zeros are a valid value of its numbers.
    let (written, sizes) = unsafe {
        let own = libc::getpid();
        let room = sizes.as_mut_ptr().cast();
        let written = libc::proc_pidinfo(own, libc::PROC_PIDTASKINFO, 0, room, length);
        (written, sizes.assume_init())
    };
    (written == length).then_some(sizes.pti_resident_size)
}

/// Returns the largest resident size that this process ever had, in bytes.
#[cfg(target_os = "macos")]
pub(crate) fn peak_resident() -> Option<u64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    #[expect(unsafe_code, reason = "getrusage has no safe wrapper")]
    // SAFETY: `usage` has room for what the call writes, and zeros are a valid value of its numbers.
    let (status, usage) = unsafe {
        let status = libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        (status, usage.assume_init())
    };
    // In bytes, unlike on Linux.
    (status == 0).then_some(usage.ru_maxrss as u64)
}

/// Returns the resident size of this process now, in bytes: on Linux that of `/proc`, in the place of the calls of
/// macOS. No other call tells it, and the peak of getrusage(2) has in it what ran before exec.
#[cfg(not(target_os = "macos"))]
pub(crate) fn resident() -> Option<u64> {
    own_size("VmRSS:")
}

/// Returns the largest resident size that this process ever had, in bytes, as [`resident`] does.
#[cfg(not(target_os = "macos"))]
pub(crate) fn peak_resident() -> Option<u64> {
    own_size("VmHWM:")
}

#[cfg(not(target_os = "macos"))]
fn own_size(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    crate::sys::machine::kilobytes(&status, field)
}

/// Returns `None`: nothing is known.
pub(crate) fn mapped() -> Option<u64> {
    None
}

/// Leaves the peak as it is.
pub(crate) fn restart_peak() {}
