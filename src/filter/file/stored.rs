//! Reading a filter file.
//!
//! *Owns:* checking a file ([`StoredFilter`]), loading it, and mapping it ([`CheckedFilter`]).
//! *Invariants:* every byte of the file is checked before the first answer; what was checked is the
//! file that is loaded or mapped, even if another takes its name meanwhile. *Cost:* one pass over
//! the file through a buffer of 1 MiB; loading reads straight into the cells.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use rustix::fs::OFlags;

use crate::decode::io_error::unreadable;
use crate::error::{Error, Result};
use crate::filter::file::header::{BUILD_AGAIN, FilterHeader, HEADER_BYTES, Refusal};
use crate::filter::file::{SECTION_BYTES, section_checksum};
use crate::filter::filter::{Filter, Rules};
use crate::filter::mapped::Mapped;
use crate::filter::merge::check_alike;
use crate::filter::occupancy::{Census, Occupancy};
use crate::filter::shape::{Kind, Shape};
use crate::filter::words::InFile;
use crate::lines::LineFormat;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::{Buffer, PAGE};
use crate::record::KeyForm;
use crate::sys::{checksum, compute_pool};

/// Parts of a file that several threads read: enough for all to end at about the same time.
const PARTS: u64 = 64;

/// A filter file whose header was checked.
#[derive(Debug)]
pub struct StoredFilter {
    path: PathBuf,
    /// Stays open: what is loaded later is this file, even if another one has got its name by then.
    file: File,
    header: FilterHeader,
}

impl StoredFilter {
    /// Opens `path` and checks its header, its size and its table.
    ///
    /// # Errors
    /// [`Error::Input`] when it cannot be read, [`Error::BadFilter`] when it is no filter file, or
    /// damaged, or of a newer version.
    pub fn open(path: &Path) -> Result<Self> {
        let fail = |error| unreadable(path, error);
        // Without this flag, opening a FIFO would wait for a writer. Reads of a regular file ignore it.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(path);
        let file = file.map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        if metadata.is_dir() {
            let error = io::Error::from_raw_os_error(rustix::io::Errno::ISDIR.raw_os_error());
            return Err(fail(error));
        }
        let refuse = |(what, advice): Refusal| Error::BadFilter {
            path: path.to_owned(),
            what,
            advice,
        };
        if !metadata.is_file() {
            let what = "is not a regular file".to_owned();
            return Err(refuse((what, "copy the filter to a regular file")));
        }
        let mut page = [0; HEADER_BYTES as usize];
        let held = metadata.len().min(HEADER_BYTES) as usize;
        file.read_exact_at(&mut page[..held], 0).map_err(fail)?;
        // A shorter file fails at its magic, or at the checksum past its end.
        let header = FilterHeader::decode(&page).map_err(refuse)?;
        let (wanted, found) = (header.file_bytes(), metadata.len());
        if wanted != found {
            let what = format!("has {found} bytes instead of {wanted}");
            return Err(refuse((what, BUILD_AGAIN)));
        }
        let checksum = table_checksum(&file, &header).map_err(fail)?;
        if checksum != header.table_checksum {
            return Err(refuse(("its table is damaged".into(), BUILD_AGAIN)));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            header,
        })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the shape of the filter.
    pub fn shape(&self) -> Shape {
        self.header.shape
    }

    /// Returns the rules by which lines become its keys.
    pub fn rules(&self) -> Rules {
        Rules {
            hasher: self.header.hasher,
            format: self.header.format,
            key_form: self.header.key_form,
            planned_keys: self.header.planned_keys,
        }
    }

    /// Lines inserted less lines removed; of digests, how many there are.
    pub fn keys(&self) -> u64 {
        self.header.keys
    }

