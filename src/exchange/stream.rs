//! Reading a stream of frames: a pipe to which any number of shards was written, in any order.
//!
//! *Owns:* the comparison of what was read with what the stream says of itself.
//!
//! A stream consists of sections, each of which ends with a trailer: the output of one `shard`, or frames of several
//! shards that somebody has put together. Outputs of several commands, one after the other, are a stream.
//!
//! ```text
//!  │ frames of shard 1, counters, trailer │ frames of shard 2, counters, trailer │      cat shard-1 shard-2
//!  │ frames of one bucket of all shards, as they came over the network │ trailer │
//! ```
//!
//! *Invariants:* a stream ends with a trailer. The frames and bytes of a section are those of its trailer; where it
//! has counters, its frames are those of one shard, and the counters have the same frames, lines and sum of hashes.
//!
//! *Cost:* four system calls for each frame.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::decode::stream::StoppableStream;
use crate::error::{Error, Result};
use crate::exchange::frame::{FrameHeader, FrameKind, HEADER};
use crate::exchange::totals::{BucketTotals, ENTRY, TRAILER, Trailer};
use crate::exchange::{Frame, Frames, MakeRoom, bad_frames};
use crate::sys::checksum;

/// Entries of counters that are read at a time.
const ENTRIES: usize = 256;

/// A stream of frames that is being read.
pub(crate) struct FrameStream<'a> {
    stream: StoppableStream<'a>,
    name: PathBuf,
    /// Bytes that were read.
    offset: u64,
    section: Section,
    /// True if a section has ended.
    has_ended_one: bool,
}

/// The counts of a section, as far as it was read.
#[derive(Debug, Default)]
struct Section {
    /// The byte at which it begins.
    start: u64,
    /// All frames, of lines or not.
    frames: u64,
    /// The totals of the frames of lines, over all buckets.
    read: BucketTotals,
    /// The shard that its frames are of; `None` before the first.
    shard: Option<u64>,
    is_mixed: bool,
    has_counters: bool,
}

impl<'a> FrameStream<'a> {
    /// Makes a stream from `file`, which messages call `name`, to be read for as long as `stop` gives no error.
    pub(crate) fn new(
        file: File,
        name: PathBuf,
        stop: &'a (dyn Fn() -> Result<()> + Sync),
    ) -> Self {
        Self {
            stream: StoppableStream::new(file, stop),
            name,
            offset: 0,
            section: Section::default(),
            has_ended_one: false,
        }
    }

