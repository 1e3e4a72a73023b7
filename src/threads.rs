//! Starting threads.
//!
//! *Owns:* the size of a stack, and the error of a thread that cannot be started. *Invariants:*
//! every thread of a run has a name and a stack of [`STACK_BYTES`]. *Cost:* none beside the thread.

use crate::error::{Error, Result};
use crate::failpoint::fail_point;
use crate::sync::thread::{Builder, Scope};

/// The stack of every thread of a run. Far more than they use, and less than a huge page, so that
/// no stack becomes resident as a whole.
pub(crate) const STACK_BYTES: usize = 1 << 20;

/// Starts a thread of `scope`.
///
/// # Errors
/// [`Error::Machine`] when the system gives no thread.
pub(crate) fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: impl Into<String>,
    body: impl FnOnce() + Send + 'scope,
) -> Result<()> {
    fail_point!("thread", Err(no_thread(crate::failpoint::injected())));
    Builder::new()
        .name(name.into())
        .stack_size(STACK_BYTES)
        .spawn_scoped(scope, body)
        .map(drop)
        .map_err(no_thread)
}

pub(crate) fn no_thread(error: impl std::fmt::Display) -> Error {
    Error::Machine {
        what: format!("cannot start a thread: {error}"),
        advice: "ask for fewer --threads, or raise the limit on processes (ulimit -u)",
    }
}
