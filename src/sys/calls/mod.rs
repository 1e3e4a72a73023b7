//! The calls that only Linux has, and what takes their place on other systems.
//!
//! *Owns:* every call of this crate that does not compile elsewhere, in two files with the same functions: `linux`, and
//! `portable` for the others. A build for Linux with `RUSTFLAGS="--cfg portable"` takes the second one, so that the
//! tests can run the code of other systems; [`super::cpu`] and [`crate::lines`] then do without vector instructions,
//! too.
//!
//! *Invariants:* whoever calls these can do without: a refusal costs time, memory or room on the disk, never an answer.
//! *Cost:* a system call each.

#[cfg(all(target_os = "linux", not(portable)))]
mod linux;
#[cfg(all(target_os = "linux", not(portable)))]
pub(crate) use linux::*;
#[cfg(not(all(target_os = "linux", not(portable))))]
mod portable;
#[cfg(not(all(target_os = "linux", not(portable))))]
pub(crate) use portable::*;
