//! The outputs.

pub(crate) mod compressed;
mod directory;
mod files;
mod mounts;
mod via;
