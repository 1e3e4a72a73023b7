//! Records with keys: random files, runs of the library, and the naive answer.
//!
//! *Owns:* the runs, and what is asked of them. `case` has the files, `judge` the naive answer.
//! *Invariants:* the oracle knows each record from the fields that it was written from; it parses nothing.
//! *Cost:* a few thousand records a case.

#![expect(
    clippy::unwrap_used,
    clippy::match_bool,
    reason = "a case that cannot be written or run is reported with its place"
)]

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use outset::{KeyType, Label, Options, Order, Rereadable, Selection, Strategy};

use self::case::Case;
use crate::choices::Choices;
use crate::counts::Counts;
use crate::filed::Filed;
use crate::resident::OF_COMMAND;

mod case;
mod judge;
mod record;
mod table;
mod writing;

/// Room for two bitmaps of IPv4 addresses, in MiB.
const ROOM_FOR_BITMAPS: u64 = 1200;

/// The request of a run.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    name: &'static str,
    mode: Mode,
    order: Order,
    label: Label,
    /// The numbers of occurrences that the keys may have, and how many lines are wanted.
    counts: Counts,
    /// True if the lines that a union drops are wanted, too.
    drops: bool,
    /// True if it is only wanted where these stand, and those that are kept for them.
    tells_places: bool,
}

/// The form in which the records of the answer are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// All of the first input with a selected key.
    Every,
    /// The first with each selected key.
    First,
    /// The selected keys themselves.
    Keys,
}

impl Wanted {
    /// Something to ask for, and how the library is asked.
    fn random(choices: &mut Choices<'_>, inputs: usize) -> (Self, Selection) {
        // The first input, and every other one.
        let has: Vec<bool> = (0..inputs).map(|number| number % 2 == 0).collect();
        let (name, selection) = choices.pick(&[
            ("intersect", Selection::intersection()),
            ("diff", Selection::difference()),
            ("union", Selection::union()),
            ("symdiff", Selection::symmetric_difference()),
            ("two", Selection::at_least(2)),
            ("every other", Selection::only(&has)),
        ]);
        let mode = choices.pick(&[Mode::Every, Mode::First, Mode::Keys]);
        let mode = match mode {
            Mode::Every if !selection.can_repeat() => Mode::First,
            mode => mode,
        };
        let label = choices.pick(&[
            Label::None,
            Label::None,
            Label::Sides,
            Label::SideCount,
            Label::Count,
        ]);
        let drops = name == "union" && choices.one_in(2);
        let counts = match drops {
            true => Counts::default(),
            false => Counts::random(choices),
        };
        let orders = [
            Order::Any,
            Order::Any,
            Order::Input,
            Order::Sorted,
            Order::Count,
        ];
        let order = match counts.top {
            Some(_) => Order::Count,
            None => choices.pick(&orders),
        };
        let asked = match mode {
            Mode::Every => selection.of_records().with_repeats(),
            Mode::First => selection.of_records(),
            Mode::Keys => selection,
        };
        let asked = counts.add_to(asked.labelled(label)).ordered(order);
        let tells_places = drops && mode != Mode::Every && choices.one_in(2);
        let asked = match drops {
            true if tells_places => asked.with_duplicate_places(),
            true => asked.with_duplicates(),
            false => asked,
        };
        let wanted = Self {
            name,
            mode,
            order,
            label,
            counts,
            drops,
            tells_places,
        };
        (wanted, asked)
    }

    /// The first record of each key, or each key: what a file can have in the place of a set.
    fn first_of_each(choices: &mut Choices<'_>) -> (Self, Selection) {
        let wanted = Self {
            name: "union",
            mode: choices.pick(&[Mode::First, Mode::First, Mode::Keys]),
            order: choices.pick(&[Order::Any, Order::Input]),
            label: Label::None,
            counts: Counts::default(),
            drops: false,
            tells_places: false,
        };
        let selection = Selection::union().ordered(wanted.order);
        let asked = match wanted.mode {
            Mode::Keys => selection,
            _ => selection.of_records(),
        };
        (wanted, asked)
    }

