//! The arguments that name sides, as the parser knows them.
//!
//! *Owns:* their definitions, help texts and order. *Invariants:* a side stands where its first word does on the
//! command line. This is what the derived parser cannot say: it keeps no order between arguments.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use outset::Result;

use super::via::{CommandWords, parse_via_of};
use super::{InputArguments, Side};
use crate::cli::help::INPUTS;
use crate::cli::options::MachineArguments;
use crate::cli::texts::long;

/// The id of the arguments that are a side each; commands say in its help what theirs are.
pub(crate) const FILES: &str = "files";
const SIDE: &str = "side";
const FILES_FROM: &str = "files_from";
const NULL: &str = "null";
const VIA: &str = "via";
const VIA_OF: &str = "via_of";
/// All of them.
pub(crate) const SIDES: [&str; 6] = [FILES, SIDE, FILES_FROM, NULL, VIA, VIA_OF];

const SIDE_HELP: &str = "\
A PATH is a file, a directory (all files below it, in the order of their names) or a quoted pattern such as \
'crawl-2026-11/part-*'. In a pattern, * ? and [...] match within a name; a PATH that exists is never a pattern.

Directories and patterns leave out names that begin with . or _, such as _SUCCESS, as Spark and Hive do. A pattern that \
itself begins with . or _ matches them.

The files are read as if they were concatenated, but a line never continues into the next file. They must be \
regular files; a side with a single PATH may also be a FIFO.

Every word up to the next option is a PATH: give FILEs first, or after `--`. Sides are \
numbered in the order of the command line. Wherever another option says file, read side.";

const FILES_FROM_HELP: &str = "\
A name is taken as it is, not as a pattern, and is relative to the current directory. Empty lines are ignored. Repeat \
the option for further sides.";

const VIA_HELP: &str = "\
COMMAND is split into words as a shell splits them, but no shell runs: for a pipeline write --via 'sh -c \"...\"'. It \
runs once for each PATH of a FILE, --side or --files-from, which takes the place of {} in its words; without {}, PATH is \
one more word. Directories and patterns are not looked up, and `-` is still standard input. Compressed output is decoded.

A command that ends with a status other than 0, or by a signal, fails the run: a download that breaks off is never \
taken for a whole file. The error has the command's last words; -v shows all that it says. Commands start when their \
turn comes, one at a time for each side, and are stopped with the run. What a strategy reads twice is copied to \
temporary disk. If a first plan turns out not to fit, the commands run again.

--via 'aws s3 cp {} -'   --via 'ssh host cat'   --via 'psql -Atc {}'";

const VIA_OF_HELP: &str = "\
Sides are numbered from 1. --via-of 2=none reads side 2 as files, whatever --via says.";

impl Args for InputArguments {
    fn augment_args(command: Command) -> Command {
        command.args([files(), side(), files_from(), null(), via(), via_of()])
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Makes an argument with paths as values, in all its occurrences together.
fn paths(id: &'static str, name: &'static str) -> Arg {
    Arg::new(id)
        .value_name(name)
        .action(ArgAction::Append)
        .value_parser(value_parser!(PathBuf))
}

fn files() -> Arg {
    paths(FILES, "FILE")
        // Below the usage, where the parser lists what has no name, whatever group stands before it.
        .help_heading(None::<&str>)
        .num_args(1..)
        .required_unless_present_any([SIDE, FILES_FROM])
        .help("A file that is one side; `-` is standard input")
}

fn side() -> Arg {
    let help = "Read all files of these PATHs as one side; repeat the option for further sides";
    paths(SIDE, "PATH")
        .help_heading(INPUTS)
        .long("side")
        .num_args(1..)
        .help(help)
        .long_help(long(help, SIDE_HELP))
}

fn files_from() -> Arg {
    let help = "Read all files that LIST names, one per line, as one side; `-` is standard input";
    paths(FILES_FROM, "LIST")
        .help_heading(INPUTS)
        .long("files-from")
        .help(help)
        .long_help(long(help, FILES_FROM_HELP))
}

fn null() -> Arg {
    Arg::new(NULL)
        .help_heading(INPUTS)
        .short('0')
        .long("null")
        .action(ArgAction::SetTrue)
        .requires(FILES_FROM)
        .help("Names in the LISTs of --files-from end in NUL, as `find -print0` writes them")
}

fn via() -> Arg {
    let help = "Read what COMMAND writes for each PATH, which takes the place of {} in it";
    Arg::new(VIA)
        .help_heading(INPUTS)
        .long("via")
        .value_name("COMMAND")
        .value_parser(CommandWords::parse)
        .help(help)
        .long_help(long(help, VIA_HELP))
}

fn via_of() -> Arg {
    let help = "Read side N through a COMMAND of its own, or as files with `none`; repeat for further sides";
    Arg::new(VIA_OF)
        .help_heading(INPUTS)
        .long("via-of")
        .value_name("N=COMMAND")
        .action(ArgAction::Append)
        .value_parser(parse_via_of)
        .help(help)
        .long_help(long(help, VIA_OF_HELP))
}

/// Yields the words of an argument with their positions on the command line.
fn positioned<'m>(
    matches: &'m ArgMatches,
    id: &str,
) -> impl Iterator<Item = (usize, PathBuf)> + use<'m> {
    let positions = matches.indices_of(id).into_iter().flatten();
    let words = matches.get_many::<PathBuf>(id).into_iter().flatten();
    positions.zip(words.cloned())
}

impl FromArgMatches for InputArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let files = positioned(matches, FILES).map(|(position, file)| (position, Side::File(file)));
        let lists =
            positioned(matches, FILES_FROM).map(|(position, list)| (position, Side::List(list)));
        let mut sides: Vec<(usize, Side)> = files.chain(lists).collect();
        let mut words = positioned(matches, SIDE);
        for side in matches
            .get_occurrences::<PathBuf>(SIDE)
            .into_iter()
            .flatten()
        {
            let (positions, paths): (Vec<usize>, _) = words.by_ref().take(side.count()).unzip();
            sides.push((positions.first().copied().unwrap_or(0), Side::Paths(paths)));
        }
        sides.sort_by_key(|&(position, _)| position);
        Ok(Self {
            sides: sides.into_iter().map(|(_, side)| side).collect(),
            null: matches.get_flag(NULL),
            via: matches.get_one::<CommandWords>(VIA).cloned(),
            via_of: matches
                .get_many(VIA_OF)
                .into_iter()
                .flatten()
                .cloned()
                .collect(),
            // Not every command says more with -v.
            is_verbose: matches.try_get_one("verbose").ok().flatten() == Some(&true),
            // Options of the same command, which has them beside its sides.
            machine: MachineArguments::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
