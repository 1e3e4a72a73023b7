//! Exact sets: of lines, for one thread ([`line_set`]) or for several ([`sharded`]), and of IPv4 addresses
//! ([`ipv4`]).
//!
//! | type | key | shared by threads | used by |
//! |---|---|---|---|
//! | [`LineSet`](line_set::LineSet) | any line | no | each worker of a join |
//! | [`ShardedSet`](sharded::ShardedSet) | any line | yes: 64 sets with a lock each | `memory`; `sieve` if it fits |
//! | [`PlaceTable`](places::PlaceTable) | a line that is in a file | no | `memory` of a union into a file |
//! | [`AddressSet`](ipv4::AddressSet) | an IPv4 address | yes: 256 regions with a lock each | `memory` |
//!
//! *Invariants:* bytes are compared, by the caller where a table has only places; a hash only says where to look.

pub(crate) mod ipv4;
pub(crate) mod line_set;
pub(crate) mod places;
pub(crate) mod sharded;
