//! Reading one bucket of a shard file.
//!
//! *Owns:* finding the frames of a bucket from the end of the file.
//!
//! 1. The last bytes are a trailer, which says where the counters are and how long the file must be.
//! 2. The entry of the bucket in the counters says where the last frame begins, and what all of them have.
//! 3. Each frame says where the one before it begins. The first says that there is none.
//!
//! *Invariants:* frames lie before the frame that leads to them, so the chain ends. All of them are of the shard and
//! the bucket, and numbered without a gap; together they have what the counters say. Or the reading fails.
//!
//! *Cost:* two system calls for each frame, and three small ones when the file is opened, whatever number of buckets it
//! has. No other bucket is read. The file is closed until its frames are read: any number of shards can be joined.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::decode::io_error::unreadable;
use crate::error::{Error, Result};
use crate::exchange::frame::{FrameHeader, FrameKind, HEADER, NOWHERE};
use crate::exchange::totals::{BucketTotals, ENTRY, TRAILER, Trailer};
use crate::exchange::{Frame, Frames, MakeRoom, bad_frames};

/// One bucket of a shard file.
pub(crate) struct ShardFile {
    /// Open while its frames are read.
    file: Option<File>,
    path: PathBuf,
    /// The header of its counters: all frames have its job, shard and side.
    counters: FrameHeader,
    bucket: u32,
    /// The totals of the bucket in the file, as its counters say.
    totals: BucketTotals,
    /// The byte at which the next frame begins; [`NOWHERE`] once the first one in the file was read.
    next: u64,
    /// The byte at which the frame that led there begins: the next one must lie before it.
    before: u64,
    /// The totals of the frames that were read.
    read: BucketTotals,
}

impl ShardFile {
    /// Opens the file at `path`, to read its lines of `bucket`.
    ///
    /// # Errors
    /// [`Error::Input`] where it cannot be read, [`Error::BadFrames`] where it is damaged or no complete shard file,
    /// [`Error::Usage`] where it has fewer buckets.
    pub(crate) fn open(path: &Path, bucket: u32) -> Result<Self> {
        let fail = |error| unreadable(path, error);
        let file = File::open(path).map_err(fail)?;
        let size = file.metadata().map_err(fail)?.len();
        let trailer = trailer_of(&file, path, size)?;
        let mut shard = Self {
            file: None,
            path: path.to_owned(),
            counters: FrameHeader::nothing(),
            bucket,
            totals: BucketTotals::default(),
            next: NOWHERE,
            before: trailer.counters,
            read: BucketTotals::default(),
        };
        shard.read_counters(&file, trailer)?;
        shard.next = shard.totals.last;
        Ok(shard)
    }

    /// Returns the totals of the bucket in the file.
    pub(crate) fn totals(&self) -> &BucketTotals {
        &self.totals
    }

    /// Reads and checks the counters of the bucket.
    fn read_counters(&mut self, file: &File, trailer: Trailer) -> Result<()> {
        let at = trailer.counters;
        let (header, _) = self.header(file, at)?;
        let bytes = u64::from(header.records) * ENTRY as u64;
        let end = at.saturating_add(HEADER as u64).saturating_add(bytes);
        if header.kind != FrameKind::Counters
            || header.decoded_bytes != bytes
            || end != trailer.bytes
        {
            return Err(self.wrong(
                at,
                "this frame does not have the totals of the file's buckets",
            ));
        }
        if self.bucket >= header.records {
            let last = header.records.saturating_sub(1);
            return Err(Error::usage(
                format!("{}: has no bucket {}", self.path.display(), self.bucket),
                format!("give `bucket` a number from 0 to {last}"),
            ));
        }
        let mut entry = [0; ENTRY];
        let offset = at + HEADER as u64 + u64::from(self.bucket) * ENTRY as u64;
        read_exactly(file, &self.path, &mut entry, offset)?;
        // Its checksum is also that of the header, of which it has the seed.
        self.totals = BucketTotals::decode(&entry, header.seed(), self.bucket)
            .ok_or_else(|| self.wrong(offset, "the totals of the bucket are damaged"))?;
        self.counters = header;
        Ok(())
    }

    /// Reads the header of the frame at `at`.
    fn header(&self, file: &File, at: u64) -> Result<(FrameHeader, u64)> {
        let mut bytes = [0; HEADER];
        read_exactly(file, &self.path, &mut bytes, at)?;
        FrameHeader::decode(&bytes).map_err(|what| self.wrong(at, what))
    }

    fn wrong(&self, at: u64, what: &str) -> Error {
        bad_frames(&self.path, at, what)
    }
}

impl Frames for ShardFile {
    fn next(&mut self, room: &mut MakeRoom<'_>) -> Result<Option<Frame>> {
        let at = self.next;
        if at == NOWHERE {
            self.file = None;
            if self.read.agrees(&self.totals) {
                return Ok(None);
            }
            let (read, said) = (self.read.lines, self.totals.lines);
            let what = format!(
                "bucket {} should have {said} lines, but its frames have {read}",
                self.bucket
            );
            return Err(bad_frames(&self.path, self.before, what));
        }
        if at >= self.before {
            return Err(self.wrong(
                self.before,
                "the frame says that its predecessor comes after it",
            ));
        }
        // One that has another's name by now is another shard, and its frames say so.
        let file = match self.file.take() {
            Some(file) => file,
            None => File::open(&self.path).map_err(|error| unreadable(&self.path, error))?,
        };
        let (header, sum) = self.header(&file, at)?;
        let origin = |header: &FrameHeader| (header.job, header.shard, header.side);
        let number = self.totals.frames.wrapping_sub(self.read.frames + 1);
        let belongs = origin(&header) == origin(&self.counters)
            && (header.kind, header.bucket) == (FrameKind::Records, self.bucket)
            && header.number == number;
        if !belongs || header.stored_bytes > self.before - at {
            return Err(self.wrong(at, "this frame belongs elsewhere in the file"));
        }
        let mut payload = room(&header, at)?;
        let stored = &mut payload[..header.stored_bytes as usize];
        read_exactly(&file, &self.path, stored, at + HEADER as u64)?;
        self.file = Some(file);
        self.read.count(&header);
        (self.next, self.before) = (header.previous, at);
        Ok(Some(Frame {
            header,
            sum,
            payload,
            offset: at,
        }))
    }

    fn name(&self) -> &Path {
        &self.path
    }
}

/// Reads the trailer of a file of `size` bytes.
fn trailer_of(file: &File, path: &Path, size: u64) -> Result<Trailer> {
    let start = size.saturating_sub(TRAILER as u64);
    let mut bytes = [0; TRAILER];
    if size > TRAILER as u64 {
        read_exactly(file, path, &mut bytes, start)?;
    }
    let trailer = Trailer::decode(&bytes).filter(|trailer| trailer.bytes == start);
    match trailer {
        Some(trailer) if trailer.counters < start => Ok(trailer),
        Some(_) => Err(bad_frames(
            path,
            start,
            "the file has no totals of its buckets",
        )),
        None => Err(bad_frames(
            path,
            start,
            "the file does not end with a trailer (it is not a shard file, or is truncated)",
        )),
    }
}

/// Fills `buffer` from `at` on.
fn read_exactly(file: &File, path: &Path, buffer: &mut [u8], at: u64) -> Result<()> {
    file.read_exact_at(buffer, at)
        .map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => bad_frames(path, at, "the file is truncated"),
            _ => unreadable(path, error),
        })
}
