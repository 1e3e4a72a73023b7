//! Limits, measured and set from outside the process.

mod direct;
mod groups;
mod hostile;
pub(crate) mod memory;
pub(crate) mod places;
mod room;
