//! How a file is best read: what reaches a worker that counts newlines, way by way.
//!
//! ```text
//! cargo bench --bench reading -- --dir /big/disk             # a file of 4 GiB
//! cargo bench --bench reading -- --dir /big/disk --bytes 1G
//! cargo bench --bench reading -- --dir /big/disk --fadvise   # leaves the cache of others alone
//! ```
//!
//! *What is measured:* threads take the next piece of the file by turns, read it, and count the
//! newlines in it with `memchr`, which takes next to nothing beside the reading. *Warm:* the whole
//! file is read through the page cache just before, untimed. *Cold:* its pages are dropped: those
//! of the whole system through `/proc/sys/vm/drop_caches` where that is allowed (as root), else
//! those of the file through `posix_fadvise(DONTNEED)`; the program says which. Each figure is the
//! median of three, in 10^9 bytes a second.
//!
//! *What ends the benchmark:* a way that does not count every newline.
//!
//! *Cost:* the file, written once and removed at the end; `--bytes` of page cache for the warm
//! figures; a few minutes.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use memmap2::MmapOptions;
use outset::memory::budget::MemoryBudget;
use outset::memory::buffer::Buffer;
use outset::size::{display_bytes, parse_bytes};
use rustix::fs::{Advice, OFlags, fadvise};
use rustix::io::Errno;
use tempfile::NamedTempFile;

type Failure = Box<dyn std::error::Error>;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Bytes of a line of the file, newline included.
const LINE_BYTES: u64 = 64;
/// Timed readings, whose median counts.
const ROUNDS: usize = 3;
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// The ways of reading, each with the numbers of threads that read.
const CASES: [(Way, &[usize]); 6] = [
    (Way::Buffered { piece: 256 * KIB }, &[1, 2]),
    (Way::Buffered { piece: MIB }, &[1, 2]),
    (Way::Forgetful { piece: MIB }, &[1, 2]),
    (Way::Direct { piece: MIB }, &[1, 2, 4]),
    (Way::Mapped { piece: 2 * MIB }, &[1, 2]),
    (Way::Mapped { piece: 64 * MIB }, &[1, 2]),
];

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let before = arguments.len();
    arguments.retain(|argument| argument != "--bench");
    if arguments.len() == before {
        // `cargo test --benches` runs this, too, and is not to wait for it.
        println!("reading: measures nothing unless it is run by `cargo bench`");
        return ExitCode::SUCCESS;
    }
    match Settings::parse(&arguments).and_then(|settings| compare(&settings)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("reading: {failure}");
            ExitCode::FAILURE
        }
    }
}

struct Settings {
    directory: PathBuf,
    bytes: u64,
    /// The way to drop pages.
    forgetting: Forgetting,
}

impl Settings {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut settings = Self {
            directory: std::env::temp_dir(),
            bytes: 4096 * MIB,
            forgetting: Forgetting::best(),
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--dir" => settings.directory = value()?.into(),
                "--bytes" => settings.bytes = parse_bytes(value()?)?,
                "--fadvise" => settings.forgetting = Forgetting::OfFile,
                other => return Err(format!("{other} is no option of this benchmark").into()),
            }
        }
        // Direct reads take whole pieces.
        settings.bytes = settings.bytes.next_multiple_of(MIB).max(MIB);
        Ok(settings)
    }
}

/// Makes the file and prints a row for each way and number of threads.
fn compare(settings: &Settings) -> Result<(), Failure> {
    let file = make_file(settings)?;
    let job = Job {
        path: file.path(),
        bytes: settings.bytes,
    };
    println!(
        "{} in {}; cold: {}",
        display_bytes(job.bytes),
        settings.directory.display(),
        settings.forgetting.name()
    );
    if job.bytes > outset::machine::memory_base_bytes() {
        println!("The file is larger than the memory that is free: its warm figures are not warm.");
    }
    println!("\n| {:<28} | threads | warm GB/s | cold GB/s |", "way");
    println!("|:{:-<28}-|--------:|----------:|----------:|", "");
    for (way, thread_counts) in CASES {
        for &threads in thread_counts {
            let warm = job.rate(way, threads, || job.warm_up())?;
            let cold = job.rate(way, threads, || settings.forgetting.forget(job.path))?;
            println!(
                "| {:<28} | {threads:>7} | {} | {} |",
                way.name(),
                cell(warm),
                cell(cold)
            );
        }
    }
    Ok(())
}

fn cell(rate: Option<f64>) -> String {
    rate.map_or(format!("{:>9}", "refused"), |rate| format!("{rate:>9.2}"))
}

/// Writes lines of [`LINE_BYTES`] bytes, no two pieces of them alike.
fn make_file(settings: &Settings) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix("outset-reading-")
        .tempfile_in(&settings.directory)?;
    let mut word = 1u64;
    let mut piece = vec![b'\n'; MIB as usize];
    for line in piece.chunks_exact_mut(LINE_BYTES as usize) {
        for byte in &mut line[..LINE_BYTES as usize - 1] {
            word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            *byte = b'a' + (word >> 60) as u8;
        }
    }
    for number in 0..settings.bytes / MIB {
        // One piece is as good as the next, but no disk may take them for one.
        for line in piece.chunks_exact_mut(4096) {
            line[..16].copy_from_slice(format!("{number:016}").as_bytes());
        }
        file.write_all(&piece)?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}

/// A way to drop pages from the page cache.
#[derive(Clone, Copy)]
enum Forgetting {
    /// Those of the whole system.
    OfAll,
    /// Those of the file.
    OfFile,
}

