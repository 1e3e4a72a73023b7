//! The command line.
//!
//! *Owns:* the arguments and their translation into options. *Invariant:* an argument that is not
//! given leaves the workload's own option as it is.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use data_gen::bucket::OneBucket;
use data_gen::error::{Error, Result};
use data_gen::key::Key;
use data_gen::options::{Crlf, Form, Length, Order, Terminator};
use data_gen::{Amount, Format, Operation, Options, Question, Share, Target, Workload};
use outset::size::{parse_bytes, parse_count};

const EXAMPLES: &str = "\
Examples:
  data-gen --dir d --lines 20M --fixed 64             two files of 1.28 GB, a tenth in common
  data-gen --dir d --workload lopsided --lines 1M,5e9 a small file against a huge one
  data-gen --dir d --workload zipf --zipf 1.5         repeats by a steeper law
  data-gen check --manifest d/manifest.json --result out.txt
  data-gen check --manifest d/manifest.json --operation diff --repeats --result out.txt

Counts are written 20M or 5e9, sizes 64K or 1MiB (powers of 1024), shares 10% or 0.1.
Exit status: 0 done (or the result is right), 1 a file failed (or the result is wrong), 2 wrong options.";

/// Writes files of lines, and a manifest with the exact answer of every operation of outset on them: the
/// number of lines and a checksum.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) generate: Generate,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare a result of outset with a manifest: number, size and checksums of the lines, in any order.
    Check(Check),
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The manifest of the files that the result is of.
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: PathBuf,
    /// The lines that outset wrote, or the table of overlaps; - for standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) result: PathBuf,
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// One carriage return at the end of a line does not count.
    #[arg(long)]
    pub(crate) strip_cr: bool,
    /// Accept lines that are not selected, as an approximate result holds. No selected line may be missing
    /// or there too often, and every line must be in some file.
    #[arg(long)]
    pub(crate) superset: bool,
    /// What ends a line of the result.
    #[arg(long, value_enum, default_value = "lf")]
    pub(crate) terminator: Terminator,
}

/// What outset was asked for.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    /// The command of outset.
    #[arg(long, value_enum, default_value = "intersect")]
    operation: Operation,
    /// Repeats were counted as in multisets.
    #[arg(long, conflicts_with = "repeats")]
    all: bool,
    /// Each line was written as often as the first file has it.
    #[arg(long)]
    repeats: bool,
    /// Lines of this many files or more.
    #[arg(long, value_name = "K")]
    at_least: Option<usize>,
    /// Lines of this many files or fewer.
    #[arg(long, value_name = "K")]
    at_most: Option<usize>,
    /// Lines of exactly this many files.
    #[arg(long, value_name = "K", conflicts_with_all = ["at_least", "at_most"])]
    exactly: Option<usize>,
}

