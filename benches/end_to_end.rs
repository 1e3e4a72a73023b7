//! The end-to-end benchmark: named workloads through the built program, every answer checked.
//!
//! ```text
//! cargo bench --bench end_to_end                          # 1 million lines a side, all workloads
//! cargo bench --bench end_to_end -- --lines 20M urls hot  # larger, some of them
//! cargo bench --bench end_to_end -- --dir /big/disk       # where files and spill go
//! ```
//!
//! For each workload the files are generated with a manifest of the exact answer; each strategy runs
//! in a process of its own under 1/40 of the input's bytes (at least 16 MiB); the result is compared
//! with the manifest; then a row is printed. A wrong answer, or a peak above the limit, ends the
//! benchmark with status 1.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use data_gen::{Manifest, Options, Rules, Target, Workload};
use serde_json::Value;

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

struct Settings {
    lines: u64,
    place: PathBuf,
    workloads: Vec<Workload>,
}

impl Settings {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut settings = Self {
            lines: 1_000_000,
            place: std::env::temp_dir(),
            workloads: Vec::new(),
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--lines" => settings.lines = outset::size::parse_count(value()?)?,
                "--dir" => settings.place = value()?.into(),
                name => {
                    let named = Workload::all()
                        .iter()
                        .find(|workload| workload.name() == name);
                    settings
                        .workloads
                        .push(*named.ok_or(format!("no workload is called {name}"))?);
                }
            }
        }
        if settings.workloads.is_empty() {
            settings.workloads = Workload::all().to_vec();
        }
        Ok(settings)
    }
}

fn run_all(settings: &Settings) -> Result<(), Failure> {
    println!(
        "{:<18}{:<11}{:>8}{:>10}{:>8}{:>9}{:>9}{:>10}{:>10}{:>10}",
        "workload",
        "strategy",
        "limit",
        "peak",
        "s",
        "Mline/s",
        "GB/s",
        "read MB",
        "written",
        "temp MB"
    );
    for &workload in &settings.workloads {
        let place = tempfile::tempdir_in(&settings.place)?;
        let mut options = Options::of(workload);
        // Presets with few lines have them for a reason: long lines, or lines found by trial.
        for lines in &mut options.lines {
            *lines = (*lines)
                .min(settings.lines)
                .max(settings.lines.min(100_000));
        }
        if matches!(workload.name().as_str(), "long" | "bucket") {
            options.lines.fill(20_000);
        }
        let manifest = data_gen::generate(&options, &Target::new(place.path()))?;
        for strategy in ["memory", "partition", "sieve", "bloom"] {
            run_one(place.path(), &manifest, workload, strategy)?;
        }
    }
    Ok(())
}

/// Runs one strategy in a process of its own, checks its answer and prints its row.
fn run_one(
    place: &Path,
    manifest: &Manifest,
    workload: Workload,
    strategy: &str,
) -> Result<(), Failure> {
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    let lines: u64 = manifest.files.iter().map(|file| file.lines).sum();
    // The memory strategy needs room for the smallest input; the others show what a limit does.
    let limit = if strategy == "memory" {
        bytes * 2 + (64 << 20)
    } else {
        (bytes / 40).max(16 << 20)
    };
    let (result, report) = (place.join("result"), place.join("report.json"));
    let is_nul = manifest.options.terminator.byte() == 0;
    let mut command = Command::new(env!("CARGO_BIN_EXE_outset"));
    command
        .arg("intersect")
        .args(["--strategy", strategy, "--quiet"]);
    command
        .args(["--memory", &limit.to_string()])
        .arg("--temp-dir")
        .arg(place);
    command
        .arg("--output")
        .arg(&result)
        .arg("--stats")
        .arg(&report);
    if is_nul {
        command.arg("--zero-terminated");
    }
    let output = command
        .args(manifest.files.iter().map(|file| place.join(&file.path)))
        .output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!(
            "{} by {strategy}: {}: {why}",
            workload.name(),
            output.status
        )
        .into());
    }
    let rules = Rules {
        strip_cr: false,
        superset: strategy == "bloom",
        nul: is_nul,
    };
    let verdict = data_gen::check(
        manifest,
        BufReader::new(File::open(&result)?),
        &result,
        rules,
    )?;
    if !verdict.right {
        return Err(format!(
            "{} by {strategy}: wrong answer: {verdict:?}",
            workload.name()
        )
        .into());
    }
    let stats: Value = serde_json::from_reader(BufReader::new(File::open(&report)?))?;
    let number = |name: &str| {
        stats
            .pointer(name)
            .and_then(Value::as_f64)
            .unwrap_or(f64::NAN)
    };
    let (seconds, peak) = (number("/seconds"), number("/memory/peak_rss_bytes"));
    let phases = stats["phases"].as_array().cloned().unwrap_or_default();
    let read: f64 = phases
        .iter()
        .filter_map(|phase| phase["bytes_read"].as_f64())
        .sum();
    println!(
        "{:<18}{strategy:<11}{:>8.0}{:>10.1}{seconds:>8.2}{:>9.1}{:>9.2}{:>10.0}{:>10.0}{:>10.0}",
        workload.name(),
        limit as f64 / f64::from(1 << 20),
        peak / f64::from(1 << 20),
        lines as f64 / seconds / 1e6,
        bytes as f64 / seconds / 1e9,
        read / 1e6,
        number("/temp/written_bytes") / 1e6,
        number("/temp/peak_bytes") / 1e6,
    );
    if peak > limit as f64 {
        return Err(format!("{} by {strategy}: peak above the limit", workload.name()).into());
    }
    Ok(())
}
