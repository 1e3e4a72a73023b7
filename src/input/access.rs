//! The way to the bytes of an input.
//!
//! *Owns:* [`Access`]: files that are opened anew for each reading, commands that are run anew, or a stream that is
//! taken for its only one.
//! *Invariants:* no stream is read twice. *Cost:* a descriptor for a stream.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::decode::compressed::Decoding;
use crate::decode::stream::{StoppableStream, Writer};
use crate::error::{Error, Result};
use crate::input::byte_reader::Streams;
use crate::input::commands::Commands;
use crate::input::parts::{Padding, Parts};

/// The way to the bytes of an input.
#[derive(Debug)]
pub(super) struct Access {
    bytes: Bytes,
    /// True if what is compressed is decoded.
    pub(super) decodes: bool,
    /// True if it can be read only once, under whatever name: a pipe, a FIFO, a socket, a terminal.
    pub(super) is_read_once: bool,
    /// True if the name tells the kind of the bytes: what a command makes of a file may be of another kind.
    pub(super) has_name_of_kind: bool,
    /// The writer of the stream that confirms its end, if there is one.
    pub(super) writer: Option<Arc<dyn Writer>>,
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
    /// The bytes that commands write, which are run for each reading.
    Commands(Commands),
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

    /// Reads what commands write; `decodes` is true if what is compressed is decoded.
    pub(super) fn of_commands(commands: Commands, decodes: bool) -> Self {
        Self::new(Bytes::Commands(commands), decodes)
    }

    fn new(bytes: Bytes, decodes: bool) -> Self {
        Self {
            has_name_of_kind: !matches!(bytes, Bytes::Commands(_)),
            bytes,
            decodes,
            is_read_once: false,
            writer: None,
            padding: Padding::default(),
        }
    }

    /// Reads from now on `copies`, which have the content of the streams.
    pub(super) fn copied_to(self, copies: Parts) -> Self {
        Self {
            bytes: Bytes::Parts(copies),
            ..self
        }
    }

    /// Returns this access with the files that `change` makes of the present ones.
    pub(super) fn map_parts(self, change: impl FnOnce(Parts) -> Parts) -> Self {
        let bytes = match self.bytes {
            Bytes::Parts(parts) => Bytes::Parts(change(parts)),
            other @ (Bytes::Stream(_) | Bytes::Commands(_)) => other,
        };
        Self { bytes, ..self }
    }

    /// Returns the files; `None` for a stream.
    pub(super) fn parts(&self) -> Option<&Parts> {
        match &self.bytes {
            Bytes::Parts(parts) => Some(parts),
            Bytes::Stream(_) | Bytes::Commands(_) => None,
        }
    }

    /// Returns the commands; `None` if no command writes it.
    pub(super) fn commands(&self) -> Option<&Commands> {
        match &self.bytes {
            Bytes::Commands(commands) => Some(commands),
            Bytes::Parts(_) | Bytes::Stream(_) => None,
        }
    }

    /// Works as [`Access::commands`], to let them begin.
    pub(super) fn commands_mut(&mut self) -> Option<&mut Commands> {
        match &mut self.bytes {
            Bytes::Commands(commands) => Some(commands),
            Bytes::Parts(_) | Bytes::Stream(_) => None,
        }
    }

    /// Returns what `look` makes of a stream that was not taken; `None` if there is none.
    pub(super) fn look_at_stream<T>(&self, look: impl FnOnce(&File) -> T) -> Option<T> {
        match &self.bytes {
            Bytes::Parts(_) | Bytes::Commands(_) => None,
            Bytes::Stream(file) => {
                let file = file.lock();
                file.as_ref().map(look)
            }
        }
    }

    /// Takes the stream, which messages call `name`, for its one reading, which `stop` can end; of commands the output
    /// with this `number`, from 0.
    ///
    /// # Errors
    /// [`Error::Input`] the second time, and for regular files; where a command cannot be started.
    pub(super) fn take_stream<'a>(
        &self,
        name: &Path,
        number: usize,
        stop: &'a (dyn Fn() -> Result<()> + Sync),
    ) -> Result<StoppableStream<'a>> {
        let taken = match &self.bytes {
            Bytes::Stream(file) => file.lock().take(),
            Bytes::Commands(commands) => return commands.open(number, stop),
            Bytes::Parts(_) => None,
        };
        let file = taken.ok_or_else(|| Error::Input {
            path: name.to_owned(),
            source: io::Error::other("a pipe can be read only once"),
            advice: "write it to a file first",
        })?;
        Ok(StoppableStream::new(file, stop).written_by(self.writer.clone()))
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
