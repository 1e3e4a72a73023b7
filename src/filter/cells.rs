//! The work of every kind of filter on its cells, and the loops that do it for many keys.
//!
//! *Owns:* the two traits that a kind implements over its words, and the fetching of memory ahead
//! of its use. *Invariants:* what was put in is found; an answer "no" is certain. *Cost:* the
//! kind's own; a key's memory is asked for [`AHEAD`] keys before it is used.

/// Keys whose cells are fetched ahead of their use. Flat kinds fetch several lines for each.
const AHEAD: usize = 16;

/// The outcome of putting a key in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// The key was certainly not in before.
    New,
    /// It may have been in before.
    Present,
    /// There is no room for it. Only tables of digests are ever full.
    Full,
}

/// Cells that can be asked.
pub(super) trait Ask {
    /// The form of a line that this kind takes: its hash, or its digest.
    type Key: Copy;

    /// Asks for the memory that belongs to a key.
    fn fetch(&self, key: Self::Key);

    /// Tells whether the key may have been put in. False is certain.
    fn contains(&self, key: Self::Key) -> bool;

    /// Returns the most times that the key may have been put in (counters), or 1 if it may have been.
    fn count(&self, key: Self::Key) -> u64 {
        u64::from(self.contains(key))
    }
}

/// Cells that can be changed.
pub(super) trait Change: Ask {
    /// Puts a key in.
    fn put(&mut self, key: Self::Key) -> Put;
}

/// Cells that can forget.
pub(super) trait Forget: Change {
    /// Takes a key out again. Returns false, and changes nothing, if the key is certainly not in.
    fn take(&mut self, key: Self::Key) -> bool;
}

/// Goes through `keys` with their memory on its way, and hands `each` the index.
pub(super) fn for_each_ahead<C: Ask>(
    cells: &C,
    keys: &[C::Key],
    mut each: impl FnMut(&C, usize, C::Key),
) {
    keys.iter().take(AHEAD).for_each(|&key| cells.fetch(key));
    for (index, &key) in keys.iter().enumerate() {
        if let Some(&later) = keys.get(index + AHEAD) {
            cells.fetch(later);
        }
        each(cells, index, key);
    }
}

/// Works as [`for_each_ahead`], but changes cells; goes on for as long as `each` returns true, and returns the number
/// of keys that it went through.
pub(super) fn change_each_ahead<C: Change>(
    cells: &mut C,
    keys: &[C::Key],
    mut each: impl FnMut(&mut C, usize, C::Key) -> bool,
) -> usize {
    keys.iter().take(AHEAD).for_each(|&key| cells.fetch(key));
    for (index, &key) in keys.iter().enumerate() {
        if let Some(&later) = keys.get(index + AHEAD) {
            cells.fetch(later);
        }
        if !each(cells, index, key) {
            return index;
        }
    }
    keys.len()
}
