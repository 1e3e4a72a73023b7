//! `HighwayHash` of eight lines at a time, two to a 512-bit register.
//!
//! *Owns:* the form of the hash for processors with AVX-512 (F, BW, DQ, VL and VBMI: Intel from Ice
//! Lake, AMD from Zen 4 on). *Invariants:* bit for bit the hash of the `highway` crate, whatever
//! the length. *Cost:* 9 ns for 64 bytes; nothing is copied: a tail is a masked load and one
//! permutation of its bytes.
//!
//! One update of the hash is a chain of dependent instructions that leaves most of the processor
//! idle. Eight lines have eight chains. They go in step: a line that has no more packets is masked
//! out of the update, which costs nothing in AVX-512, and lines of a batch are ordered by their
//! number of packets first, where that differs. [`MOST_IN_STEP`] bounds how long short ones wait.
//!
//! ```text
//!  512-bit register  ├── line 1, 256 bits: 4 lanes ──┼── line 0, 256 bits: 4 lanes ──┤   a pair
//!  mask, 8 bits       1   1   1   1                   0   0   0   0                      line 1 only
//!
//!  step      0      1      2      3            tails      end
//!  line 0    ████   ████                       ██         4 updates of all
//!  line 1    ████   ████   ████   ████                        "
//!  line 2    ████   ████   ████                █              "
//!            without masks │ with masks
//! ```

use std::arch::x86_64::{
    __m256i, __m512i, __mmask8, __mmask32, _mm_cvtsi128_si64, _mm256_castsi256_si128,
    _mm256_loadu_si256, _mm256_maskz_loadu_epi8, _mm256_maskz_permutexvar_epi8, _mm256_set_epi64x,
    _mm256_set1_epi32, _mm512_add_epi64, _mm512_broadcast_i64x4, _mm512_castsi256_si512,
    _mm512_castsi512_si256, _mm512_extracti64x4_epi64, _mm512_inserti64x4, _mm512_mask_add_epi64,
    _mm512_mask_xor_epi64, _mm512_mul_epu32, _mm512_permutexvar_epi32, _mm512_rolv_epi32,
    _mm512_set4_epi64, _mm512_setr_epi32, _mm512_shuffle_epi8, _mm512_srli_epi64,
};

use crate::hash::avx2;
use crate::hash::state::{PACKET, Start, ZIPPER};
use crate::sys::cpu;

/// Pairs of lines that go in step.
const PAIRS: usize = 4;
/// Lines that go in step.
const IN_STEP: usize = 2 * PAIRS;
/// A line of more bytes than this is hashed alone, so that the others of its group do not wait for it.
const MOST_IN_STEP: usize = 1024;

/// Tells whether this form can run here.
pub(super) fn is_available() -> bool {
    cpu::has_avx512() && is_x86_feature_detected!("avx512vbmi") && avx2::is_available()
}

/// Appends the hash of each line to `hashes`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
pub(super) fn hash(key: [u64; 4], lines: &[&[u8]], hashes: &mut Vec<u64>) {
    let start = Pair::new(&Start::new(key));
    let Some(order) = by_packets(lines) else {
        // All lines have the same number of packets: groups as they come, and the last up to seven alone.
        let (groups, rest) = lines.as_chunks::<IN_STEP>();
        for group in groups {
            hashes.extend_from_slice(&hash_group(key, start, group));
        }
        avx2::hash(key, rest, hashes);
        return;
    };
    // In the other order: each hash goes to the index of its line.
    let first = hashes.len();
    hashes.resize(first + lines.len(), 0);
    let (groups, rest) = order.as_chunks::<IN_STEP>();
    for group in groups {
        let hashed = hash_group(key, start, &group.map(|index| lines[index as usize]));
        for (&index, hash) in group.iter().zip(hashed) {
            hashes[first + index as usize] = hash;
        }
    }
    let mut last = Vec::with_capacity(IN_STEP);
    for &index in rest {
        last.clear();
        avx2::hash(key, &[lines[index as usize]], &mut last);
        hashes[first + index as usize] = last[0];
    }
}

/// Orders the indexes of the lines by their number of packets, so that lines that go in step have similar lengths;
/// `None` if all have the same number. A counting sort, which takes one pass to count and one to distribute.
fn by_packets(lines: &[&[u8]]) -> Option<Vec<u32>> {
    // The last class is for all that are hashed alone.
    const CLASSES: usize = MOST_IN_STEP / PACKET + 2;
    let class = |line: &[u8]| (line.len() / PACKET).min(CLASSES - 1);
    // Asked first: a count that every line adds to is a chain of stores and loads, five cycles for each line.
    let first = class(lines.first()?);
    if lines.iter().all(|line| class(line) == first) {
        return None;
    }
    let mut ends = [0u32; CLASSES];
    for line in lines {
        ends[class(line)] += 1;
    }
    // From counts to starts; distributing a line then moves the start of its class on.
    let mut start = 0;
    for end in &mut ends {
        (*end, start) = (start, start + *end);
    }
    let mut order = vec![0; lines.len()];
    for (index, line) in (0u32..).zip(lines) {
        let next = &mut ends[class(line)];
        order[*next as usize] = index;
        *next += 1;
    }
    Some(order)
}

