//! Signals: clean up, then end the way the signal would have ended the process.
//!
//! *Owns:* the thread that waits for signals, and the one that waits for a mapping to fail. *Invariants:* a signal that
//! the parent had ignored (as `nohup` does) stays ignored; the caller sees the signal as the cause of the end, not a
//! made-up status. *Cost:* a thread each.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use outset::{Error, Interrupt};
use signal_hook::consts::{
    SIGALRM, SIGBUS, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ,
};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::exit::ExitStatus;
use super::screen;

/// Signals whose default action ends the process, and that can be survived long enough to clean up.
const ENDING: [i32; 9] = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM,
];
/// Much more than the thread needs, and less than a huge page.
const STACK_BYTES: usize = 256 << 10;
/// The longest time that an end by a signal waits for the terminal to be clean: it may be stopped.
const SCREEN_PATIENCE: Duration = Duration::from_millis(500);

/// Starts to wait for signals; the first one removes what the run has made and ends the process.
pub(crate) fn install(interrupt: &Interrupt) -> Result<(), Error> {
    let ending = ENDING.iter().filter(|&&signal| !is_ignored(signal));
    let mut signals = Signals::new(ending).map_err(|error| not_handled(&error))?;
    let interrupt = interrupt.clone();
    std::thread::Builder::new()
        .name("signals".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            if let Some(signal) = signals.forever().next() {
                screen::interrupt();
                interrupt.stop_and_clean_up();
                screen::end(SCREEN_PATIENCE);
                end_by(signal);
            }
        })
        .map(drop)
        .map_err(|error| not_handled(&error))
}

/// The time from one look for the parent to the next.
const PARENT_LOOK_UP: Duration = Duration::from_millis(100);

/// Ends this process, as SIGTERM does, when its parent has ended and another process has become its parent.
pub(crate) fn watch_parent(interrupt: &Interrupt) -> Result<(), Error> {
    let parent = rustix::process::getppid();
    let interrupt = interrupt.clone();
    std::thread::Builder::new()
        .name("parent".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            while rustix::process::getppid() == parent {
                std::thread::sleep(PARENT_LOOK_UP);
            }
            interrupt.stop_and_clean_up();
            end_by(SIGTERM);
        })
        .map(drop)
        .map_err(|error| not_handled(&error))
}

fn not_handled(error: &io::Error) -> Error {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or(&text);
    Error::Machine {
        what: format!("signals: cannot install handlers: {reason}"),
        advice: match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE) => "raise the limit on open files (ulimit -n)",
            _ => "raise the limit on processes (ulimit -u)",
        },
    }
}

/// Makes an error of what a mapped filter does whose file becomes shorter, or cannot be read any
/// more: each thread that touches it gets SIGBUS, until the process ends.
pub(crate) fn watch_mapping(path: &Path, interrupt: &Interrupt) -> Result<(), Error> {
    if is_ignored(SIGBUS) {
        return Ok(());
    }
    forget_handler_of_std();
    let mut signals = Signals::new([SIGBUS]).map_err(|error| not_handled(&error))?;
    let (path, interrupt) = (path.to_owned(), interrupt.clone());
    std::thread::Builder::new()
        .name("mapping".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            if signals.forever().next().is_some() {
                interrupt.stop_and_clean_up();
                screen::end(SCREEN_PATIENCE);
                screen::fail(&Error::BadFilter {
                    path,
                    what: "was truncated while in use, or its disk failed".into(),
                    advice: "restore it from a backup, or build it again",
                });
                signal_hook::low_level::exit(ExitStatus::Damaged as i32);
            }
        })
        .map(drop)
        .map_err(|error| not_handled(&error))
}

/// Takes SIGBUS from the runtime of std, which looks for overflows of the stack (those come as
/// SIGSEGV on Linux) and restores the default action when it finds none: it would be called before
/// the handler that is installed here, and the process would end before anything is cleaned up.
fn forget_handler_of_std() {
    #[expect(unsafe_code, reason = "no safe interface removes a handler")]
    // SAFETY: the default action runs no code of this process, and nothing is mapped yet that could
    // bring the signal before the new handler is there.
    let _only_fails_for_unknown_signals = unsafe { libc::signal(SIGBUS, libc::SIG_DFL) };
}

/// Ends the process as a closed standard output does: by SIGPIPE, without a word.
pub(crate) fn end_as_broken_pipe() -> ExitCode {
    end_by(SIGPIPE);
    ExitStatus::Output.into()
}

/// Waits after a run that saw a signal: the signal's thread ends the process in a moment.
pub(crate) fn wait_for_the_end() -> ExitCode {
    std::thread::sleep(Duration::from_secs(5));
    ExitStatus::Bug.into()
}

/// Tells whether an error is the echo of a signal that is ending the process: a limit on file sizes comes as SIGXFSZ
/// and as an error, and a directory that the clean-up removed is missed by the run.
pub(crate) fn may_have_caused(error: &Error, interrupt: &Interrupt) -> bool {
    let (Error::Temp { source, .. } | Error::Output { source, .. }) = error else {
        return interrupt.is_stopped();
    };
    if source.kind() == io::ErrorKind::FileTooLarge && !interrupt.is_stopped() {
        // The thread that waits for signals may not have run yet.
        std::thread::sleep(Duration::from_millis(200));
    }
    interrupt.is_stopped()
}

fn end_by(signal: i32) {
    // Only fails for signals whose default is to be ignored, and none of these is.
    let _ends_the_process = emulate_default_handler(signal);
}

/// Returns true if this process was started with a signal ignored.
fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    #[expect(unsafe_code, reason = "no safe interface asks for a handler")]
    // SAFETY: without a new action the call changes nothing; `action` has room for the old one, whose fields may all be
    // zero.
    let (status, action) = unsafe {
        let status = libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        (status, action.assume_init())
    };
    status == 0 && action.sa_sigaction == libc::SIG_IGN
}
