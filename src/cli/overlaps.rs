//! `outset overlaps`: how many distinct lines each combination of files has.
//!
//! *Owns:* the arguments, and the table as text and as JSON. *Invariants:* combinations without lines are not
//! listed; the numbers add up to all distinct lines.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use outset::{Interrupt, Options, Overlaps, Result, Source, overlaps};

use super::arguments::{ChoiceArguments, EXIT_STATUS, ForceArguments, RunArguments};
use super::numbers::aligned;
use super::options::TalkArguments;
use super::outputs::Claims;
use super::print::{json, print};
use super::progress::Reporter;
use super::summary::summary;
use super::text::visible;
use super::warn;

/// Count the distinct lines in each combination of FILEs.
///
/// Prints a row for each combination that has lines: which FILEs have them, the number of lines, and the
/// names of these FILEs. 101 means that the first and the third FILE have the lines, and no other. The
/// numbers can be drawn as a Venn diagram or an `UpSet` plot. Takes at most 16 FILEs; one given twice counts
/// as two.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct OverlapsArguments {
    #[command(flatten)]
    choice: ChoiceArguments,

    #[command(flatten)]
    run: RunArguments,

    #[command(flatten)]
    force: ForceArguments,

    /// One or more files; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Print the table and the statistics of the run as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    talk: TalkArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &OverlapsArguments, interrupt: &Interrupt) -> Result<()> {
    Claims::reading(&arguments.files).write(None, "the table")?;
    let reporter = Arc::new(Reporter::new(&arguments.talk));
    let options = arguments.run.options(None, interrupt);
    let options = Options {
        observer: Some(reporter.clone()),
        ..arguments.force.add_to(arguments.choice.add_to(options))
    };
    let sources: Vec<Source> = arguments.files.iter().map(Source::from).collect();
    let found = overlaps(&sources, &options)?;
    reporter.finish();
    let text = if arguments.json {
        json(&found)?
    } else {
        describe(&found)
    };
    print(&text)?;
    if !arguments.talk.quiet {
        warn(&summary(&found.stats));
    }
    Ok(())
}

/// The table for people.
fn describe(found: &Overlaps) -> String {
    let numbers = found.combinations.iter().map(|combination| {
        let which = combination.which.clone();
        [which, combination.lines.to_string()]
    });
    let head = ["which".to_owned(), "lines".to_owned()];
    let table: Vec<[String; 2]> = [head].into_iter().chain(numbers).collect();
    let names = found.combinations.iter().map(|combination| {
        let inputs = found.inputs.iter().zip(combination.which.chars());
        let names = inputs.filter(|&(_, digit)| digit == '1');
        let names: Vec<String> = names.map(|(name, _)| visible(name)).collect();
        names.join(" ")
    });
    let names = ["files".to_owned()].into_iter().chain(names);
    let rows = aligned(&table).into_iter().zip(names);
    let rows: Vec<String> = rows.map(|(row, names)| format!("{row}  {names}")).collect();
    rows.join("\n")
}
