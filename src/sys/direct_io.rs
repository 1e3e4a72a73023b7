//! Direct I/O: turning it on and off for an open file.
//!
//! *Owns:* the flag `O_DIRECT` of a descriptor. *Invariants:* a refusal is never an error: the file
//! is used through the page cache then. *Cost:* two system calls. *Sources:* open(2), fcntl(2).

use std::io;

use rustix::io::Errno;

pub(crate) use crate::sys::calls::{open_direct, set_direct};

/// Returns true if an error of reading or writing is how a file system refuses direct I/O. Some accept the flag and
/// refuse only then: the caller turns it off and tries again.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::INVAL.raw_os_error())
}
