//! The arguments that make lines records with keys.
//!
//! *Owns:* their definitions, and the translation to [`Keys`]. *Invariants:* without any of them a line is its own key.

use clap::{ArgGroup, Args, ValueEnum};
use outset::{BadRecords, Dialect, Field, Keys, Options, Selection, Syntax};

use super::help::{RECORDS, RESULT};

/// The key of each line.
#[derive(Debug, Args)]
#[command(
    next_help_heading = RECORDS,
    group = ArgGroup::new("fields").multiple(true),
    group = ArgGroup::new("delimited").multiple(true),
    group = ArgGroup::new("changed").multiple(true),
    group = ArgGroup::new("keyed").multiple(true),
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct KeyArguments {
    /// Use this field of each line as its key, instead of the whole line
    ///
    /// FIELD is a number (the first field is 1) or a name, which is looked up in the header of each file. Write a name
    /// that looks like a number as name:2021, and put a name with a comma in double quotes: -k '"last, first"'.
    /// --ignore-case, --trim and --squeeze also apply to names in headers.
    ///
    /// With --jsonl, FIELD is a name: `a.b` is the field called a.b or, if there is none, field b of object a; `a\.b`
    /// is only the field called a.b. In a Parquet file, FIELD is a column. If one input is Parquet, lines of text files
    /// are compared whole, unless --csv, --tsv, --jsonl or --delimiter says what their fields are.
    ///
    /// Keys are compared byte by byte, without the quotes around them. With several fields, all must be equal.
    #[arg(short, long, groups = ["fields", "delimited", "changed", "keyed"], value_name = "FIELD[,FIELD...]", value_parser = parse_fields)]
    key: Vec<FieldList>,

    /// Key fields of the first file, if they differ from --key
    #[arg(short = '1', groups = ["fields", "delimited", "changed", "keyed"], value_name = "FIELD[,FIELD...]", value_parser = parse_fields)]
    first_key: Vec<FieldList>,

    /// Key fields of the second file, if they differ from --key
    #[arg(short = '2', groups = ["fields", "delimited", "changed", "keyed"], value_name = "FIELD[,FIELD...]", value_parser = parse_fields)]
    second_key: Vec<FieldList>,

    /// Key fields of file number N, if they differ from --key; may be repeated
    #[arg(long, groups = ["fields", "delimited", "changed", "keyed"], value_name = "N=FIELD[,FIELD...]", value_parser = parse_key_of)]
    key_of: Vec<(u32, FieldList)>,

    /// Fields are separated by the character C, and quotes have no special meaning (except with --csv); \t is a tab
    #[arg(short, long, requires = "delimited", value_name = "C", value_parser = parse_delimiter)]
    delimiter: Option<u8>,

    /// Fields are separated by tabs, and quotes have no special meaning
    #[arg(long, requires = "fields", conflicts_with_all = ["delimiter", "csv", "jsonl"])]
    tsv: bool,

    /// Lines are records of comma-separated values
    ///
    /// As in RFC 4180, a field in double quotes may contain commas, line ends and doubled quotes. In a field that does
    /// not begin with a quote, quotes are text. With --delimiter, C takes the place of the comma. A CR before the line
    /// end is not part of the last field.
    #[arg(long, groups = ["delimited", "keyed"])]
    csv: bool,

    /// In CSV, take the character after C as text, as in the files that MySQL writes with \
    #[arg(long, requires = "csv", conflicts_with_all = ["tsv", "jsonl"], value_name = "C", value_parser = parse_character)]
    escape: Option<u8>,

    /// Skip lines that begin with the character C, also before a header
    ///
    /// They are in no result; statistics count them as `passed_over`. With --key, blank lines are skipped even without
    /// this option.
    #[arg(long, group = "keyed", value_name = "C", value_parser = parse_character)]
    comment: Option<u8>,

    /// Each line is a JSON object
    ///
    /// A key is compared as text: a string with its escapes decoded, a number as it is written.
    #[arg(long, requires = "fields", conflicts_with_all = ["delimiter", "csv", "header"])]
    jsonl: bool,

    /// The first line of each file names its fields
    ///
    /// That line is not compared. The result begins with the header of the first file, even if no line follows. Without
    /// this option, a file has a header if its key is a name, and none if its key is a number.
    #[arg(short = 'H', long, group = "keyed")]
    header: bool,

    /// Say for file number N alone whether its first line names its fields; may be repeated
    #[arg(long, group = "keyed", value_name = "N=yes|no", value_parser = parse_header_of)]
    header_of: Vec<(u32, bool)>,

    /// Ignore the case of ASCII letters when comparing; lines are written unchanged
    #[arg(short, long, groups = ["changed", "keyed"])]
    ignore_case: bool,

    /// Ignore spaces and tabs at both ends of each field when comparing; lines are written unchanged
    #[arg(long, groups = ["changed", "keyed"])]
    trim: bool,

    /// Count each run of spaces and tabs as one space when comparing; lines are written unchanged
    ///
    /// At both ends of a field one space stays, unless --trim is given, too. Line ends within a field are compared as
    /// they are.
    #[arg(long, groups = ["changed", "keyed"])]
    squeeze: bool,

    /// Fail on lines whose key cannot be read, or skip them
    ///
    /// These are lines with too few fields, with text after a closing quote, or that are not JSON objects.
    #[arg(long, requires = "keyed", value_name = "WHAT", default_value = "fail")]
    bad_records: BadRecordsName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BadRecordsName {
    /// End with status 3 and name the file and the line
    Fail,
    /// Leave such lines out, and print how many there were
    Skip,
}

impl KeyArguments {
    /// Returns the keys of lines; `None` if lines are their own keys.
    pub(crate) fn keys(&self) -> Option<Keys> {
        // The definitions see to it that no other option stands alone.
        let has_headers = self.header || !self.header_of.is_empty();
        let has_format = self.csv || self.comment.is_some();
        if !(has_headers || has_format || self.skips_bad() || self.has_records()) {
            return None;
        }
        let mut fields_of = self.key_of.clone();
        for (number, lists) in [(1, &self.first_key), (2, &self.second_key)] {
            if !lists.is_empty() {
                fields_of.push((number, lists.concat()));
            }
        }
        let syntax = self.syntax();
        let has_columns = matches!(syntax, Syntax::Csv(_) | Syntax::Delimited(_));
        let has_names = |fields: &[Field]| {
            let mut fields = fields.iter();
            has_columns && fields.any(|field| matches!(field, Field::Name(_)))
        };
        let fields = self.key.concat();
        let mut headers_of = self.header_of.clone();
        for (number, fields) in &fields_of {
            if !self.header_of.iter().any(|(other, _)| other == number) {
                headers_of.push((*number, self.header || has_names(fields)));
            }
        }
        Some(Keys {
            syntax,
            has_header: self.header || has_names(&fields),
            headers_of,
            fields,
            ignores_case: self.ignore_case,
            trims: self.trim,
            squeezes: self.squeeze,
            comment: self.comment,
            bad_records: match self.bad_records {
                BadRecordsName::Fail => BadRecords::Fail,
                BadRecordsName::Skip => BadRecords::Skip,
            },
            fields_of,
            // Options of the commands that write records.
            row_numbers: false,
            ranking: None,
        })
    }

    fn skips_bad(&self) -> bool {
        self.bad_records == BadRecordsName::Skip
    }

    fn syntax(&self) -> Syntax {
        if self.csv {
            return Syntax::Csv(Dialect {
                delimiter: self.delimiter.unwrap_or(b','),
                escape: self.escape,
            });
        }
        if self.jsonl {
            return Syntax::JsonLines;
        }
        let tab = self.tsv.then_some(b'\t');
        tab.or(self.delimiter)
            .map_or(Syntax::Whole, Syntax::Delimited)
    }

    fn has_fields(&self) -> bool {
        !(self.key.is_empty()
            && self.first_key.is_empty()
            && self.second_key.is_empty()
            && self.key_of.is_empty())
    }

    /// Tells whether a line is more than its key.
    fn has_records(&self) -> bool {
        self.has_fields() || self.ignore_case || self.trim || self.squeeze
    }
}

/// The choice of the lines with a selected key that are written.
#[derive(Debug, Args)]
#[command(next_help_heading = RESULT)]
pub(crate) struct RecordArguments {
    /// Write only the first line for each key (with --key, --ignore-case, --trim or --squeeze)
    ///
    /// Without this option, intersect and diff write every line of the first file whose key is in the result.
    #[arg(long, requires = "changed", conflicts_with = "all")]
    distinct: bool,

    /// Write each key instead of the lines that have it (with --key, --ignore-case, --trim or --squeeze)
    ///
    /// Without this option, intersect and diff write every line of the first file whose key is in the result; union,
    /// symdiff, and intersect with --at-least, --at-most, --exactly or --only write the first line with each key.
    #[arg(long, requires = "changed", conflicts_with = "distinct")]
    keys_only: bool,

    /// Write row numbers instead of keys: of the rows of the first file (Parquet) whose key is in the result
    ///
    /// The first row is number 0. With --order input, the numbers ascend. Only for diff, for union of one file, and for
    /// intersect without --at-least, --at-most, --exactly and --only.
    #[arg(long, requires = "fields", conflicts_with = "keys_only")]
    rows: bool,
}

impl RecordArguments {
    /// Returns the options with these arguments.
    pub(crate) fn add_to_options(&self, mut options: Options) -> Options {
        if let Some(keys) = &mut options.keys {
            keys.row_numbers = self.rows;
        }
        options
    }

    /// Tells whether nothing is asked for.
    pub(crate) fn asks_nothing(&self) -> bool {
        !(self.distinct || self.keys_only || self.rows)
    }

    /// Tells whether keys are written instead of records.
    #[cfg(feature = "parquet")]
    pub(crate) fn writes_keys(&self) -> bool {
        self.keys_only
    }

    /// Returns the selection, of records if lines are more than their keys. Of multisets (`is_multiset`) there are no
    /// records: the library refuses them.
    pub(crate) fn add_to(
        &self,
        selection: Selection,
        keys: &KeyArguments,
        is_multiset: bool,
    ) -> Selection {
        if self.keys_only || !keys.has_records() {
            return selection;
        }
        if selection.can_repeat() && !self.distinct && !is_multiset {
            selection.of_records().with_repeats()
        } else {
            selection.of_records()
        }
    }
}

/// Fields as they are listed on the command line.
type FieldList = Vec<Field>;

fn parse_fields(text: &str) -> Result<FieldList, String> {
    Field::list(text)
}

fn parse_key_of(text: &str) -> Result<(u32, FieldList), String> {
    let (number, fields) = parse_of(text, "FIELD")?;
    Ok((number, Field::list(fields)?))
}

fn parse_header_of(text: &str) -> Result<(u32, bool), String> {
    match parse_of(text, "yes or N=no")? {
        (number, "yes") => Ok((number, true)),
        (number, "no") => Ok((number, false)),
        _ => Err("give N=yes or N=no".into()),
    }
}

/// Splits off the number of a file; returns it and the text after the equals sign.
fn parse_of<'t>(text: &'t str, what: &str) -> Result<(u32, &'t str), String> {
    let (number, rest) = text
        .split_once('=')
        .ok_or_else(|| format!("give N={what}"))?;
    match number.parse() {
        Ok(number) if number > 0 => Ok((number, rest)),
        _ => Err("files are numbered from 1".into()),
    }
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        b"tab" => Err("give \\t for a tab, or --tsv".into()),
        _ => parse_character(text),
    }
}

fn parse_character(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [b'"' | b'\n' | b'\r'] => Err("this character has another meaning".into()),
        [byte] => Ok(*byte),
        _ => Err("give one character of one byte".into()),
    }
}
