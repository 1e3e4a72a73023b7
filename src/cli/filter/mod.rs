//! `outset filter`: filters stored in files.
//!
//! *Owns:* the sub-commands ([`arguments`]) and what they print. *Invariants:* standard output
//! carries answers and nothing else; what a person should know of a filter goes to standard error.
//! *Cost:* that of [`outset::stored`].

mod arguments;
mod info;
mod overfull;

use std::io::{Write, sink};
use std::path::Path;
use std::sync::Arc;

use outset::filter::{Filter, Kind, StoredFilter};
use outset::stored::{BuildRequest, Change, Question, build, change, insert_new, merge, query};
use outset::{Interrupt, Options, Result};

use super::options::TalkArguments;
use super::outputs::{Claims, Outputs};
use super::progress::Reporter;
use super::screen::warn;
use super::signals;
use crate::cli::numbers;
pub(crate) use arguments::FilterCommand;
use arguments::{
    AnswerArguments, BuildArguments, InsertArguments, MergeArguments, RemoveArguments,
    StoredArguments, WorkArguments,
};
use overfull::warn_if_overfull;

/// Runs a sub-command.
pub(crate) fn run(command: &FilterCommand, interrupt: &Interrupt) -> Result<()> {
    match command {
        FilterCommand::Build(arguments) => run_build(arguments, interrupt),
        FilterCommand::Query(arguments) => {
            let question = if arguments.invert {
                Question::Absent
            } else {
                Question::Present
            };
            let count_only = arguments.count_only;
            run_query(
                &arguments.stored,
                &arguments.answer,
                question,
                count_only,
                interrupt,
            )
        }
        FilterCommand::Count(arguments) => {
            let question = Question::Counts;
            run_query(
                &arguments.stored,
                &arguments.answer,
                question,
                false,
                interrupt,
            )
        }
        FilterCommand::Insert(arguments) => run_insert(arguments, interrupt),
        FilterCommand::Remove(arguments) => run_remove(arguments, interrupt),
        FilterCommand::Merge(arguments) => run_merge(arguments, interrupt),
        FilterCommand::Info(arguments) => info::run(arguments, interrupt),
    }
}

/// Makes the [`options`] of a command that reads lines for a filter that there is. Rules that the filter keeps for them
/// need not be given again.
fn reading_options(arguments: &StoredArguments, interrupt: &Interrupt) -> (Options, Arc<Reporter>) {
    let (options, reporter) = options(&arguments.work, interrupt);
    let mut options = arguments.reading.add_to(options);
    options.format = arguments.format.format();
    (options, reporter)
}

/// Returns the options of a command, with an observer that shows how it gets on.
fn options(arguments: &WorkArguments, interrupt: &Interrupt) -> (Options, Arc<Reporter>) {
    let reporter = Arc::new(Reporter::new(&arguments.talk));
    let mut options = arguments.machine.options(interrupt);
    options.observer = Some(reporter.clone());
    (options, reporter)
}

fn run_build(arguments: &BuildArguments, interrupt: &Interrupt) -> Result<()> {
    let (options, reporter) = options(&arguments.work, interrupt);
    let mut options = arguments.lines.reading.add_to(options);
    options.format = arguments.lines.format();
    options.hash_key = arguments.lines.hash_key();
    let like = arguments.like.as_deref().map(StoredFilter::open);
    let like = like.transpose()?;
    let read = arguments.files().iter().chain(&arguments.like);
    let mut claims = Claims::reading(read.chain(arguments.lines.key_file()));
    claims.write_filter(&arguments.output, "-o")?;
    let outputs = claims.open(interrupt)?;
    let request = BuildRequest {
        kind: arguments.kind.into(),
        keys: arguments.keys(),
        size: arguments.size(),
        hashes: arguments.hashes,
        like: like.as_ref(),
    };
    let built = build(&arguments.sources(), &request, &options)?;
    reporter.finish();
    let talk = &arguments.work.talk;
    save(
        &built.filter,
        &arguments.output,
        outputs,
        talk,
        &inserted(built.lines),
    )
}

/// Says that so many lines were inserted.
fn inserted(lines: u64) -> String {
    format!("inserted {}", numbers::counted(lines, "line"))
}

/// Writes a filter, puts all outputs in place, warns of a filter that has too much in it, and says what was `done`.
fn save(
    filter: &Filter,
    path: &Path,
    outputs: Outputs,
    talk: &TalkArguments,
    done: &str,
) -> Result<()> {
    outputs.fill_filter(filter)?;
    let occupancy = filter.occupancy();
    outputs.put_in_place()?;
    warn_if_overfull(path, filter.shape(), filter.rules(), &occupancy);
    let planned_keys = filter.rules().planned_keys;
    let planned = filter.shape().predicted_fpr(planned_keys);
    if planned > 0.5 && !occupancy.is_overfull(filter.shape(), planned_keys) {
        warn(&format!(
            "{}: too small for {planned_keys} lines: false-positive rate {}: build a larger one",
            path.display(),
            numbers::rate(planned)
        ));
    }
    if !talk.quiet {
        let (shape, held) = (filter.shape(), numbers::counted(filter.keys(), "line"));
        let held = match shape.kind {
            Kind::Fingerprint => format!("{held} in it"),
            _ => format!("{held} in it, repeats included"),
        };
        warn(&format!(
            "{}: {done}: {} filter of {}, {held}, false-positive rate {}",
            path.display(),
            shape.kind,
            numbers::bytes(shape.bytes()),
            numbers::rate(occupancy.fpr)
        ));
    }
    Ok(())
}

