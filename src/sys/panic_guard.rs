//! Calling what may panic on damaged input.
//!
//! *Owns:* [`guarded`]. *Invariants:* a panic within it is an answer and not printed; all others go the way that they
//! went before. *Cost:* a flag of the thread.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls `call`; `None` if it panics. What it was working on must not be used any more then.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            // A message about a damaged file comes as an error; a backtrace would take tens of megabytes.
            if !IS_GUARDED.get() {
                before(panic);
            }
        }));
    });
    let was_guarded = IS_GUARDED.replace(true);
    let called = catch_unwind(AssertUnwindSafe(call));
    IS_GUARDED.set(was_guarded);
    called.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b23_a_panic_is_an_answer() {
        assert_eq!(guarded(|| 7), Some(7));
        let none: Option<u32> = guarded(|| [1, 2][std::hint::black_box(2)]);
        assert_eq!(none, None);
        assert!(!IS_GUARDED.get());
    }
}