impl Asked {
    /// Returns these options as a question.
    pub(crate) fn question(&self) -> Question {
        Question {
            operation: self.operation,
            all: self.all,
            repeats: self.repeats,
            at_least: self.at_least.or(self.exactly),
            at_most: self.at_most.or(self.exactly),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// Print the workloads, each with what it attacks.
    #[arg(long)]
    pub(crate) list: bool,
    /// The directory to write to: a.txt, b.txt and so on, and manifest.json.
    #[arg(long, required_unless_present = "list")]
    dir: Option<PathBuf>,
    /// Stands before the names of the files: NAME-a.txt.
    #[arg(long, default_value = "")]
    name: String,
    /// Compress the files, or put the lines in records. The manifest is that of the lines.
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// Threads that make lines; all processors if not given. The bytes do not depend on it.
    #[arg(long)]
    threads: Option<usize>,
    /// The workload, see --list; everything below changes it.
    #[arg(long, value_enum, default_value = "urls", hide_possible_values = true)]
    workload: Workload,
    /// Another seed gives other lines and the same counts.
    #[arg(long)]
    seed: Option<u64>,
    /// Lines of each file, or of one file after the other: 1000,20M.
    #[arg(long, value_delimiter = ',', value_parser = parse_count, value_name = "COUNT")]
    lines: Vec<u64>,
    /// The number of files.
    #[arg(long, value_name = "COUNT")]
    files: Option<usize>,
    #[command(flatten)]
    repeats: Repeats,
    #[command(flatten)]
    text: Text,
}

/// How often lines occur.
#[derive(Debug, Args)]
struct Repeats {
    /// Distinct lines that every file has: a count, or a share of those of the smallest file.
    #[arg(long, value_name = "AMOUNT")]
    common: Option<Amount>,
    /// With three files or more: distinct lines that all files but one have.
    #[arg(long, value_name = "SHARE")]
    partial: Option<Share>,
    /// Lines that repeat another line of the file.
    #[arg(long, value_name = "SHARE")]
    duplicates: Option<Share>,
    /// Choose the repeated lines by Zipf's law with this exponent.
    #[arg(long, value_name = "EXPONENT")]
    zipf: Option<f64>,
    /// Lines that are one and the same line; it is in common if any line is.
    #[arg(long, value_name = "SHARE")]
    hot: Option<Share>,
    /// The hot line of each file is a line that only this file has.
    #[arg(long)]
    hot_private: bool,
    /// Lines that are empty.
    #[arg(long, value_name = "SHARE")]
    empty_lines: Option<Share>,
    /// The order of the lines.
    #[arg(long, value_enum)]
    order: Option<Order>,
}

/// What lines look like.
#[derive(Debug, Args)]
struct Text {
    /// What a line looks like.
    #[arg(long, value_enum)]
    form: Option<Form>,
    /// Length of every line in bytes, without its terminator.
    #[arg(long, value_parser = parse_bytes, value_name = "BYTES", conflicts_with = "fixed")]
    length: Option<u64>,
    /// Length of every line in bytes, with its terminator of one byte (a CR adds one more): --fixed 64 is
    /// --length 63, and 20 million lines are 1.28 GB.
    #[arg(long, value_parser = parse_bytes, value_name = "BYTES")]
    fixed: Option<u64>,
    /// Distinct lines that are long, from 4 KiB.
    #[arg(long, value_name = "SHARE")]
    long: Option<Share>,
    /// The length of the longest line, where there are long ones.
    #[arg(long, value_parser = parse_bytes, value_name = "BYTES")]
    longest: Option<u64>,
    /// Length of a prefix that all lines share, 64 bytes or more.
    #[arg(long, value_parser = parse_bytes, value_name = "BYTES")]
    prefix: Option<u64>,
    /// The files with CR LF: none, all, or the letter of one.
    #[arg(long, value_name = "FILES")]
    crlf: Option<Crlf>,
    /// Leave out the terminator of the last line of each file.
    #[arg(long)]
    no_final_newline: bool,
    /// What ends a line.
    #[arg(long, value_enum)]
    terminator: Option<Terminator>,
    /// Make all lines fall into bucket 0 under this key: 64 hexadecimal digits.
    #[arg(long, value_name = "HEX")]
    hash_key: Option<Key>,
    /// The number of buckets that bucket 0 is one of.
    #[arg(long, value_name = "COUNT")]
    buckets: Option<u32>,
}

impl Generate {
    /// Returns the place to write to.
    pub(crate) fn target(&self) -> Target {
        let mut target = Target::new(self.dir.clone().unwrap_or_default());
        target.format = self.format;
        target.name.clone_from(&self.name);
        target.threads = self.threads.unwrap_or(target.threads);
        target
    }

    /// The workload's options with the given ones changed.
    pub(crate) fn options(&self) -> Result<Options> {
        let mut options = Options::of(self.workload);
        set(&mut options.seed, self.seed);
        options.lines = self.lines_of_files(&options.lines)?;
        self.repeats.change(&mut options);
        self.text.change(&mut options)?;
        Ok(options)
    }

    fn lines_of_files(&self, preset: &[u64]) -> Result<Vec<u64>> {
        let lines = if self.lines.is_empty() {
            preset
        } else {
            &self.lines
        };
        let files = match (self.files, &self.lines[..]) {
            (Some(files), _) => files,
            (None, [_]) => preset.len(),
            (None, _) => lines.len(),
        };
        match lines {
            [all] => Ok(vec![*all; files]),
            [first, ..] if self.lines.is_empty() && files != lines.len() => Ok(vec![*first; files]),
            each if each.len() == files => Ok(each.to_vec()),
            each => Err(Error::Usage {
                option: "--lines",
                problem: format!("{} counts for {files} files", each.len()),
                advice: "give one count for all files, or one for each",
            }),
        }
    }
}

impl Repeats {
    fn change(&self, options: &mut Options) {
        set(&mut options.common, self.common);
        set(&mut options.partial, self.partial);
        set(&mut options.duplicates, self.duplicates);
        options.zipf = self.zipf.or(options.zipf);
        set(&mut options.hot, self.hot);
        options.hot_private |= self.hot_private;
        set(&mut options.empty_lines, self.empty_lines);
        set(&mut options.order, self.order);
    }
}

impl Text {
    fn change(&self, options: &mut Options) -> Result<()> {
        set(&mut options.form, self.form);
        set(&mut options.length, self.exact_length()?.map(Length::Exact));
        set(&mut options.long, self.long);
        set(&mut options.longest, self.longest);
        set(&mut options.prefix, self.prefix);
        set(&mut options.crlf, self.crlf);
        options.final_newline &= !self.no_final_newline;
        set(&mut options.terminator, self.terminator);
        if self.hash_key.is_some() || self.buckets.is_some() {
            let mut bucket: OneBucket = options.bucket.unwrap_or_default();
            set(&mut bucket.key, self.hash_key);
            set(&mut bucket.buckets, self.buckets);
            options.bucket = Some(bucket);
        }
        Ok(())
    }

    fn exact_length(&self) -> Result<Option<u64>> {
        match self.fixed {
            None => Ok(self.length),
            Some(0) => Err(Error::Usage {
                option: "--fixed",
                problem: "no room for the terminator".to_owned(),
                advice: "use 64, for example",
            }),
            Some(bytes) => Ok(Some(bytes - 1)),
        }
    }
}

fn set<T>(option: &mut T, given: Option<T>) {
    if let Some(value) = given {
        *option = value;
    }
}
