//! Exact sets: of lines, for one thread ([`line_set`]) or for several ([`sharded`]), and of IPv4 addresses
//! ([`addresses`]).
//!
//! *Invariants:* bytes are compared; a hash only says where to look.

pub(crate) mod addresses;
pub(crate) mod line_set;
pub(crate) mod sharded;