/// Hashes eight lines: in step, unless one of them is too long for that.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn hash_group(key: [u64; 4], start: Pair, group: &[&[u8]; IN_STEP]) -> [u64; IN_STEP] {
    if group.iter().all(|line| line.len() <= MOST_IN_STEP) {
        return hash_in_step(start, group);
    }
    let mut hashes = Vec::with_capacity(IN_STEP);
    avx2::hash(key, group, &mut hashes);
    std::array::from_fn(|line| hashes[line])
}

/// Hashes eight lines of at most [`MOST_IN_STEP`] bytes, packet by packet.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn hash_in_step(start: Pair, lines: &[&[u8]; IN_STEP]) -> [u64; IN_STEP] {
    let mut pairs = [start; PAIRS];
    let packets = |line: &&[u8]| line.len() / PACKET;
    // The packets that all eight lines have need no masks.
    let fewest = lines.iter().map(packets).min().unwrap_or(0);
    let most = lines.iter().map(packets).max().unwrap_or(0);
    for number in 0..fewest {
        for (pair, [a, b]) in pairs.iter_mut().zip(lines.as_chunks::<2>().0) {
            pair.update(both(packet(a, number), packet(b, number)), BOTH);
        }
    }
    for number in fewest..most {
        for (pair, [a, b]) in pairs.iter_mut().zip(lines.as_chunks::<2>().0) {
            let has_packet = mask(number < packets(a), number < packets(b));
            let words = both(packet_or_zeros(a, number), packet_or_zeros(b, number));
            pair.update(words, has_packet);
        }
    }
    for (pair, [a, b]) in pairs.iter_mut().zip(lines.as_chunks::<2>().0) {
        pair.update_with_tails(a, b);
    }
    // The end of the hash: four updates with its own state. The pairs take turns, so that their chains of
    // instructions overlap here, too.
    for _ in 0..4 {
        for pair in &mut pairs {
            pair.update(swapped(pair.v0), BOTH);
        }
    }
    let mut hashes = [0; IN_STEP];
    for (pair, two) in pairs.iter().zip(hashes.as_chunks_mut::<2>().0) {
        *two = pair.finish();
    }
    hashes
}

/// The state of the hash for two lines: the first in the low half of each register, the second in the high.
#[derive(Clone, Copy)]
struct Pair {
    v0: __m512i,
    v1: __m512i,
    mul0: __m512i,
    mul1: __m512i,
}

/// The mask of both lines of a pair: a bit for each 64-bit lane.
const BOTH: __mmask8 = 0xff;

/// Returns the mask of the lines of a pair for which the argument is true.
#[inline]
fn mask(first: bool, second: bool) -> __mmask8 {
    (u8::from(first) * 0x0f) | (u8::from(second) * 0xf0)
}

impl Pair {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    fn new(start: &Start) -> Self {
        Self {
            v0: twice(&start.v0),
            v1: twice(&start.v1),
            mul0: twice(&start.mul0),
            mul1: twice(&start.mul1),
        }
    }

    /// Mixes a packet into the lines of `mask`; the state of the other line does not change. Every addition
    /// and exclusive or that writes a part of the state is masked; the products go only into those.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    fn update(&mut self, packet: __m512i, mask: __mmask8) {
        let sum = _mm512_add_epi64(packet, self.mul0);
        self.v1 = _mm512_mask_add_epi64(self.v1, mask, self.v1, sum);
        let product = _mm512_mul_epu32(self.v1, _mm512_srli_epi64::<32>(self.v0));
        self.mul0 = _mm512_mask_xor_epi64(self.mul0, mask, self.mul0, product);
        self.v0 = _mm512_mask_add_epi64(self.v0, mask, self.v0, self.mul1);
        let product = _mm512_mul_epu32(self.v0, _mm512_srli_epi64::<32>(self.v1));
        self.mul1 = _mm512_mask_xor_epi64(self.mul1, mask, self.mul1, product);
        self.v0 = _mm512_mask_add_epi64(self.v0, mask, self.v0, zipped(self.v1));
        self.v1 = _mm512_mask_add_epi64(self.v1, mask, self.v1, zipped(self.v0));
    }

    /// Mixes the last 0 to 31 bytes of both lines into the state, and their number. A line without a tail is
    /// left as it is: adding 0 and rotating by 0 change nothing, and the update masks the line out.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    fn update_with_tails(&mut self, a: &[u8], b: &[u8]) {
        let (first, second) = (a.len() % PACKET, b.len() % PACKET);
        let lengths = both(
            _mm256_set1_epi32(first as i32),
            _mm256_set1_epi32(second as i32),
        );
        self.v0 = _mm512_add_epi64(self.v0, lengths);
        self.v1 = _mm512_rolv_epi32(self.v1, lengths);
        let packet = both(tail_packet(a), tail_packet(b));
        self.update(packet, mask(first > 0, second > 0));
    }

    /// Returns the hashes of the two lines: lane 0 of the sum of the state, in each half.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    fn finish(&self) -> [u64; 2] {
        let sum = _mm512_add_epi64(
            _mm512_add_epi64(self.v0, self.mul0),
            _mm512_add_epi64(self.v1, self.mul1),
        );
        let halves = [
            _mm512_castsi512_si256(sum),
            _mm512_extracti64x4_epi64::<1>(sum),
        ];
        halves.map(|half| _mm_cvtsi128_si64(_mm256_castsi256_si128(half)) as u64)
    }
}

