//! The command `data-gen`: writes the files of a workload, or checks a result against a manifest.

mod cli;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use data_gen::error::{Error, Result};
use data_gen::options::Terminator;
use data_gen::{Manifest, Operation, Question, Rules, Workload, check, check_table, generate};

use crate::cli::{Check, Cli, Command, Generate};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Some(Command::Check(arguments)) => run_check(arguments),
        None if cli.generate.list => {
            list();
            Ok(true)
        }
        None => run_generate(&cli.generate),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("data-gen: {error}");
            ExitCode::from(error.exit_status())
        }
    }
}

fn list() {
    for workload in Workload::all() {
        println!("{:17} {}", workload.name(), workload.sentence());
    }
}

fn run_generate(arguments: &Generate) -> Result<bool> {
    let started = Instant::now();
    let target = arguments.target();
    let manifest = generate(&arguments.options()?, &target)?;
    let seconds = started.elapsed().as_secs_f64();
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    for file in &manifest.files {
        let path = target.dir.join(&file.path);
        println!(
            "{}: {} lines, {} bytes",
            path.display(),
            file.lines,
            file.bytes
        );
    }
    println!(
        "{}: {} distinct lines in common, {} without carriage returns",
        target.manifest().display(),
        manifest.common.count,
        manifest.common_strip_cr.count
    );
    eprintln!("{seconds:.2} s, {:.2} GB/s", bytes as f64 / 1e9 / seconds);
    Ok(true)
}

fn run_check(arguments: &Check) -> Result<bool> {
    let manifest = Manifest::read(&arguments.manifest)?;
    let question = arguments.asked.question();
    if question == Question::new(Operation::Overlaps) {
        return run_check_table(arguments, &manifest);
    }
    let rules = Rules {
        strip_cr: arguments.strip_cr,
        superset: arguments.superset,
        nul: arguments.terminator == Terminator::Nul,
        question,
    };
    let path = &arguments.result;
    let result = BufReader::with_capacity(1 << 20, open(path)?);
    let verdict = check(&manifest, result, path, rules)?;
    println!("{verdict}");
    Ok(verdict.right)
}

fn run_check_table(arguments: &Check, manifest: &Manifest) -> Result<bool> {
    let path = &arguments.result;
    let mut table = String::new();
    open(path)?
        .read_to_string(&mut table)
        .map_err(|source| Error::reading(path, source))?;
    let verdict = check_table(manifest, &table, arguments.strip_cr)?;
    println!("{verdict}");
    Ok(verdict.right)
}

fn open(path: &Path) -> Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    match File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(source) => Err(Error::opening(path, source)),
    }
}
