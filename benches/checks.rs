//! What it costs to check that the spill comes back as it was written: runs with the checksums of blocks, and without.
//!
//! ```text
//! cargo bench --bench checks --features internals -- --data /tmp/w20                  # partition and sieve in 64 MiB
//! cargo bench --bench checks --features internals -- --data /tmp/w20 --memory 32M
//! ```
//!
//! The files are `a.txt` and `b.txt` in the directory given, as data-gen makes them; without one, two small files. Runs
//! with and without follow each other, eleven of each; printed are the medians of the seconds and of the seconds of
//! processor time, and what is more with the checks. All runs must find equally many lines. The sum of the lines'
//! hashes is formed in both: it is an addition a line.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use outset::internals::leave_blocks_unchecked;
use outset::size::parse_bytes;
use outset::{CountSink, Options, Source, Strategy, intersect};

const RUNS: usize = 11;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let (mut memory, mut data) = (64 << 20, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{name} needs a value"));
        match name.as_str() {
            "--memory" => memory = parse_bytes(&value()?)?,
            "--data" => data = Some(PathBuf::from(value()?)),
            // What cargo passes on.
            "--bench" => {}
            _ => return Err(format!("{name}: see the head of benches/checks.rs").into()),
        }
    }
    let made = tempfile::tempdir()?;
    let directory = match data {
        Some(data) => data,
        None => {
            make(made.path())?;
            made.path().to_owned()
        }
    };
    for strategy in [Strategy::Partition, Strategy::Sieve] {
        compare(&directory, strategy, memory)?;
    }
    Ok(())
}

/// Two files of half a million lines, half of them common.
fn make(directory: &Path) -> Result<(), Failure> {
    for (name, first) in [("a.txt", 0u32), ("b.txt", 250_000)] {
        let mut text = Vec::new();
        for number in first..first + 500_000 {
            writeln!(text, "{number:063}")?;
        }
        std::fs::write(directory.join(name), text)?;
    }
    Ok(())
}

fn compare(directory: &Path, strategy: Strategy, memory: u64) -> Result<(), Failure> {
    let options = Options {
        strategy: Some(strategy),
        memory_bytes: Some(memory),
        temp_dirs: vec![directory.to_owned()],
        ..Options::default()
    };
    let sources = ["a.txt", "b.txt"].map(|name| Source::from(directory.join(name)));
    let mut times: [Vec<(f64, f64)>; 2] = Default::default();
    let (mut found, mut spilled) = (None, 0);
    for run in 0..2 * RUNS {
        leave_blocks_unchecked(run % 2 == 1);
        let (start, before) = (Instant::now(), processor_seconds()?);
        let stats = intersect(&sources, &options, &mut CountSink)?;
        times[run % 2].push((start.elapsed().as_secs_f64(), processor_seconds()? - before));
        spilled = stats.temp.written_bytes;
        if *found.get_or_insert(stats.output.lines) != stats.output.lines {
            return Err("two runs have found different numbers of lines".into());
        }
    }
    let median = |which: usize, of: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = times[which].iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    for (name, of) in [
        ("seconds", (|t| t.0) as fn(&(f64, f64)) -> f64),
        ("processor seconds", |t| t.1),
    ] {
        let (with, without) = (median(0, of), median(1, of));
        println!(
            "{strategy}, {} MiB spilled: {name} {with:.3} with checks, {without:.3} without: {:+.1} %",
            spilled >> 20,
            (with / without - 1.0) * 100.0
        );
    }
    Ok(())
}

/// Returns the seconds that this process has used of all processors.
fn processor_seconds() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // Behind the name, which is in brackets: state, parent, ..., user and system time are the 12th and 13th.
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let ticks = rest.split_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks / rustix::param::clock_ticks_per_second() as f64)
}
