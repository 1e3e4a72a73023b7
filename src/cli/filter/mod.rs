//! `outset filter`: filters that are kept in files.
//!
//! *Owns:* the sub-commands ([`arguments`]) and what they print. *Invariants:* standard output
//! carries answers and nothing else; what a person should know of a filter goes to standard error.
//! *Cost:* that of [`outset::stored`].

mod arguments;
mod info;

use std::io::{Write, sink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use outset::filter::{Filter, FilterTarget, Occupancy, Rules, Shape, StoredFilter};
use outset::size::display_rate;
use outset::stored::{BuildRequest, Change, Question, build, change, insert_new, merge, query};
use outset::{Interrupt, Options, Result};

use super::files::CommandFiles;
use super::place::ResultPlace;
use super::progress::Reporter;
use super::{signals, warn};
pub(crate) use arguments::FilterCommand;
use arguments::{
    AskArguments, BuildArguments, InsertArguments, MergeArguments, RemoveArguments, WorkArguments,
};

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
            run_query(&arguments.ask, question, arguments.count_only, interrupt)
        }
        FilterCommand::Count(arguments) => {
            run_query(&arguments.ask, Question::Counts, false, interrupt)
        }
        FilterCommand::Insert(arguments) => run_insert(arguments, interrupt),
        FilterCommand::Remove(arguments) => run_remove(arguments, interrupt),
        FilterCommand::Merge(arguments) => run_merge(arguments, interrupt),
        FilterCommand::Info(arguments) => info::run(arguments, interrupt),
    }
}

/// The options of a command, with an observer that shows how it gets on.
fn options(arguments: &WorkArguments, interrupt: &Interrupt) -> (Options, Arc<Reporter>) {
    let reporter = Arc::new(Reporter::new(&arguments.talk));
    let mut options = arguments.machine.options(interrupt);
    options.observer = Some(reporter.clone());
    (options, reporter)
}

fn run_build(arguments: &BuildArguments, interrupt: &Interrupt) -> Result<()> {
    let (mut options, reporter) = options(&arguments.work, interrupt);
    options.format = arguments.lines.format();
    options.hash_key = arguments.lines.hash_key();
    let like = arguments.like.as_deref().map(StoredFilter::open);
    let like = like.transpose()?;
    CommandFiles::reading(arguments.files().iter().chain(arguments.like.as_ref()))
        .write(Some(&arguments.output), "-o")?;
    let target = FilterTarget::open(&arguments.output, interrupt)?;
    let request = BuildRequest {
        kind: arguments.kind.into(),
        keys: arguments.keys(),
        size: arguments.size(),
        hashes: arguments.hashes,
        like: like.as_ref(),
    };
    let built = build(&arguments.sources(), &request, &options)?;
    reporter.finish();
    finish(&built.filter, target)
}

/// Puts a filter in place, and warns of one that has too much in it.
fn finish(filter: &Filter, target: FilterTarget) -> Result<()> {
    let occupancy = filter.occupancy();
    target.write(filter)?;
    let path = target.path().to_owned();
    target.finish()?;
    warn_if_overfull(&path, filter.shape(), filter.rules(), &occupancy);
    let planned = filter.shape().predicted_fpr(filter.rules().planned_keys);
    if planned > 0.5 && !occupancy.is_overfull(filter.shape(), filter.rules().planned_keys) {
        warn(&format!(
            "{}: too small for {} lines: false-positive rate {}: build a larger one",
            path.display(),
            filter.rules().planned_keys,
            display_rate(planned)
        ));
    }
    Ok(())
}

/// Says so if a filter has more lines than it was laid out for, and is wrong more often for it.
fn warn_if_overfull(path: &Path, shape: Shape, rules: Rules, occupancy: &Occupancy) {
    let planned = shape.predicted_fpr(rules.planned_keys.max(1));
    if occupancy.is_overfull(shape, rules.planned_keys) {
        // Without a free cell nothing tells how many.
        let lines = if occupancy.distinct.is_finite() {
            format!("about {:.0}", occupancy.distinct)
        } else {
            "far too many".to_owned()
        };
        let [now, planned] = [occupancy.fpr, planned].map(|rate| display_rate(rate).to_string());
        let wrong = if now == planned {
            format!("false-positive rate {now}")
        } else {
            format!("false-positive rate {now} instead of {planned}")
        };
        warn(&format!(
            "{}: overfull: {} lines in a filter for {}, {wrong}: build a larger one",
            path.display(),
            lines,
            rules.planned_keys,
        ));
    }
}

