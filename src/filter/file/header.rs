//! The first page of a filter file, as numbers and as bytes.
//!
//! *Owns:* encoding, decoding, and whether a header makes sense. *Invariants:* what is decoded
//! encodes to the same bytes; a header that passes has a shape that the code can work with, a body
//! of exactly that shape's size, and describes a file of [`FilterHeader::file_bytes`]. *Cost:* a page.

use bytemuck::bytes_of;

use crate::filter::file::SECTION_BYTES;
use crate::filter::shape::{Kind, Shape};
use crate::hash::LineHasher;
use crate::lines::LineFormat;
use crate::memory::buffer::{PAGE, round_up};
use crate::record::{Joined, KeyForm};
use crate::sys::checksum;

/// The first bytes of every filter file.
const MAGIC: [u8; 8] = *b"\x93OSF\r\n\x1a\n";
/// The version that is written.
const VERSION: u32 = 1;
/// These bytes are hashed when a file is written and again when it is opened: a program whose hash differs
/// would otherwise miss lines without noticing.
const TOUCHSTONE: &[u8] = b"outset";
/// The offset of the table: right after the header.
pub(super) const HEADER_BYTES: u64 = PAGE;
/// The offset of the header's own checksum.
const CHECKSUM_AT: usize = HEADER_BYTES as usize - 8;
/// The offset of the first zero.
const ZEROS_AT: usize = 118;
/// The most lines that a header may claim. Adding lines to that cannot overflow.
const MOST_KEYS: u64 = 1 << 62;

/// The content of the first page.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilterHeader {
    pub(super) shape: Shape,
    /// Has the key of the filter.
    pub(super) hasher: LineHasher,
    /// The rules for a line when the filter was built.
    pub(super) format: LineFormat,
    /// The form of the keys of lines.
    pub(super) key_form: KeyForm,
    /// Lines inserted less lines removed; of digests, how many there are.
    pub(super) keys: u64,
    /// Lines that the filter was laid out for.
    pub(super) planned_keys: u64,
    /// XXH3-64 of everything between header and body.
    pub(super) table_checksum: u64,
}

