//! The help texts, each held by a file in `tests/cli/words/help`. After a change, renew the files and read their diff:
//!
//! ```sh
//! OUTSET_RENEW_HELP=1 cargo test --test cli help::
//! ```

use std::fs;

use crate::sandbox::{Sandbox, root};

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

/// The headings of a page in their order: first the parser's, with the options that only this command has; then those
/// that all commands share.
const HEADINGS: [&str; 10] = [
    "Commands",
    "Arguments",
    "Options",
    "Result",
    "Records and keys",
    "Inputs",
    "Strategy and memory",
    "Temporary disk",
    "Reports",
    "Other",
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
    let directory = root().join("tests/cli/words/help");
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

/// Checks that `found` are headings of this list, in its order.
fn assert_in_order(found: &[String], headings: &[String], page: &str) {
    let mut rest = headings.iter();
    for heading in found {
        assert!(
            rest.any(|next| next == heading),
            "{page}: {heading:?} is no heading or stands too late: {found:?}"
        );
    }
}

#[test]
fn every_help_text_and_manual_page_has_the_same_headings_in_the_same_order() {
    let sandbox = Sandbox::new();
    let headings = HEADINGS.map(str::to_owned);
    let sections = HEADINGS[2..].iter().map(|name| name.to_uppercase());
    let sections: Vec<String> = sections.collect();
    for command in COMMANDS {
        for text in help(&sandbox, command).split("\n$ ") {
            let lines = text.lines().filter_map(|line| line.strip_suffix(':'));
            let found: Vec<String> = lines
                .filter(|line| line.starts_with(|first: char| first.is_uppercase()))
                .map(str::to_owned)
                .collect();
            assert!(!found.is_empty(), "{command}");
            assert_in_order(&found, &headings, command);
        }
        let page = sandbox.run(&format!("man {command}"));
        let page = String::from_utf8(page.succeeds_silently().stdout.clone()).unwrap();
        let found: Vec<String> = page
            .lines()
            .filter_map(|line| line.strip_prefix(".SH "))
            .map(|title| title.trim_matches('"').replace('\\', ""))
            .skip_while(|title| title != "DESCRIPTION")
            .skip(1)
            .take_while(|title| {
                !["SUBCOMMANDS", "EXIT STATUS", "EXAMPLES", "VERSION"].contains(&title.as_str())
            })
            .collect();
        assert_in_order(&found, &sections, &format!("man {command}"));
    }
    let intersect = help(&sandbox, "intersect");
    assert!(
        intersect.contains("\n\nOptions:\n      --at-least <K>"),
        "{intersect}"
    );
}
