//! The notices about an input whose beginning does not look like lines of text.
//!
//! *Owns:* what is looked at, and that the first of each kind is reported. *Invariants:* nothing is reported unless
//! somebody watches ([`Input::watch_fronts`]). *Cost:* see [`beginning`](super::beginning).

use std::path::Path;

use crate::input::Input;
use crate::input::beginning::{Beginning, FRONT_BYTES, are_mixed};
use crate::input::keying::Keying;
use crate::lines::LineFormat;
use crate::notice::{Foreign, Notice};
use crate::record::{BYTE_ORDER_MARK, noted_delimiter};

impl Input {
    /// Lets [`Input::look_at_front`] tell what it finds.
    pub(crate) fn watch_fronts(&self) {
        self.found.reported.arm();
    }

    /// Looks at `bytes`, with which one of its files, or the stream, begins when it is decoded: the notice if that is
    /// no plain text. Of each kind the first is reported, and only if somebody watches.
    pub(crate) fn look_at_front(
        &self,
        part: usize,
        bytes: &[u8],
        format: LineFormat,
    ) -> Option<Notice> {
        if !self.found.reported.is_armed() {
            return None;
        }
        let kind = self.foreign_front(part, bytes, format)?;
        self.found.reported.is_new(kind).then(|| Notice::Foreign {
            input: self.part_name(part).to_owned(),
            kind,
        })
    }

    /// Returns true if somebody is to hear of it, and nothing was reported.
    pub(crate) fn seems_plain(&self) -> bool {
        self.found.reported.is_silent()
    }

    /// Looks at the header that was read of a stream: the notice if it shows that the stream is no plain text.
    pub(crate) fn look_at_header(&self) -> Option<Notice> {
        let kind = self.keying()?.foreign_header()?;
        self.found.reported.is_new(kind).then(|| Notice::Foreign {
            input: self.name().to_owned(),
            kind,
        })
    }

    /// Guesses what `bytes` are.
    fn foreign_front(&self, part: usize, bytes: &[u8], format: LineFormat) -> Option<Foreign> {
        let file_format = self.parts().map(|parts| &parts.all()[part].format);
        if file_format.is_some_and(|file| file.table().is_some()) {
            return None;
        }
        let mut rest = bytes;
        if let Some(text) = bytes.strip_prefix(BYTE_ORDER_MARK) {
            // A mark before a header is in no key.
            let drops_mark = self
                .keying()
                .is_some_and(|keying| keying.mark(bytes) > 0 || keying.front(part) > 0);
            if !drops_mark {
                return Some(Foreign::ByteOrderMark);
            }
            rest = text;
        }
        let beginning = Beginning {
            bytes: rest,
            name: if self.access.has_name_of_kind {
                self.part_name(part)
            } else {
                Path::new("")
            },
            terminator: format.terminator,
            decodes: self.decodes(),
            is_stored: file_format.is_some_and(|file| file.decoding().is_none()),
        };
        beginning
            .foreign()
            .or_else(|| self.noted_delimiter(part, rest, format))
            .or_else(|| self.mixed_line_ends(rest, format))
    }

    /// Recognises a first record that is a note about the delimiter, where records have fields.
    fn noted_delimiter(&self, part: usize, bytes: &[u8], format: LineFormat) -> Option<Foreign> {
        let (first, _) = self.keying()?.first_record(part, bytes, format)?;
        noted_delimiter(first).map(|_| Foreign::DelimiterNote)
    }

    /// Recognises line ends of both kinds in a stream, of which no sample can be taken.
    fn mixed_line_ends(&self, bytes: &[u8], format: LineFormat) -> Option<Foreign> {
        if self.is_file() || !self.keeps_carriage_returns(format) {
            return None;
        }
        let bytes = &bytes[..bytes.len().min(FRONT_BYTES)];
        let ends = memchr::memchr_iter(b'\n', bytes).count() as u64;
        let after_cr = memchr::memmem::find_iter(bytes, b"\r\n").count() as u64;
        are_mixed(ends, after_cr).then_some(Foreign::MixedLineEnds)
    }

    /// Returns true if a CR before a line end is a part of the line, or of its key.
    pub(super) fn keeps_carriage_returns(&self, format: LineFormat) -> bool {
        let ignores_cr = self.keying().is_some_and(Keying::ignores_cr);
        format.terminator == b'\n' && !format.strip_cr && !ignores_cr
    }
}
