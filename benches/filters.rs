//! Filters compared, in a table like `fastfilter`'s: ours, with all bits of a key in one cache
//! line, and a classic flat one, the crate `fastbloom`.
//!
//! ```text
//! cargo bench --bench filters --features internals                       # 1, 24 and 512 MiB: 5 to 10 minutes
//! cargo bench --bench filters --features internals -- --quick            # 1 and 24 MiB, fewer questions: seconds
//! cargo bench --bench filters --features internals -- --bits 9.6 1M 2G   # other sizes, other bits per key
//! ```
//!
//! The sizes stand for: in the cache of a core, around a shared cache, far beyond it. Where the
//! shared cache is larger (some servers have hundreds of MiB), give a size that is beyond it.
//!
//! *What is measured:* one thread, in batches of 2048 keys as the engine has them. A filter is
//! filled with as many keys as its bits allow, then asked for keys that are not in it and for keys
//! that are. Keys are numbers put through a bijection that looks like a hash: no two are equal, and
//! an absent one is absent. Making them is not timed. Each figure is the median of 9 equal parts of
//! the work, so that the first touch of memory does not count.
//!
//! *The other side at its best:* already hashed keys, so that nothing but the filter is timed; the
//! best number of hashes; memory on huge pages, as ours is. `fastbloom` is its filter for one
//! thread; `fastbloom, atomic` the one that threads can fill together, as they fill ours: it gets
//! the other's bits, and some of the keys once more. There is no way to ask either for many keys at
//! once.
//!
//! *What ends the benchmark:* a key that is missing from any filter; a rate of ours that is above
//! 1.1 times its prediction by more than three standard deviations.

use std::iter;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fastbloom::{AtomicBloomFilter, BloomFilter};
use outset::filter::sizing::{best_blocked, flat_fpr};
use outset::internals::BenchFilter;
use outset::memory::budget::MemoryBudget;
use outset::size::{display_bytes, parse_bytes};

type Failure = Box<dyn std::error::Error>;

/// Keys that are inserted and asked together, as in the engine.
const BATCH: u64 = 2048;
/// Equal parts of the work, whose median counts.
const ROUNDS: u64 = 9;
/// The number of the first key that no filter has.
const FIRST_ABSENT: u64 = 1 << 40;

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let before = arguments.len();
    arguments.retain(|argument| argument != "--bench");
    if arguments.len() == before {
        // `cargo test --benches` runs this, too, and is not to wait for it.
        println!("filters: measures nothing unless it is run by `cargo bench`");
        return ExitCode::SUCCESS;
    }
    match Settings::parse(&arguments).and_then(|settings| compare(&settings)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("filters: {failure}");
            ExitCode::FAILURE
        }
    }
}

struct Settings {
    sizes: Vec<u64>,
    bits_per_key: Vec<f64>,
    /// Absent keys that a filter is asked for.
    questions: u64,
}

impl Settings {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut settings = Self {
            sizes: vec![1 << 20, 24 << 20, 512 << 20],
            bits_per_key: vec![5.0, 6.87, 9.6, 14.4, 20.0],
            questions: 8 << 20,
        };
        let (mut sizes, mut bits_per_key) = (Vec::new(), Vec::new());
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => {
                    settings.sizes.truncate(2);
                    settings.questions = 1 << 20;
                }
                "--bits" => {
                    let bits: f64 = arguments.next().ok_or("--bits needs a value")?.parse()?;
                    if !(0.1..=100.0).contains(&bits) {
                        return Err(format!("{bits} bits a key is not within 0.1 to 100").into());
                    }
                    bits_per_key.push(bits);
                }
                // A smaller filter has too few blocks for its rate to be near the prediction.
                size => sizes.push(parse_bytes(size)?.clamp(1 << 20, 1 << 50) & !4095),
            }
        }
        if !sizes.is_empty() {
            settings.sizes = sizes;
        }
        if !bits_per_key.is_empty() {
            settings.bits_per_key = bits_per_key;
        }
        Ok(settings)
    }
}

/// Measures every filter at every size and prints a row for each.
fn compare(settings: &Settings) -> Result<(), Failure> {
    Row::print_head();
    for &bytes in &settings.sizes {
        for &bits_per_key in &settings.bits_per_key {
            let case = Case {
                bytes,
                bits_per_key,
                keys: (bytes as f64 * 8.0 / bits_per_key) as u64,
                questions: settings.questions,
            };
            for row in iter::once(blocked(&case)?).chain(flat(&case)?) {
                row.check(&case)?;
                row.print(&case);
            }
        }
    }
    Ok(())
}