fn run_query(
    arguments: &AskArguments,
    question: Question,
    count_only: bool,
    interrupt: &Interrupt,
) -> Result<()> {
    let (options, reporter) = options(&arguments.work, interrupt);
    CommandFiles::reading(arguments.files().chain([&arguments.filter]))
        .write(arguments.output.as_deref(), "-o")?;
    signals::watch_mapping(&arguments.filter, interrupt)?;
    let stored = StoredFilter::open(&arguments.filter)?;
    let place = ResultPlace::open(arguments.output.as_deref(), interrupt)?;
    let mut writer = place.writer()?;
    let (shape, rules, sources) = (stored.shape(), stored.rules(), arguments.sources());
    let answers = if count_only {
        let answers = query(
            stored,
            &sources,
            question,
            &options,
            &mut sink(),
            place.name(),
        )?;
        writeln!(writer, "{}", answers.written).map_err(|e| place.error("cannot write", e))?;
        answers
    } else {
        query(
            stored,
            &sources,
            question,
            &options,
            &mut writer,
            place.name(),
        )?
    };
    reporter.finish();
    place.flush(writer)?;
    place.put_in_place()?;
    warn_if_overfull(&arguments.filter, shape, rules, &answers.occupancy);
    Ok(())
}

/// A filter that is to be replaced by what will become of it.
fn open_to_change(path: &Path, interrupt: &Interrupt) -> Result<(StoredFilter, FilterTarget)> {
    // What is no filter at all is refused before anything is opened for writing.
    StoredFilter::open(path)?;
    let target = FilterTarget::open(path, interrupt)?;
    // Nobody replaces it any more: this is the one that is changed.
    Ok((StoredFilter::open(path)?, target))
}

fn run_insert(arguments: &InsertArguments, interrupt: &Interrupt) -> Result<()> {
    let (options, reporter) = options(&arguments.change.work, interrupt);
    let path = &arguments.change.filter;
    let mut files = CommandFiles::reading(arguments.change.files());
    files.write(Some(path), "the changed filter")?;
    if arguments.print_new {
        files.write(arguments.output.as_deref(), "-o")?;
    }
    let (stored, target) = open_to_change(path, interrupt)?;
    let sources = arguments.change.sources();
    if !arguments.print_new {
        let changed = change(&stored, &sources, Change::Insert, &options)?;
        reporter.finish();
        return finish(&changed.filter, target);
    }
    let place = ResultPlace::open(arguments.output.as_deref(), interrupt)?;
    let mut writer = place.writer()?;
    let changed = insert_new(&stored, &sources, &options, &mut writer, place.name())?;
    reporter.finish();
    // The lines first: if the filter cannot be written, they will be new again.
    place.flush(writer)?;
    place.put_in_place()?;
    finish(&changed.filter, target)
}

fn run_remove(arguments: &RemoveArguments, interrupt: &Interrupt) -> Result<()> {
    let arguments = &arguments.change;
    let (options, reporter) = options(&arguments.work, interrupt);
    CommandFiles::reading(arguments.files())
        .write(Some(&arguments.filter), "the changed filter")?;
    let (stored, target) = open_to_change(&arguments.filter, interrupt)?;
    let changed = change(&stored, &arguments.sources(), Change::Remove, &options)?;
    reporter.finish();
    finish(&changed.filter, target)?;
    if changed.noted > 0 {
        warn(&format!(
            "{}: {} of {} lines were certainly not in the filter: they were skipped",
            arguments.filter.display(),
            changed.noted,
            changed.lines
        ));
    }
    Ok(())
}

fn run_merge(arguments: &MergeArguments, interrupt: &Interrupt) -> Result<()> {
    let (options, reporter) = options(&arguments.work, interrupt);
    CommandFiles::reading(&arguments.filters).write(Some(&arguments.output), "-o")?;
    let target = FilterTarget::open(&arguments.output, interrupt)?;
    let stored = arguments
        .filters
        .iter()
        .map(|path| StoredFilter::open(path));
    let stored = stored.collect::<Result<Vec<StoredFilter>>>()?;
    let filter = merge(&stored, &options)?;
    reporter.finish();
    finish(&filter, target)
}

/// The inputs; standard input where none is named.
fn or_stdin(files: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    static STDIN: LazyLock<PathBuf> = LazyLock::new(|| "-".into());
    let stdin = files.is_empty().then(|| &*STDIN);
    files.iter().chain(stdin)
}
