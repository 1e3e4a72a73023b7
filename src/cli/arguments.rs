//! The words that can be typed, and their meaning.
//!
//! *Owns:* the commands, and those that print files for a system to install. Each other command has its options and
//! help texts in a file of its own; options of several commands are in [`options`](super::options) and
//! [`run_options`](super::run_options). *Invariants:* a flag exists only if it works; every default is named in the
//! help.

use std::sync::LazyLock;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Parser, Subcommand};
use clap_complete::Shell;

use super::cluster::{FinishArguments, JoinArguments, ShardArguments};
use super::compare::CompareArguments;
use super::estimate::EstimateArguments;
use super::exit::EXIT_STATUS;
use super::filter::FilterCommand;
use super::overlaps::OverlapsArguments;
use super::plan::PlanArguments;
use super::select::{DiffArguments, IntersectArguments, SymdiffArguments, UnionArguments};
use super::size::SizeArguments;

/// Set operations on huge files of lines, under a hard memory limit.
///
/// Lines are compared byte by byte: no locale, no trimming. Each line of a result is written once (see --repeats and
/// --all), in no particular order (see --order). The memory limit decides
/// which strategy runs; `outset plan` shows that choice and its cost beforehand.
#[derive(Debug, Parser)]
#[command(
    name = "outset",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    // In scripts, the last of two wins: what a user adds to a command overrides it.
    args_override_self = true
)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    // Each has its help text where its arguments are: a text here would replace the long one.
    Intersect(IntersectArguments),
    Diff(DiffArguments),
    Union(UnionArguments),
    Symdiff(SymdiffArguments),
    Overlaps(OverlapsArguments),
    Plan(PlanArguments),
    Compare(CompareArguments),
    Estimate(EstimateArguments),
    Shard(ShardArguments),
    Join(JoinArguments),
    Finish(FinishArguments),
    #[command(subcommand)]
    Filter(FilterCommand),
    Size(SizeArguments),
    Completions(CompletionArguments),
    Man(ManArguments),
}

/// Print a shell completion script for commands and options.
///
/// For bash: outset completions bash > ~/.local/share/bash-completion/completions/outset
#[derive(Debug, Args)]
pub(crate) struct CompletionArguments {
    /// Shell to complete in
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Print the manual page of outset or of one command, as troff source.
///
/// To read one: outset man filter build | man -l -
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Command, such as intersect or filter build [default: outset itself]
    #[arg(value_name = "COMMAND", hide_possible_values = true, value_parser = CommandName)]
    pub(crate) command: Vec<String>,
}

/// Takes any word, so that a wrong one is refused in the words of this command; shells complete the names of commands.
#[derive(Debug, Clone, Copy)]
struct CommandName;

impl TypedValueParser for CommandName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> std::result::Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = NAMES.iter().map(String::as_str);
        Some(Box::new(names.map(PossibleValue::new)))
    }
}

/// The names of all commands, and of those below them.
static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let outset = Command::augment_subcommands(clap::Command::new("outset"));
    let all = outset.get_subcommands();
    let names = all.flat_map(|command| std::iter::once(command).chain(command.get_subcommands()));
    names.map(|command| command.get_name().to_owned()).collect()
});

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use outset::Interrupt;

    #[test]
    fn the_definitions_are_consistent_and_every_option_has_a_help_text() {
        Cli::command().debug_assert();
        for command in Cli::command().get_subcommands() {
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    command.get_name(),
                    argument.get_id()
                );
            }
        }
    }

    #[test]
    fn aliases_of_memory_are_one_option() {
        for flag in ["-m", "-S", "--memory", "--memory-limit", "--buffer-size"] {
            let cli = Cli::try_parse_from(["outset", "intersect", flag, "64M", "a", "b"]);
            let Ok(Cli {
                command: Command::Intersect(arguments),
            }) = cli
            else {
                panic!("{flag}: {cli:?}")
            };
            assert_eq!(
                arguments
                    .set
                    .run
                    .options(None, &Interrupt::new())
                    .memory_bytes,
                Some(64 << 20),
                "{flag}"
            );
        }
    }
}