/// A size, and what goes into a filter of this size.
struct Case {
    bytes: u64,
    bits_per_key: f64,
    keys: u64,
    questions: u64,
}

impl Case {
    /// All keys of the filter. Those of a small one come again and again, which changes nothing in
    /// it: a short time would be anything.
    fn inserted(&self) -> Keys {
        Keys {
            first: 0,
            distinct: self.keys,
            timed: self.keys.max(4 * self.questions),
        }
    }

    /// Some of the keys that were inserted: all where there are not many.
    fn present(&self) -> Keys {
        Keys {
            timed: self.questions,
            ..self.inserted()
        }
    }

    fn absent(&self) -> Keys {
        Keys {
            first: FIRST_ABSENT,
            distinct: self.questions,
            timed: self.questions,
        }
    }
}

/// Ours.
fn blocked(case: &Case) -> Result<Row, Failure> {
    let hashes = best_blocked(case.bits_per_key).0;
    let budget = MemoryBudget::new(case.bytes, 0);
    let mut filter = BenchFilter::new(&budget, case.bytes, hashes)?;
    let inserting = filter.fill(|insert| {
        case.inserted().time(|batch| {
            insert(batch);
            0
        })
    });
    let mut passing = Vec::new();
    let mut ask = |batch: &[u64]| filter.ask(batch, &mut passing);
    Ok(Row {
        filter: "blocked",
        hashes,
        inserting,
        absent: case.absent().time(&mut ask),
        // Every key, however many: this filter is the one that must not lose any.
        present: case.inserted().time(&mut ask),
        predicted: filter.predicted_fpr(case.keys),
        is_held_to_prediction: true,
    })
}

/// The flat one, for one thread and for several.
fn flat(case: &Case) -> Result<[Row; 2], Failure> {
    let keys = usize::try_from(case.keys)?;
    let mut filter = BloomFilter::from_vec(zeros_on_huge_pages(case.bytes)?).expected_items(keys);
    let inserting = case.inserted().time(|batch| {
        for &hash in batch {
            filter.insert_hash(hash);
        }
        0
    });
    let mut bits = zeros_on_huge_pages(case.bytes)?;
    bits.copy_from_slice(filter.as_slice());
    let atomic = AtomicBloomFilter::from_vec(bits).expected_items(keys);
    // All keys are in it already. They cost the same again, and there may be very many.
    let inserting_again = case.present().time(|batch| {
        for &hash in batch {
            atomic.insert_hash(hash);
        }
        0
    });
    let hashes = filter.num_hashes();
    let ask = |batch: &[u64]| count(batch, |hash| filter.contains_hash(hash));
    let row = Row::of_flat(case, "fastbloom", hashes, inserting, ask);
    let ask = |batch: &[u64]| count(batch, |hash| atomic.contains_hash(hash));
    let atomic_row = Row::of_flat(case, "fastbloom, atomic", hashes, inserting_again, ask);
    Ok([row, atomic_row])
}

/// Counts the keys that `is_contained` says yes to.
fn count(batch: &[u64], is_contained: impl Fn(u64) -> bool) -> usize {
    batch.iter().filter(|&&hash| is_contained(hash)).count()
}

/// Memory for a filter that takes a vector, on huge pages where the system has them, as ours is:
/// what is compared is not the size of pages.
fn zeros_on_huge_pages(bytes: u64) -> Result<Vec<u64>, Failure> {
    use rustix::mm::{Advice, madvise};

    const HUGE_PAGE: usize = 2 << 20;
    // Memory that is zero because nobody has touched it: its pages are decided on later.
    let words = vec![0u64; usize::try_from(bytes / 8)?];
    let start = words.as_ptr().cast_mut().cast::<u8>();
    let skipped = start.align_offset(HUGE_PAGE);
    let length = (words.len() * 8).saturating_sub(skipped) & !(HUGE_PAGE - 1);
    if length > 0 {
        #[expect(unsafe_code, reason = "the advice takes a raw pointer")]
        // SAFETY: the range is part of a live allocation, and the advice changes no byte of it.
        let _refused_is_fine =
            unsafe { madvise(start.add(skipped).cast(), length, Advice::LinuxHugepage) };
    }
    Ok(words)
}

