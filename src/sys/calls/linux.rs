//! The calls of Linux.
//!
//! *Sources:* open(2) on `O_DIRECT` and `O_TMPFILE`, fcntl(2), preadv2(2), fallocate(2), sync_file_range(2),
//! statfs(2), statx(2) on `STATX_ATTR_MOUNT_ROOT`, pidfd_open(2), mremap(2), madvise(2) on `MADV_HUGEPAGE`, proc(5).

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use memmap2::{Advice, MmapMut, RemapOptions};
use rustix::fs::{
    AtFlags, CWD, FallocateFlags, Mode, OFlags, StatxAttributes, StatxFlags, fallocate, linkat,
    open, statx,
};
use rustix::io::{Errno, ReadWriteFlags};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::sys::file_id::is_of_another_device;
use crate::sys::machine::kilobytes;

/// True if code that has run stays resident. Here the command gives back what the parsing of its arguments ran.
pub(crate) const CODE_STAYS: bool = false;

/// Turns direct I/O on or off; false when the file system does not have it. With direct I/O, offsets, sizes
/// and addresses of buffers must be multiples of a page.
pub(crate) fn set_direct(file: &File, on: bool) -> bool {
    rustix::fs::fcntl_getfl(file)
        .and_then(|mut flags| {
            flags.set(OFlags::DIRECT, on);
            rustix::fs::fcntl_setfl(file, flags)
        })
        .is_ok()
}

/// Opens a file for direct I/O, with `flags` besides those of `options`.
///
/// # Errors
/// What the system reports: [`super::super::direct_io::is_refusal`] is true where the file system has no direct I/O.
pub(crate) fn open_direct(options: &OpenOptions, flags: OFlags, path: &Path) -> io::Result<File> {
    let flags = (flags | OFlags::DIRECT).bits() as i32;
    options.clone().custom_flags(flags).open(path)
}

/// Makes a file without a name, which [`name_unnamed`] can name later; `None` if the file system has no such files, or
/// the system would have no way to name it.
pub(crate) fn make_unnamed(directory: &Path, mode: Mode) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(open(directory, flags, mode).ok()?);
    // Without /proc there is no way to name the file, short of a privilege.
    path_of(&file).exists().then_some(file)
}

/// Gives a file without a name the name `path`, which must be free. Following the link in /proc leads to the file
/// itself.
///
/// # Errors
/// What the system reports.
pub(crate) fn name_unnamed(file: &File, path: &Path) -> io::Result<()> {
    let own = path_of(file);
    linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from)
}

/// Returns true if a file system, or a part of one, is mounted at `path`.
pub(crate) fn is_mount_point(path: &Path) -> bool {
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::empty());
    found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
        || is_of_another_device(path)
}

/// Asks for huge pages behind an anonymous mapping. A refusal costs speed, not correctness: some kernels have none.
pub(crate) fn on_huge_pages(map: &MmapMut) {
    let _refused_is_fine = map.advise(Advice::HugePage);
}

/// Changes the length of an anonymous mapping to `bytes`, a multiple of a page, keeping its content. It may move: that
/// moves page tables, not bytes.
///
/// # Errors
/// What the system reports; nothing has changed then.
pub(crate) fn remap(map: &mut MmapMut, bytes: usize) -> io::Result<()> {
    #[expect(
        unsafe_code,
        reason = "memmap2 leaves the uniqueness of the mapping to its caller"
    )]
    // SAFETY: `&mut` proves that nothing borrows the mapping while it moves, and an anonymous mapping has no file that
    // could be shorter than it.
    unsafe {
        map.remap(bytes, RemapOptions::new().may_move(true))
    }
}

/// Returns the path by which this process can name an open file.
fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Returns true if reading the byte at `offset` would have to ask the disk (`RWF_NOWAIT`: the kernel answers `EAGAIN`);
/// false where the kernel cannot tell.
pub(crate) fn would_wait(file: &File, offset: u64) -> bool {
    let mut byte = [0u8];
    let mut slices = [IoSliceMut::new(&mut byte)];
    rustix::io::preadv2(file, &mut slices, offset, ReadWriteFlags::NOWAIT) == Err(Errno::AGAIN)
}

/// Asks for a pipe that holds `bytes`. What is no pipe refuses, and so may the system.
pub(crate) fn enlarge_pipe(pipe: &File, bytes: usize) {
    let _refused_is_fine = rustix::pipe::fcntl_setpipe_size(pipe, bytes);
}

/// Gives back the room of a part of a file. Not every file system can.
pub(crate) fn punch_hole(file: &File, offset: u64, bytes: u64) {
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let _may_stay = fallocate(file, hole, offset, bytes);
}

/// Has the system begin to write what it has of a file in the page cache alone. It waits only where too much is on its
/// way to the disk already. A refusal changes only when that happens.
pub(crate) fn begin_writing(file: &File) {
    #[expect(unsafe_code, reason = "sync_file_range has no safe wrapper")]
    // SAFETY: the descriptor is open as long as the borrow of the file lasts, and no memory is passed. A length of 0 is
    // that of the file.
    let _refused_is_fine =
        unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

/// Waits until everything in the file system of an open file is on the disk.
///
/// # Errors
/// What the system reports.
pub(crate) fn sync_file_system(file: &File) -> io::Result<()> {
    rustix::fs::syncfs(file).map_err(io::Error::from)
}

/// Returns the number of the kind of file system that `directory` is on; `None` if the system does not say.
pub(crate) fn kind_of_file_system(directory: &Path) -> Option<u32> {
    let stat = rustix::fs::statfs(directory).ok()?;
    Some(stat.f_type as u32)
}

/// Returns a descriptor that can be read when a process ends; `None` where the system has none.
pub(crate) fn end_of(process: u32) -> Option<OwnedFd> {
    let process = Pid::from_raw(process as i32)?;
    pidfd_open(process, PidfdFlags::empty()).ok()
}

/// Reads a file of `/proc`, whose path there is `path`; `None` where there is none.
pub(crate) fn proc_text(path: &str) -> Option<String> {
    fs::read_to_string(Path::new("/proc").join(path)).ok()
}

/// Returns the bytes that the kernel estimates can be used without swapping; page cache included.
pub(crate) fn available_ram() -> Option<u64> {
    kilobytes(&proc_text("meminfo")?, "MemAvailable:")
}

/// Returns the resident size of this process now, in bytes.
pub(crate) fn resident() -> Option<u64> {
    kilobytes(&proc_text("self/status")?, "VmRSS:")
}

/// Returns the largest resident size that this process ever had, in bytes.
pub(crate) fn peak_resident() -> Option<u64> {
    kilobytes(&proc_text("self/status")?, "VmHWM:")
}

/// Returns the bytes of address space that this process has mapped.
pub(crate) fn mapped() -> Option<u64> {
    kilobytes(&proc_text("self/status")?, "VmSize:")
}

/// Resets the peak to what is resident now. (Writing 5 to `clear_refs` resets `VmHWM`.)
pub(crate) fn restart_peak() {
    let _stays_as_it_is = fs::write("/proc/self/clear_refs", "5");
}
