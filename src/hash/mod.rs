//! The one hash of a line, and who owns which of its bits.
//!
//! *Owns:* the key of the run, the 64-bit `HighwayHash` of a line, and every value that is derived
//! from it. A line is hashed once in a pass; nothing else in the crate calls a hash function on
//! line bytes.
//!
//! *Invariants.*
//! - Equal bytes give equal hashes within a run. Unequal bytes may collide: a hash decides where to
//!   look, never what is equal.
//! - Where a stored filter takes part, a key that is written between quotes has the hash of its text.
//! - No two consumers share bits. Each takes its value from the hash multiplied by an odd constant
//!   of its own (`Purpose`); reusing one word for two decisions is how joins get one bucket whose
//!   table is all collisions (`PostgreSQL`, "Rotate instead of shifting hash join batch number").
//! - The key is drawn at random for each run, so that an attacker cannot craft lines that all land in one
//!   bucket. A fixed key ([`HashKey::Fixed`]) is for reproducing a run, not for untrusted data.
//!
//! No purpose owns fixed bits of the hash. Each multiplies the whole hash by its own constant c, folds the
//! 128-bit product to a word w(c), and reads that word from its high end:
//!
//! ```text
//!                        line
//!                         │  HighwayHash under the key of the run, once in a pass
//!                         ▼
//!                    hash, 64 bits
//!     ┌──────────┬────────┼──────────┬────────────┬──────────┐   times c, high half XOR low half
//!     ▼          ▼        ▼          ▼            ▼          ▼
//!   levels 0-7  Shard    Slot, Tag  FilterBlock  FlatStart  Sketch
//!   bucket of   shard of home slot  block of     position   kept, if among
//!   a store,    a shared of a set,  a filter     and step   the k smallest
//!   part of a   set      tag bits   FilterBits   FlatStep
//!   split                           its bits     in flat filters
//!
//!  FilterBits, and MoreFilterBits from the eighth bit on: 9 bits choose one of the 512 of a block
//!   63      55 54      46 45      37 36      28 27      19 18      10 9        1 0
//!  ├──────────┼──────────┼──────────┼──────────┼──────────┼──────────┼──────────┼─┤
//!  │ 1st bit  │ 2nd      │ 3rd      │ 4th      │ 5th      │ 6th      │ 7th      │ │ unused
//!  └──────────┴──────────┴──────────┴──────────┴──────────┴──────────┴──────────┴─┘
//! ```
//!
//! A number below n (bucket, block, slot) is the high half of w(c) n, so n need not be a power of two.
//!
//! *Cost:* 9 ns for 64 bytes with AVX-512, in batches, where the crate takes 42 (bench `lines`);
//! the AVX2 loop is between. No memory.
//!
//! *Sources:* `HighwayHash`, Alakuijala, Cox, Wassenberg, arXiv:1612.06257; range reduction by
//! multiply-shift: Lemire, "Fast random integer generation in an interval", arXiv:1805.10941.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod kernel;
#[cfg(target_arch = "x86_64")]
mod state;

use std::str::FromStr;

use highway::{HighwayHash, Key};

use self::kernel::{HighwayHasher, Kernel};
use crate::error::{Error, Result};
use crate::record::Quotes;

/// The source of the key of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HashKey {
    /// Drawn from the system's random source when the run starts. The default.
    #[default]
    Random,
    /// The given key: equal runs put every line into the same bucket and the same cells. Unsafe for data from
    /// strangers, who can craft lines that collide under a key they know.
    Fixed([u64; 4]),
    /// For tests: all lines share bucket 0 on the first `levels` split levels.
    #[doc(hidden)]
    OneBucket {
        /// Number of split levels that send every line to bucket 0.
        levels: u32,
    },
    /// For tests: every line has the same hash.
    #[doc(hidden)]
    Constant,
}

/// Why a text is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("give 64 hexadecimal digits")]
pub struct ParseKeyError;

impl FromStr for HashKey {
    type Err = ParseKeyError;

    /// Parses a fixed key: 64 hexadecimal digits, four words with their highest digit first.
    fn from_str(text: &str) -> std::result::Result<Self, ParseKeyError> {
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ParseKeyError);
        }
        let mut key = [0; 4];
        for (word, start) in key.iter_mut().zip([0, 16, 32, 48]) {
            let digits = &text[start..start + 16];
            *word = u64::from_str_radix(digits, 16).map_err(|_| ParseKeyError)?;
        }
        Ok(Self::Fixed(key))
    }
}

