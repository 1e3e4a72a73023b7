//! `outset size`: how large a filter must be, and how often it is wrong.
//!
//! *Owns:* the command: what may be asked ([`arguments`]), what that means for each kind
//! ([`request`]), the answer ([`report`]) and the textbooks' figures ([`figures`]). *Invariants:* it computes nothing;
//! every figure comes out of [`outset::filter`]. It reads no file and takes no memory for a filter.

mod arguments;
mod figures;
mod report;
mod request;

use outset::Result;

use super::print::{json, print};

pub(crate) use arguments::SizeArguments;
use report::SizeReport;
use request::SizeRequest;

/// Runs the command.
pub(crate) fn run(arguments: &SizeArguments) -> Result<()> {
    print(&text(arguments)?)
}

/// Returns the text that the command prints.
pub(super) fn text(arguments: &SizeArguments) -> Result<String> {
    Ok(if arguments.asks_nothing() {
        let figures = figures::all();
        if arguments.json {
            json(&figures)?
        } else {
            figures::describe(&figures)
        }
    } else {
        let report = SizeReport::new(arguments, SizeRequest::new(arguments)?);
        if arguments.json {
            json(&report)?
        } else {
            report.describe()
        }
    })
}
