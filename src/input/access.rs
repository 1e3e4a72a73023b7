//! The way to the bytes of an input.
//!
//! *Owns:* [`Access`]: files that are opened anew for each reading, or a stream that is taken for its only one.
//! *Invariants:* no stream is read twice. *Cost:* a descriptor for a stream.

use std::fs::File;
use std::io;
use std::path::Path;

use parking_lot::Mutex;

use crate::decode::compressed::Decoding;
use crate::decode::feed::Feed;
use crate::decode::stream::StoppableStream;
use crate::error::{Error, Result};
use crate::input::parts::{Padding, Parts};

/// The way to the bytes of an input.
#[derive(Debug)]
pub(super) struct Access {
    bytes: Bytes,
    /// True if what is compressed is decoded.
    pub(super) decodes: bool,
    /// True if it can be read only once, under whatever name: a pipe, a FIFO, a socket, a terminal.
    pub(super) is_read_once: bool,
    /// The note about the end of the reader that feeds the stream, if there is one.
    pub(super) feed: Option<Feed>,
    /// The number of bytes that were passed over at the end of the stream.
    padding: Padding,
}

/// The bytes of an input.
#[derive(Debug)]
enum Bytes {
    /// The bytes of regular files.
    Parts(Parts),
    /// The bytes of anything else, read once from its start; `None` after that.
    Stream(Mutex<Option<File>>),
}

impl Access {
    /// Reads regular files; `decodes` is true if what is compressed is decoded.
    pub(super) fn of_parts(parts: Parts, decodes: bool) -> Self {
        Self::new(Bytes::Parts(parts), decodes)
    }

    /// Reads `stream`, once; `decodes` is true if what is compressed is decoded.
    pub(super) fn of_stream(stream: File, decodes: bool) -> Self {
        Self::new(Bytes::Stream(Mutex::new(Some(stream))), decodes)
    }

    fn new(bytes: Bytes, decodes: bool) -> Self {
        Self {
            bytes,
            decodes,
            is_read_once: false,
            feed: None,
            padding: Padding::default(),
        }
    }

    /// Reads from now on `copy`, which has the content of the stream.
    pub(super) fn copied_to(self, copy: Parts) -> Self {
        Self {
            bytes: Bytes::Parts(copy),
            ..self
        }
    }

    /// Returns this access with the files that `change` makes of the present ones.
    pub(super) fn map_parts(self, change: impl FnOnce(Parts) -> Parts) -> Self {
        let bytes = match self.bytes {
            Bytes::Parts(parts) => Bytes::Parts(change(parts)),
            stream @ Bytes::Stream(_) => stream,
        };
        Self { bytes, ..self }
    }

    /// Returns the files; `None` for a stream.
    pub(super) fn parts(&self) -> Option<&Parts> {
        match &self.bytes {
            Bytes::Parts(parts) => Some(parts),
            Bytes::Stream(_) => None,
        }
    }

    /// Returns what `look` makes of a stream that was not taken; `None` if there is none.
    pub(super) fn look_at_stream<T>(&self, look: impl FnOnce(&File) -> T) -> Option<T> {
        match &self.bytes {
            Bytes::Parts(_) => None,
            Bytes::Stream(file) => {
                let file = file.lock();
                file.as_ref().map(look)
            }
        }
    }

    /// Takes the stream, which messages call `name`, for its one reading, which `stop` can end.
    ///
    /// # Errors
    /// [`Error::Input`] the second time, and for regular files.
    pub(super) fn take_stream<'a>(
        &self,
        name: &Path,
        stop: &'a (dyn Fn() -> Result<()> + Sync),
    ) -> Result<StoppableStream<'a>> {
        let taken = match &self.bytes {
            Bytes::Stream(file) => file.lock().take(),
            Bytes::Parts(_) => None,
        };
        let file = taken.ok_or_else(|| Error::Input {
            path: name.to_owned(),
            source: io::Error::other("a pipe can be read only once"),
            advice: "write it to a file first",
        })?;
        Ok(StoppableStream::new(file, stop).fed_by(self.feed.clone()))
    }

    /// Returns what decoding takes: `None` if nothing is compressed, and a little for a pipe that may be.
    pub(super) fn decoding(&self) -> Option<Decoding> {
        let of_pipe = self.decodes.then_some(Decoding::OF_PIPE);
        self.parts().map_or(of_pipe, Parts::decoding)
    }

    /// Returns the note of the bytes that were skipped at the end of a file or stream.
    pub(super) fn padding(&self) -> &Padding {
        self.parts().map_or(&self.padding, Parts::padding)
    }

    /// Returns the number of a file, or 0 for a stream, and the bytes that were passed over at its end.
    pub(super) fn padded(&self) -> Option<(usize, u64)> {
        // A copy of a pipe has none, and the pipe may have had some.
        self.padding().found().or_else(|| self.padding.found())
    }
}
