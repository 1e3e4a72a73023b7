//! `outset intersect`, `diff`, `union` and `symdiff`: opens the outputs, runs, puts them in place, reports.

mod arguments;
#[cfg(feature = "parquet")]
mod copy_phase;
mod order;
#[cfg(feature = "parquet")]
mod row_job;
#[cfg(feature = "parquet")]
mod row_numbers;
#[cfg_attr(not(feature = "parquet"), path = "no_rows.rs")]
mod rows;

use std::io;
use std::path::Path;
use std::sync::Arc;

use outset::{
    CountSink, Error, Interrupt, Options, OutputWriter, Rereadable, Result, Sink, Source, Stats,
    WriteSink, select,
};

pub(crate) use self::arguments::{
    DiffArguments, IntersectArguments, RepeatArguments, SelectRequest, SideArguments,
    SymdiffArguments, UnionArguments, WrittenArguments,
};
pub(crate) use self::order::OrderArguments;
use super::options::missing_temp_dirs;
use super::outputs::{Claims, Outputs, ResultFile, is_table};
use super::progress::Reporter;
use super::report::Subject;
use super::screen::warn;
use super::sides::SidesPurpose;
use super::signals;
use super::summary::{label, summary};

/// Runs one of the commands.
pub(crate) fn run(request: SelectRequest<'_>, interrupt: &Interrupt) -> Result<()> {
    let set = request.set;
    if request.duplicates.is_some() && set.order.keeps_none() {
        return Err(Error::usage(
            "--keep none: drops every copy, so -D has no kept line to refer to",
            "leave out -D, or write what comes again with --min-count 2",
        ));
    }
    let reporter = Reporter::new(&set.talk);
    let reporter = Arc::new(reporter.without_notices_if(set.reports_on_stderr()));
    let purpose = SidesPurpose {
        least: match request.filters.and_then(|filters| filters.filter.as_ref()) {
            Some(_) => 1,
            None => request.selection.least_sides(),
        },
        lacks_output: set.output.is_none() && set.out_dir.is_none(),
    };
    let sources = request.inputs.sources_for(purpose)?;
    reporter.announce(request.inputs.names_of_sides(&sources));
    let mut options = request.options(interrupt)?;
    let claims = claim(request, &sources, &mut options)?;
    if let Some(filter) = request.filters.and_then(|filters| filters.filter.as_ref()) {
        signals::watch_mapping(filter, interrupt)?;
    }
    let mut outputs = claims.open(interrupt)?;
    options.observer = Some(outputs.observer(reporter.clone()));
    outputs.note_temp_dirs(&options);
    let mut stats = find(request, &sources, &options, &mut outputs)?;
    reporter.announce(missing_temp_dirs(&options));
    reporter.finish();
    outputs.fill_stats(&stats)?;
    let files = std::mem::take(&mut stats.files);
    outputs.fill_page(&Subject::Run(&stats, &files))?;
    outputs.put_in_place_with_label(|| {
        if let Some(label) = label(&stats) {
            warn(&label);
        }
    })?;
    // Last: a failure is said in one line.
    if !set.talk.quiet && !set.reports_on_stderr() {
        warn(&summary(&stats));
    }
    Ok(())
}

/// Writes the selected lines, or their number, and what they drop, if that is wanted.
fn find(
    request: SelectRequest<'_>,
    sources: &[Source],
    options: &Options,
    outputs: &mut Outputs,
) -> Result<Stats> {
    let terminator = options.format.terminator;
    if let Some(directory) = outputs.directory().take() {
        let directory = directory.terminated_by(terminator);
        let (stats, directory) = if rows::is_of_tables(request, sources, options) {
            rows::find_rows_of_files(request, sources, options, outputs, directory)?
        } else {
            let mut directory = directory;
            let stats = divided(request, sources, options, outputs, &mut directory)?;
            (stats, directory)
        };
        *outputs.directory() = Some(directory);
        return Ok(stats);
    }
    let result = outputs.require_result()?;
    let is_table = request.set.output.as_deref().is_some_and(is_table);
    if is_table && request.set.count_only {
        return Err(Error::usage(
            format!(
                "{}: --count-only cannot write a Parquet file",
                result.name()
            ),
            "leave out --count-only, or give the output another name",
        ));
    }
    if request.set.count_only {
        let stats = select(sources, request.selection, options, &mut CountSink)?;
        result.flush(result.number(stats.output.lines)?)?;
        return Ok(stats);
    }
    if is_table {
        return rows::find_rows(request, sources, options, outputs);
    }
    let mut lines = WriteSink::new(result.writer()?, terminator, result.name()).reread();
    let stats = divided(request, sources, options, outputs, &mut lines)?;
    result.flush(lines.into_inner())?;
    Ok(stats)
}

