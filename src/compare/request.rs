//! The checks before anything runs.
//!
//! *Owns:* the refusals of a comparison. *Invariants:* nothing is written here.

use crate::compare::Mistake;
use crate::error::{Error, Result};
use crate::input::{Input, Source};
use crate::options::Options;
use crate::plan::Strategy;

/// Refuses what no comparison can do.
///
/// # Errors
/// [`Error::Usage`] for a number of inputs that the operation is not compared for, for `bloom` as the exact run, and
/// for stored filters.
pub(super) fn check(sources: &[Source], mistake: Mistake, options: &Options) -> Result<()> {
    let given = sources.len();
    let advice = match mistake {
        // The filters of more files form a chain: no one of them has the rate that is measured.
        Mistake::FalseLines if given != 2 => {
            Some("give two (`Selection::difference` and `Selection::union` take more)")
        }
        Mistake::MissingLines if given < 2 => Some("give two or more"),
        Mistake::LostLines if given < 1 => Some("give one or more"),
        _ => None,
    };
    if let Some(advice) = advice {
        return Err(Error::number_of_files("compare", given, advice));
    }
    if options.strategy == Some(Strategy::Bloom) {
        return Err(Error::usage(
            "`strategy`: bloom is not exact, but `strategy` sets the exact run",
            "name an exact strategy, or leave out `strategy`",
        ));
    }
    if options.stored_filter.is_some() || options.save_filter.is_some() {
        return Err(Error::usage(
            "`stored_filter`, `save_filter`: compare does not use or save stored filters",
            "use intersect instead",
        ));
    }
    Ok(())
}

/// Opens the inputs.
///
/// # Errors
/// [`Error::Input`] for one that cannot be read, [`Error::Usage`] for one that is not a file: each is read several
/// times.
pub(super) fn open(sources: &[Source], options: &Options) -> Result<Vec<Input>> {
    let inputs = Input::open_all(sources, options.opening())?;
    if let Some(input) = inputs.iter().find(|input| !input.is_file()) {
        let name = input.name().display();
        return Err(Error::usage(
            format!(
                "{name}: compare reads each input several times, and a pipe can be read only once"
            ),
            "write it to a file first",
        ));
    }
    Ok(inputs)
}