/// The order of the bytes of a tail of one length in its packet.
struct TailOrder {
    /// For each byte of the packet, the byte of the tail that it is.
    sources: [u8; PACKET],
    /// The bytes of the packet that have a source, lowest bit first; the others are 0.
    mask: u32,
}

/// The orders of tails of 0 to 31 bytes.
static TAIL_ORDERS: [TailOrder; PACKET] = tail_orders();

const fn tail_orders() -> [TailOrder; PACKET] {
    const EMPTY: TailOrder = TailOrder {
        sources: [0; PACKET],
        mask: 0,
    };
    let mut orders = [EMPTY; PACKET];
    let mut length = 0;
    while length < PACKET {
        orders[length] = tail_order(length);
        length += 1;
    }
    orders
}

/// Returns the order for a tail of `length` bytes. Whole 32-bit words stay where they are. Bytes that are left over go
/// to the last word of the packet where the tail has 16 bytes or more (the last four bytes, even those that are in a
/// whole word already), else to the third 64-bit lane (first, middle and last of up to three bytes).
const fn tail_order(length: usize) -> TailOrder {
    let mut order = TailOrder {
        sources: [0; PACKET],
        mask: 0,
    };
    let mut at = 0;
    while at < length & !3 {
        order.sources[at] = at as u8;
        order.mask |= 1 << at;
        at += 1;
    }
    let (rest, start) = (length % 4, length & !3);
    let (to, from) = if length >= 16 {
        (28, [length - 4, length - 3, length - 2, length - 1])
    } else if rest > 0 {
        (16, [start, start + rest / 2, start + rest - 1, PACKET])
    } else {
        return order;
    };
    let mut byte = 0;
    while byte < 4 {
        if from[byte] < PACKET {
            order.sources[to + byte] = from[byte] as u8;
            order.mask |= 1 << (to + byte);
        }
        byte += 1;
    }
    order
}

/// Loads the tail of a line as a packet.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn tail_packet(line: &[u8]) -> __m256i {
    let length = line.len() % PACKET;
    let tail = &line[line.len() - length..];
    let order = &TAIL_ORDERS[length];
    let present: __mmask32 = (1 << length) - 1;
    #[expect(unsafe_code, reason = "vector loads take raw pointers")]
    // SAFETY: the mask selects only bytes of `tail`, and a masked load reads no others; `sources` are 32
    // bytes. Both loads may be unaligned.
    let (bytes, sources) = unsafe {
        (
            _mm256_maskz_loadu_epi8(present, tail.as_ptr().cast()),
            _mm256_loadu_si256(order.sources.as_ptr().cast()),
        )
    };
    _mm256_maskz_permutexvar_epi8(order.mask, sources, bytes)
}

/// Loads packet `number` of a line that has it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn packet(line: &[u8], number: usize) -> __m256i {
    let bytes = &line[number * PACKET..][..PACKET];
    #[expect(unsafe_code, reason = "a vector load takes a raw pointer")]
    // SAFETY: the slice has 32 bytes, and the load may be unaligned.
    unsafe {
        _mm256_loadu_si256(bytes.as_ptr().cast())
    }
}

/// Loads packet `number` of a line, or zeros where the line has fewer whole packets.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn packet_or_zeros(line: &[u8], number: usize) -> __m256i {
    let bytes = line.get(number * PACKET..).unwrap_or_default();
    let all: __mmask32 = if bytes.len() < PACKET { 0 } else { !0 };
    #[expect(unsafe_code, reason = "a masked load takes a raw pointer")]
    // SAFETY: where the mask is 0 nothing is read, and elsewhere the slice has 32 bytes.
    unsafe {
        _mm256_maskz_loadu_epi8(all, bytes.as_ptr().cast())
    }
}

/// Joins two packets as the halves of a register, the first in the low one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn both(first: __m256i, second: __m256i) -> __m512i {
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second)
}

/// Loads the same four words into both halves of a register, lowest lane first.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn twice(words: &[u64; 4]) -> __m512i {
    let [a, b, c, d] = words.map(|word| word as i64);
    _mm512_broadcast_i64x4(_mm256_set_epi64x(d, c, b, a))
}

/// Puts the bytes of each pair of lanes in the order of [`ZIPPER`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn zipped(words: __m512i) -> __m512i {
    let (low, high) = ZIPPER;
    _mm512_shuffle_epi8(words, _mm512_set4_epi64(high, low, high, low))
}

/// Exchanges the halves of each half of the register, and in each 64-bit lane its halves.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn swapped(words: __m512i) -> __m512i {
    let order = _mm512_setr_epi32(5, 4, 7, 6, 1, 0, 3, 2, 13, 12, 15, 14, 9, 8, 11, 10);
    _mm512_permutexvar_epi32(order, words)
}