/// Writes the selected lines to `lines`, and what they drop to its file, if that is wanted.
fn divided<L: Sink>(
    request: SelectRequest<'_>,
    sources: &[Source],
    options: &Options,
    outputs: &Outputs,
    lines: &mut L,
) -> Result<Stats> {
    let terminator = options.format.terminator;
    let open = |file: &ResultFile| Ok(WriteSink::new(file.writer()?, terminator, file.name()));
    let duplicates = outputs.duplicates();
    let mut sink = Divided {
        lines,
        duplicates: duplicates.map(open).transpose()?,
        has_lost_duplicates: false,
    };
    let stats = select(sources, request.selection, options, &mut sink)?;
    if let Some((file, sink)) = duplicates.zip(sink.duplicates) {
        file.flush(sink.into_inner())?;
    }
    Ok(stats)
}

/// Writes the lines of the result to one sink, and what the result drops to a file.
struct Divided<'a, L> {
    lines: &'a mut L,
    duplicates: Option<WriteSink<OutputWriter>>,
    /// True if it was the file that could not be written.
    has_lost_duplicates: bool,
}

impl<L> Divided<'_, L> {
    /// Has `write` write to the file for what the result drops, if there is one.
    fn drop_by(
        &mut self,
        write: impl FnOnce(&mut WriteSink<OutputWriter>) -> io::Result<()>,
    ) -> io::Result<()> {
        let written = self.duplicates.as_mut().map_or(Ok(()), write);
        self.has_lost_duplicates |= written.is_err();
        written
    }
}

impl<L: Sink> Sink for Divided<'_, L> {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.lines.line(line)
    }

    fn long_line(&mut self, label: &[u8], line: &[u8]) -> io::Result<()> {
        self.lines.long_line(label, line)
    }

    fn block(&mut self, block: &[u8], ends: &[usize]) -> io::Result<()> {
        self.lines.block(block, ends)
    }

    fn rows(&mut self, numbers: &mut dyn Iterator<Item = u64>) -> io::Result<()> {
        self.lines.rows(numbers)
    }

    fn header(&mut self, header: &[u8]) -> io::Result<()> {
        self.lines.header(header)
    }

    fn file(&mut self, path: &Path) -> io::Result<()> {
        self.lines.file(path)
    }

    fn divides_by_file(&self) -> bool {
        self.lines.divides_by_file()
    }

    fn duplicates_header(&mut self, header: &[u8]) -> io::Result<()> {
        self.drop_by(|sink| sink.header(header))
    }

    fn duplicate(&mut self, line: &[u8]) -> io::Result<()> {
        self.drop_by(|sink| sink.line(line))
    }

    fn duplicates(&mut self, block: &[u8], ends: &[usize]) -> io::Result<()> {
        self.drop_by(|sink| sink.block(block, ends))
    }

    fn terminator(&self) -> u8 {
        self.lines.terminator()
    }

    fn rereadable(&mut self) -> Option<&mut dyn Rereadable> {
        self.lines.rereadable()
    }

    fn target(&self) -> String {
        match &self.duplicates {
            Some(sink) if self.has_lost_duplicates => sink.target(),
            _ => self.lines.target(),
        }
    }
}

/// Returns the sides whose lines may be written: the first, or all of a union and the like.
fn writing_sides<'s>(request: SelectRequest<'_>, sources: &'s [Source]) -> &'s [Source] {
    let writing = if request.selection.writes_first_alone(sources.len()) {
        1
    } else {
        sources.len()
    };
    &sources[..writing.min(sources.len())]
}

/// Refuses outputs that are inputs, or one another. Leaves memory in `options` for those that are compressed.
fn claim(request: SelectRequest<'_>, sources: &[Source], options: &mut Options) -> Result<Claims> {
    let filters = request.filters;
    let asked = filters.and_then(|filters| filters.filter.as_ref());
    let read = request.inputs.lists().chain(asked);
    let read = read.chain(request.set.run.lines.key_file());
    let mut claims = Claims::reading(read).and_sources(sources);
    let set = request.set;
    match &set.out_dir {
        Some(path) => {
            let writing = writing_sides(request, sources);
            let files = (request.inputs.given(writing), writing);
            claims.send_to_directory(path, &set.out_via, &set.talk, files)?;
        }
        None => claims.send_result(set.output.as_deref(), &set.out_via, &set.talk)?,
    }
    claims.write_duplicates(request.duplicates)?;
    if let Some(filter) = filters.and_then(|filters| filters.save_filter.as_ref()) {
        claims.write(Some(filter), "--save-filter")?;
    }
    claims.write_stats(request.set.stats.as_deref())?;
    claims.write_page(request.set.report.as_deref())?;
    claims.compress(request.set.compress.asked(), options)?;
    claims.check_names(true, &request.set.talk)?;
    Ok(claims)
}
