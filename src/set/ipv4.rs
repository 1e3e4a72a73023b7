//! IPv4 addresses as lines: parsing, checking, and a bitmap of all of them.
//!
//! *Owns:* what an address is (dotted decimal, no leading zeros: text and number correspond one to
//! one), and [`AddressSet`], 2^32 bits in which membership is exact.
//!
//! The bits of an address, from the highest:
//!
//! ```text
//!  │ 8: region │ 18: word in the region │ 6: bit in the word │
//! ```
//!
//! So a region has the addresses with the same first byte.
//!
//! *Invariants:* a line that is no address fails the run; the scan checks that before anything is inserted.
//! Regions of the bitmap are changed under a lock, so no address is lost to a race and each is taken at
//! most once.
//!
//! *Cost:* 512 MiB of the budget at once, in 256 buffers. A page becomes resident with its first address.

use std::net::Ipv4Addr;

use parking_lot::Mutex;

use crate::error::Result;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;

/// The size of the bitmap in bytes.
pub(crate) const BITMAP_BYTES: u64 = 1 << 29;
/// Regions with a lock of their own: one for each first byte of an address. Enough that threads seldom meet
/// unless the addresses are sorted.
const REGIONS: usize = 256;
/// The bits of an address below its region: 32 - 8.
const REGION_SHIFT: u32 = 24;

/// Parses the number of an address, its first byte highest; `None` for a line that is no address. Two lines with the
/// same number have the same bytes, so comparing numbers is as exact as comparing lines.
#[inline]
pub(crate) fn parse(line: &[u8]) -> Option<u32> {
    // The standard parser refuses leading zeros and anything longer than 255.255.255.255.
    std::str::from_utf8(line)
        .ok()?
        .parse::<Ipv4Addr>()
        .ok()
        .map(u32::from)
}

/// A set of IPv4 addresses, shared by threads. Each operation locks one region for one address; none waits
/// for anything else.
#[derive(Debug)]
pub(crate) struct AddressSet {
    /// 2 MiB each, by the first byte of the address.
    regions: Vec<Mutex<Buffer>>,
}

impl AddressSet {
    /// Makes an empty set: new buffers are zeroed.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] when `budget` has less than [`BITMAP_BYTES`] left.
    pub(crate) fn new(budget: &MemoryBudget) -> Result<Self> {
        let region =
            || Buffer::new(budget, "address bitmap", BITMAP_BYTES / REGIONS as u64).map(Mutex::new);
        Ok(Self {
            regions: (0..REGIONS).map(|_| region()).collect::<Result<_>>()?,
        })
    }

    /// Adds an address. True if it was not in the set: of several threads that add the same address, one gets true.
    pub(crate) fn insert(&self, address: u32) -> bool {
        self.with_word(address, |word, bit| {
            let is_new = *word & bit == 0;
            *word |= bit;
            is_new
        })
    }

    /// Tells whether an address is in the set.
    pub(crate) fn contains(&self, address: u32) -> bool {
        self.with_word(address, |word, bit| *word & bit != 0)
    }

    /// Takes an address out. True if it was in the set: of several threads that take the same address, one
    /// gets true.
    pub(crate) fn take(&self, address: u32) -> bool {
        self.with_word(address, |word, bit| {
            let was_in = *word & bit != 0;
            *word &= !bit;
            was_in
        })
    }

    /// Calls `change` with the word that has the bit of `address`, and that bit alone, under the region's lock.
    fn with_word<T>(&self, address: u32, change: impl FnOnce(&mut u64, u64) -> T) -> T {
        let region = &self.regions[(address >> REGION_SHIFT) as usize];
        let mut region = region.lock();
        let bit = (address & ((1 << REGION_SHIFT) - 1)) as usize;
        change(&mut region.words_mut()[bit / 64], 1 << (bit % 64))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn text_and_number_correspond_one_to_one() {
        assert_eq!(parse(b"0.0.0.1"), Some(1));
        assert_eq!(parse(b"255.255.255.255"), Some(u32::MAX));
        for line in [
            &b""[..],
            b"1.2.3",
            b"1.2.3.4 ",
            b"01.2.3.4",
            b"1.2.3.256",
            b"1.2.3.4\r",
            b"\xff",
        ] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn the_set_is_exact() {
        let budget = MemoryBudget::new(BITMAP_BYTES, 0);
        let set = AddressSet::new(&budget).unwrap();
        let addresses = [0, 1, 63, 64, 1 << 24, u32::MAX - 1, u32::MAX];
        for address in addresses {
            assert!(set.insert(address) && !set.insert(address), "{address}");
        }
        assert!(set.contains(64) && !set.contains(65));
        for address in addresses {
            assert!(set.take(address) && !set.take(address), "{address}");
        }
    }
}
