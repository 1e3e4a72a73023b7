//! Places where tests let something fail.
//!
//! *Owns:* the one macro that marks such a place. *Invariants:* without the feature `failpoints` a mark
//! is nothing at all, and nothing in it is compiled. *Cost:* none without the feature.
//!
//! *Sources:* the crate `fail`; SQLite's way of testing (fail the N-th call, for every N).

/// Marks a place that tests can let panic, or with a second argument, from which they can let the
/// function return that.
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

/// The error of the system that a test wants.
#[cfg(feature = "failpoints")]
pub(crate) fn injected() -> std::io::Error {
    std::io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error())
}
