//! `outset estimate` beside what it cannot do without: finding the lines of both files and hashing them.
//!
//! ```text
//! cargo bench --bench estimate                                  # two files that it makes, 5 million lines each
//! cargo bench --bench estimate -- --lines 20M                   # larger ones
//! cargo bench --bench estimate -- --data /tmp/w20               # a.txt and b.txt that are there
//! ```
//!
//! The yardstick reads each file in pieces of 256 KiB from the page cache, as `wc -l` does, finds the ends
//! of the lines and hashes them in batches, by the functions that the engine uses, and adds the
//! hashes up; one thread. `estimate` is the library's, with one thread. Each is run in turn, nine times;
//! printed are the medians and their ratio. Making the sketches takes some 10 ms a file however long that is, so the
//! ratio is worse for short files. Both must have seen the same number of lines, and the
//! estimate must be about right, or the benchmark fails.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use outset::hash::{HashKey, LineHasher};
use outset::size::parse_count;
use outset::{LineFormat, Options, Source, estimate};

const RUNS: usize = 9;
/// Lines that the engine hashes together.
const BATCH: usize = 2048;
const PIECE: usize = 256 << 10;
const KEY: [u64; 4] = [1, 2, 3, 4];

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut lines = 5_000_000;
    let mut data = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{name} needs a value"));
        match name.as_str() {
            "--lines" => lines = parse_count(&value()?)?,
            "--data" => data = Some(PathBuf::from(value()?)),
            // What cargo passes on.
            "--bench" => {}
            _ => return Err(format!("{name}: see the head of benches/estimate.rs").into()),
        }
    }
    let made = tempfile::tempdir()?;
    let directory = match data {
        Some(data) => data,
        None => {
            make(made.path(), lines)?;
            made.path().to_owned()
        }
    };
    compare(&[directory.join("a.txt"), directory.join("b.txt")])
}

/// Two files of `lines` lines of 64 bytes, a tenth of them common.
fn make(directory: &Path, lines: u64) -> Result<(), Failure> {
    for (name, first) in [("a.txt", 0), ("b.txt", lines - lines / 10)] {
        let mut text = Vec::with_capacity(64 * lines as usize);
        for number in first..first + lines {
            let noise = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let line = format!("https://example.org/{noise:016x}/{number:026}\n");
            text.extend_from_slice(line.as_bytes());
        }
        std::fs::write(directory.join(name), text)?;
    }
    Ok(())
}

fn compare(paths: &[PathBuf; 2]) -> Result<(), Failure> {
    let options = Options {
        threads: Some(1),
        memory_bytes: Some(64 << 20),
        hash_key: HashKey::Fixed(KEY),
        ..Options::default()
    };
    let sources = paths.each_ref().map(Source::from);
    let (mut yardstick, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let start = Instant::now();
        let lines = scan(&paths[0])? + scan(&paths[1])?;
        yardstick.push(start.elapsed());
        let start = Instant::now();
        let found = estimate(&sources, &options)?;
        ours.push(start.elapsed());
        let seen: u64 = found.inputs.iter().map(|input| input.lines).sum();
        if seen != lines {
            return Err(format!("{seen} lines were estimated of, {lines} are there").into());
        }
        println!("{lines} lines, about {:.0} common", found.common.estimate);
    }
    let (yardstick, ours) = (median(yardstick), median(ours));
    println!(
        "scanning and hashing {yardstick:?}, estimate {ours:?}: {:.2} times",
        ours.as_secs_f64() / yardstick.as_secs_f64()
    );
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Finds and hashes all lines of a file, and returns how many there are.
fn scan(path: &Path) -> Result<u64, Failure> {
    let mut file = File::open(path)?;
    let hasher = LineHasher::with_key(KEY);
    let mut piece = vec![0; PIECE];
    let (mut rest, mut count, mut sum) = (0, 0, 0u64);
    let mut hashes = Vec::new();
    loop {
        let read = file.read(&mut piece[rest..])?;
        let filled = rest + read;
        let end = match memchr::memrchr(b'\n', &piece[..filled]) {
            Some(end) if read > 0 => end + 1,
            _ => filled,
        };
        let mut lines = LineFormat::default().lines(&piece[..end]);
        loop {
            let batch: Vec<&[u8]> = lines.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                break;
            }
            hasher.hash_batch(&batch, &mut hashes);
            count += batch.len() as u64;
            sum = hashes.iter().fold(sum, |sum, &hash| sum.wrapping_add(hash));
        }
        if read == 0 {
            std::hint::black_box(sum);
            return Ok(count);
        }
        piece.copy_within(end..filled, 0);
        rest = filled - end;
    }
}
