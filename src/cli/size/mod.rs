//! `outset size`: how large a filter must be, and how often it is wrong.
//!
//! *Owns:* the command: what may be asked ([`arguments`]), what that means for each kind
//! ([`request`]), the answer ([`report`]), the textbooks' figures ([`figures`]), and numbers as they
//! are printed ([`numbers`]). *Invariants:* it computes nothing; every figure comes out of
//! [`outset::filter`]. It reads no file and takes no memory for a filter. *Cost:* none.

mod arguments;
mod figures;
mod numbers;
mod report;
mod request;

use std::io::{self, Write};

use outset::{Error, Result};
use serde::Serialize;

pub(crate) use arguments::SizeArguments;
use report::Report;
use request::Request;

/// Runs the command.
pub(crate) fn run(arguments: &SizeArguments) -> Result<()> {
    let text = if arguments.asks_nothing() {
        let figures = figures::all();
        if arguments.json {
            json(&figures)?
        } else {
            figures::describe(&figures)
        }
    } else {
        let report = Report::new(arguments, Request::new(arguments)?);
        if arguments.json {
            json(&report)?
        } else {
            report.describe()
        }
    };
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")
        .and_then(|()| stdout.flush())
        .map_err(unwritable)
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string_pretty(value).map_err(|error| unwritable(error.into()))
}

fn unwritable(source: io::Error) -> Error {
    Error::Output {
        target: "standard output".to_owned(),
        what: "cannot write",
        source,
        advice: "check where the sizes go",
    }
}