fn run_query(
    arguments: &StoredArguments,
    answer: &AnswerArguments,
    question: Question,
    count_only: bool,
    interrupt: &Interrupt,
) -> Result<()> {
    let (mut options, reporter) = reading_options(arguments, interrupt);
    let (output, talk) = (answer.output.as_deref(), &arguments.work.talk);
    let mut claims = Claims::reading(arguments.files().chain([&arguments.filter]));
    claims.send_result(output, &answer.out_via, talk)?;
    claims.compress(answer.compress.asked(), &mut options)?;
    claims.check_names(false, talk)?;
    signals::watch_mapping(&arguments.filter, interrupt)?;
    let stored = StoredFilter::open(&arguments.filter)?;
    let outputs = claims.open(interrupt)?;
    let result = outputs.require_result()?;
    let (shape, rules, sources) = (stored.shape(), stored.rules(), arguments.sources());
    let ask = |out: &mut (dyn Write + Send)| {
        query(stored, &sources, question, &options, out, result.name())
    };
    let (answers, writer) = if count_only {
        let answers = ask(&mut sink())?;
        let writer = result.number(answers.written)?;
        (answers, writer)
    } else {
        let mut writer = result.writer()?;
        (ask(&mut writer)?, writer)
    };
    reporter.finish();
    result.flush(writer)?;
    outputs.put_in_place()?;
    warn_if_overfull(&arguments.filter, shape, rules, &answers.occupancy);
    Ok(())
}

/// Opens the outputs, and the filter that will be replaced by its changed self.
fn open_to_change(
    path: &Path,
    claims: Claims,
    interrupt: &Interrupt,
) -> Result<(StoredFilter, Outputs)> {
    // A file that is no filter at all is refused before anything is opened for writing.
    StoredFilter::open(path)?;
    let outputs = claims.open(interrupt)?;
    // Nobody replaces it any more: this is the one that is changed.
    Ok((StoredFilter::open(path)?, outputs))
}

fn run_insert(arguments: &InsertArguments, interrupt: &Interrupt) -> Result<()> {
    let asked = &arguments.stored;
    let (mut options, reporter) = reading_options(asked, interrupt);
    let path = &asked.filter;
    let mut claims = Claims::reading(asked.files());
    claims.change_filter(path)?;
    if arguments.print_new {
        claims.write_result(arguments.output.as_deref(), "-o")?;
        claims.compress(arguments.compress.asked(), &mut options)?;
        claims.check_names(false, &asked.work.talk)?;
    }
    let (stored, outputs) = open_to_change(path, claims, interrupt)?;
    let sources = asked.sources();
    let changed = match outputs.result() {
        None => change(&stored, &sources, Change::Insert, &options)?,
        Some(new) => {
            let mut writer = new.writer()?;
            let changed = insert_new(&stored, &sources, &options, &mut writer, new.name())?;
            reporter.finish();
            // Before the filter: where that cannot be written, the lines will be new again.
            new.flush(writer)?;
            changed
        }
    };
    reporter.finish();
    let done = match outputs.result() {
        None => inserted(changed.lines),
        Some(_) => format!("{}, {} of them new", inserted(changed.lines), changed.noted),
    };
    save(&changed.filter, path, outputs, &asked.work.talk, &done)
}

fn run_remove(arguments: &RemoveArguments, interrupt: &Interrupt) -> Result<()> {
    let arguments = &arguments.stored;
    let path = &arguments.filter;
    let (options, reporter) = reading_options(arguments, interrupt);
    let mut claims = Claims::reading(arguments.files());
    claims.change_filter(path)?;
    let (stored, outputs) = open_to_change(path, claims, interrupt)?;
    let changed = change(&stored, &arguments.sources(), Change::Remove, &options)?;
    reporter.finish();
    let removed = changed.lines - changed.noted;
    let done = format!("removed {}", numbers::counted(removed, "line"));
    save(&changed.filter, path, outputs, &arguments.work.talk, &done)?;
    if changed.noted > 0 {
        warn(&format!(
            "{}: skipped {} of {}: certainly not in the filter",
            path.display(),
            numbers::grouped(changed.noted),
            numbers::counted(changed.lines, "line")
        ));
    }
    Ok(())
}

fn run_merge(arguments: &MergeArguments, interrupt: &Interrupt) -> Result<()> {
    let (options, reporter) = options(&arguments.work, interrupt);
    let mut claims = Claims::reading(&arguments.filters);
    claims.write_filter(&arguments.output, "-o")?;
    let outputs = claims.open(interrupt)?;
    let stored = arguments.filters.iter();
    let stored = stored.map(|path| StoredFilter::open(path));
    let stored = stored.collect::<Result<Vec<StoredFilter>>>()?;
    let filter = merge(&stored, &options)?;
    reporter.finish();
    let done = format!("merged {} filters", stored.len());
    save(
        &filter,
        &arguments.output,
        outputs,
        &arguments.work.talk,
        &done,
    )
}
