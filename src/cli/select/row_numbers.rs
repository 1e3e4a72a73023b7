//! The numbers of the rows of a result, on temporary disk, until the rows are copied.
//!
//! *Owns:* [`Numbers`], the sink that gets them, and [`RowNumbers`], which gives them back. *Invariants:* the numbers
//! of a file ascend. *Cost:* a byte or two of temporary disk for each row, and eight bytes of memory for each file.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Bytes, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use outset::{Error, Options, Result, Sink};

/// Bytes of the numbers that are gathered before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// The numbers of rows: each as the difference to the one before it in its file, in groups of seven bits.
pub(super) struct Numbers<'a> {
    file: BufWriter<File>,
    /// The directory of the file, for messages.
    directory: PathBuf,
    /// The number of the last row.
    last: u64,
    /// Bytes that were written.
    bytes: u64,
    /// The most bytes that there may be.
    most: u64,
    /// The files that rows may be of, in their order.
    paths: &'a [&'a Path],
    /// The number of the rows of each of them, up to the one whose rows come.
    files: Vec<u64>,
}

/// The numbers, from the first on.
pub(super) struct RowNumbers {
    bytes: Bytes<BufReader<File>>,
    directory: PathBuf,
}

impl<'a> Numbers<'a> {
    /// Makes room for the rows of the files at `paths`, in the first directory for temporary files.
    ///
    /// # Errors
    /// [`Error::Temp`].
    pub(super) fn new(options: &Options, paths: &'a [&'a Path]) -> Result<Self> {
        let directory = options.temp_parents().swap_remove(0);
        let file = tempfile::tempfile_in(&directory);
        let file = file.map_err(|error| unusable(&directory, error))?;
        Ok(Self {
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            directory,
            last: 0,
            bytes: 0,
            most: options.max_temp_bytes.unwrap_or(u64::MAX),
            paths,
            files: Vec::new(),
        })
    }

    /// Returns how many rows each file has.
    pub(super) fn rows_of_files(&self) -> &[u64] {
        &self.files
    }

    /// Takes the numbers of the rows of each file.
    pub(super) fn take_files(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.files)
    }

    /// Makes the error of a failed run whose result was to be these numbers: a result that could not be written is a
    /// temporary file here.
    pub(super) fn unwritable(&self, error: Error) -> Error {
        match error {
            Error::Output { .. } if self.bytes > self.most => Error::TempLimit {
                path: self.directory.clone(),
                needed_bytes: self.bytes,
                limit_bytes: self.most,
                reason: "allowed by --max-temp",
                advice: "raise --max-temp, which the numbers of the rows exceed",
            },
            Error::Output { target, source, .. } if target == self.target() => {
                unusable(&self.directory, source)
            }
            other => other,
        }
    }

    /// Takes the number of a row, in groups of seven bits.
    #[inline]
    fn push(&mut self, number: u64) -> io::Result<()> {
        let more = number.checked_sub(self.last);
        let mut more = more.ok_or_else(|| io::Error::other("a row came out of order"))?;
        self.last = number;
        let mut bytes = arrayvec::ArrayVec::<u8, 10>::new();
        while more >= 0x80 {
            bytes.push(more as u8 | 0x80);
            more >>= 7;
        }
        bytes.push(more as u8);
        self.bytes += bytes.len() as u64;
        if self.bytes > self.most {
            return Err(io::Error::other("more than --max-temp allows"));
        }
        if let Some(rows) = self.files.last_mut() {
            *rows += 1;
        }
        self.file.write_all(&bytes)
    }

    /// Gives the numbers back.
    ///
    /// # Errors
    /// [`Error::Temp`].
    pub(super) fn read(mut self) -> Result<RowNumbers> {
        let rewound = self
            .file
            .flush()
            .and_then(|()| self.file.seek(SeekFrom::Start(0)));
        rewound.map_err(|error| unusable(&self.directory, error))?;
        let file = self
            .file
            .into_inner()
            .map_err(|error| unusable(&self.directory, error.into_error()))?;
        Ok(RowNumbers {
            bytes: BufReader::with_capacity(BUFFER_BYTES, file).bytes(),
            directory: self.directory,
        })
    }
}

impl RowNumbers {
    /// Yields the numbers of the next `rows` rows, which are of one file.
    pub(super) fn of_file(&mut self, rows: u64) -> impl Iterator<Item = Result<u64>> {
        let (mut last, mut left) = (0, rows);
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let more = self.next_difference();
            Some(more.map(|more| {
                last += more;
                last
            }))
        })
    }

    /// Reads a difference.
    fn next_difference(&mut self) -> Result<u64> {
        let (mut more, mut shift) = (0, 0);
        loop {
            let byte = self
                .bytes
                .next()
                .unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()));
            let byte = byte.map_err(|error| unusable(&self.directory, error))?;
            more |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return Ok(more);
            }
        }
    }
}

impl Sink for Numbers<'_> {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let number = std::str::from_utf8(line)
            .ok()
            .and_then(|line| line.parse().ok());
        let number = number.ok_or_else(|| io::Error::other("a row has no number"))?;
        self.push(number)
    }

    fn rows(&mut self, numbers: &mut dyn Iterator<Item = u64>) -> io::Result<()> {
        for number in numbers {
            self.push(number)?;
        }
        Ok(())
    }

    // A file that is named twice is told once. At its other names it has no rows.
    fn file(&mut self, path: &Path) -> io::Result<()> {
        let rest = self.paths.get(self.files.len()..).unwrap_or_default();
        let skipped = rest.iter().position(|&next| next == path);
        let skipped = skipped.ok_or_else(|| io::Error::other("a file came out of order"))?;
        self.files.resize(self.files.len() + skipped + 1, 0);
        self.last = 0;
        Ok(())
    }

    fn divides_by_file(&self) -> bool {
        true
    }

    fn target(&self) -> String {
        format!("{}: a temporary file", self.directory.display())
    }
}

/// Makes the error for a temporary file.
fn unusable(directory: &Path, source: io::Error) -> Error {
    Error::Temp {
        path: directory.to_owned(),
        what: "cannot use a temporary file",
        source,
        advice: "choose another directory with --temp-dir",
    }
}