    /// Returns the size of the file, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.header.file_bytes()
    }

    /// Reads the filter into memory, and checks and counts its parts on at most `threads` threads.
    ///
    /// # Errors
    /// [`Error::Memory`] when the budget has no room for it, [`Error::BadFilter`] when it is
    /// damaged, [`Error::Input`] when it cannot be read.
    pub fn load(&self, budget: &MemoryBudget, threads: usize) -> Result<Filter> {
        let bytes = self.header.body_bytes();
        let mut words = Buffer::with_huge_pages(budget, "filter", bytes)?;
        let sections = self.header.sections().div_ceil(PARTS).max(1);
        let body = words[..bytes as usize].chunks_mut((sections * SECTION_BYTES) as usize);
        let parts = (0..).step_by(sections as usize).zip(body).collect();
        let counted = compute_pool::each(threads, parts, |(first, part): (u64, &mut [u8])| {
            let mut census = Census::new(self.header.shape);
            for (number, section) in (first..).zip(part.chunks_mut(SECTION_BYTES as usize)) {
                self.read_section(number, section)?;
                census.add(bytemuck::cast_slice(section));
            }
            Ok(census)
        });
        let mut census = Census::new(self.header.shape);
        for part in counted {
            census.merge(&part?);
        }
        self.check_census(census)?;
        Ok(self.filter(words))
    }

    /// Checks the whole file. Only what is checked can be mapped.
    ///
    /// # Errors
    /// As [`StoredFilter::load`].
    pub fn check(self, budget: &MemoryBudget) -> Result<CheckedFilter> {
        let occupancy = self.occupancy(budget)?;
        Ok(CheckedFilter {
            stored: self,
            occupancy,
        })
    }

    /// Refuses options by which lines become other keys than they did when the filter was built: none of them would be
    /// found. A CR may be stripped of lines that are looked up where none was stripped of those that were inserted.
    pub(crate) fn check_reading(&self, format: LineFormat, key_form: KeyForm) -> Result<()> {
        let stored = self.header.format;
        let refuse = |what: &str, advice: String| {
            Error::usage(
                format!(
                    "{}: this filter was built with other {what}",
                    self.path.display()
                ),
                advice,
            )
        };
        if stored.terminator != format.terminator {
            let advice = if stored.terminator == 0 {
                "add `terminator`, because its lines end in NUL"
            } else {
                "leave out `terminator`, because its lines end in a newline"
            };
            return Err(refuse("line ends", advice.into()));
        }
        if stored.strip_cr && !format.strip_cr {
            let advice = "add `strip_cr`, because it was built with `strip_cr`";
            return Err(refuse("line ends", advice.into()));
        }
        match self.header.key_form.advice(key_form) {
            Some(advice) => Err(refuse("keys", advice)),
            None => Ok(()),
        }
    }

    /// Refuses a filter that cannot be added to this one.
    pub(crate) fn check_alike(&self, other: &Self) -> Result<()> {
        let name = |error| match error {
            Error::Usage { what, advice } => {
                Error::usage(format!("{}: {what}", other.path.display()), advice)
            }
            error => error,
        };
        check_alike((self.shape(), self.rules()), (other.shape(), other.rules())).map_err(name)
    }

    /// Checks the file and adds what it has to `filter`, which passed [`StoredFilter::check_alike`]. After an
    /// error the filter has a part of it and is of no use.
    pub(crate) fn add_to(&self, filter: &mut Filter, budget: &MemoryBudget) -> Result<()> {
        filter.expect_more(self.keys())?;
        let mut census = Census::new(self.header.shape);
        self.for_each_section(budget, |number, words| {
            census.add(words);
            filter.add_words((number * SECTION_BYTES / 8) as usize, words)
        })?;
        self.check_census(census)?;
        filter.note_added(self.keys());
        Ok(())
    }

    /// Checks the file and counts its cells.
    ///
    /// # Errors
    /// As [`StoredFilter::load`].
    pub fn occupancy(&self, budget: &MemoryBudget) -> Result<Occupancy> {
        let mut census = Census::new(self.header.shape);
        self.for_each_section(budget, |_, words| {
            census.add(words);
            Ok(())
        })?;
        self.check_census(census)
    }

    /// Hands the words of each section to `each`, with its number, once they are checked.
    fn for_each_section(
        &self,
        budget: &MemoryBudget,
        mut each: impl FnMut(u64, &[u64]) -> Result<()>,
    ) -> Result<()> {
        let bytes = self.header.body_bytes();
        let mut buffer = Buffer::new(budget, "reading a filter", bytes.min(SECTION_BYTES))?;
        for number in 0..self.header.sections() {
            let left = (bytes - number * SECTION_BYTES).min(SECTION_BYTES) as usize;
            self.read_section(number, &mut buffer[..left])?;
            each(number, &buffer.words()[..left / 8])?;
        }
        Ok(())
    }

    /// Makes the filter whose cells are in `words`.
    fn filter<W>(&self, words: W) -> Filter<W> {
        Filter {
            shape: self.header.shape,
            rules: self.rules(),
            words,
            keys: AtomicU64::new(self.header.keys),
        }
    }

    /// Reads one section of the body into `section` and checks it.
    fn read_section(&self, number: u64, section: &mut [u8]) -> Result<()> {
        let offset = self.header.body_at() + number * SECTION_BYTES;
        self.read_exact(section, offset)?;
        let mut entry = [0; 8];
        self.read_exact(&mut entry, HEADER_BYTES + number * 8)?;
        if u64::from_le_bytes(entry) != section_checksum(number, section) {
            return Err(self.damaged(&format!("section {number} of its body is damaged")));
        }
        if number + 1 == self.header.sections() && has_bits_behind(self.header.shape, section) {
            return Err(self.damaged("has bits set after its last cell"));
        }
        Ok(())
    }

    /// Reads all of `bytes` at `offset`. A file that has become too short is damaged.
    fn read_exact(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        let read = self.file.read_exact_at(bytes, offset);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged("was truncated while in use"),
            _ => unreadable(&self.path, error),
        })
    }

    /// Returns the occupancy that was counted, if it is the one in the header.
    fn check_census(&self, census: Census) -> Result<Occupancy> {
        let occupancy = census.finish();
        let is_table = self.header.shape.kind == Kind::Fingerprint;
        if is_table && occupancy.used != self.header.keys {
            return Err(self.damaged("does not have as many digests as its header says"));
        }
        Ok(occupancy)
    }

    fn damaged(&self, what: &str) -> Error {
        Error::BadFilter {
            path: self.path.clone(),
            what: what.to_owned(),
            advice: BUILD_AGAIN,
        }
    }
}