impl Forgetting {
    /// Of all, where this process may do that.
    fn best() -> Self {
        let allowed = OpenOptions::new().write(true).open(DROP_CACHES);
        allowed.map_or(Self::OfFile, |_| Self::OfAll)
    }

    fn name(self) -> &'static str {
        match self {
            Self::OfAll => "drop_caches",
            Self::OfFile => "posix_fadvise(DONTNEED) on the file",
        }
    }

    /// Drops the pages; the file has none that are yet to be written.
    fn forget(self, path: &Path) -> io::Result<()> {
        match self {
            Self::OfAll => std::fs::write(DROP_CACHES, "1"),
            Self::OfFile => Ok(fadvise(File::open(path)?, 0, None, Advice::DontNeed)?),
        }
    }
}

/// A way of reading, with what is read at a time in bytes.
#[derive(Clone, Copy)]
enum Way {
    /// `pread` through the page cache.
    Buffered { piece: u64 },
    /// The same, and each piece leaves the page cache once it was read.
    Forgetful { piece: u64 },
    /// `pread` around the page cache.
    Direct { piece: u64 },
    /// Windows of the file are mapped with all their pages, and unmapped behind.
    Mapped { piece: u64 },
}

impl Way {
    fn name(self) -> String {
        let what = match self {
            Self::Buffered { .. } => "pread",
            Self::Forgetful { .. } => "pread, DONTNEED",
            Self::Direct { .. } => "pread, O_DIRECT",
            Self::Mapped { .. } => "mmap, populate",
        };
        format!("{what}, {}", display_bytes(self.piece()))
    }

    fn piece(self) -> u64 {
        match self {
            Self::Buffered { piece }
            | Self::Forgetful { piece }
            | Self::Direct { piece }
            | Self::Mapped { piece } => piece,
        }
    }

    /// Opens the file for this way; `None` where the file system refuses direct reading.
    fn open(self, path: &Path) -> io::Result<Option<File>> {
        let mut options = OpenOptions::new();
        options.read(true);
        if let Self::Direct { .. } = self {
            options.custom_flags(OFlags::DIRECT.bits().cast_signed());
        }
        match options.open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The file that is read.
#[derive(Clone, Copy)]
struct Job<'a> {
    path: &'a Path,
    bytes: u64,
}

impl Job<'_> {
    /// The median rate of reading the whole file, each time after `prepare`, in 10^9 bytes a
    /// second; `None` where the way is refused.
    fn rate(
        self,
        way: Way,
        threads: usize,
        prepare: impl Fn() -> io::Result<()>,
    ) -> Result<Option<f64>, Failure> {
        let mut rates = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            prepare()?;
            let start = Instant::now();
            let Some(newlines) = self.count(way, threads)? else {
                return Ok(None);
            };
            rates.push(self.bytes as f64 / start.elapsed().as_secs_f64() / 1e9);
            if newlines != self.bytes / LINE_BYTES {
                let name = way.name();
                return Err(
                    format!("{name}, {threads} threads: {newlines} newlines counted").into(),
                );
            }
        }
        rates.sort_by(f64::total_cmp);
        Ok(Some(rates[ROUNDS / 2]))
    }

    /// Brings the whole file into the page cache.
    fn warm_up(self) -> io::Result<()> {
        self.count(Way::Buffered { piece: MIB }, 2).map(drop)
    }

    /// Counts the newlines of the file.
    fn count(self, way: Way, threads: usize) -> io::Result<Option<u64>> {
        let Some(file) = way.open(self.path)? else {
            return Ok(None);
        };
        let next = AtomicU64::new(0);
        let newlines = std::thread::scope(|scope| {
            let start = |_| scope.spawn(|| self.count_pieces(way, &file, &next));
            let threads: Vec<_> = (0..threads).map(start).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, io::Result<u64>>| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).sum::<io::Result<u64>>()
        })?;
        Ok(Some(newlines))
    }

    /// One thread: takes pieces until there are no more.
    fn count_pieces(self, way: Way, file: &File, next: &AtomicU64) -> io::Result<u64> {
        let piece = way.piece();
        let mut buffer = match way {
            Way::Mapped { .. } => None,
            _ => Some(page_aligned(piece)?),
        };
        let mut newlines = 0;
        loop {
            let offset = next.fetch_add(piece, Ordering::Relaxed);
            if offset >= self.bytes {
                return Ok(newlines);
            }
            let length = piece.min(self.bytes - offset);
            match &mut buffer {
                Some(buffer) => {
                    let bytes = &mut buffer[..length as usize];
                    file.read_exact_at(bytes, offset)?;
                    newlines += count_newlines(bytes);
                }
                None => newlines += count_mapped(file, offset, length)?,
            }
            if let Way::Forgetful { .. } = way {
                fadvise(file, offset, NonZeroU64::new(length), Advice::DontNeed)?;
            }
        }
    }
}

/// Memory that direct reads can go to.
fn page_aligned(bytes: u64) -> io::Result<Buffer> {
    Buffer::new(&MemoryBudget::new(bytes, 0), "piece", bytes).map_err(io::Error::other)
}

fn count_newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn count_mapped(file: &File, offset: u64, length: u64) -> io::Result<u64> {
    let mut window = MmapOptions::new();
    window.offset(offset).len(length as usize).populate();
    #[expect(unsafe_code, reason = "a mapped file can be changed by others")]
    // SAFETY: the file was made by this process under a name of its own; nobody else writes to it
    // or makes it shorter.
    let window = unsafe { window.map(file) }?;
    Ok(count_newlines(&window))
}
