//! The command `differential`: random cases until one fails, which is then made as small as it can be.

mod cli;
mod watchdog;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use differential::case::Case;
use differential::choices::{Choices, mixed};
use differential::generate;
use differential::judge::{Difference, Tally, first_difference};
use differential::keyed;
use differential::lines::Scale;
use differential::run::Runner;
use differential::sandbox::Sandbox;
use differential::{script, shrink};

use crate::cli::Cli;
use crate::watchdog::Watchdog;

/// One case in this number is of records with keys.
const RECORDS_EVERY: u64 = 4;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("differential: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the cases; false if one failed.
fn run(cli: &Cli) -> io::Result<bool> {
    let seed = cli.seed.map_or_else(random_seed, Ok)?;
    println!("seed {seed}");
    let sandbox = Sandbox::new(&cli.dir.clone().unwrap_or_else(std::env::temp_dir))?;
    let runner = Runner {
        sandbox: &sandbox,
        measures_memory: true,
    };
    let numbers = cli.case.map_or(0..cli.cases, |number| number..number + 1);
    let started = Instant::now();
    let (mut done, mut of_records) = (0, 0);
    let mut tally = Tally {
        tells_refusals: cli.tell_refusals,
        ..Tally::default()
    };
    let watchdog = Watchdog::start(seed)?;
    let mut commands = cli
        .outset
        .as_deref()
        .map(|program| script::Program::new(program, &sandbox));
    for number in numbers {
        if cli
            .seconds
            .is_some_and(|seconds| started.elapsed() >= Duration::from_secs(seconds))
        {
            break;
        }
        watchdog.next(number);
        if number % RECORDS_EVERY == 3 {
            if !records_agree(cli, (seed, number))? {
                return Ok(false);
            }
            (done, of_records) = (done + 1, of_records + 1);
            continue;
        }
        let case = generate::case(
            &mut Choices::seeded(mixed(seed ^ mixed(number))),
            Scale::SEEDED,
        );
        let mut found = first_difference(&runner, &case, &mut tally)?;
        if let Some(program) = commands
            .as_mut()
            .filter(|_| found.is_none() && number % 50 == 0)
        {
            found = program.first_difference(&case)?;
        }
        if let Some(difference) = found {
            watchdog.stop();
            tell(cli, &runner, &case, &difference, (seed, number))?;
            return Ok(false);
        }
        done += 1;
    }
    let by_command = commands.map_or(0, |program| program.runs);
    println!(
        "{done} cases, {of_records} of them of records, {} runs of the others, {by_command} by the command, 0 differences, {:.0} s; {} lines found, {} peaks measured, \
         {} rates checked, {} refused and {} again with the memory that was advised",
        tally.runs,
        started.elapsed().as_secs_f64(),
        tally.lines,
        tally.measured,
        tally.predicted,
        tally.refused,
        tally.refused_again,
    );
    Ok(true)
}

/// Runs a case of records with keys, as CSV, TSV, JSON and Parquet; false if it failed, which is printed then.
fn records_agree(cli: &Cli, (seed, number): (u64, u64)) -> io::Result<bool> {
    let parent = cli.dir.clone().unwrap_or_else(std::env::temp_dir);
    let directory = tempfile::tempdir_in(parent)?;
    let mut choices = Choices::seeded(mixed(seed ^ mixed(number)));
    let check = AssertUnwindSafe(|| keyed::check(&mut choices, directory.path()));
    let agrees = catch_unwind(check).is_ok();
    if !agrees {
        println!("case {number} of seed {seed}: of records");
        println!("{}", again((seed, number)));
    }
    Ok(agrees)
}

/// Words how to run a case once more.
fn again((seed, number): (u64, u64)) -> String {
    format!("again: cargo run --release -p differential -- --seed {seed} --case {number}")
}

/// Shrinks the case and prints it.
fn tell(
    cli: &Cli,
    runner: &Runner<'_>,
    case: &Case,
    difference: &Difference,
    (seed, number): (u64, u64),
) -> io::Result<()> {
    println!("case {number} of seed {seed}: {}", difference.wrong);
    println!("with {:?}", difference.setting);
    println!("{}", again((seed, number)));
    let small = case.with_setting(difference.setting);
    let limit = Duration::from_secs(cli.shrink_seconds);
    let (small, found) = shrink::shrink(runner, small, difference.wrong.kind, limit)?;
    let lines: usize = small.inputs.iter().map(|input| input.lines.len()).sum();
    let bytes: usize = small.contents().iter().map(Vec::len).sum();
    let what = found.map_or_else(
        || "it did not fail a second time".to_owned(),
        |found| found.wrong.to_string(),
    );
    println!("\nsmallest: {lines} lines, {bytes} bytes: {what}\n");
    println!("{}", script::script(&small));
    Ok(())
}

fn random_seed() -> io::Result<u64> {
    getrandom::u64()
        .map(|seed| seed >> 16)
        .map_err(io::Error::other)
}
