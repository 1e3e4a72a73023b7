//! Limits, measured and set from outside the process.

mod direct;
mod groups;
mod hostile;
pub(crate) mod memory;
mod names;
mod operations;
pub(crate) mod places;
mod room;
