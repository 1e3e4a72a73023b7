//! The end-to-end benchmark: named workloads through the built program, every answer checked.
//!
//! ```text
//! cargo bench --bench end_to_end                          # 1 million lines a side, all workloads
//! cargo bench --bench end_to_end -- --lines 20M urls hot  # larger, some of them
//! cargo bench --bench end_to_end -- --data /big/w200 --share 160 --cold --runs 1 --json r.jsonl
//! ```
//!
//! Options: `--dir DIR` where files and spill go; `--data DIR` files that data-gen has made there
//! before, instead of workloads; `--share N` memory is 1/N of the inputs' bytes (40), at least 16
//! MiB; `--memory SIZE` the same for all; `--strategies a,b`; `--runs N` of which the median is
//! shown (3); `--cold` each run with the files out of the page cache (Linux, root); `--json FILE`
//! appends every run with the machine, the date and the commit.
//!
//! Each strategy runs in a process of its own, timed from outside; the result is compared with the
//! manifest; then a row is printed. `plan` is what `outset plan` predicted, as a share of what was
//! read and of the most temporary disk. A wrong answer, or a peak above the limit, ends the
//! benchmark with status 1.

mod measure;
mod settings;

use std::path::Path;
use std::process::ExitCode;

use data_gen::{Manifest, Options, Target, Workload};

use measure::{Measured, measure};
use settings::Settings;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    // `cargo test --benches` and `cargo bench` pass flags of their own harness.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    if arguments.iter().any(|argument| argument == "--test") {
        return ExitCode::SUCCESS;
    }
    match Settings::parse(&arguments).and_then(|settings| run_all(&settings)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("end_to_end: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run_all(settings: &Settings) -> Result<(), Failure> {
    Measured::print_head();
    if let Some(directory) = &settings.data {
        let manifest = Manifest::read(&directory.join("manifest.json"))?;
        return run_strategies(settings, directory, &manifest);
    }
    for &workload in &settings.workloads {
        let directory = tempfile::tempdir_in(&settings.directory)?;
        let manifest = data_gen::generate(
            &options(workload, settings.lines),
            &Target::new(directory.path()),
        )?;
        run_strategies(settings, directory.path(), &manifest)?;
    }
    Ok(())
}

/// A workload of `wanted` lines.
fn options(workload: Workload, wanted: u64) -> Options {
    let mut options = Options::of(workload);
    // Presets with few lines have them for a reason: long lines, or lines found by trial.
    for lines in &mut options.lines {
        *lines = if *lines < 1_000_000 {
            (*lines).min(wanted)
        } else {
            wanted
        };
    }
    if matches!(workload.name().as_str(), "long" | "bucket") {
        options.lines.fill(20_000);
    }
    options
}

/// Every strategy, round by round, and the median of its runs.
fn run_strategies(
    settings: &Settings,
    directory: &Path,
    manifest: &Manifest,
) -> Result<(), Failure> {
    let mut runs: Vec<Vec<Measured>> = settings.strategies.iter().map(|_| Vec::new()).collect();
    for _ in 0..settings.runs {
        for (strategy, runs) in settings.strategies.iter().zip(&mut runs) {
            runs.push(measure(settings, directory, manifest, strategy)?);
        }
    }
    for mut runs in runs {
        runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let median = runs.len() / 2;
        runs.swap_remove(median).print();
    }
    Ok(())
}
