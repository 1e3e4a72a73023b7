//! A case through the engine, once per setting.
//!
//! *Owns:* the options of a setting, and collecting what a run gives. *Invariants:* the memory that a setting gives
//! comes on top of what the process has; a refusal for lack of memory is tried again with what its message advises, and
//! then with twice that. *Cost:* that of the runs; the result twice.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use outset::compare::{Mistake, compare};
use outset::{
    Error, ErrorKind, Files, KeyType, Options, Producer, Selection, Source, intersect, pairs,
    select,
};

use crate::case::{Case, Setting, Way};
use crate::resident;
use crate::sandbox::{Contents, Fifo, Sandbox};
use crate::stored;
use crate::wrong::{Wrong, WrongKind};

/// A run that is refused so often is a failure.
const REFUSALS: usize = 8;
/// No case needs more, in bytes.
const MOST_MEMORY: u64 = 6 << 30;

/// The surroundings of runs of cases.
#[derive(Debug)]
pub struct Runner<'p> {
    /// The directory of the files.
    pub sandbox: &'p Sandbox,
    /// True if the memory of the process is compared with the limit.
    pub measures_memory: bool,
}

/// The outcome of a run.
#[derive(Debug)]
pub enum Outcome {
    /// An answer.
    Answer(Answer),
    /// An error that it must not end with, or a panic.
    Failure(Wrong),
}

/// A complete answer.
#[derive(Debug)]
pub struct Answer {
    /// Its lines, in any order.
    pub lines: Collected,
    /// True if it says that it is exact.
    pub is_exact: bool,
    /// Lines and bytes that its statistics claim.
    pub claimed: (u64, u64),
    /// The false-positive rate that follows from the filter's fill, 0..1.
    pub fill_fpr: Option<f64>,
    /// For `compare`: the lines of both results and what is missing.
    pub compared: Option<Compared>,
    /// The resident peak, and what was allowed, in bytes; where it could be measured.
    pub memory: Option<(u64, u64)>,
    /// The messages of refusals for lack of memory before it.
    pub refusals: Vec<String>,
}

impl Answer {
    /// Lines, and nothing that was measured.
    pub fn bare(lines: Collected, is_exact: bool, claimed: (u64, u64)) -> Self {
        Self {
            lines,
            is_exact,
            claimed,
            fill_fpr: None,
            compared: None,
            memory: None,
            refusals: Vec::new(),
        }
    }
}

/// The counts of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Compared {
    /// Lines of the exact result.
    pub exact: u64,
    /// Lines of the approximate one.
    pub approximate: u64,
    /// Lines of the exact one that the approximate one has not.
    pub missing: u64,
    /// Lines of the approximate one that the exact one has not.
    pub extra: u64,
}

/// Lines, one behind the other: few allocations, which would count against the limit of a run.
#[derive(Debug, Default)]
pub struct Collected {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Collected {
    /// Room for a result, touched: it is there before the run.
    fn with_room(bytes: usize, lines: usize) -> Self {
        let mut room = Self {
            bytes: vec![1; bytes],
            ends: vec![1; lines],
        };
        room.clear();
        room
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// These lines.
    pub fn of<'l>(lines: impl IntoIterator<Item = &'l [u8]>) -> Self {
        let mut collected = Self::default();
        lines.into_iter().for_each(|line| collected.push(line));
        collected
    }

    /// Returns the number of lines.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    fn push(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.ends.push(self.bytes.len());
    }

    /// The lines in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .map(|(&start, &end)| &self.bytes[start..end])
    }
}

