//! Inputs whose lines cannot match, as their samples show it.
//!
//! *Owns:* the comparison of samples, and the notices that it gives. *Invariants:* nothing but a notice depends on it.
//! *Cost:* none that counts.

use std::path::Path;

use crate::input::Input;
use crate::input::sample::Sample;
use crate::input::sample::first_lines::FirstLines;
use crate::lines::LineFormat;
use crate::notice::{Foreign, Notice};
use crate::options::Options;
use crate::record::Keys;

/// Finds what speaks against a match of lines that are to be compared: line ends and encodings that differ, a header
/// that nobody has told of.
pub(super) fn of_compared(
    inputs: &[Input],
    samples: &[Option<Sample>],
    options: &Options,
) -> Vec<Notice> {
    let named = || inputs.iter().map(Input::name).zip(samples);
    let format = options.line_format();
    let in_filter = options.stored_filter.as_ref();
    let in_filter = in_filter.and_then(|_| kept_carriage_returns(named(), format));
    let of_ends = in_filter.or_else(|| carriage_returns(named(), format));
    let of_ends = of_ends.or_else(|| mixed_line_ends(inputs, samples, format));
    let of_encodings = encodings(inputs, samples);
    let first_lines = equal_first_lines(inputs, samples, options);
    let found = of_ends.into_iter().chain(of_encodings);
    found.chain(first_lines).collect()
}

/// Finds what speaks against a match of lines with those of a filter.
pub(super) fn with_filter(
    inputs: &[Input],
    samples: &[Option<Sample>],
    options: &Options,
) -> Vec<Notice> {
    let named = inputs.iter().map(Input::name).zip(samples);
    let format = options.line_format();
    let of_ends = kept_carriage_returns(named, format);
    let of_ends = of_ends.or_else(|| mixed_line_ends(inputs, samples, format));
    of_ends.into_iter().collect()
}

/// Finds what speaks against a match of the lines of one input with each other.
pub(super) fn within_each(
    inputs: &[Input],
    samples: &[Option<Sample>],
    options: &Options,
) -> Vec<Notice> {
    let of_ends = mixed_line_ends(inputs, samples, options.line_format());
    of_ends.into_iter().collect()
}

/// Makes the notice for inputs of which one has lines in UTF-8, and another in something else: those beyond ASCII
/// decide. What is no plain text has no lines.
fn encodings(inputs: &[Input], samples: &[Option<Sample>]) -> Option<Notice> {
    let first = |is_so: fn(&Sample) -> bool| {
        let mut sampled = inputs.iter().zip(samples);
        let found = sampled.find(|(input, sample)| {
            sample.as_ref().is_some_and(is_so) && input.null_rows().is_none() && input.seems_plain()
        });
        found.map(|(input, _)| input.name().to_owned())
    };
    Some(Notice::Encodings {
        other: first(|sample| sample.wide_lines.are_other())?,
        utf8: first(|sample| sample.wide_lines.are_utf8())?,
    })
}

/// Makes the notice for files whose first lines are equal, though none is said to be a header. The rows of a Parquet
/// file are none.
fn equal_first_lines(
    inputs: &[Input],
    samples: &[Option<Sample>],
    options: &Options,
) -> Option<Notice> {
    let has_headers = options.keys.as_ref().is_none_or(Keys::has_headers);
    if has_headers || inputs.iter().any(|input| input.null_rows().is_some()) {
        return None;
    }
    let all = samples.iter().flatten().map(|sample| sample.first_lines);
    let first_lines = all.reduce(FirstLines::with)?;
    let is_complete = samples.iter().all(Option::is_some);
    (is_complete && first_lines.look_like_headers()).then(|| Notice::EqualFirstLines {
        input: inputs[0].name().to_owned(),
    })
}

/// Makes the notice for the first input that has CR LF, where a filter has lines with the CR.
fn kept_carriage_returns<'a>(
    mut samples: impl Iterator<Item = (&'a Path, &'a Option<Sample>)>,
    format: LineFormat,
) -> Option<Notice> {
    if format.strip_cr || format.terminator != b'\n' {
        return None;
    }
    let (name, _) = samples.find(|(_, sample)| sample.as_ref().is_some_and(ends_in_cr))?;
    let input = name.to_owned();
    Some(Notice::KeptCarriageReturns { input })
}

