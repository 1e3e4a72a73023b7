//! Making one filter of several.
//!
//! *Owns:* the order in which they are read. *Invariants:* filters that do not belong together are
//! refused before anything is read. *Cost:* one filter in memory; each file is read once.

use crate::error::{Error, Result};
use crate::filter::{Filter, StoredFilter};
use crate::options::Options;
use crate::stored::with_run;

/// Makes a filter that has every line that any of `stored` has: bits are united, counters added up to their maximum,
/// digests collected. The first is loaded as a whole; each other one is read and added section by section.
///
/// # Errors
/// [`Error::Usage`] when there is none, or when shapes, keys or line rules differ, naming what;
/// otherwise as [`StoredFilter::load`].
pub fn merge(stored: &[StoredFilter], options: &Options) -> Result<Filter> {
    let Some((first, others)) = stored.split_first() else {
        return Err(Error::usage("filters: none given", "give two or more"));
    };
    for other in others {
        first.check_alike(other)?;
    }
    // Bits and counters stay in this size. Digests grow with each filter that is added, as far as the budget
    // has room.
    let needed = first.shape().bytes();
    with_run(&[], options, first.rules(), "a filter", needed, |run| {
        let mut filter = first.load(&run.budget, run.layout.threads)?;
        for other in others {
            run.interrupt().check()?;
            other.add_to(&mut filter, &run.budget)?;
        }
        Ok(filter)
    })
}
