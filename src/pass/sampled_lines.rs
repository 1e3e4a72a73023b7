//! The lines of a sample of an input before it is read.
//!
//! *Owns:* reading them as a pass would: as batches, with their keys. *Invariants:* a sample that misleads costs time,
//! never a line. *Cost:* the windows.
//!
//! Windows are spread evenly over the file, so that a file in some order is seen in all its parts.

use crate::batch::{Batch, Keyed, Ordinals, Scratch, for_each_batch};
use crate::error::Result;
use crate::input::Input;
use crate::input::sample::windows::for_each_window;
use crate::record::Columns;
use crate::run::Run;

/// The windows of a sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    /// The number of them.
    pub(super) count: u64,
    /// The bytes of one.
    pub(super) bytes: u64,
    /// The most lines that are looked at in one.
    pub(super) most_lines: usize,
}

/// Hands the lines that are whole in some windows of `input` to `look`, with the hashes of their keys. Returns their
/// number: 0 for a stream, and for lines that are longer than a window.
///
/// # Errors
/// Where the input cannot be read, or has changed, and the first of `look`.
pub(super) fn for_each_sampled(
    run: &Run<'_>,
    input: &Input,
    windows: Windows,
    mut look: impl FnMut(Batch<'_>) -> Result<()>,
) -> Result<u64> {
    let format = run.options.line_format();
    // A window may begin between quotes, and has pieces of records then.
    let leave_out = |_: &[u8], _| Ok(());
    let room_for_key = |record: &[u8]| {
        let bytes = Columns::most_copied(record.len() as u64);
        run.budget.reserve("a sample", bytes).map(Some)
    };
    let (mut scratch, mut sampled) = (Scratch::default(), 0);
    for_each_window(input, windows.count, windows.bytes, |window| {
        let whole = window.whole_lines(format).take(windows.most_lines);
        let keyed = input.keying().map(|keying| Keyed {
            columns: keying.columns(window.part),
            room_for_key: &room_for_key,
            keeps_records: false,
            passed_over: keying.passed_over(window.part),
            is_key: None,
            on_bad: &leave_out,
        });
        let none = Ordinals::None;
        sampled += for_each_batch(
            whole,
            none,
            keyed,
            Some(&run.hasher),
            &mut scratch,
            |batch| look(batch).map(|()| true),
        )?;
        Ok(())
    })?;
    Ok(sampled)
}
