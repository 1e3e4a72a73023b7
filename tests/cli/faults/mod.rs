//! What goes wrong, and what is left behind.

mod failures;
pub(crate) mod kills;
mod lost;
pub(crate) mod signals;
mod sweep;
