//! The naive oracle of the differential runner, with answers that own their lines.

use std::collections::BTreeSet;

use differential::oracle;
use outset::LineFormat;
use outset::Order;

/// Distinct lines, in byte order.
pub(crate) type Lines = BTreeSet<Vec<u8>>;

/// The distinct lines of one input.
pub(crate) fn distinct(bytes: &[u8], format: LineFormat) -> Lines {
    owned(&oracle::distinct(bytes, format.terminator, format.strip_cr))
}

/// The lines that are in every input.
pub(crate) fn common(inputs: &[Vec<u8>], format: LineFormat) -> Lines {
    let distinct = |bytes| oracle::distinct(bytes, format.terminator, format.strip_cr);
    let sets: Vec<oracle::Lines<'_>> = inputs.iter().map(|bytes| distinct(bytes)).collect();
    owned(&oracle::common(&sets))
}

/// The lines of which `is_asked` is true, given which of the inputs have them.
pub(crate) fn selected(inputs: &[Vec<u8>], is_asked: impl Fn(&[bool]) -> bool) -> Lines {
    let split = |bytes| oracle::split(bytes, b'\n', false);
    let lines: Vec<Vec<&[u8]>> = inputs.iter().map(|bytes| split(bytes)).collect();
    let times = |counts: &[usize]| {
        let which: Vec<bool> = counts.iter().map(|&count| count > 0).collect();
        usize::from(is_asked(&which))
    };
    let selected = oracle::selected(&lines, (Order::Any, false), times, |_| String::new());
    selected.into_iter().collect()
}

fn owned(lines: &oracle::Lines<'_>) -> Lines {
    lines.iter().map(|line| line.to_vec()).collect()
}
