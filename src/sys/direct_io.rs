//! Direct I/O: turning it on and off for an open file.
//!
//! *Owns:* the flag `O_DIRECT` of a descriptor. *Invariants:* a refusal is never an error: the file
//! is used through the page cache then. *Cost:* two system calls. *Sources:* open(2), fcntl(2).

use std::fs::File;
use std::io;

use rustix::fs::OFlags;
use rustix::io::Errno;

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

/// Returns true if an error of reading or writing is how a file system refuses direct I/O. Some accept the flag and
/// refuse only then: the caller turns it off and tries again.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::INVAL.raw_os_error())
}