/// Returns true if more than half of the line ends have a CR before them.
fn ends_in_cr(sample: &Sample) -> bool {
    sample.ends_after_cr > sample.ends / 2
}

/// Makes the notice for inputs of which one has CR LF and another LF alone: more than half of the line ends in its
/// sample decide. `None` if a CR is stripped or does not end a line. An input in whose sample no line ends counts
/// as neither.
fn carriage_returns<'a>(
    samples: impl Iterator<Item = (&'a Path, &'a Option<Sample>)>,
    format: LineFormat,
) -> Option<Notice> {
    if format.strip_cr || format.terminator != b'\n' {
        return None;
    }
    // The first input of each sort; the notice names one of each.
    let (mut with, mut without) = (None, None);
    for (name, sample) in samples {
        match sample {
            Some(sample) if ends_in_cr(sample) => with.get_or_insert(name),
            Some(sample) if sample.ends > 0 => without.get_or_insert(name),
            _ => continue,
        };
    }
    Some(Notice::CarriageReturns {
        with: with?.to_owned(),
        without: without?.to_owned(),
    })
}

/// Makes the notice for the first input of whose lines about half end in CR LF, and the others in LF alone. What is
/// no plain text has no lines.
fn mixed_line_ends(
    inputs: &[Input],
    samples: &[Option<Sample>],
    format: LineFormat,
) -> Option<Notice> {
    if format.strip_cr || format.terminator != b'\n' {
        return None;
    }
    let is_mixed = |sample: &Sample| sample.has_mixed_line_ends();
    let mut mixed = inputs.iter().zip(samples);
    let (input, _) = mixed
        .find(|(input, sample)| sample.as_ref().is_some_and(is_mixed) && input.seems_plain())?;
    Some(Notice::Foreign {
        input: input.name().to_owned(),
        kind: Foreign::MixedLineEnds,
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn noticed(ends: &[(u64, u64)], format: LineFormat) -> Option<Notice> {
        let sample = |&(ends, ends_after_cr): &(u64, u64)| {
            Some(Sample {
                ends,
                ends_after_cr,
                ..Sample::default()
            })
        };
        let mut samples: Vec<Option<Sample>> = ends.iter().map(sample).collect();
        samples.push(None);
        let names = ["a", "b", "c", "d"].iter().map(Path::new);
        carriage_returns(names.zip(&samples), format)
    }

    #[test]
    fn a3_more_than_half_of_the_lines_of_one_and_not_of_another_are_worth_a_word() {
        let plain = LineFormat::default();
        for (ends, is_worth) in [
            (&[(10, 10), (10, 0)][..], true),
            (&[(10, 0), (10, 6)], true),
            (&[(10, 6), (10, 5)], true),
            (&[(10, 5), (10, 0)], false),
            (&[(10, 10), (10, 9)], false),
            (&[(1, 1), (1, 0)], true),
            (&[(10, 10), (0, 0)], false),
            (&[(0, 0), (0, 0)], false),
            (&[(10, 10), (10, 10), (10, 0)], true),
        ] {
            assert_eq!(noticed(ends, plain).is_some(), is_worth, "{ends:?}");
        }
        let notice = noticed(&[(9, 0), (9, 9), (9, 9)], plain).unwrap();
        let said = notice.to_string();
        assert!(said.starts_with("b: ") && said.contains(" a ") && said.contains("`strip_cr`"));
    }

    #[test]
    fn a3_nothing_is_said_where_a_carriage_return_is_stripped_or_ends_no_line() {
        let ends = [(10, 10), (10, 0)];
        for (strip_cr, terminator) in [(true, b'\n'), (false, 0), (true, 0)] {
            let format = LineFormat {
                terminator,
                strip_cr,
                ..LineFormat::default()
            };
            assert_eq!(noticed(&ends, format), None);
        }
    }
}
