//! Exact sets: of lines, for one thread ([`line_set`]) or for several ([`sharded`]), and of IPv4 addresses
//! ([`ipv4`]).
//!
//! | type | key | shared by threads | used by |
//! |---|---|---|---|
//! | [`LineSet`](line_set::LineSet) | any line | no | each worker of a join |
//! | [`ShardedSet`](sharded::ShardedSet) | any line | yes: 64 sets with a lock each | `memory`; `sieve` if it fits |
//! | [`AddressSet`](ipv4::AddressSet) | an IPv4 address | yes: 256 regions with a lock each | `memory` |
//!
//! *Invariants:* bytes are compared; a hash only says where to look.

pub(crate) mod ipv4;
pub(crate) mod line_set;
pub(crate) mod places;
pub(crate) mod sharded;
