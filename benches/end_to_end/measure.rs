//! One run: the program in a process of its own, its answer checked, its figures.
//!
//! *Owns:* starting, timing and checking a run, and how it is reported. *Invariants:* nothing is
//! reported of a run whose answer is wrong or whose peak is above its limit: that is an error.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use data_gen::{Manifest, Rules};
use serde_json::{Value, json};

use crate::Failure;
use crate::settings::Settings;

const MEBIBYTE: f64 = (1 << 20) as f64;

/// The figures of one run. Sizes are bytes.
pub(crate) struct Measured {
    name: String,
    strategy: String,
    limit: u64,
    peak: f64,
    /// Of the whole process, the synced result included.
    pub(crate) seconds: f64,
    lines: u64,
    bytes: u64,
    read: f64,
    written: f64,
    temporary: f64,
    planned_read: f64,
    planned_temporary: f64,
}

/// Runs one strategy, checks its answer and notes the run in the file of raw results.
pub(crate) fn measure(
    settings: &Settings,
    directory: &Path,
    manifest: &Manifest,
    strategy: &str,
) -> Result<Measured, Failure> {
    let bytes = manifest.files.iter().map(|file| file.bytes).sum();
    let limit = settings.limit(strategy, bytes);
    let name = manifest.options.workload.name();
    let plan = planned(directory, manifest, strategy, limit)?;
    let (result, report) = (directory.join("result"), directory.join("report.json"));
    let mut command = program("intersect", directory, manifest, strategy, limit);
    command.arg("--quiet").arg("--temp-dir").arg(directory);
    command.arg("--output").arg(&result);
    command.arg("--stats").arg(&report);
    if settings.is_cold {
        rustix::fs::sync();
        std::fs::write("/proc/sys/vm/drop_caches", "3")?;
    }
    let start = Instant::now();
    let output = command.output()?;
    let seconds = start.elapsed().as_secs_f64();
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{name} by {strategy}: {}: {why}", output.status).into());
    }
    check(manifest, &result, strategy)?;
    std::fs::remove_file(&result)?;
    let stats: Value = serde_json::from_reader(BufReader::new(File::open(&report)?))?;
    let phases = stats["phases"].as_array().cloned().unwrap_or_default();
    let measured = Measured {
        name: name.clone(),
        strategy: strategy.to_owned(),
        limit,
        peak: number(&stats, "/memory/peak_rss_bytes"),
        seconds,
        lines: manifest.files.iter().map(|file| file.lines).sum(),
        bytes,
        read: phases
            .iter()
            .map(|phase| number(phase, "/bytes_read"))
            .sum(),
        written: number(&stats, "/temp/written_bytes"),
        temporary: number(&stats, "/temp/peak_bytes"),
        planned_read: number(&plan, "/bytes_read"),
        planned_temporary: number(&plan, "/temp_peak_bytes"),
    };
    // A debug build does not count a part of its code, and goes over a small limit by up to a MiB.
    let of_debug = if cfg!(debug_assertions) { 1 << 20 } else { 0 };
    if measured.peak > (limit + of_debug) as f64 {
        return Err(format!("{} by {strategy}: peak above the limit", measured.name).into());
    }
    if let Some(file) = &settings.json {
        let run = json!({
            "workload": name, "seconds": seconds, "cold": settings.is_cold,
            "command": format!("{command:?}"), "machine": machine(), "plan": plan, "stats": stats,
        });
        writeln!(
            OpenOptions::new().append(true).create(true).open(file)?,
            "{run}"
        )?;
    }
    Ok(measured)
}

/// Returns what `outset plan` says of the run.
fn planned(
    directory: &Path,
    manifest: &Manifest,
    strategy: &str,
    limit: u64,
) -> Result<Value, Failure> {
    let output = program("plan", directory, manifest, strategy, limit)
        .arg("--json")
        .output()?;
    Ok(serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
}

fn program(
    command: &str,
    directory: &Path,
    manifest: &Manifest,
    strategy: &str,
    limit: u64,
) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_outset"));
    program.arg(command).args(["--strategy", strategy]);
    program.args(["--memory", &limit.to_string()]);
    if is_nul(manifest) {
        program.arg("--zero-terminated");
    }
    program.args(manifest.files.iter().map(|file| directory.join(&file.path)));
    program
}

fn is_nul(manifest: &Manifest) -> bool {
    manifest.options.terminator.byte() == 0
}

fn check(manifest: &Manifest, result: &Path, strategy: &str) -> Result<(), Failure> {
    let rules = Rules {
        superset: strategy == "bloom",
        nul: is_nul(manifest),
        ..Rules::default()
    };
    let lines = BufReader::new(File::open(result)?);
    let verdict = data_gen::check(manifest, lines, result, rules)?;
    if verdict.right {
        return Ok(());
    }
    let name = manifest.options.workload.name();
    Err(format!("{name} by {strategy}: wrong answer: {verdict:?}").into())
}

fn number(value: &Value, pointer: &str) -> f64 {
    value
        .pointer(pointer)
        .and_then(Value::as_f64)
        .unwrap_or(f64::NAN)
}

/// The machine, and what was measured.
fn machine() -> Value {
    let first = |file: &str, key: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_once(':'))
            .map(|(_, value)| value.trim().to_owned())
    };
    let commit = Command::new("git")
        .args(["describe", "--always", "--dirty"])
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    json!({
        "processor": first("/proc/cpuinfo", "model name"),
        "processors": std::thread::available_parallelism().map_or(0, usize::from),
        "memory": first("/proc/meminfo", "MemTotal"),
        "kernel": std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        "unix_time": since_1970.map_or(0, |time| time.as_secs()),
        "commit": commit.unwrap_or_default(),
    })
}

impl Measured {
    pub(crate) fn print_head() {
        println!(
            "{:<17}{:<10}{:>7}{:>8}{:>8}{:>8}{:>7}{:>9}{:>9}{:>9}{:>12}",
            "workload",
            "strategy",
            "limit",
            "peak",
            "s",
            "Mline/s",
            "GB/s",
            "read MB",
            "written",
            "temp MB",
            "plan r/temp"
        );
    }

    pub(crate) fn print(&self) {
        let share = |planned: f64, real: f64| {
            if (planned - real).abs() < 1.0 {
                1.0
            } else {
                planned / real
            }
        };
        println!(
            "{:<17}{:<10}{:>7.0}{:>8.1}{:>8.2}{:>8.1}{:>7.2}{:>9.0}{:>9.0}{:>9.0}{:>6.2} {:>5.2}",
            self.name,
            self.strategy,
            self.limit as f64 / MEBIBYTE,
            self.peak / MEBIBYTE,
            self.seconds,
            self.lines as f64 / self.seconds / 1e6,
            self.bytes as f64 / self.seconds / 1e9,
            self.read / 1e6,
            self.written / 1e6,
            self.temporary / 1e6,
            share(self.planned_read, self.read),
            share(self.planned_temporary, self.temporary),
        );
    }
}