/// A filter file that was checked as a whole.
#[derive(Debug)]
pub struct CheckedFilter {
    stored: StoredFilter,
    occupancy: Occupancy,
}

impl CheckedFilter {
    /// Returns the file.
    pub fn stored(&self) -> &StoredFilter {
        &self.stored
    }

    /// Returns the occupancy of its cells.
    pub fn occupancy(&self) -> Occupancy {
        self.occupancy
    }

    /// Maps the filter, which may become resident as a whole.
    ///
    /// # Errors
    /// [`Error::Memory`] when the budget has less, [`Error::Input`] when the file cannot be mapped.
    pub fn map(&self, budget: &MemoryBudget) -> Result<Filter<Mapped>> {
        let stored = &self.stored;
        let (offset, bytes) = (stored.header.body_at(), stored.header.body_bytes());
        let reservation = budget.reserve("mapped filter", bytes)?;
        let words = Mapped::new(&stored.file, offset, bytes, reservation)
            .map_err(|error| unreadable(&stored.path, error))?;
        Ok(stored.filter(words))
    }

    /// Returns the filter, whose words are read one cache line at a time as it is asked.
    pub(super) fn in_file(&self) -> Result<Filter<InFile>> {
        let stored = &self.stored;
        let file = stored.file.try_clone();
        Ok(stored.filter(InFile {
            file: file.map_err(|error| unreadable(&stored.path, error))?,
            offset: stored.header.body_at(),
            bytes: stored.header.body_bytes(),
        }))
    }
}

/// Computes the checksum of everything between header and body, a page at a time: a file that is all holes can have a
/// table of any size.
fn table_checksum(file: &File, header: &FilterHeader) -> io::Result<u64> {
    let mut checksum = checksum::Running::default();
    let mut page = [0; PAGE as usize];
    for offset in (HEADER_BYTES..header.body_at()).step_by(PAGE as usize) {
        file.read_exact_at(&mut page, offset)?;
        checksum.update(&page);
    }
    Ok(checksum.finish())
}

/// Tells whether the last word of the body, which `section` ends with, has bits set that belong to no cell. They would
/// survive merging and make two equal filters differ.
fn has_bits_behind(shape: Shape, section: &[u8]) -> bool {
    let behind = (shape.bytes() * 8 - shape.bits()) as u32;
    let last: Option<&[u8; 8]> = section.last_chunk();
    last.is_some_and(|&bytes| u64::from_le_bytes(bytes).leading_zeros() < behind)
}