/// Keys by number.
struct Keys {
    first: u64,
    /// The number of keys.
    distinct: u64,
    /// The number of keys that are handed out; after the last comes the first again.
    timed: u64,
}

impl Keys {
    /// Hands the keys to `work` in batches and adds up what it returns.
    fn time(&self, mut work: impl FnMut(&[u64]) -> usize) -> Timing {
        let mut batch = Vec::with_capacity(BATCH as usize);
        let mut rounds = Vec::with_capacity(ROUNDS as usize);
        let mut yes = 0;
        for round in 0..ROUNDS {
            let numbers = self.timed * round / ROUNDS..self.timed * (round + 1) / ROUNDS;
            let mut spent = Duration::ZERO;
            for start in numbers.clone().step_by(BATCH as usize) {
                let end = numbers.end.min(start + BATCH);
                batch.clear();
                batch.extend((start..end).map(|number| self.key(number)));
                let begin = Instant::now();
                yes += work(&batch) as u64;
                spent += begin.elapsed();
            }
            let keys = (numbers.end - numbers.start) as f64;
            rounds.push(spent.as_secs_f64() * 1e9 / keys);
        }
        rounds.sort_by(f64::total_cmp);
        Timing {
            ns_per_key: rounds[rounds.len() / 2],
            keys: self.timed,
            yes,
        }
    }

    /// The finalizer of `SplitMix64`: a bijection.
    fn key(&self, number: u64) -> u64 {
        let mut word = (self.first + number % self.distinct).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

/// The time that some keys took, and the number for which the filter said yes.
struct Timing {
    ns_per_key: f64,
    keys: u64,
    yes: u64,
}

/// The findings about one filter.
struct Row {
    filter: &'static str,
    hashes: u32,
    inserting: Timing,
    absent: Timing,
    present: Timing,
    predicted: f64,
    is_held_to_prediction: bool,
}

impl Row {
    /// Asks a flat filter, and puts everything together.
    fn of_flat(
        case: &Case,
        filter: &'static str,
        hashes: u32,
        inserting: Timing,
        mut ask: impl FnMut(&[u64]) -> usize,
    ) -> Self {
        Self {
            filter,
            hashes,
            inserting,
            absent: case.absent().time(&mut ask),
            present: case.present().time(&mut ask),
            predicted: flat_fpr(case.bytes as f64 * 8.0 / case.keys as f64, hashes),
            is_held_to_prediction: false,
        }
    }

    /// The share of absent keys that the filter claims to have.
    fn measured(&self) -> f64 {
        self.absent.yes as f64 / self.absent.keys as f64
    }

    fn check(&self, case: &Case) -> Result<(), Failure> {
        let name = self.filter;
        let place = format!(
            "at {} and {} bits a key",
            display_bytes(case.bytes),
            case.bits_per_key
        );
        let missing = self.present.keys - self.present.yes;
        if missing > 0 {
            return Err(format!("{name} has lost {missing} keys {place}").into());
        }
        let variance = self.predicted * (1.0 - self.predicted) / self.absent.keys as f64;
        let most = 1.1 * self.predicted + 3.0 * variance.sqrt();
        if self.is_held_to_prediction && self.measured() > most {
            return Err(format!(
                "{name} is wrong for {} of absent keys {place}, instead of {}",
                self.measured(),
                self.predicted
            )
            .into());
        }
        Ok(())
    }

    fn print_head() {
        println!(
            "| {:<17} | bits/key |  k | {:>8} | insert ns | absent ns | present ns | {:>9} | predicted |",
            "filter", "size", "measured"
        );
        println!(
            "|:{:-<17}-|---------:|---:|---------:|----------:|----------:|-----------:|----------:|----------:|",
            ""
        );
    }

    fn print(&self, case: &Case) {
        println!(
            "| {:<17} | {:>8} | {:>2} | {:>8} | {:>9.1} | {:>9.1} | {:>10.1} | {:>8.4}% | {:>8.4}% |",
            self.filter,
            case.bits_per_key,
            self.hashes,
            display_bytes(case.bytes).to_string(),
            self.inserting.ns_per_key,
            self.absent.ns_per_key,
            self.present.ns_per_key,
            self.measured() * 100.0,
            self.predicted * 100.0,
        );
    }
}
