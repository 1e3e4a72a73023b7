//! Kept filters as whole processes: how many lines a second they take, from a file and in a pipe.
//!
//! ```text
//! cargo bench --bench stored                 # 5 million lines of 64 bytes: seconds
//! cargo bench --bench stored -- 500000       # other numbers
//! ```
//!
//! *What is measured:* `filter insert`, `insert --print-new` (all lines new, and none) and `query` of a
//! blocked filter at 1 %, which fits a cache; the input is in the page cache, answers go to
//! `/dev/null`. Starting the process, checking the filter, and writing it again are included. Each
//! figure is the median of 5 runs. In a pipe `cat` is at the other end; the time of `cat | cat` is printed
//! for comparison.
//!
//! *What ends the benchmark:* a command that fails, or answers for more or fewer lines than it
//! should.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

const OUTSET: &str = env!("CARGO_BIN_EXE_outset");
const RUNS: usize = 5;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let lines = std::env::args()
        .skip(1)
        .find(|argument| argument != "--bench");
    let lines = lines.map_or(Ok(5_000_000), |text| text.parse());
    let result = lines.map_err(Failure::from).and_then(measure);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kept: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(lines: u64) -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("lines");
    write_lines(&file, lines)?;
    let filter = directory.path().join("filter");
    let build = || {
        shell(&format!(
            "{OUTSET} filter build --lines {lines} -o {}",
            filter.display()
        ))
    };
    let (input, kept) = (file.display(), filter.display());
    println!("| {lines} lines of 64 bytes | from a file, million lines/s | in a pipe |");
    println!("|:--|--:|--:|");
    for (name, arguments, is_fresh) in [
        ("insert", format!("filter insert {kept}"), true),
        (
            "insert --print-new, all new",
            format!("filter insert {kept} --print-new"),
            true,
        ),
        (
            "insert --print-new, none new",
            format!("filter insert {kept} --print-new"),
            false,
        ),
        ("query, all present", format!("filter query {kept}"), false),
    ] {
        if !is_fresh {
            build()?;
            shell(&format!("{OUTSET} filter insert {kept} {input}"))?;
        }
        let before = || if is_fresh { build() } else { Ok(()) };
        let from_file = median(before, &format!("{OUTSET} {arguments} {input} > /dev/null"))?;
        let in_pipe = median(
            before,
            &format!("cat {input} | {OUTSET} {arguments} > /dev/null"),
        )?;
        let speed = |seconds: f64| lines as f64 / seconds / 1e6;
        println!(
            "| {name} | {:.1} | {:.1} |",
            speed(from_file),
            speed(in_pipe)
        );
    }
    let pipe = median(|| Ok(()), &format!("cat {input} | cat > /dev/null"))?;
    println!("| cat, cat | | {:.1} |", lines as f64 / pipe / 1e6);
    check(&filter, &file, lines)
}

/// Lines of 64 bytes, their ends included, no two of them equal.
fn write_lines(path: &Path, lines: u64) -> Result<(), Failure> {
    let mut writer = BufWriter::new(File::create(path)?);
    for number in 0..lines {
        writeln!(
            writer,
            "https://example.org/{:043x}",
            number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        )?;
    }
    writer.flush()?;
    Ok(())
}

fn shell(command: &str) -> Result<(), Failure> {
    let status = Command::new("sh").args(["-c", command]).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command}: {status}").into())
    }
}

/// The median of the seconds that a command takes, each time after `before`.
fn median(before: impl Fn() -> Result<(), Failure>, command: &str) -> Result<f64, Failure> {
    let mut seconds = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        before()?;
        let start = Instant::now();
        shell(command)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[RUNS / 2])
}

/// Every line must be in the filter at the end.
fn check(filter: &Path, file: &Path, lines: u64) -> Result<(), Failure> {
    let output = Command::new(OUTSET)
        .args(["filter", "query", "--count-only"])
        .args([filter, file])
        .stderr(Stdio::inherit())
        .output()?;
    let found: u64 = String::from_utf8(output.stdout)?.trim().parse()?;
    fs::remove_file(filter)?;
    if found == lines {
        Ok(())
    } else {
        Err(format!("{found} of {lines} lines were found").into())
    }
}
