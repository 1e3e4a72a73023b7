//! The names of the strategies.
//!
//! *Owns:* the order in which `auto` considers them, and which of them are exact.

/// The ways to find the common lines. The table in the [crate page](crate) says what each reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Strategy {
    /// The smallest input in memory as a set, the others streamed past it. Exact.
    Memory,
    /// All inputs into bucket files by hash, then bucket by bucket. Exact.
    Partition,
    /// Each input through a filter of the one before it, survivors into buckets. Exact.
    Sieve,
    /// One filter, no second look. Approximate: an intersection may have lines too many at a stated rate and misses
    /// none; a difference or a union may miss lines and has none too many.
    Bloom,
}

impl Strategy {
    /// All strategies, in the order in which `auto` considers them.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Bloom, Self::Sieve, Self::Partition];

    /// Returns the name that options and statistics use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Partition => "partition",
            Self::Sieve => "sieve",
            Self::Bloom => "bloom",
        }
    }

    /// Returns true if every line of the result was compared byte by byte.
    pub fn is_exact(self) -> bool {
        self != Self::Bloom
    }
}

impl std::fmt::Display for Strategy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
