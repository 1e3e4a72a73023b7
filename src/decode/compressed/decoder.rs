//! All frames of a compressed file, one after the other.
//!
//! *Owns:* what follows what: the rules below. *Invariants:* a file is decoded to its last byte, or fails: nothing
//! ends with the first member. No frame gets memory that the budget has not granted.
//!
//! ```text
//!  ├ frame ┤├ frame ┤├ skippable ┤├ frame ┤├ padding ┤ end
//!     │        │           │                    └ zero bytes, to the end: gzip and xz; line ends and blanks: gzip
//!     │        │           └ zstd and lz4: passed over
//!     │        └ of the same compression
//!     └ decoded to its checksum
//! ```
//!
//! A block of BGZF is followed by another, up to an empty one, and what pzstd says of a frame by that frame. Anything
//! else after a frame is an error: other bytes, another compression, the beginning of a frame that ends early.
//!
//! *Cost:* the memory of the largest frame so far.

use std::io;
use std::path::Path;

use crate::decode::compressed::borders::{FRAME_SIZE, MARKER_BYTES, block_bytes};
use crate::decode::compressed::format::{
    CompressionFormat, HEADER_BYTES, Signature, decoder_bytes, recognise,
};
use crate::decode::compressed::frame::FrameDecoder;
use crate::decode::compressed::source::CompressedSource;
use crate::decode::compressed::{MOST_UNPLANNED_BYTES, UNPLANNED_SHARE};
use crate::decode::stream::Filled;
use crate::error::{Error, Result};
use crate::memory::budget::{MemoryBudget, Reservation};
use crate::size::{display_at_least, display_bytes};

/// The advice about a compressed file that is damaged.
const FETCH_AGAIN: &str = "copy or fetch it again, or read it as it is with `decompress: false`";

/// Decodes a compressed file.
pub(crate) struct Decoder<'a> {
    state: DecoderState<'a>,
    budget: MemoryBudget,
    /// The memory of the frame, which the next one has too, and its bytes.
    memory: Option<(Reservation, u64)>,
    /// The end of the frames that are wanted, though others may follow: a byte of the file.
    border: Option<u64>,
    /// The data that must still come by what the last frame says.
    missing: Option<&'static str>,
    /// The compression of the frames; `None` before the first.
    compression: Option<CompressionFormat>,
    /// Bytes after the last member of gzip that are no data.
    padding: u64,
    name: &'a Path,
}