/// The purpose of a derived value. Each has an odd multiplier of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The block of a filter.
    FilterBlock,
    /// The bits of that block: the first seven, 9 bits of the word each.
    FilterBits,
    /// The bits of that block: the eighth to the fourteenth.
    MoreFilterBits,
    /// The first cell of a flat filter.
    FlatStart,
    /// The distance to its next one.
    FlatStep,
    /// The slot of a set's table.
    Slot,
    /// The tag kept in that slot, which spares most comparisons with other lines.
    Tag,
    /// The shard of a set that several threads build.
    Shard,
    /// The value of a line in a sketch, which keeps the smallest ones.
    Sketch,
}

impl Purpose {
    // Odd 64-bit constants with about half their bits set: fractional parts of square roots of
    // primes (the initial values of SHA-512 and SHA-384), low bit set. Odd, so that no bit of the hash is
    // lost in the low half of the product. Stored filters depend on the constants of `Filter...` and
    // `Flat...`: these five can never change without a new version of the file format.
    const fn multiplier(self) -> u64 {
        match self {
            Self::FilterBlock => 0x6a09_e667_f3bc_c909,
            Self::FilterBits => 0xbb67_ae85_84ca_a73b,
            Self::MoreFilterBits => 0x3c6e_f372_fe94_f82b,
            Self::FlatStart => 0xdb0c_2e0d_64f9_8fa7,
            Self::FlatStep => 0x47b5_481d_befa_4fa5,
            Self::Slot => 0xa54f_f53a_5f1d_36f1,
            Self::Tag => 0x510e_527f_ade6_82d1,
            Self::Shard => 0x9b05_688c_2b3e_6c1f,
            Self::Sketch => 0x6d18_26ca_fd82_e1ed,
        }
    }
}

/// Odd multipliers of the split levels: level 0 chooses the bucket file, each further level splits
/// a bucket that did not fit. A level of its own multiplier divides the lines of one bucket as evenly as it
/// would divide all lines. From the same source as those of [`Purpose`].
const LEVEL_MULTIPLIERS: [u64; MAX_LEVELS as usize] = [
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
    0xcbbb_9d5d_c105_9ed9,
    0x629a_292a_367c_d507,
    0x9159_015a_3070_dd17,
    0x152f_ecd8_f70e_5939,
    0x6733_2667_ffc0_0b31,
    0x8eb4_4a87_6858_1511,
];

/// The number of split levels. Eight levels of only 8 buckets each already divide by 2^24; lines that are still
/// together then have equal hashes and are worked through in pieces.
pub const MAX_LEVELS: u32 = 8;

/// Hashes lines under the key of one run. Cheap to copy: the key and a note of what the processor
/// can do.
#[derive(Debug, Clone, Copy)]
pub struct LineHasher {
    key: [u64; 4],
    kernel: Kernel,
    /// Levels below this one send everything to bucket 0; other than 0 in tests only.
    weak_levels: u32,
    /// True if every hash is 0; in tests only.
    constant: bool,
    /// The quotes of lines that are keys, whose texts are hashed; `None` if lines are hashed as they are.
    quotes: Option<Quotes>,
}

impl LineHasher {
    /// Makes a hasher for one run.
    ///
    /// # Errors
    /// [`Error::Machine`] when the system gives no random bytes.
    pub fn new(choice: HashKey) -> Result<Self> {
        let mut hasher = Self::with_key([0; 4]);
        match choice {
            HashKey::Fixed(key) => hasher.key = key,
            HashKey::Random => hasher.key = random_key()?,
            HashKey::OneBucket { levels } => {
                hasher.key = random_key()?;
                hasher.weak_levels = levels;
            }
            HashKey::Constant => hasher.constant = true,
        }
        Ok(hasher)
    }

    /// Makes a hasher with a known key. See [`HashKey::Fixed`] for when that is wise.
    pub fn with_key(key: [u64; 4]) -> Self {
        Self {
            key,
            kernel: Kernel::fastest(),
            weak_levels: 0,
            constant: false,
            quotes: None,
        }
    }

    /// Hashes the texts of keys that are written with these quotes; lines as they are without.
    pub(crate) fn with_quotes(self, quotes: Option<Quotes>) -> Self {
        Self { quotes, ..self }
    }

