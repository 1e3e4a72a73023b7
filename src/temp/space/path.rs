//! The location of a temporary file.
//!
//! *Owns:* [`SpillPath`]. *Invariants:* clones know the same of the file: what went through the page cache, and which
//! parts are in other directories. *Cost:* a path and two counted references.

use std::path::PathBuf;
use std::sync::Arc;

use crate::temp::extents::Extents;
use crate::temp::page_cache::CachedPart;

/// A file in temporary space. Clones are the same file: they share the list of its parts.
#[derive(Debug, Clone)]
pub(crate) struct SpillPath {
    /// The index of the directory where it begins.
    pub(super) directory: usize,
    /// Its path in that directory. The file may not exist: before the first write, or if the directory was full by
    /// then.
    pub(crate) path: PathBuf,
    /// The part of it that went through the page cache; `None` if nothing does, because the file is there for long.
    pub(super) cached: Option<Arc<CachedPart>>,
    /// The parts of it that are in other directories; `None` if it stays in one.
    pub(super) extents: Option<Arc<Extents>>,
}

impl SpillPath {
    /// Returns true if what is at `offset` of it is best copied from the page cache: waiting for a disk is not to be
    /// expected.
    pub(crate) fn is_cached_at(&self, offset: u64) -> bool {
        self.cached
            .as_ref()
            .is_some_and(|cached| cached.is_before_end(offset))
    }

    /// Returns true if any part of it is in another directory than the first.
    pub(super) fn has_parts(&self) -> bool {
        self.extents.as_ref().is_some_and(|e| e.has_parts())
    }
}
