//! Where results go.

mod files;
mod mounts;
