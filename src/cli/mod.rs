//! The command line: arguments to [`outset::Options`], results and errors to the terminal.
//!
//! *Owns:* commands ([`arguments`]) and their short [`help`], with the [`texts`] that they share; their running
//! ([`select`], [`overlaps`], [`plan`], [`compare`], [`mod@estimate`], [`cluster`], [`filter`], [`size`], [`manual`]);
//! the options that several of them have ([`options`], [`run_options`], [`keys`]), the [`operation`] that an option
//! names, their [`sides`] and [`outputs`] and what they [`mod@print`]; exit status ([`exit`]), signals ([`signals`]),
//! the words about wrong [`usage`], closed streams ([`streams`]); lines on standard error ([`screen`]), or [`events`]
//! for a program, with options in the place of [`settings`], progress ([`progress`]) and the final [`summary`]; the
//! page of a run ([`mod@report`]), where reports come from ([`origin`]), and the one form of [`numbers`] and of text
//! ([`escaping`]).
//!
//! *Invariants:* every error is one line on standard error, `outset: OBJECT: what happened: what to do about it`;
//! standard output carries the result and nothing else. *Cost:* one thread that waits for signals.

mod arguments;
mod cluster;
mod compare;
mod escaping;
mod estimate;
mod events;
mod exit;
mod filter;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed;
mod help;
mod keys;
mod manual;
mod numbers;
mod operation;
mod options;
mod origin;
mod outputs;
mod overlaps;
mod plan;
mod print;
mod process;
mod progress;
mod report;
mod run_options;
mod screen;
mod select;
mod settings;
mod sides;
mod signals;
mod size;
mod streams;
mod summary;
mod texts;
mod urls;
mod usage;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::thread::JoinHandle;

use clap::error::ErrorKind as ClapErrorKind;
use clap::{CommandFactory, FromArgMatches};

use arguments::{Cli, Command};
use exit::ExitStatus;
use options::CallerWishes;
use outset::{Error, ErrorKind, Interrupt, Result};
use screen::warn;

/// The stack of the thread that runs the command, whatever `ulimit -s` gives the first thread. The parser
/// of arguments takes the most of it. Less than a huge page, so that it is resident only as far as it
/// is used.
const STACK_BYTES: usize = (2 << 20) - (64 << 10);
/// Runs the command that the arguments name, on a thread with a stack of its own.
pub(crate) fn main() -> ExitCode {
    streams::keep_closed();
    process::use_one_arena();
    let command = std::thread::Builder::new()
        // As the first thread, for what a panic says.
        .name("main".into())
        .stack_size(STACK_BYTES)
        .spawn(run);
    match command.map(JoinHandle::join) {
        Ok(Ok(status)) => status,
        // It has said so.
        Ok(Err(_panicked)) => ExitStatus::Bug.into(),
        // Help, for one, needs no more threads than there may be.
        Err(_no_thread) => run(),
    }
}

fn run() -> ExitCode {
    let (cli, caller) = match parse(std::env::args_os()) {
        Ok(parsed) => parsed,
        Err(error) => {
            let status = not_a_command(&error, std::env::args_os());
            return status.map_or_else(|error| failed(&error, &Interrupt::new()), ExitCode::from);
        }
    };
    if caller.reads_events {
        events::begin();
    }
    process::give_back_free_memory();
    // Tests say in FAILPOINTS what is to happen where.
    #[cfg(feature = "failpoints")]
    let _scenario = fail::FailScenario::setup();
    let interrupt = Interrupt::new();
    // Without the handlers, a signal would leave behind what the command has made.
    let handled = match &cli.command {
        Command::Size(_) | Command::Completions(_) | Command::Man(_) => Ok(()),
        _ => signals::install(&interrupt),
    };
    let handled = handled.and_then(|()| {
        if caller.ends_with_parent {
            signals::watch_parent(&interrupt)?;
        }
        Ok(())
    });
    let result = handled.and_then(|()| match &cli.command {
        Command::Intersect(arguments) => select::run(arguments.request(), &interrupt),
        Command::Diff(arguments) => select::run(arguments.request(), &interrupt),
        Command::Union(arguments) => select::run(arguments.request(), &interrupt),
        Command::Symdiff(arguments) => select::run(arguments.request(), &interrupt),
        Command::Overlaps(arguments) => overlaps::run(arguments, &interrupt),
        Command::Plan(arguments) => plan::run(arguments, &interrupt),
        Command::Compare(arguments) => compare::run(arguments, &interrupt),
        Command::Estimate(arguments) => estimate::run(arguments, &interrupt),
        Command::Shard(arguments) => {
            cluster::run_shard(arguments, &interrupt).map_err(settings::without_sides)
        }
        Command::Join(arguments) => cluster::run_join(arguments, &interrupt),
        Command::Finish(arguments) => cluster::run_finish(arguments, &interrupt),
        Command::Filter(command) => {
            filter::run(command, &interrupt).map_err(settings::without_sides)
        }
        Command::Size(arguments) => size::run(arguments),
        Command::Completions(arguments) => {
            manual::completions(arguments, help::arranged(Cli::command()))
        }
        Command::Man(arguments) => manual::man(arguments, help::arranged(Cli::command())),
    });
    match result {
        Ok(()) => ExitStatus::Complete.into(),
        Err(error) => failed(&error, &interrupt),
    }
}

/// Ends a command that failed, when everything that it made is cleaned up: quietly where the reader of
/// standard output went away or a signal came, else with one line on standard error.
fn failed(error: &Error, interrupt: &Interrupt) -> ExitCode {
    if error.is_broken_pipe() {
        return signals::end_as_broken_pipe();
    }
    if matches!(error, Error::Interrupted) || signals::may_have_caused(error, interrupt) {
        return signals::wait_for_the_end();
    }
    screen::fail(error);
    ExitStatus::of(error).into()
}

/// Parses arguments, of which the first is the program. Options may stand before the command.
fn parse(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<(Cli, CallerWishes), clap::Error> {
    let words = usage::command_first(arguments.into_iter().collect());
    let mut outset = help::with_pages_of(Cli::command(), &words);
    let matches = outset.try_get_matches_from_mut(words)?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut outset))?;
    origin::keep_options(&outset, &matches);
    Ok((cli, CallerWishes::of(&matches)))
}

/// Prints help and version to standard output; wrong usage is one line on standard error.
///
/// # Errors
/// [`Error::Output`] where standard output cannot be written.
fn not_a_command(
    error: &clap::Error,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<ExitStatus> {
    if matches!(
        error.kind(),
        ClapErrorKind::DisplayHelp | ClapErrorKind::DisplayVersion
    ) {
        return streams::check_stdout()
            .and_then(|()| error.print())
            .and_then(|()| std::io::stdout().flush())
            .map(|()| ExitStatus::Complete)
            .map_err(print::unwritable);
    }
    if error.kind() == ClapErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _nowhere_to_report = error.print();
        return Ok(ExitStatus::Usage);
    }
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // A value that is a file, which cannot be read.
    let of_value = std::error::Error::source(error).and_then(|error| error.downcast_ref::<Error>());
    if let Some(failure) = of_value.filter(|failure| failure.kind() != ErrorKind::Usage) {
        if CallerWishes::reads_events_of(&arguments) {
            events::begin();
        }
        screen::fail(failure);
        return Ok(ExitStatus::of(failure));
    }
    let arguments = usage::command_first(arguments);
    warn(&usage::line(error, arguments));
    Ok(ExitStatus::Usage)
}
