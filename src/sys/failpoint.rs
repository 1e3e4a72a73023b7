//! Points where tests make something fail.
//!
//! *Owns:* the one macro that marks such a point. *Invariants:* without the feature `failpoints` a mark
//! expands to nothing, and nothing in it is compiled.
//!
//! *Sources:* the crate `fail`; SQLite's way of testing (fail the N-th call, for every N).

/// Marks a point where tests can cause a panic. With a second argument, tests can also make the function
/// return it there.
macro_rules! fail_point {
    ($name:literal) => {
        #[cfg(feature = "failpoints")]
        fail::fail_point!($name);
    };
    ($name:literal, $failure:expr) => {
        #[cfg(feature = "failpoints")]
        fail::fail_point!($name, |_| $failure);
    };
}

pub(crate) use fail_point;

/// Makes the error that a system call seems to have returned in a test: EIO.
#[cfg(feature = "failpoints")]
pub(crate) fn injected() -> std::io::Error {
    std::io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error())
}
