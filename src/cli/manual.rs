//! `outset man` and `outset completions`: what is written from the definitions of the commands.
//!
//! *Owns:* the two commands that print files for a system to install. *Invariants:* nothing in them
//! is written by hand, so they cannot fall behind the program.

use clap::{Args, Command};
use clap_complete::Shell;
use outset::{Error, Result};

use super::print::{print_bytes, unwritable};

/// Print a shell completion script for commands and options.
///
/// For bash: outset completions bash > ~/.local/share/bash-completion/completions/outset
#[derive(Debug, Args)]
pub(crate) struct CompletionArguments {
    /// Shell to complete in
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Print the manual page of outset or of one command, as troff source.
///
/// To read one: outset man filter build | man -l -
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Command, such as intersect or filter build [default: outset itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs `outset completions`, for the commands of `outset`.
pub(crate) fn completions(arguments: &CompletionArguments, mut outset: Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut outset, "outset", &mut script);
    print_bytes(&script)
}

/// Runs `outset man`, for the commands of `outset`.
pub(crate) fn man(arguments: &ManArguments, outset: Command) -> Result<()> {
    // A page for `help` would say what --help says.
    let mut command = outset.disable_help_subcommand(true);
    // Gives every command its whole name and the options that it has from those above it.
    command.build();
    for name in &arguments.command {
        command = sub_command(&command, name)?;
    }
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command);
    man.render(&mut page).map_err(unwritable)?;
    print_bytes(&page)
}

fn sub_command(command: &Command, name: &str) -> Result<Command> {
    let found = command.find_subcommand(name).cloned();
    found.ok_or_else(|| Error::Usage {
        what: format!("man: {} has no command {name}", command.get_name()),
        advice: "see 'outset --help' for the commands".to_owned(),
    })
}
