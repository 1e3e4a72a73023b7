//! Standard streams that are closed (`<&-`, `>&-`, `2>&-`): using one is an error.
//!
//! *Owns:* looking at them before the runtime of std does, which puts `/dev/null` in their place: an
//! input would seem empty, and a result would be lost without a word. *Invariants:* their numbers are
//! taken as long as the process lives, so no file of a run gets one; reading and writing them
//! fails with EBADF, as if they were closed still. *Cost:* three system calls.
//!
//! *Sources:* `__libc_start_main` calls what is in `.init_array` before `main` (System V ABI, glibc, musl); dyld does
//! so with `__mod_init_func`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, Mode, OFlags, fcntl_getfl, openat};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

/// Flags for standard input, output and error: set if it was closed when the process began.
static WERE_CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Looks at the streams before the runtime of std begins.
extern "C" fn look() {
    for (number, was_closed) in (0..).zip(&WERE_CLOSED) {
        #[expect(
            unsafe_code,
            reason = "no descriptor can be borrowed that may be closed"
        )]
        // SAFETY: the call takes any number, and only asks.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        was_closed.store(flags == -1, Ordering::Relaxed);
    }
}

#[expect(
    unsafe_code,
    reason = "putting it in a section is a claim about what is in it"
)]
// SAFETY: the section holds functions that are called with C's convention; `look` takes none of the
// arguments, needs nothing of the runtime, and cannot panic.
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[cfg_attr(
    target_vendor = "apple",
    unsafe(link_section = "__DATA,__mod_init_func")
)]
#[used]
static LOOK: extern "C" fn() = look;

/// Puts something in the place of streams that were closed which can be used no more than they could,
/// neither by their numbers nor, on Linux, by names such as `/dev/stdin`.
pub(super) fn keep_closed() {
    let was_closed = |number: usize| WERE_CLOSED[number].load(Ordering::Relaxed);
    // Where that fails there is what std has put there: something that has no lines and takes all.
    if was_closed(0) {
        let _stays = unusable(OFlags::WRONLY).and_then(dup2_stdin);
    }
    if was_closed(1) {
        let _stays = unusable(OFlags::RDONLY).and_then(dup2_stdout);
    }
    if was_closed(2) {
        let _stays = unusable(OFlags::RDONLY).and_then(dup2_stderr);
    }
}

/// Opens what can be neither read nor written: a link to a directory, opened as a path (`O_PATH`) and not followed.
#[cfg(all(target_os = "linux", not(portable)))]
fn unusable(_other: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, "/proc/self", flags, Mode::empty())
}

/// Opens what can be used only in the `other` way than the stream.
#[cfg(not(all(target_os = "linux", not(portable))))]
fn unusable(other: OFlags) -> rustix::io::Result<OwnedFd> {
    openat(CWD, "/dev/null", other | OFlags::CLOEXEC, Mode::empty())
}

/// Checks that standard output can be written to at all. That of std takes bytes that it cannot write, and says
/// nothing.
pub(super) fn check_stdout() -> io::Result<()> {
    check_writable(io::stdout().as_fd())
}

/// Works as [`check_stdout`], for standard error, where something was asked for that is written there.
pub(super) fn check_stderr() -> io::Result<()> {
    check_writable(io::stderr().as_fd())
}

fn check_writable(stream: BorrowedFd<'_>) -> io::Result<()> {
    let flags = fcntl_getfl(stream)?;
    if flags.intersection(OFlags::RWMODE) == OFlags::RDONLY {
        return Err(rustix::io::Errno::BADF.into());
    }
    Ok(())
}