impl Runner<'_> {
    /// Runs one setting over the inputs of the case.
    ///
    /// # Errors
    /// Where the files of the case cannot be made; nothing that the engine does.
    pub fn run(&self, case: &Case, contents: &Contents, setting: &Setting) -> io::Result<Outcome> {
        // A union of all repeats has every line of every input.
        let lines = case.inputs.iter().map(|input| input.lines.len()).sum();
        let bytes = contents.iter().map(Vec::len).sum();
        let mut collected = Collected::with_room(bytes, lines);
        let mut memory_bytes = setting.memory_bytes;
        let mut refusals = Vec::new();
        while refusals.len() < REFUSALS {
            collected.clear();
            let fifos = self.write_inputs(case, contents)?;
            // Now: what a FIFO gives is in memory until it was read.
            let resident = resident::now();
            let options = options(case, setting, self.sandbox, (memory_bytes, resident));
            let sources = sources(case, setting, self.sandbox)?;
            let attempt = self.attempt(&sources, setting, &options, &mut collected);
            drop(fifos);
            let mut answer = match attempt {
                Ok(answer) => answer,
                Err(Failure::Refused(least, what)) if memory_bytes < MOST_MEMORY => {
                    let advised = least.saturating_sub(resident);
                    // The advice first; where that is refused, too, so much that it ends. What builds a filter and then
                    // asks it is refused twice, each time with advice of its own.
                    memory_bytes = match refusals.len() {
                        0 if advised > memory_bytes => advised,
                        _ => advised.max(2 * memory_bytes),
                    };
                    refusals.push(what);
                    continue;
                }
                Err(failure) => return Ok(Outcome::Failure(failure.wrong())),
            };
            answer.lines = collected;
            answer.refusals = refusals;
            return Ok(Outcome::Answer(answer));
        }
        let what =
            format!("{REFUSALS} times, at last with less than {memory_bytes} bytes of memory");
        Ok(Outcome::Failure(Wrong::new(WrongKind::Refused, what)))
    }

    fn write_inputs(&self, case: &Case, contents: &Contents) -> io::Result<Vec<Fifo>> {
        let mut fifos = Vec::new();
        let stored = case.inputs.iter().zip(contents.iter());
        let stored = stored.map(|(input, content)| input.stored(content));
        let stored = Contents::new(stored.collect::<io::Result<_>>()?);
        self.sandbox.write_plain(&contents[0])?;
        for (number, input) in case.inputs.iter().enumerate() {
            if input.is_fifo {
                fifos.push(self.sandbox.fifo(number, &stored)?);
            } else {
                self.sandbox.write(number, &stored[number])?;
            }
            if input.is_split() {
                self.sandbox.write_parts(number, input, case.terminator)?;
            }
        }
        Ok(fifos)
    }

    fn attempt(
        &self,
        sources: &[Source],
        setting: &Setting,
        options: &Options,
        collected: &mut Collected,
    ) -> Result<Answer, Failure> {
        let is_one_run = !matches!(setting.way, Way::Compare(_) | Way::Changed { .. });
        let is_measured = self.measures_memory && is_one_run && resident::restart_peak();
        let run = || answer(setting, sources, options, self.sandbox, collected);
        let mut answer = catch_unwind(AssertUnwindSafe(run))
            .map_err(|_| Failure::Panic)?
            .map_err(|error| match error.kind() {
                ErrorKind::Memory => Failure::Refused(advised_bytes(&error), error.to_string()),
                _ => Failure::Other(error),
            })?;
        if is_measured {
            answer.memory = options.memory_bytes.map(|limit| (resident::peak(), limit));
        }
        Ok(answer)
    }
}

/// Why there is no answer.
enum Failure {
    /// Not enough memory; this would do.
    Refused(u64, String),
    Other(Error),
    Panic,
}

impl Failure {
    fn wrong(self) -> Wrong {
        match self {
            Self::Refused(_, what) => Wrong::new(WrongKind::Refused, what),
            Self::Other(error) => {
                Wrong::new(WrongKind::Error, format!("{:?}: {error}", error.kind()))
            }
            Self::Panic => Wrong::new(WrongKind::Panic, "see above".to_owned()),
        }
    }
}

/// The names of the inputs in the setting's order; the first input's second name is made here.
pub fn names(case: &Case, setting: &Setting, sandbox: &Sandbox) -> io::Result<Vec<PathBuf>> {
    let inputs = 0..case.inputs.len();
    let mut names: Vec<PathBuf> = inputs.map(|number| sandbox.input(number)).collect();
    if let Some(alias) = case.again {
        names.push(sandbox.alias(alias)?);
    }
    if setting.is_reversed {
        names.reverse();
    }
    Ok(names)
}