    /// Takes in what is hashed of a line.
    fn taking(&self, line: &[u8]) -> HighwayHasher {
        if let Some(quotes) = self.quotes {
            let mut hasher = HighwayHasher::new(Key(self.key));
            if quotes.text(line, |piece| hasher.append(piece)) {
                return hasher;
            }
        }
        let mut hasher = HighwayHasher::new(Key(self.key));
        hasher.append(line);
        hasher
    }

    /// Hashes one line: the result is the same as that of [`LineHasher::hash_batch`], but comes more slowly.
    pub fn hash(&self, line: &[u8]) -> u64 {
        if self.constant {
            return 0;
        }
        self.taking(line).finalize64()
    }

    /// Returns the key: the file of a filter stores it.
    pub(crate) fn key(&self) -> [u64; 4] {
        self.key
    }

    /// Returns a digest of 128 bits of one line: `HighwayHash` with its 128-bit finish, low word first. Its words are
    /// not those of [`LineHasher::hash`].
    pub(crate) fn digest(&self, line: &[u8]) -> [u64; 2] {
        self.taking(line).finalize128()
    }

    /// Hashes `lines[i]` into `hashes[i]`; the fast form for a batch. `hashes` is overwritten and keeps its
    /// memory, so a worker that reuses it does not allocate.
    pub fn hash_batch(&self, lines: &[&[u8]], hashes: &mut Vec<u64>) {
        hashes.clear();
        self.hash_more(lines, hashes);
    }

    /// Works as [`LineHasher::hash_batch`], but adds to the end of `hashes`.
    pub(crate) fn hash_more(&self, lines: &[&[u8]], hashes: &mut Vec<u64>) {
        if self.constant {
            hashes.resize(hashes.len() + lines.len(), 0);
            return;
        }
        let start = hashes.len();
        self.kernel.hash(self.key, lines, hashes);
        if self.quotes.is_none() {
            return;
        }
        let hashed = lines.iter().zip(&mut hashes[start..]);
        for (line, hash) in hashed.filter(|(line, _)| line.first() == Some(&b'"')) {
            *hash = self.hash(line);
        }
    }

    /// Returns the bucket, 0 to `buckets - 1`, of a hash among `buckets` (at least 1) on split level `level` (below
    /// [`MAX_LEVELS`]). The hashes of a bucket are one of N equal ranges of the derived word.
    #[inline]
    pub fn bucket(&self, hash: u64, level: u32, buckets: u32) -> u32 {
        if level < self.weak_levels {
            return 0;
        }
        let word = remix(hash, LEVEL_MULTIPLIERS[(level % MAX_LEVELS) as usize]);
        reduce(word, u64::from(buckets)) as u32
    }
}

/// Returns a 64-bit word for one purpose, independent for practical ends of the words for the others. Equal hashes give
/// equal words for each purpose: no derived value can separate two lines that collide.
#[inline]
pub(crate) fn derive(hash: u64, purpose: Purpose) -> u64 {
    remix(hash, purpose.multiplier())
}

/// Maps a uniform word to `0..range`: the high word of their product. Depends on the high bits of the word,
/// and takes no division.
#[inline]
pub(crate) fn reduce(word: u64, range: u64) -> u64 {
    ((u128::from(word) * u128::from(range)) >> 64) as u64
}