/// Why a file is refused: what is wrong, and what to do about it.
pub(super) type Refusal = (String, &'static str);

const NOT_OURS: &str = "name a file that `outset filter build` wrote";
const NEWER: &str = "use the version of outset that built it, or build it again";
/// Advice on a file that is not what was written.
pub(super) const BUILD_AGAIN: &str = "restore it from a backup, or build it again";

impl FilterHeader {
    /// Decodes the header of the filter in a file that begins with `page`. Checks in the order that gives the most
    /// helpful refusal: whether it is a filter file at all, its version, then damage, then its content. Another version
    /// may have its checksum elsewhere, so the version comes before it.
    pub(super) fn decode(page: &[u8; HEADER_BYTES as usize]) -> Result<Self, Refusal> {
        let damaged = |what: String| (what, BUILD_AGAIN);
        if page[..8] != MAGIC {
            return Err(("is not a filter file".into(), NOT_OURS));
        }
        let number = |at: usize| u64_at(page, at);
        let version = u32_at(page, 8);
        if page[8..].iter().all(|&byte| byte == 0) {
            return Err(damaged("its header is cut".into()));
        }
        if version != VERSION {
            let what = format!(
                "is a filter file of version {version}; this outset reads version {VERSION}"
            );
            return Err((what, NEWER));
        }
        if number(CHECKSUM_AT) != checksum::of(&page[..CHECKSUM_AT]) {
            return Err(damaged("its header is damaged".into()));
        }
        Self::decode_checked(page)
    }

    /// Decodes the header in a page whose checksum is right. It may still have been written by another program, or to
    /// mislead: shape, counts and offsets are checked before anything is allocated or read by them.
    fn decode_checked(page: &[u8; HEADER_BYTES as usize]) -> Result<Self, Refusal> {
        let damaged = |what: String| (what, BUILD_AGAIN);
        let number = |at: usize| u64_at(page, at);
        let kind = kind_of(page[16])
            .ok_or_else(|| (format!("has an unknown kind {}", page[16]), NEWER))?;
        let is_known = page[18] <= 1 && [0, b'\n'].contains(&page[17]);
        let is_known = is_known && page[ZEROS_AT..CHECKSUM_AT].iter().all(|&byte| byte == 0);
        let key_form = key_form_of(page).filter(|_| is_known).ok_or((
            "has settings that this version of outset does not know".into(),
            NEWER,
        ))?;
        let key = [64, 72, 80, 88].map(number);
        let header = Self {
            shape: Shape {
                kind,
                cells: number(24),
                hashes: u32_at(page, 20),
            },
            hasher: LineHasher::with_key(key),
            format: LineFormat {
                terminator: page[17],
                strip_cr: page[18] == 1,
                ..LineFormat::default()
            },
            key_form,
            keys: number(32),
            planned_keys: number(40),
            table_checksum: number(104),
        };
        header.check_shape().map_err(damaged)?;
        let layout = (u64::from(u32_at(page, 12)), number(48), number(56));
        if layout != (HEADER_BYTES, header.body_at(), header.body_bytes()) {
            return Err(damaged("its layout is invalid".into()));
        }
        if number(96) != header.hasher.hash(TOUCHSTONE) {
            return Err(("was built with a different hash function".into(), NEWER));
        }
        Ok(header)
    }

    /// Checks that the code can work with the shape and the counts.
    fn check_shape(&self) -> Result<(), String> {
        let Shape { kind, cells, .. } = self.shape;
        self.shape.check()?;
        if kind == Kind::Fingerprint && self.keys >= cells {
            return Err(format!(
                "has {} digests, too many for {cells} slots",
                self.keys
            ));
        }
        if self.keys > MOST_KEYS {
            return Err(format!("has an impossible number of lines, {}", self.keys));
        }
        Ok(())
    }

    /// Encodes the header at the offsets of the table in the module's description, with its checksum.
    pub(super) fn encode(&self) -> [u8; HEADER_BYTES as usize] {
        let mut page = [0; HEADER_BYTES as usize];
        let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(12, &(HEADER_BYTES as u32).to_le_bytes());
        let kind = kind_number(self.shape.kind);
        let strips = u8::from(self.format.strip_cr);
        let (compares, joins) = key_form_bytes(self.key_form);
        put(16, &[kind, self.format.terminator, strips, compares]);
        put(20, &self.shape.hashes.to_le_bytes());
        let numbers = [
            self.shape.cells,
            self.keys,
            self.planned_keys,
            self.body_at(),
            self.body_bytes(),
        ];
        put(24, bytes_of(&numbers.map(u64::to_le)));
        put(64, bytes_of(&self.hasher.key().map(u64::to_le)));
        put(96, &self.hasher.hash(TOUCHSTONE).to_le_bytes());
        put(104, &self.table_checksum.to_le_bytes());
        put(112, &self.key_form.fields.to_le_bytes());
        put(116, &joins);
        let checksum = checksum::of(&page[..CHECKSUM_AT]);
        page[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        page
    }

    /// Returns the number of sections of the body.
    pub(super) fn sections(&self) -> u64 {
        self.body_bytes().div_ceil(SECTION_BYTES)
    }

    /// Returns the byte at which the body begins: at a page, so that it can be mapped.
    pub(super) fn body_at(&self) -> u64 {
        HEADER_BYTES + round_up(self.sections() * 8, PAGE)
    }

    /// Returns the size of the body.
    pub(super) fn body_bytes(&self) -> u64 {
        self.shape.bytes()
    }

    /// Returns the size of the file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.body_at() + self.body_bytes()
    }
}

/// Returns the number of a kind in files; it never changes.
fn kind_number(kind: Kind) -> u8 {
    match kind {
        Kind::Blocked => 1,
        Kind::Classic => 2,
        Kind::Counting => 3,
        Kind::Spectral => 4,
        Kind::Fingerprint => 5,
    }
}

fn kind_of(number: u8) -> Option<Kind> {
    Kind::ALL
        .into_iter()
        .find(|&kind| kind_number(kind) == number)
}

/// Encodes how keys are compared, as bits, and what joins their fields, as a number and a delimiter.
fn key_form_bytes(form: KeyForm) -> (u8, [u8; 2]) {
    let joins = match form.joined {
        None => [0, 0],
        Some(Joined::Delimited(delimiter)) => [1, delimiter],
        Some(Joined::Csv(delimiter)) => [2, delimiter],
        Some(Joined::Json) => [3, 0],
    };
    (
        u8::from(form.ignores_case) | u8::from(form.trims) << 1 | u8::from(form.squeezes) << 2,
        joins,
    )
}

/// Decodes from the header how keys are made; `None` if it has other bytes than [`key_form_bytes`] gives.
fn key_form_of(page: &[u8; HEADER_BYTES as usize]) -> Option<KeyForm> {
    let compares = page[19];
    let form = KeyForm {
        ignores_case: compares & 1 != 0,
        trims: compares & 2 != 0,
        squeezes: compares & 4 != 0,
        fields: u32_at(page, 112),
        joined: match page[116] {
            0 => None,
            1 => Some(Joined::Delimited(page[117])),
            2 => Some(Joined::Csv(page[117])),
            _ => Some(Joined::Json),
        },
    };
    let is_known = key_form_bytes(form) == (compares, [page[116], page[117]]);
    (is_known && form.joined.is_some() == (form.fields > 1)).then_some(form)
}

fn u64_at(page: &[u8; HEADER_BYTES as usize], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&page[at..at + 8]);
    u64::from_le_bytes(bytes)
}

fn u32_at(page: &[u8; HEADER_BYTES as usize], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&page[at..at + 4]);
    u32::from_le_bytes(bytes)
}
