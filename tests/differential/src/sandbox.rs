//! A directory for the files of one case at a time.
//!
//! *Owns:* where tests put files, the inputs as files and FIFOs, and the directory that spill goes to. *Invariants:* a
//! FIFO's writer has ended when its input is dropped, whether anybody read it or not. *Cost:* a thread per FIFO.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::fs::{Access, CWD, Mode, OFlags, mkfifoat};
use tempfile::TempDir;

use crate::case::{Alias, Input};

/// The bytes of all inputs, shared with the threads that write them to FIFOs.
pub type Contents = Arc<Vec<Vec<u8>>>;

/// The file system of Linux that is in memory.
const IN_MEMORY: &str = "/dev/shm";
/// Bytes that it must have free for the tests that run at the same time.
const FREE: u64 = 4 << 30;

/// Returns the directory for tests that make many small files: that of `TMPDIR`, else the file system in memory if it
/// has room, else the system's directory. ext4 looks for the inode of a new file among those of all files that were
/// deleted within the last minute, which takes milliseconds where a suite has deleted ten thousand.
pub fn quick_directory() -> PathBuf {
    let has_room = rustix::fs::statvfs(IN_MEMORY)
        .is_ok_and(|stat| stat.f_bavail.saturating_mul(stat.f_frsize) >= FREE)
        && rustix::fs::access(IN_MEMORY, Access::WRITE_OK).is_ok();
    if has_room && std::env::var_os("TMPDIR").is_none() {
        PathBuf::from(IN_MEMORY)
    } else {
        std::env::temp_dir()
    }
}

/// A directory of its own, removed when dropped.
#[derive(Debug)]
pub struct Sandbox {
    directory: TempDir,
}

/// Content that goes through a FIFO.
#[derive(Debug)]
pub struct Fifo {
    path: PathBuf,
    writer: Option<JoinHandle<()>>,
}

impl Sandbox {
    /// A new one in `parent`.
    pub fn new(parent: &Path) -> io::Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("differential-")
            .tempdir_in(parent)?;
        fs::create_dir(directory.path().join("temp"))?;
        Ok(Self { directory })
    }

    /// Returns the directory that spill goes to.
    pub fn temp(&self) -> PathBuf {
        self.path("temp")
    }

    /// A path in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The path of an input: `a`, `b` and so on.
    pub fn input(&self, number: usize) -> PathBuf {
        self.path(&input_name(number))
    }

    /// Writes an input as a file.
    pub fn write(&self, number: usize, content: &[u8]) -> io::Result<()> {
        let path = self.input(number);
        remove(&path)?;
        fs::write(path, content)
    }

    /// The path of the first input as it is before it is compressed.
    pub fn plain(&self) -> PathBuf {
        self.path("plain")
    }

    /// Writes the first input as it is before it is compressed.
    pub fn write_plain(&self, content: &[u8]) -> io::Result<()> {
        fs::write(self.plain(), content)
    }

    /// The path of one of the files that an input is split into.
    pub fn part(&self, number: usize, part: usize) -> PathBuf {
        self.path(&part_name(number, part))
    }

    /// Writes an input as the files that it is split into.
    pub fn write_parts(&self, number: usize, input: &Input, terminator: u8) -> io::Result<()> {
        let files = input.split(terminator);
        let mut files = files.iter().enumerate();
        files.try_for_each(|(part, file)| fs::write(self.part(number, part), input.stored(file)?))
    }

    /// Another name of the first input, which is a file.
    pub fn alias(&self, alias: Alias) -> io::Result<PathBuf> {
        let (first, link) = (self.input(0), self.path("again"));
        remove(&link)?;
        match alias {
            Alias::Path => return Ok(first),
            Alias::Detour => return Ok(self.temp().join("..").join(input_name(0))),
            Alias::SymbolicLink => symlink(input_name(0), &link)?,
            Alias::HardLink => fs::hard_link(first, &link)?,
        }
        Ok(link)
    }

    /// Lists the files that are left in the directory that spill goes to.
    pub fn left(&self) -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(self.temp())?;
        entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect()
    }

    /// Makes a FIFO of an input, and a thread that writes it once somebody reads.
    pub fn fifo(&self, number: usize, contents: &Contents) -> io::Result<Fifo> {
        let path = self.input(number);
        remove(&path)?;
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR)?;
        let (to, contents) = (path.clone(), Arc::clone(contents));
        let body = move || {
            if let Ok(mut pipe) = OpenOptions::new().write(true).open(to) {
                // In pieces that fit no buffer. A run that ends early closes the pipe.
                let mut pieces = contents[number].chunks(10_007);
                let _ended_early = pieces.try_for_each(|piece| pipe.write_all(piece));
            }
        };
        let writer = std::thread::Builder::new()
            .stack_size(64 << 10)
            .spawn(body)?;
        Ok(Fifo {
            path,
            writer: Some(writer),
        })
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        // A writer that waits for a reader gets one, and then a closed pipe.
        let flags = OFlags::NONBLOCK.bits() as i32;
        let reader: io::Result<File> = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(&self.path);
        while self
            .writer
            .as_ref()
            .is_some_and(|writer| !writer.is_finished())
            && is_still_opening(reader.as_ref())
        {
            std::thread::yield_now();
        }
        drop(reader);
        if let Some(writer) = self.writer.take() {
            let _panicked = writer.join();
        }
    }
}

/// Tells whether nothing came yet through a pipe that is open.
fn is_still_opening(reader: Result<&File, &io::Error>) -> bool {
    use std::io::Read;
    let Ok(mut reader) = reader else { return false };
    match reader.read(&mut [0]) {
        // No writer has it open yet, or no more.
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    }
}

/// The name of an input: a letter, and from the 27th on a number behind it.
pub fn input_name(number: usize) -> String {
    let letter = char::from(b'a' + (number % 26) as u8);
    match number / 26 {
        0 => letter.to_string(),
        turn => format!("{letter}{turn}"),
    }
}

/// The name of one of the files that an input is split into.
pub fn part_name(number: usize, part: usize) -> String {
    format!("{}.{part}", input_name(number))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