    /// Fills `buffer`; false where the stream ends before its first byte.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<bool> {
        let filled = self.stream.fill(buffer, &self.name)?;
        self.offset += filled.bytes as u64;
        if filled.bytes == buffer.len() {
            return Ok(true);
        }
        if filled.bytes == 0 {
            return Ok(false);
        }
        Err(self.wrong(self.offset, "the stream ends in the middle of a frame"))
    }

    fn wrong(&self, offset: u64, what: &str) -> Error {
        bad_frames(&self.name, offset, what)
    }

    /// Reads the front of what comes next: a trailer, or the first bytes of a header. `None` at the end of the stream.
    fn front(&mut self) -> Result<Option<[u8; TRAILER]>> {
        let mut front = [0; TRAILER];
        if self.fill(&mut front)? {
            return Ok(Some(front));
        }
        if self.has_ended_one && self.section.frames == 0 {
            return Ok(None);
        }
        Err(self.wrong(
            self.offset,
            "the stream ends without a trailer: the command that wrote it failed",
        ))
    }

    /// Compares a section with its trailer, and begins the next one.
    fn end_section(&mut self, trailer: Trailer) -> Result<()> {
        let at = self.offset - TRAILER as u64;
        let section = std::mem::take(&mut self.section);
        if (trailer.frames, trailer.bytes) != (section.frames, at - section.start) {
            let what = format!(
                "the trailer promises {} frames ({} bytes in all), but {} ({} bytes) arrived",
                trailer.frames,
                trailer.bytes,
                section.frames,
                at - section.start
            );
            return Err(bad_frames(&self.name, at, what));
        }
        self.section.start = self.offset;
        self.has_ended_one = true;
        Ok(())
    }

    /// Reads a frame of counters and compares it with what was read of its shard.
    fn compare(&mut self, header: FrameHeader, sum: u64, at: u64) -> Result<()> {
        let section = &self.section;
        let is_of_one = !section.is_mixed && section.shard.is_none_or(|it| it == header.shard);
        if !is_of_one || section.has_counters {
            return Err(self.wrong(
                at,
                "frames of another shard come before the totals of this one",
            ));
        }
        if header.decoded_bytes != u64::from(header.records) * ENTRY as u64 {
            return Err(self.wrong(at, "the sizes of the frame are invalid"));
        }
        let mut entries = [0; ENTRY * ENTRIES];
        let (mut left, mut said) = (header.decoded_bytes as usize, BucketTotals::default());
        let mut running = checksum::Running::in_place(header.seed());
        let mut bucket = 0_u32;
        while left > 0 {
            let piece = &mut entries[..left.min(ENTRY * ENTRIES)];
            if !self.fill(piece)? {
                return Err(self.wrong(self.offset, "the stream ends in the middle of a frame"));
            }
            running.update(piece);
            for entry in piece.chunks_exact(ENTRY) {
                let Some(totals) = BucketTotals::decode(entry, header.seed(), bucket) else {
                    return Err(
                        self.wrong(at, "the checksum of the frame does not match its content")
                    );
                };
                said.add(&totals);
                bucket = bucket.wrapping_add(1);
            }
            left -= piece.len();
        }
        if running.finish() != sum {
            return Err(self.wrong(at, "the checksum of the frame does not match its content"));
        }
        if !said.agrees(&self.section.read) {
            let (said, read) = (said.lines, self.section.read.lines);
            let only = if read < said { "only " } else { "" };
            let what = format!("the shard has {said} lines, but {only}{read} arrived");
            return Err(bad_frames(&self.name, at, what));
        }
        self.section.has_counters = true;
        Ok(())
    }
}

impl Frames for FrameStream<'_> {
    fn next(&mut self, room: &mut MakeRoom<'_>) -> Result<Option<Frame>> {
        loop {
            let at = self.offset;
            let Some(front) = self.front()? else {
                return Ok(None);
            };
            if let Some(trailer) = Trailer::decode(&front) {
                self.end_section(trailer)?;
                continue;
            }
            let mut bytes = [0; HEADER];
            bytes[..TRAILER].copy_from_slice(&front);
            if !self.fill(&mut bytes[TRAILER..])? {
                return Err(self.wrong(self.offset, "the stream ends in the middle of a frame"));
            }
            let decoded = FrameHeader::decode(&bytes);
            let (header, sum) = decoded.map_err(|what| self.wrong(at, what))?;
            self.section.frames += 1;
            match header.kind {
                FrameKind::Counters => {
                    self.compare(header, sum, at)?;
                    continue;
                }
                FrameKind::Lines => {
                    return Err(self.wrong(
                        at,
                        "the frame belongs to the result of a join, not to a shard",
                    ));
                }
                FrameKind::Records => {}
            }
            self.section.count(&header);
            let mut payload = room(&header, at)?;
            let stored = header.stored_bytes as usize;
            if stored > 0 && !self.fill(&mut payload[..stored])? {
                return Err(self.wrong(self.offset, "the stream ends in the middle of a frame"));
            }
            return Ok(Some(Frame {
                header,
                sum,
                payload,
                offset: at,
            }));
        }
    }

    fn name(&self) -> &Path {
        &self.name
    }
}

impl Section {
    /// Counts a frame of lines.
    fn count(&mut self, header: &FrameHeader) {
        self.is_mixed |= self.shard.is_some_and(|shard| shard != header.shard);
        // Behind its counters a shard has no more frames.
        self.is_mixed |= self.has_counters;
        self.shard = Some(header.shard);
        self.read.count(header);
    }
}