enum DecoderState<'a> {
    /// Before a frame, or after the last.
    Between(CompressedSource<'a>),
    Within(FrameDecoder<'a>),
    /// Between the frames that are wanted and others.
    AtBorder(CompressedSource<'a>),
    /// At the end, or failed.
    Ended {
        given_bytes: u64,
    },
}

impl<'a> Decoder<'a> {
    /// Decodes `source`; its memory comes from `budget`.
    pub(crate) fn new(source: CompressedSource<'a>, budget: &MemoryBudget) -> Self {
        Self {
            name: source.name(),
            state: DecoderState::Between(source),
            budget: budget.clone(),
            memory: None,
            border: None,
            missing: None,
            compression: None,
            padding: 0,
        }
    }

    /// Counts the bytes after the last member of gzip that were passed over: known at the end.
    pub(crate) fn padding(&self) -> u64 {
        self.padding
    }

    /// Returns the same for the frames that end at `border`, a byte of the file.
    pub(crate) fn up_to(self, border: Option<u64>) -> Self {
        Self { border, ..self }
    }

    /// Goes on after the border; false where the file has ended.
    pub(crate) fn cross_border(&mut self) -> bool {
        let given_bytes = self.given_bytes();
        let ended = DecoderState::Ended { given_bytes };
        match std::mem::replace(&mut self.state, ended) {
            DecoderState::AtBorder(source) => {
                self.border = None;
                self.state = DecoderState::Between(source);
                true
            }
            other => {
                self.state = other;
                false
            }
        }
    }

    /// Decodes until `buffer` is full, or the file or what is wanted of it has ended.
    ///
    /// # Errors
    /// [`Error::Undecodable`] for a file that is damaged, cut short or has something else after its frames;
    /// [`Error::MemoryPlan`] for a frame that wants more memory than there is; what reading returns.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<Filled> {
        let mut filled = 0;
        while filled < buffer.len() {
            let given_bytes = self.given_bytes();
            match &mut self.state {
                DecoderState::Ended { .. } | DecoderState::AtBorder(_) => break,
                DecoderState::Between(_) => self.begin()?,
                DecoderState::Within(frame) => match frame.read(&mut buffer[filled..]) {
                    Ok(0) => self.end(),
                    Ok(read) => filled += read,
                    Err(error) => return Err(self.failure(error, given_bytes)),
                },
            }
        }
        Ok(Filled {
            bytes: filled,
            is_ended: matches!(
                self.state,
                DecoderState::Ended { .. } | DecoderState::AtBorder(_)
            ),
        })
    }

    /// Counts the bytes of the file that were taken so far.
    pub(crate) fn given_bytes(&self) -> u64 {
        match &self.state {
            DecoderState::Between(source) | DecoderState::AtBorder(source) => source.given_bytes(),
            DecoderState::Within(frame) => frame.given_bytes(),
            DecoderState::Ended { given_bytes } => *given_bytes,
        }
    }

    /// Goes back to the source at the end of a frame.
    fn end(&mut self) {
        let given_bytes = self.given_bytes();
        let ended = DecoderState::Ended { given_bytes };
        if let DecoderState::Within(frame) = std::mem::replace(&mut self.state, ended) {
            self.state = DecoderState::Between(frame.into_source());
        }
    }

    /// Begins the frame that the source stands at, or notes the end of the file.
    fn begin(&mut self) -> Result<()> {
        let given_bytes = self.given_bytes();
        let ended = DecoderState::Ended { given_bytes };
        let DecoderState::Between(mut source) = std::mem::replace(&mut self.state, ended) else {
            return Ok(());
        };
        match self.border {
            Some(border) if given_bytes == border => {
                self.state = DecoderState::AtBorder(source);
                return Ok(());
            }
            Some(border) if given_bytes > border => {
                return Err(self.undecodable(format!(
                    "a frame runs past byte {border}, where the file's index says the next one starts"
                )));
            }
            _ => {}
        }
        let is_first = self.compression.is_none();
        let header = source.peek(HEADER_BYTES)?;
        if header.is_empty() {
            return self.check_end(given_bytes);
        }
        match (recognise(header, true), self.compression) {
            (Signature::Frame(found), before) if before.is_none_or(|before| before == found) => {
                // The shortest frames have more: a decoder that gets less may take it for the end.
                if header.len() < 8 {
                    return Err(self.cut_short(given_bytes));
                }
                self.compression = Some(found);
                let is_followed = block_bytes(header).is_some_and(|bytes| bytes != MARKER_BYTES);
                self.missing =
                    is_followed.then_some("the empty block that BGZF ends with is missing");
                let needed_bytes = decoder_bytes(found, header);
                let memory_bytes = self.reserve(found, is_first, needed_bytes)?;
                let frame = FrameDecoder::new(found, source, memory_bytes);
                let frame = frame.map_err(|error| self.failure(error, given_bytes))?;
                self.state = DecoderState::Within(frame);
                Ok(())
            }
            (Signature::Frame(found), _) => {
                Err(self.followed_by(&format!("{} data", found.name()), given_bytes))
            }
            (
                Signature::Skippable(bytes),
                None | Some(CompressionFormat::Zstd | CompressionFormat::Lz4),
            ) => {
                let is_size = header.starts_with(&FRAME_SIZE);
                self.missing = is_size.then_some(
                    "the file gives the size of one more frame, but that frame is missing",
                );
                if source.skip(bytes)? < bytes {
                    return Err(self.cut_short(source.given_bytes()));
                }
                self.state = DecoderState::Between(source);
                Ok(())
            }
            (Signature::LegacyLz4, None) => Err(Error::Undecodable {
                path: self.name.to_owned(),
                what: "is compressed with the first version of lz4, which has no checksums".into(),
                advice: "decompress it with lz4 -d first",
            }),
            (_, Some(kind)) if pads(kind, header[0]) => self.skip_padding(source, kind),
            _ => Err(self.followed_by("other bytes", given_bytes)),
        }
    }

    /// Passes over padding. After gzip it must reach to the end of the file. After xz the next stream may follow it, if
    /// it is a multiple of four bytes.
    fn skip_padding(
        &mut self,
        mut source: CompressedSource<'a>,
        kind: CompressionFormat,
    ) -> Result<()> {
        let start = source.given_bytes();
        while let Some(&byte) = source.peek(1)?.first() {
            if !pads(kind, byte) {
                let (here, is_xz) = (source.given_bytes(), kind == CompressionFormat::Xz);
                if !is_xz || !(here - start).is_multiple_of(4) {
                    return Err(self.followed_by("other bytes", here));
                }
                self.state = DecoderState::Between(source);
                return Ok(());
            }
            source.skip(1)?;
        }
        let given_bytes = source.given_bytes();
        self.state = DecoderState::Ended { given_bytes };
        // Padding is a part of the format of xz.
        if kind == CompressionFormat::Gzip {
            self.padding = given_bytes - start;
        }
        self.check_end(given_bytes)
    }

    /// Fails where a file is cut short between two frames, and says so.
    fn check_end(&self, given_bytes: u64) -> Result<()> {
        match self.missing {
            Some(what) => Err(self.undecodable(format!(
                "the {} data end early, at byte {given_bytes} ({what})",
                self.kind()
            ))),
            None => Ok(()),
        }
    }

    /// Makes sure of `needed_bytes` for the next frame; returns what it may have.
    ///
    /// # Errors
    /// [`Error::MemoryPlan`], with a limit that would do.
    fn reserve(
        &mut self,
        compression: CompressionFormat,
        is_first: bool,
        needed_bytes: u64,
    ) -> Result<u64> {
        if let Some((_, held_bytes)) = self.memory
            && needed_bytes <= held_bytes
        {
            return Ok(held_bytes);
        }
        self.memory = None;
        match self.budget.reserve("a decoder", needed_bytes) {
            Ok(memory) => self.memory = Some((memory, needed_bytes)),
            Err(Error::Memory { .. }) => {
                let kind = compression.name();
                return Err(too_large(self.name, kind, is_first, needed_bytes));
            }
            Err(error) => return Err(error),
        }
        Ok(needed_bytes)
    }

    /// Makes the error for what the decoder says at this byte of the file.
    fn failure(&mut self, error: io::Error, given_bytes: u64) -> Error {
        self.state = DecoderState::Ended { given_bytes };
        let kind = self.kind();
        match error.downcast::<Error>() {
            Ok(own) => own,
            Err(error) => match error.kind() {
                io::ErrorKind::UnexpectedEof => self.cut_short(given_bytes),
                io::ErrorKind::OutOfMemory => Error::MemoryPlan {
                    what: format!(
                        "a later block of the {kind} data of {} needs more memory than its first block",
                        self.name.display()
                    ),
                    advice: "decompress the file before this run".into(),
                    least_bytes: u64::MAX,
                },
                _ => self.undecodable(format!(
                    "the {kind} data are damaged at byte {given_bytes} ({error})"
                )),
            },
        }
    }

    /// Makes the error for a file that has fewer bytes than its compression says.
    fn cut_short(&self, given_bytes: u64) -> Error {
        self.undecodable(format!(
            "the {} data end early, at byte {given_bytes}",
            self.kind()
        ))
    }

    /// Makes the error for `what`, which stands where nothing or a further frame should.
    fn followed_by(&self, what: &str, given_bytes: u64) -> Error {
        let kind = self.kind();
        self.undecodable(format!(
            "{what} follow the {kind} data, at byte {given_bytes}"
        ))
    }

    fn undecodable(&self, what: String) -> Error {
        Error::Undecodable {
            path: self.name.to_owned(),
            what,
            advice: FETCH_AGAIN,
        }
    }

    /// Returns the name of the kind of data.
    fn kind(&self) -> &'static str {
        self.compression
            .map_or("compressed", CompressionFormat::name)
    }
}