/// Mixes by folded multiplication: every bit of the result depends on every bit of the hash.
#[inline]
fn remix(hash: u64, odd: u64) -> u64 {
    let product = u128::from(hash) * u128::from(odd);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Draws a key from the system's random source.
///
/// # Errors
/// [`Error::Machine`] when the source is not available.
fn random_key() -> Result<[u64; 4]> {
    let mut key = [0u64; 4];
    getrandom::fill(bytemuck::cast_slice_mut(&mut key)).map_err(|error| Error::Machine {
        what: format!("hash key: no random bytes available: {error}"),
        advice: "check that the system's random source is available to this process",
    })?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_gives_the_hash_of_the_crate_for_every_length_and_mixture() {
        let bytes: Vec<u8> = (0..5000u32).map(|i| (i * 131 + i / 7) as u8).collect();
        // Steps from equal lengths, over all tails, to lines that are too long to go in step.
        for step in [0usize, 1, 7, 32, 33, 61, 311] {
            for first in 0..70 {
                let lines: Vec<&[u8]> = (0..17)
                    .map(|line| &bytes[line..][..(first + line * step) % 4900])
                    .collect();
                for kernel in Kernel::all() {
                    let hasher = LineHasher {
                        kernel,
                        ..LineHasher::with_key([1, 2, 3, u64::MAX])
                    };
                    let mut hashes = Vec::new();
                    hasher.hash_batch(&lines, &mut hashes);
                    let expected: Vec<u64> = lines.iter().map(|line| hasher.hash(line)).collect();
                    assert_eq!(hashes, expected, "{kernel:?} from {first} by {step}");
                }
            }
        }
    }

    #[test]
    fn the_hash_is_highwayhash_with_its_published_test_vector() {
        // From the crate's page: key 1, 2, 3, 4 and the byte 255.
        let hasher = LineHasher::with_key([1, 2, 3, 4]);
        assert_eq!(hasher.hash(&[255]), 0x7858_f24d_2d79_b2b2);
    }

    #[test]
    fn the_bucket_of_a_line_in_a_job_is_as_promised() {
        // Shards of other versions and other programs depend on these: docs/clusters.md has them, too.
        let key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
        let Ok(HashKey::Fixed(key)) = key.parse() else {
            panic!()
        };
        let hasher = LineHasher::with_key(key);
        let vectors: [(&[u8], u64, u32, u32); 5] = [
            (b"", 0x5750_9d6b_fe99_4b31, 260, 17044),
            (b"a", 0x8a30_dd6e_0034_3fa6, 65, 4311),
            (b"https://example.org/", 0xc061_f4c2_6f63_c129, 372, 24380),
            (b"\xff\x00\r", 0xcb0d_215f_3ee1_314a, 402, 26360),
            (&[b'x'; 1000], 0xe3a4_40b6_8488_c693, 693, 45465),
        ];
        for (line, hash, of_1000, of_65536) in vectors {
            let found = hasher.hash(line);
            let buckets = [1000, 65_536].map(|count| hasher.bucket(found, 0, count));
            assert_eq!((found, buckets), (hash, [of_1000, of_65536]), "{line:?}");
        }
    }

    #[test]
    fn a_key_is_64_hexadecimal_digits() {
        let text = "0000000000000001000000000000000a000000000000000fffffffffffffffff";
        assert_eq!(text.parse(), Ok(HashKey::Fixed([1, 10, 15, u64::MAX])));
        for wrong in [
            "",
            &text[1..],
            &text.replace('a', "g"),
            &text.replacen('0', "+", 1),
        ] {
            assert_eq!(wrong.parse::<HashKey>(), Err(ParseKeyError), "{wrong}");
        }
    }

    #[test]
    fn buckets_are_even_on_every_level_and_independent_of_the_level_before() {
        let hasher = LineHasher::with_key([7; 4]);
        let hashes: Vec<u64> = (0..200_000u32)
            .map(|i| hasher.hash(&i.to_le_bytes()))
            .collect();
        for level in 0..MAX_LEVELS - 1 {
            let mut counts = vec![0u32; 100];
            for &hash in &hashes {
                if hasher.bucket(hash, level, 10) == 3 {
                    counts[hasher.bucket(hash, level + 1, 100) as usize] += 1;
                }
            }
            // 20,000 lines over 100 buckets: 200 each, standard deviation 14.
            assert!(
                counts.iter().all(|&c| (120..280).contains(&c)),
                "level {level}: {counts:?}"
            );
        }
    }

    #[test]
    fn derived_words_of_two_purposes_are_uncorrelated() {
        let purposes = [
            Purpose::FilterBlock,
            Purpose::FilterBits,
            Purpose::MoreFilterBits,
            Purpose::FlatStart,
            Purpose::FlatStep,
            Purpose::Slot,
            Purpose::Tag,
            Purpose::Shard,
            Purpose::Sketch,
        ];
        let hasher = LineHasher::with_key([9; 4]);
        for a in purposes {
            for b in purposes.into_iter().filter(|&b| b != a) {
                let mut joint = [[0u32; 8]; 8];
                for i in 0..64_000u32 {
                    let hash = hasher.hash(&i.to_le_bytes());
                    joint[(derive(hash, a) >> 61) as usize][(derive(hash, b) >> 61) as usize] += 1;
                }
                let chi2: f64 = joint
                    .iter()
                    .flatten()
                    .map(|&count| (f64::from(count) - 1000.0).powi(2) / 1000.0)
                    .sum();
                assert!(
                    chi2 < 140.0,
                    "{a:?} against {b:?}: chi2 {chi2} for 63 degrees"
                );
            }
        }
    }
}
