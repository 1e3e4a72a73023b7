//! One thread's part of the answer.
//!
//! *Owns:* gathering lines until they are worth a lock. *Invariants:* lines reach the sink whole and in one piece
//! with their label. *Cost:* up to 64 KiB, and a copy of each line.

use crate::answer::Collector;
use crate::answer::entry::Entry;
use crate::answer::sorter::WorkHeap;
use crate::error::Result;
use crate::selection::NO_ORDINAL;

/// One thread's lines on their way to the collector. It must be flushed at the end: lines in an outbox that
/// is dropped are lost, which is right only after a failure.
pub(crate) struct Outbox<'c, 's> {
    collector: &'c Collector<'s>,
    /// The lines, each with the sink's terminator behind it; at most [`Outbox::BYTES`].
    bytes: Vec<u8>,
    /// Where each line ends in `bytes`, before its terminator.
    ends: Vec<usize>,
    /// Where the lines go instead, if they are put in order.
    heap: Option<WorkHeap>,
}

impl<'c, 's> Outbox<'c, 's> {
    /// Large enough that the lock is taken seldom, small enough to stay in the second-level cache.
    const BYTES: usize = 64 << 10;

    /// An empty outbox. It takes no memory before the first line.
    pub(crate) fn new(collector: &'c Collector<'s>) -> Self {
        Self {
            collector,
            bytes: Vec::new(),
            ends: Vec::new(),
            heap: None,
        }
    }

    /// Adds a line to the result, for an answer in any order.
    ///
    /// # Errors
    /// As [`Outbox::flush`].
    pub(crate) fn push(&mut self, line: &[u8]) -> Result<()> {
        self.push_found(&Entry {
            times: 1,
            ordinal: NO_ORDINAL,
            label: &[],
            line,
        })
    }

    /// Adds a line behind its label to the result, as often as the entry says. Copies it; where it is put in order it
    /// may be written to a temporary file.
    ///
    /// # Errors
    /// As [`Outbox::flush`]; where a temporary file cannot be written.
    pub(crate) fn push_found(&mut self, entry: &Entry<'_>) -> Result<()> {
        let Some(sorter) = &self.collector.sorter else {
            return (0..entry.times).try_for_each(|_| self.pass_on(entry.label, entry.line));
        };
        let mut heap = match self.heap.take() {
            Some(heap) => heap,
            None => sorter.take()?,
        };
        let pushed = sorter.push(&mut heap, entry);
        self.heap = Some(heap);
        pushed
    }

    /// Adds a line behind its label. Passes the lines before it on when there is no room: then it waits for the
    /// collector's lock and for the sink.
    fn pass_on(&mut self, label: &[u8], line: &[u8]) -> Result<()> {
        let bytes = label.len() + line.len() + 1;
        // Lines are counted, too: each takes an end, which is more than a short one has bytes.
        if self.bytes.len() + bytes > Self::BYTES || self.ends.len() == Self::BYTES / 16 {
            self.flush()?;
        }
        // A line that does not fit is passed on as it is, without a copy.
        if bytes > Self::BYTES {
            let mut shared = self.collector.lock();
            return shared.pass_on(1, bytes, |sink| match label {
                [] => sink.line(line),
                label => sink.long_line(label, line),
            });
        }
        self.bytes.extend_from_slice(label);
        self.bytes.extend_from_slice(line);
        self.ends.push(self.bytes.len());
        self.bytes.push(self.collector.terminator);
        Ok(())
    }

    /// Passes everything on to the sink, in one go under the collector's lock; or to the sorter.
    ///
    /// # Errors
    /// [`crate::Error::Output`] when the sink fails, [`crate::Error::Interrupted`] when it has failed before. Some lines may have
    /// been passed on; the outbox is of no further use.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if let (Some(sorter), Some(heap)) = (&self.collector.sorter, self.heap.take()) {
            sorter.put(heap)?;
        }
        if self.ends.is_empty() {
            return Ok(());
        }
        let (block, ends) = (&self.bytes, &self.ends);
        let mut shared = self.collector.lock();
        shared.pass_on(ends.len(), block.len(), |sink| sink.block(block, ends))?;
        drop(shared);
        self.bytes.clear();
        self.ends.clear();
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::answer::Collector;

    #[test]
    fn the_collector_counts_what_all_threads_push() {
        let mut lines = Vec::new();
        let mut sink = |line: &[u8]| {
            lines.push(line.to_vec());
            Ok(())
        };
        let collector = Collector::new(&mut sink);
        std::thread::scope(|scope| {
            for thread in 0..3u8 {
                let collector = &collector;
                scope.spawn(move || {
                    let mut outbox = Outbox::new(collector);
                    for length in [0usize, 1, 70_000, 500] {
                        outbox.push(&vec![thread; length]).unwrap();
                    }
                    outbox.flush().unwrap();
                });
            }
        });
        assert_eq!(collector.written().lines, 12);
        assert_eq!(lines.len(), 12);
    }
}
