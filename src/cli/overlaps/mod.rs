//! `outset overlaps`: how many distinct lines each combination of files has, or each two of them.
//!
//! *Owns:* the table as text and as JSON, and which table it is. *Invariants:* combinations without lines are not
//! listed; their own lines add up to all distinct lines.

mod arguments;
mod pairs;

use std::io::{self, Write};
use std::sync::Arc;

use outset::{Combination, Interrupt, Options, Overlaps, Pairs, Result, Source, Stats, overlaps};
use serde::Serialize;

pub(crate) use self::arguments::OverlapsArguments;
use super::escaping::visible;
use super::options::missing_temp_dirs;
use super::outputs::Claims;
use super::progress::Reporter;
use super::report::Subject;
use super::screen::warn;
use super::sides::SidesPurpose;
use super::summary::summary;

/// Runs the command.
pub(crate) fn run(arguments: &OverlapsArguments, interrupt: &Interrupt) -> Result<()> {
    let purpose = SidesPurpose {
        least: 1,
        lacks_output: arguments.output.is_none(),
    };
    let sources = arguments.inputs.sources_for(purpose)?;
    let key_file = arguments.run.lines.key_file();
    let mut claims =
        Claims::reading(arguments.inputs.lists().chain(key_file)).and_sources(&sources);
    let (output, out_via) = (arguments.output.as_deref(), &arguments.out_via);
    claims.send_result(output, out_via, &arguments.talk)?;
    claims.write_page(arguments.report.as_deref())?;
    let mut options = arguments.run.options(out_via.local(output), interrupt);
    options.labels = arguments.labels.labels(&arguments.inputs)?;
    let mut options = arguments.force.add_to(arguments.choice.add_to(options));
    claims.compress(arguments.compress.asked(), &mut options)?;
    claims.check_names(false, &arguments.talk)?;
    let mut outputs = claims.open(interrupt)?;
    let reporter = Arc::new(Reporter::new(&arguments.talk));
    reporter.announce(arguments.inputs.names_of_sides(&sources));
    options.observer = Some(outputs.observer(reporter.clone()));
    outputs.note_temp_dirs(&options);
    let found = Table::count(&sources, arguments.pairs, &options)?;
    reporter.announce(missing_temp_dirs(&options));
    reporter.finish();
    let filled = outputs.fill_page(&match &found {
        Table::Combinations(found) => Subject::Overlaps(found),
        Table::Pairs(found) => Subject::Pairs(found),
    });
    // The table is there whatever becomes of the page.
    let result = outputs.require_result()?;
    let written = result.written(|out| {
        if arguments.json {
            serde_json::to_writer_pretty(&mut *out, &found)?;
            writeln!(out)
        } else {
            found.describe(out)
        }
    })?;
    result.flush(written)?;
    filled?;
    outputs.put_in_place()?;
    if !arguments.talk.quiet {
        warn(&summary(found.stats()));
    }
    Ok(())
}

/// The numbers that were counted.
#[derive(Serialize)]
#[serde(untagged)]
enum Table {
    Combinations(Overlaps),
    Pairs(Pairs),
}

impl Table {
    /// Counts combinations, or pairs where these are wanted or there are too many sides for anything else.
    fn count(sources: &[Source], is_of_pairs: bool, options: &Options) -> Result<Self> {
        if is_of_pairs || sources.len() > Overlaps::MOST_INPUTS {
            outset::pairs(sources, options).map(Self::Pairs)
        } else {
            overlaps(sources, options).map(Self::Combinations)
        }
    }

    fn stats(&self) -> &Stats {
        match self {
            Self::Combinations(found) => &found.stats,
            Self::Pairs(found) => &found.stats,
        }
    }

    /// Writes the table for people.
    fn describe(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Combinations(found) => describe(found, out),
            Self::Pairs(found) => pairs::describe(found, out),
        }
    }
}

/// Writes the table of combinations for people, row by row: it may have 65,535 of them.
fn describe(found: &Overlaps, out: &mut dyn Write) -> io::Result<()> {
    let digits = |title: &str, number: fn(&Combination) -> u64| {
        let largest = found.combinations.iter().map(number).max().unwrap_or(0);
        largest.to_string().len().max(title.len())
    };
    let (own, all) = (
        digits("lines", |combination| combination.lines),
        digits("common", |combination| combination.common_lines),
    );
    let width = found.inputs.len().max("which".len());
    let (which, lines, common) = ("which", "lines", "common");
    writeln!(out, "{which:<width$}  {lines:>own$}  {common:>all$}  files")?;
    for combination in &found.combinations {
        let which = combination.which();
        let (lines, common) = (combination.lines, combination.common_lines);
        write!(out, "{which:<width$}  {lines:>own$}  {common:>all$} ")?;
        let labels = found.labels.iter().enumerate();
        for (_, name) in labels.filter(|&(input, _)| combination.has(input)) {
            write!(out, " {}", visible(name))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