    /// Tells whether records are written that must be read once more, so that they cannot be answered in memory.
    fn reads_records_again(&self) -> bool {
        let is_counted =
            self.label == Label::Count || self.order == Order::Count || !self.counts.is_any();
        self.mode == Mode::First || self.tells_places || (self.mode == Mode::Every && is_counted)
    }
}

/// Makes a case, and compares a few runs with the naive answer. `directory` is for its files, and empty.
///
/// # Panics
/// Where a run says something else.
pub fn check(choices: &mut Choices<'_>, directory: &Path) {
    let case = Case::random(choices);
    let mut places = Vec::new();
    let sources = case.write(choices, directory, &mut places);
    for _ in 0..4 {
        let is_filed = choices.one_in(2);
        let (wanted, asked) = match is_filed && choices.one_in(2) {
            true => Wanted::first_of_each(choices),
            false => Wanted::random(choices, case.inputs.len()),
        };
        let options = options(choices, &case, directory);
        let filed = is_filed.then(|| Filed::create(&directory.join("answer")).unwrap());
        let mut found = Answer {
            filed,
            ..Answer::default()
        };
        let result = outset::select(&sources, asked, &options, &mut found);
        case.judge(result, found, wanted, (&options, &places));
    }
}

/// Draws the options of a run.
fn options(choices: &mut Choices<'_>, case: &Case, directory: &Path) -> Options {
    let (key_type, memory) = match case.is_ipv4 {
        true if choices.one_in(2) => (KeyType::Ipv4, ROOM_FOR_BITMAPS),
        true => (KeyType::Ipv4, choices.between(24, 80)),
        false => (KeyType::Bytes, choices.between(24, 80)),
    };
    Options {
        memory_bytes: Some(memory << 20),
        resident_bytes: Some(OF_COMMAND),
        strategy: choices.pick(&[
            None,
            Some(Strategy::Partition),
            Some(Strategy::Sieve),
            Some(Strategy::Memory),
        ]),
        buckets: choices.pick(&[None, Some(1), Some(7), Some(100)]),
        temp_dirs: vec![directory.to_owned()],
        threads: Some(choices.pick(&[1, 2, 4])),
        keys: Some(case.keys.clone()),
        key_type,
        always_spill: choices.one_in(2),
        ..Options::default()
    }
}

/// The output of a run.
#[derive(Debug, Default)]
struct Answer {
    header: Option<Vec<u8>>,
    lines: Vec<Vec<u8>>,
    dropped_header: Option<Vec<u8>>,
    dropped: Vec<Vec<u8>>,
    /// The file in which the run may read it.
    filed: Option<Filed>,
}

impl Rereadable for Answer {
    fn file(&mut self) -> io::Result<Arc<File>> {
        self.filed
            .as_ref()
            .map(Filed::file)
            .ok_or_else(|| io::Error::other("no file"))
    }

    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn empty(&mut self) -> io::Result<()> {
        self.header = None;
        self.lines.clear();
        self.filed.as_mut().map_or(Ok(()), Filed::empty)
    }
}

impl outset::Sink for Answer {
    fn duplicate(&mut self, line: &[u8]) -> io::Result<()> {
        self.dropped.push(line.to_vec());
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.lines.push(line.to_vec());
        self.filed.as_mut().map_or(Ok(()), |filed| filed.push(line))
    }

    fn header(&mut self, header: &[u8]) -> io::Result<()> {
        assert!(self.lines.is_empty() && self.header.is_none());
        self.header = Some(header.to_vec());
        self.filed
            .as_mut()
            .map_or(Ok(()), |filed| filed.push(header))
    }

    fn rereadable(&mut self) -> Option<&mut dyn Rereadable> {
        self.filed.is_some().then_some(self)
    }

    fn duplicates_header(&mut self, header: &[u8]) -> io::Result<()> {
        assert!(self.dropped.is_empty() && self.dropped_header.is_none());
        self.dropped_header = Some(header.to_vec());
        Ok(())
    }
}
