//! Everything that can be asked of a file that may or may not be a filter: whatever its bytes are, the answer is an
//! error or a filter that can be worked with, and no more memory is taken than the file is long.
//!
//! The fuzz target uses this file, too.

use std::path::Path;

use outset::filter::{Filter, StoredFilter};
use outset::memory::budget::MemoryBudget;
use outset::{Error, ErrorKind};

/// Opens, counts, loads and maps the file, which all succeed or all fail; then asks and changes the filter.
pub(crate) fn examine(path: &Path) -> Result<Filter, Error> {
    let file_bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let stored = StoredFilter::open(path)?;
    assert_eq!(stored.file_bytes(), file_bytes, "{stored:?}");
    let budget = MemoryBudget::new(file_bytes, 0);
    let occupancy = stored.occupancy(&budget);
    let is_checked = StoredFilter::open(path)?.check(&budget).is_ok();
    assert_eq!(is_checked, occupancy.is_ok(), "{stored:?}");
    let loaded = stored.load(&budget, 2);
    assert_eq!(loaded.is_ok(), occupancy.is_ok(), "{stored:?}");
    let loaded = loaded.inspect_err(|error| {
        assert_ne!(error.kind(), ErrorKind::Memory, "{error}");
    })?;
    assert_eq!(loaded.occupancy(), occupancy?);
    drop(loaded);
    ask(&stored, path)?;
    change(&stored)?;
    stored.load(&MemoryBudget::new(file_bytes, 0), 2)
}

/// The filter in memory and the one in the file answer alike.
fn ask(stored: &StoredFilter, path: &Path) -> Result<(), Error> {
    let budget = MemoryBudget::new(2 * stored.file_bytes(), 0);
    let checked = StoredFilter::open(path)?.check(&budget)?;
    let (loaded, mapped) = (stored.load(&budget, 2)?, checked.map(&budget)?);
    for line in lines() {
        assert_eq!(loaded.contains(&line), mapped.contains(&line));
        assert_eq!(loaded.count(&line), mapped.count(&line));
        assert_eq!(loaded.contains(&line), loaded.count(&line) > 0);
    }
    Ok(())
}

/// Checks that inserted lines are there, and that the content of the cells does not stop anybody from changing them.
fn change(stored: &StoredFilter) -> Result<(), Error> {
    let budget = MemoryBudget::new(16 * stored.file_bytes(), 0);
    let mut filter = stored.load(&budget, 2)?;
    for line in lines() {
        filter.insert(&line)?;
        assert!(filter.contains(&line));
    }
    let other = stored.load(&budget, 2)?;
    filter.merge(&other)?;
    for line in lines() {
        assert!(filter.contains(&line));
        match filter.remove(&line) {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Usage, "{error}"),
            // At least, what remains can still be asked.
            Ok(_) => drop(filter.contains(&line)),
        }
    }
    Ok(())
}

fn lines() -> impl Iterator<Item = Vec<u8>> {
    (0..8).map(|number| format!("line {number}").into_bytes())
}
