//! `outset shard`, `join` and `finish`: the steps of a job on several machines.
//!
//! *Owns:* opening their outputs, running them, and what they print. *Invariants:* a shard file, a result and a report
//! are complete or not there. *Cost:* that of [`outset::cluster`].

mod arguments;

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use outset::cluster::{LineFrames, finish, join, shard};
use outset::{Error, Interrupt, Options, Result, WriteSink};

pub(crate) use self::arguments::{FinishArguments, JoinArguments, ShardArguments};
use super::numbers;
use super::outputs::Claims;
use super::print::json;
use super::screen::warn;
use super::signals;

/// Runs `outset shard`.
pub(crate) fn run_shard(arguments: &ShardArguments, interrupt: &Interrupt) -> Result<()> {
    let work = &arguments.work;
    let reporter = work.reporter();
    let mut claims = Claims::reading(arguments.files());
    claims.write_result(arguments.output.as_deref(), "-o")?;
    claims.write_stats(work.stats.as_deref())?;
    if let Some(filter) = &arguments.filter {
        signals::watch_mapping(filter, interrupt)?;
    }
    let outputs = claims.open(interrupt)?;
    let result = outputs.require_result()?;
    let mut options = arguments.options(interrupt);
    options.observer = Some(reporter.clone());
    let mut writer = result.writer()?;
    let out = (&mut writer as _, result.name());
    let stats = shard(&arguments.source(), &arguments.request(), &options, out)?;
    reporter.finish();
    result.flush(writer)?;
    outputs.fill_stats(&stats)?;
    outputs.put_in_place()?;
    if work.tells_summary() {
        warn(&format!(
            "read {} ({}), sent {} in {} ({}) · peak memory {} · {:.1} s",
            numbers::counted(stats.input.lines, "line"),
            numbers::bytes(stats.input.bytes),
            numbers::grouped(stats.sent.lines),
            numbers::counted(stats.frames, "frame"),
            numbers::bytes(stats.stream_bytes),
            numbers::peak_and_limit(&stats.memory),
            stats.seconds
        ));
    }
    Ok(())
}

/// Runs `outset join`.
pub(crate) fn run_join(arguments: &JoinArguments, interrupt: &Interrupt) -> Result<()> {
    let work = &arguments.work;
    let request = arguments.request()?;
    let reporter = work.reporter();
    let files = arguments.files()?;
    let mut claims = Claims::reading(files.iter().chain(arguments.list()));
    claims.write_result(arguments.output.as_deref(), "-o")?;
    claims.write_stats(work.stats.as_deref())?;
    let mut options = arguments.options(interrupt);
    claims.compress(None, &mut options)?;
    claims.check_names(false, &work.talk)?;
    let outputs = claims.open(interrupt)?;
    let result = outputs.require_result()?;
    options.observer = Some(reporter.clone());
    let (mut writer, terminator) = (result.writer()?, options.format.terminator);
    let is_file = arguments.output.as_ref();
    let is_file = is_file.is_some_and(|path| path.as_os_str() != "-");
    let shards = arguments.shards(files)?;
    let stats = if is_file {
        let mut sink = WriteSink::new(&mut writer, terminator, result.name());
        join(&request, shards, &options, &mut sink)?
    } else {
        let mut sink = LineFrames::new(&mut writer, terminator, result.name());
        let stats = join(&request, shards, &options, &mut sink)?;
        sink.finish().map_err(|error| result.error(error))?;
        stats
    };
    reporter.finish();
    result.flush(writer)?;
    outputs.fill_stats(&stats)?;
    outputs.put_in_place()?;
    if work.tells_summary() {
        let lines: u64 = stats.sides.iter().map(|side| side.lines).sum();
        warn(&format!(
            "wrote {}, from {} received · temporary disk {} · peak memory {} · {:.1} s",
            numbers::counted(stats.output.lines, "line"),
            numbers::grouped(lines),
            numbers::bytes(stats.temp.peak_bytes),
            numbers::peak_and_limit(&stats.memory),
            stats.seconds
        ));
    }
    Ok(())
}

/// Runs `outset finish`.
pub(crate) fn run_finish(arguments: &FinishArguments, interrupt: &Interrupt) -> Result<()> {
    let mut claims = Claims::reading(&arguments.reports);
    claims.write_result(arguments.output.as_deref(), "-o")?;
    claims.compress(None, &mut Options::default())?;
    // The reports are opened one by one as they are read: there may be thousands.
    let failed = std::cell::Cell::new(None);
    let open = |path: &PathBuf| match File::open(path) {
        Ok(file) => Some((path.display().to_string(), BufReader::new(file))),
        Err(source) => {
            failed.set(Some(Error::Input {
                path: path.clone(),
                source,
                advice: "check the name",
            }));
            None
        }
    };
    let reports = arguments.reports.iter().map_while(open);
    let finished = finish(reports, arguments.shards);
    if let Some(error) = failed.take() {
        return Err(error);
    }
    let text = json(&finished?)?;
    let outputs = claims.open(interrupt)?;
    let result = outputs.require_result()?;
    let writer = result.text(&text)?;
    result.flush(writer)?;
    outputs.put_in_place()
}