/// The sides in the setting's order: the inputs by their names, or by those of the files that they are split into. The
/// second name of the first input is that of all of it.
pub fn sources(case: &Case, setting: &Setting, sandbox: &Sandbox) -> io::Result<Vec<Source>> {
    let numbers = numbers(case, setting);
    let names = names(case, setting, sandbox)?;
    let source = |(number, name): (usize, PathBuf)| {
        let input = &case.inputs[number];
        let files = (0..input.parts).map(|part| sandbox.part(number, part));
        match input.is_split() && name == sandbox.input(number) {
            true if input.is_command => Source::from(Producer::new(name, ["cat"], files)),
            true => Source::from(Files::new(name, files)),
            false if input.is_command => Source::from(Producer::new(name.clone(), ["cat"], [name])),
            false => Source::from(name),
        }
    };
    Ok(numbers.into_iter().zip(names).map(source).collect())
}

/// The numbers of the inputs in the order in which they are named.
pub fn numbers(case: &Case, setting: &Setting) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..case.inputs.len()).collect();
    numbers.extend(case.again.map(|_| 0));
    if setting.is_reversed {
        numbers.reverse();
    }
    numbers
}

/// The options of a run that has `memory_bytes` in addition to what is resident before it.
fn options(
    case: &Case,
    setting: &Setting,
    sandbox: &Sandbox,
    (memory_bytes, resident): (u64, u64),
) -> Options {
    Options {
        memory_bytes: Some(memory_bytes + resident),
        resident_bytes: Some(resident),
        strategy: setting.strategy,
        max_fpr: setting.max_fpr,
        buckets: setting.buckets,
        bits_per_key: setting.bits_per_key,
        temp_dirs: vec![sandbox.temp()],
        threads: Some(setting.threads),
        format: case.format(),
        key_type: if case.is_ipv4 {
            KeyType::Ipv4
        } else {
            KeyType::Bytes
        },
        hash_key: setting.hash.key(),
        always_spill: setting.always_spill,
        ..Options::default()
    }
}

fn answer(
    setting: &Setting,
    sources: &[Source],
    options: &Options,
    sandbox: &Sandbox,
    collected: &mut Collected,
) -> outset::Result<Answer> {
    let mut sink = |line: &[u8]| {
        collected.push(line);
        Ok(())
    };
    let mut compared = None;
    let stats = match setting.way {
        Way::Intersect => intersect(sources, options, &mut sink)?,
        Way::Select(wanted) => select(sources, wanted.selection(), options, &mut sink)?,
        Way::Pairs => {
            let found = pairs(sources, options)?;
            let all = 0..sources.len();
            for (one, other) in all
                .clone()
                .flat_map(|one| all.clone().map(move |other| (one, other)))
            {
                let common = found.common_lines(one, other);
                let _infallible = sink(pair_as_line(one, other, common).as_bytes());
            }
            found.stats
        }
        Way::Stored { kind, fpr } => {
            stored::through_a_file(sandbox, sources, (kind, fpr), options, &mut sink)?
        }
        Way::Compare(mistake) => {
            let selection = match mistake {
                Mistake::FalseLines => Selection::intersection(),
                Mistake::MissingLines => Selection::difference(),
                Mistake::LostLines => Selection::union(),
            };
            let found = compare(sources, selection, options, &mut sink)?;
            compared = Some(Compared {
                exact: found.exact.stats.output.lines,
                approximate: found.approximate.stats.output.lines,
                missing: found.missing_lines,
                extra: found.false_lines,
            });
            found.approximate.stats
        }
        Way::Changed { kind } => {
            stored::forgotten(sandbox, kind, options, &mut sink)?;
            return Ok(Answer::bare(Collected::default(), true, (0, 0)));
        }
    };
    let claimed = (stats.output.lines, stats.output.bytes);
    Ok(Answer {
        fill_fpr: stats.filter.map(|filter| filter.fill_fpr),
        compared,
        ..Answer::bare(Collected::default(), stats.exact, claimed)
    })
}

/// Writes the lines that two inputs have in common as a line of an answer.
pub(crate) fn pair_as_line(one: usize, other: usize, common: u64) -> String {
    format!("{one} {other} {common}")
}

/// The limit that a refusal advises, in bytes; 0 where it advises none.
fn advised_bytes(error: &Error) -> u64 {
    match error {
        Error::Memory { least_bytes, .. }
        | Error::MemoryPlan { least_bytes, .. }
        | Error::LineTooLong { least_bytes, .. } => *least_bytes,
        _ => 0,
    }
}

/// The contents of a case, to be shared.
pub fn contents(case: &Case) -> Contents {
    Arc::new(case.contents())
}
