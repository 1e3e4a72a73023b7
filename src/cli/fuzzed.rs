//! The body of the fuzz target `parse_options`: whatever the arguments are, they are understood or refused with one
//! line.
//!
//! *Owns:* what is asked of the options of any arguments: all that needs no file. The fuzz target and the test here,
//! which replays its corpus, call the same function. *Invariants:* nothing is read, written or printed. *Cost:* well
//! under a millisecond.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use outset::{Interrupt, Options};

use super::arguments::Command;
use super::{parse, plan, size, usage};

/// Longer lists of arguments are cut.
const MOST: usize = 40;

/// Takes `data` as arguments that each end in a NUL.
///
/// # Panics
/// Where the options make no sense, or a refusal is not one line.
pub(crate) fn parse_options(data: &[u8]) {
    let arguments = data.split(|&byte| byte == 0).take(MOST);
    let arguments = arguments.map(|argument| OsString::from_vec(argument.to_vec()));
    let arguments: Vec<OsString> = [OsString::from("outset")]
        .into_iter()
        .chain(arguments)
        .collect();
    match parse(arguments.iter().cloned()) {
        Ok((cli, _)) => use_options(&cli.command),
        Err(error) if error.use_stderr() => {
            let line = super::escaping::visible(&usage::line(&error, arguments));
            assert!(
                line.starts_with("usage: ") && !line.contains(char::is_control),
                "{line}"
            );
        }
        // Help or the version.
        Err(error) => drop(error.to_string()),
    }
}

fn use_options(command: &Command) {
    let interrupt = Interrupt::new();
    match command {
        Command::Intersect(arguments) => {
            let request = arguments.request();
            if let Ok(options) = request.options(&interrupt) {
                check(&options);
            }
            assert!(!request.inputs.is_empty());
        }
        Command::Plan(arguments) => {
            let options = arguments
                .filters
                .add_to(arguments.run.options(None, &interrupt));
            check(&options);
            if !arguments.lines.is_empty()
                && let Ok(selection) = arguments.selection()
                && let Ok(plan) = plan::plan_for_shapes(arguments, selection, &options)
            {
                drop(plan::describe(&plan));
            }
        }
        Command::Size(arguments) => drop(size::text(arguments)),
        // They do nothing with their options that needs no file.
        _ => {}
    }
}

fn check(options: &Options) {
    assert!(
        options
            .max_fpr
            .is_none_or(|rate| (0.0..=1.0).contains(&rate)),
        "{:?}",
        options.max_fpr
    );
    assert!(
        options
            .bits_per_key
            .is_none_or(|bits| bits > 0.0 && bits.is_finite())
    );
    assert!(options.buckets != Some(0) && options.threads != Some(0));
    assert!([b'\n', 0].contains(&options.format.terminator));
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_corpus_is_understood_or_refused() {
        let corpus = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fuzz/corpus/parse_options"
        );
        let mut replayed = 0;
        for entry in std::fs::read_dir(corpus).unwrap() {
            parse_options(&std::fs::read(entry.unwrap().path()).unwrap());
            replayed += 1;
        }
        assert!(replayed > 10, "{replayed} files in {corpus}");
    }
}