/// Returns true if a byte after data of this kind is padding, where nothing else follows: zeros, and after gzip what an
/// editor, a form or a tape leaves at the end of a file.
fn pads(kind: CompressionFormat, byte: u8) -> bool {
    match kind {
        CompressionFormat::Gzip => matches!(byte, 0 | b'\n' | b'\r' | b'\t' | b' '),
        CompressionFormat::Xz => byte == 0,
        CompressionFormat::Bzip2 | CompressionFormat::Zstd | CompressionFormat::Lz4 => false,
    }
}

/// Refuses data of this kind that take more memory than was set aside. The first frame of a file is planned for, so one
/// that is refused comes through a pipe.
fn too_large(name: &Path, kind: &str, is_first: bool, needed_bytes: u64) -> Error {
    let least_bytes = least_for_decoding(needed_bytes);
    let advice = match least_bytes {
        None if is_first => format!(
            "write it to a file and give that with at least {} of memory, or decompress it first",
            display_at_least(needed_bytes * 8 / 7 + (16 << 20))
        ),
        None => "decompress it first".into(),
        Some(bytes) => format!(
            "give at least {}, or decompress it first",
            display_at_least(bytes)
        ),
    };
    Error::MemoryPlan {
        what: format!(
            "decoding the {kind} data of {} takes {} of memory",
            name.display(),
            display_bytes(needed_bytes)
        ),
        advice,
        least_bytes: least_bytes.unwrap_or(u64::MAX),
    }
}

/// Computes the memory limit that leaves `needed_bytes` to decoding what the plan did not know of: the plan goes by the
/// first frame or pages of a file, and does not know what comes through a pipe. `None` if no limit leaves as much.
pub(crate) fn least_for_decoding(needed_bytes: u64) -> Option<u64> {
    // Threads and code take up to an eighth of the limit, and some more.
    let is_left = needed_bytes <= MOST_UNPLANNED_BYTES;
    is_left.then_some(needed_bytes * UNPLANNED_SHARE * 8 / 7 + (16 << 20))
}
