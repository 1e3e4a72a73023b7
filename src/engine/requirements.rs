//! The requirements of an answer that only open inputs show.
//!
//! *Owns:* the header of an answer, whether it may be read where it is written, and the refusal of one that these
//! inputs cannot have: fields that differ, lines without a file, rows without a number. *Invariants:* nothing was
//! written yet. *Cost:* a look at each input.

use crate::error::{Error, Result};
use crate::input::Input;
use crate::input::parts::Parts;
use crate::options::Options;
use crate::plan::Strategy;
use crate::selection::{Rule, Selection};
use crate::sys::machine;

/// The rule and the settings that inputs are held against.
pub(super) struct Requirements<'a> {
    pub(super) selection: Selection,
    pub(super) rule: &'a Rule,
    pub(super) options: &'a Options,
    /// True if the sink is told of the files that the lines come from.
    pub(super) is_divided: bool,
}

impl Requirements<'_> {
    /// Finds the header of the lines of the answer, if the inputs have any: that of the first input whose records, or
    /// keys, may be in it.
    ///
    /// # Errors
    /// [`Error::Usage`] where inputs whose records are written have different fields.
    pub(super) fn header(&self, inputs: &[Input]) -> Result<Option<Vec<u8>>> {
        let rule = self.rule;
        let of_records = rule.keeps_records_of(1);
        let is_source = |number: u32| {
            if of_records {
                rule.keeps_records_of(number)
            } else {
                // Keys that every input, or the first alone, must have are called as the first calls them.
                number == 1 || !self.selection.can_repeat()
            }
        };
        let is_written = |input: &&Input| {
            let mut sides = input.sides().iter();
            sides.any(|&number| is_source(number) && rule.may_be_of(number))
        };
        let inputs = inputs.iter().filter(is_written);
        let mut with_header = inputs.filter_map(|input| {
            let keying = input.keying()?;
            Some((input, keying, keying.header(of_records)?))
        });
        let Some((first, keying, header)) = with_header.next() else {
            return Ok(None);
        };
        let other = with_header.find(|(_, other, _)| other.names() != keying.names());
        if let Some((other, ..)) = other.filter(|_| of_records) {
            return Err(Error::usage(
                format!(
                    "{}: its header differs from that of {}",
                    other.name().display(),
                    first.name().display()
                ),
                "leave out `of_records`, or give both files the same columns in the same order",
            ));
        }
        Ok(Some(header))
    }

    /// Checks that an answer has files to be divided by, if it is divided by files.
    ///
    /// # Errors
    /// [`Error::Usage`] where the answer is not in their order, has labels, or comes from something else.
    pub(super) fn check_division(&self, inputs: &[Input]) -> Result<()> {
        if !self.is_divided {
            return Ok(());
        }
        let rule = self.rule;
        let refuse = |what: String, advice| Err(Error::usage(what, advice));
        if !rule.writes_lines_as_they_stand() {
            return refuse(
                "`divides_by_file`: the lines of a file are written as they stand there".into(),
                "choose `Order::Input`, and leave out labels and `with_all`",
            );
        }
        let written = inputs.iter().filter(|input| self.keeps_ordinals(input));
        for input in written.filter(|input| input.commands().is_none()) {
            let name = input.name().display();
            let Some(parts) = input.parts() else {
                return refuse(
                    format!(
                        "{name}: is not a file, so that `divides_by_file` has no name for its lines"
                    ),
                    "copy it to a file first, or name the command that writes it (`Producer`)",
                );
            };
            if parts.has_tables() && !self.options.numbers_rows() {
                return refuse(
                    format!("{name}: is Parquet, and cannot be written beside other files"),
                    "give either Parquet files or others",
                );
            }
        }
        Ok(())
    }

    /// Checks that rows whose places are told have numbers.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub(super) fn check_places(&self, inputs: &[Input]) -> Result<()> {
        if !self.selection.tells_places() {
            return Ok(());
        }
        let lacks_numbers =
            |input: &&Input| !(self.options.numbers_rows() && self.keeps_records(input));
        let is_table = |input: &&Input| input.parts().is_some_and(Parts::has_tables);
        if let Some(input) = inputs.iter().filter(is_table).find(lacks_numbers) {
            return Err(Error::usage(
                format!(
                    "{}: `with_duplicate_places` tells the rows of Parquet files by their numbers",
                    input.name().display()
                ),
                "write the rows with `divides_by_file`, or those of one file with `row_numbers`",
            ));
        }
        Ok(())
    }

    /// Returns the strategy that was `asked` for. Where none was, outputs of commands whose lines must be numbered, or
    /// told apart by their outputs, get one that copies none of them: their data set may be larger than the disk.
    pub(super) fn strategy_for_outputs(
        &self,
        inputs: &[Input],
        asked: Option<Strategy>,
    ) -> Option<Strategy> {
        let is_told_apart = |input: &Input| {
            (self.selection.tells_places() && input.is_joined())
                || (self.is_divided && input.commands().is_some() && self.keeps_ordinals(input))
        };
        let one_pass = || {
            let is_any = inputs.iter().any(is_told_apart);
            is_any.then_some(Strategy::Partition)
        };
        asked.or_else(one_pass)
    }

    /// Returns true if the places of its lines matter to the answer.
    fn keeps_ordinals(&self, input: &Input) -> bool {
        let mut numbers = input.sides().iter();
        numbers.any(|&number| self.rule.keeps_ordinals_of(number))
    }

    /// Checks that row numbers, where these are the answer, tell rows: all are of one file, or the answer is divided by
    /// files.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub(super) fn check_row_numbers(&self, inputs: &[Input]) -> Result<()> {
        if !self.options.numbers_rows() {
            return Ok(());
        }
        let (rule, is_divided) = (self.rule, self.is_divided);
        let sides = inputs.iter().flat_map(Input::sides);
        let writes_others = sides
            .filter(|&&side| side > 1)
            .any(|&side| rule.keeps_records_of(side));
        if !rule.keeps_records_of(1) || (writes_others && !is_divided) {
            return Err(Error::usage(
                "`row_numbers`: this command also writes records that are not in the first file, and those have no row \
                 number",
                "use diff, or intersect without `at_least`, `at_most`, `exactly` or `only`",
            ));
        }
        let most = if is_divided { usize::MAX } else { 1 };
        let lacks_rows = |input: &&Input| {
            let may_be_empty = is_divided && has_no_bytes(input);
            self.keeps_records(input) && !may_be_empty && !(1..=most).contains(&input.tables())
        };
        let Some(input) = inputs.iter().find(lacks_rows) else {
            return Ok(());
        };
        let name = input.name().display();
        Err(if is_divided {
            Error::usage(
                format!(
                    "{name}: {}",
                    match input.tables() {
                        0 => "is not a Parquet file, but the output is",
                        _ => "not all of its files are Parquet files, but the output is",
                    }
                ),
                "give Parquet files alone",
            )
        } else {
            Error::usage(
                format!("{name}: the first input must be a single Parquet file for `row_numbers`"),
                "leave out `row_numbers`, or put a Parquet file first",
            )
        })
    }

    /// Returns true if records of an input may be written.
    fn keeps_records(&self, input: &Input) -> bool {
        let mut sides = input.sides().iter();
        sides.any(|&side| self.rule.keeps_records_of(side))
    }
}

/// Returns true if all files of an input are empty.
fn has_no_bytes(input: &Input) -> bool {
    input.parts().is_some_and(|parts| parts.bytes() == 0)
}

/// Returns the most bytes of an answer that is read where it is written, if it can be: half of what memory the process
/// could use, so that other programs keep as much of the page cache. Where records are written, the keys of all inputs
/// must be in the same columns: then one that was written is read as any other.
pub(super) fn rereadable_bytes(can_be_reread: bool, selection: Selection, inputs: &[Input]) -> u64 {
    let mut columns = inputs
        .iter()
        .map(|input| Some(input.keying()?.same_columns()?.as_texts()));
    let first = columns.next().flatten();
    let have_same = first.is_some() && columns.all(|other| other == first);
    if can_be_reread && (have_same || !selection.records) {
        machine::default_memory_bytes()
    } else {
        0
    }
}
