//! The help texts, each held by a file in `tests/cli/words/help`. After a change, renew the files and read their diff:
//!
//! ```sh
//! OUTSET_RENEW_HELP=1 cargo test --test cli help::
//! ```

use std::fs;
use std::path::Path;

use crate::sandbox::Sandbox;

/// Every command; the empty name is that of the program.
pub(crate) const COMMANDS: [&str; 23] = [
    "",
    "intersect",
    "diff",
    "union",
    "symdiff",
    "overlaps",
    "plan",
    "compare",
    "estimate",
    "filter",
    "filter build",
    "filter query",
    "filter insert",
    "filter remove",
    "filter count",
    "filter info",
    "filter merge",
    "shard",
    "join",
    "finish",
    "size",
    "completions",
    "man",
];

/// The most lines of a short help: those of one screen.
const SCREEN: usize = 60;

/// The help of a command as one text: what `-h` prints, then what `--help` prints.
fn help(sandbox: &Sandbox, command: &str) -> String {
    let printed = ["-h", "--help"].map(|flag| {
        let arguments = format!("{command} {flag}");
        let arguments = arguments.trim();
        let mut run = sandbox.command(arguments);
        // Lines are as long as this terminal is wide.
        run.env("COLUMNS", "100");
        let outcome = sandbox.start(run).finish();
        let text = String::from_utf8(outcome.succeeds().stdout.clone()).unwrap();
        format!("$ outset {arguments}\n{text}")
    });
    printed.join("\n\n")
}

#[test]
fn every_help_text_is_the_one_that_was_read() {
    let sandbox = Sandbox::new();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/words/help");
    let is_renewed = std::env::var_os("OUTSET_RENEW_HELP").is_some();
    for command in COMMANDS {
        let text = help(&sandbox, command);
        let name = format!("outset {command}").trim().replace(' ', "-");
        let path = directory.join(format!("{name}.txt"));
        if is_renewed {
            fs::write(&path, &text).unwrap();
        }
        let held = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            text == held,
            "{name}: the help changed; renew the files with OUTSET_RENEW_HELP=1 and read their diff\n{text}"
        );
    }
}

#[test]
fn every_command_in_a_help_text_has_a_file() {
    let sandbox = Sandbox::new();
    for parent in ["", "filter"] {
        let text = help(&sandbox, parent);
        let listed = text
            .lines()
            .skip_while(|line| *line != "Commands:")
            .skip(1)
            .take_while(|line| !line.is_empty())
            // A longer description goes on below itself.
            .filter(|line| !line.starts_with("   "))
            .filter_map(|line| line.split_whitespace().next())
            .filter(|name| *name != "help");
        for name in listed {
            let command = format!("{parent} {name}");
            assert!(COMMANDS.contains(&command.trim()), "{command} has no file");
        }
    }
}

#[test]
fn the_short_help_of_every_command_fits_a_screen() {
    let sandbox = Sandbox::new();
    for command in COMMANDS {
        let mut run = sandbox.command(format!("{command} -h").trim());
        run.env("COLUMNS", "100");
        let outcome = sandbox.start(run).finish();
        let lines = String::from_utf8_lossy(&outcome.succeeds().stdout)
            .lines()
            .count();
        assert!(lines <= SCREEN, "{command}: {lines} lines");
    }
}
