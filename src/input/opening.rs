//! The opening of inputs: what each source is, and which of them are the same.
//!
//! *Owns:* the checks before any work starts. *Invariants:* what an input is decides whether it was named twice, not
//! what it is called; what can be read only once is refused the second time. *Cost:* one descriptor for each pipe; a
//! file is closed again.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::decode::feed::Reader;
use crate::decode::file;
use crate::decode::file_format::FileFormat;
use crate::decode::file_state::has_size;
use crate::decode::io_error::{STDIN, unreadable};
use crate::decode::producer::Producer;
use crate::decode::request::Opening;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::input::access::Access;
use crate::input::commands::Commands;
use crate::input::front::front_of_stream;
use crate::input::keying::Keying;
use crate::input::parts::Parts;
use crate::input::source::{Files, Source};
use crate::record::{Field, Keys, Syntax};
use crate::sys::file_id::FileId;

/// The identity of an input: its files in their order, and what is special about reading them: the fields of their
/// keys, if they have their own, and whether they have headers.
type SourceIdentity = (Vec<FileId>, Vec<Field>, bool);

impl Input {
    /// Opens and checks all `sources`. The same file named twice is one input, and two sides; so are the same
    /// files in the same order.
    ///
    /// # Errors
    /// [`Error::Input`] for the first that cannot be read, [`Error::Usage`] for standard input, or anything else that
    /// can be read only once, named twice, and for a list without files; what is wrong with a header.
    pub(crate) fn open_all(sources: &[Source], opening: Opening<'_>) -> Result<Vec<Self>> {
        if sources.iter().filter(|s| **s == Source::Stdin).count() > 1 {
            return Err(Error::usage(
                "-: standard input was named twice",
                "name it once, because it can only be read once",
            ));
        }
        let mut inputs: Vec<Self> = Vec::with_capacity(sources.len());
        // Sorted: a table of hashes would ask the system for a random key, and panic where there is none.
        let mut seen: BTreeMap<SourceIdentity, usize> = BTreeMap::new();
        if let Some(keys) = opening.keys {
            keys.check(sources.len() as u32 + opening.first_number - 1)?;
        }
        for (source, side) in sources.iter().zip(1..) {
            let number = side + opening.first_number - 1;
            // Before it is opened: a FIFO whose writer is done would be waited for.
            if let Source::Path(path) = source
                && let Ok(id) = FileId::at(path)
                && let Some(((files, ..), &first)) =
                    seen.range((vec![id], Vec::new(), false)..).next()
                && *files == [id]
            {
                inputs[first].refuse_if_read_once(path)?;
            }
            let (mut input, files) = Self::open(source, number, opening)?;
            let has_header = opening.keys.is_some_and(|keys| keys.has_header_of(number));
            let identity = (files, own_fields(opening.keys, number), has_header);
            // Another process may have read a part of standard input: it is never the same as its file. What a command
            // writes may differ each time.
            let has_identity = (*source != Source::Stdin || input.access.is_read_once)
                && input.access.commands().is_none();
            if has_identity {
                match seen.entry(identity) {
                    Entry::Vacant(entry) => {
                        entry.insert(inputs.len());
                    }
                    Entry::Occupied(first) => {
                        let first = &mut inputs[*first.get()];
                        first.refuse_if_read_once(input.name())?;
                        first.identity.sides.push(side);
                        continue;
                    }
                }
            }
            input.identity.number = inputs.len();
            input.identity.sides = vec![side];
            input.records.keying = input.keying_of(number, opening)?;
            inputs.push(input);
        }
        if let Some(keys) = opening.keys {
            check_tables(&inputs, keys)?;
        }
        Ok(inputs)
    }

    /// Refuses a second name of what can be read only once.
    fn refuse_if_read_once(&self, name: &Path) -> Result<()> {
        if !self.access.is_read_once {
            return Ok(());
        }
        let (first, second) = (self.name().display(), name.display());
        let what = if self.name() == name {
            format!("{second}: was named twice, but can only be read once")
        } else {
            format!("{second}: is the same as {first}, but can only be read once")
        };
        Err(Error::usage(what, "name it once, or copy it to a file"))
    }

    /// Opens one source, finds out what it is, and closes it again if it can be opened anew.
    fn open(source: &Source, number: u32, opening: Opening<'_>) -> Result<(Self, Vec<FileId>)> {
        let (name, opened) = match source {
            Source::Path(path) => (path.clone(), File::open(path)),
            Source::Stdin => (PathBuf::from(STDIN), stdin()),
            Source::Files(files) => return Self::open_files(files, number, opening),
            Source::Reader(reader) => return Self::open_reader(reader, opening),
            Source::Producer(producer) => return Self::open_producer(producer, opening),
        };
        let file = opened.map_err(|error| unreadable(&name, error))?;
        let metadata = file.metadata().map_err(|error| unreadable(&name, error))?;
        if metadata.is_dir() {
            return Err(Error::Input {
                path: name,
                source: io::Error::from_raw_os_error(rustix::io::Errno::ISDIR.raw_os_error()),
                advice: "name its files, or give the directory to `Files`",
            });
        }
        // Whether it is cached is asked first: a look at its size reads of it.
        let is_warm = metadata.is_file() && file::is_cached(&file, metadata.size());
        let by_position = metadata.is_file() && *source != Source::Stdin && has_size(&file);
        let is_read_once = is_read_once(&file, &metadata);
        let mut access = if by_position {
            let format = FileFormat::of_file(&file, metadata.size(), &name, number, opening)?;
            let (path, name) = (name.clone(), name.clone());
            let only = Parts::one(path, name, &metadata, is_warm, format);
            Access::of_parts(only, opening.decodes)
        } else {
            Access::of_stream(file, opening.decodes)
        };
        access.is_read_once = is_read_once;
        Ok((Self::new(name, access), vec![FileId::of(&metadata)]))
    }

    /// Starts reading what a program gives.
    fn open_reader(reader: &Reader, opening: Opening<'_>) -> Result<(Self, Vec<FileId>)> {
        let name = reader.name().to_owned();
        let (file, writer) = reader.start()?;
        let metadata = file.metadata().map_err(|error| unreadable(&name, error))?;
        let mut access = Access::of_stream(file, opening.decodes);
        (access.writer, access.is_read_once) = (Some(writer), true);
        Ok((Self::new(name, access), vec![FileId::of(&metadata)]))
    }

    /// Notes the commands that write an input. None runs yet.
    fn open_producer(producer: &Producer, opening: Opening<'_>) -> Result<(Self, Vec<FileId>)> {
        let name = producer.name().to_owned();
        if producer.names().is_empty() {
            return Err(names_nothing(&name));
        }
        let commands = Commands::new(producer.clone(), opening.interrupt);
        let access = Access::of_commands(commands, opening.decodes);
        Ok((Self::new(name, access), Vec::new()))
    }

    /// Reads the headers of this input, whose first side has `number`, from 1, and returns the rules for its records.
    fn keying_of(&mut self, number: u32, opening: Opening<'_>) -> Result<Option<Keying>> {
        if let Some(parts) = self.access.parts() {
            return Keying::of_parts(parts, number, opening);
        }
        let name = &self.identity.name;
        if let Some(commands) = self.access.commands_mut() {
            let names = commands.names();
            let streams = (names.len(), |stream: usize| names[stream].clone());
            let read = |rules| commands.read_front(rules, opening);
            return Keying::of_streams(streams, number, opening, read);
        }
        let stop = || opening.interrupt.check();
        let read = |file: &File| {
            let read = |rules| Ok((front_of_stream(file, name, rules, &stop)?, 0));
            Keying::of_streams((1, |_| name.clone()), number, opening, read)
        };
        Ok(self.access.look_at_stream(read).transpose()?.flatten())
    }

    /// Checks many files that are one side.
    fn open_files(files: &Files, number: u32, opening: Opening<'_>) -> Result<(Self, Vec<FileId>)> {
        let name = files.name().to_owned();
        if files.paths().is_empty() {
            return Err(names_nothing(&name));
        }
        let parts = Parts::check(files.shared_paths(), number, opening)?;
        let identity = parts.all().iter().map(|part| part.state.id).collect();
        let access = Access::of_parts(parts, opening.decodes);
        Ok((Self::new(name, access), identity))
    }
}

/// Refuses a side without files.
fn names_nothing(name: &Path) -> Error {
    Error::usage(
        format!("{}: names no file", name.display()),
        "name at least one file for each side",
    )
}

/// Checks what depends on which inputs are Parquet files.
fn check_tables(inputs: &[Input], keys: &Keys) -> Result<()> {
    let has_fields = |keys: &Keys| {
        let own = keys.fields_of.iter().any(|(_, fields)| !fields.is_empty());
        own || !keys.fields.is_empty()
    };
    let has_tables = inputs.iter().any(|input| input.null_rows().is_some());
    if keys.syntax == Syntax::Whole && has_fields(keys) && !has_tables {
        return Err(Error::usage(
            "`keys`: the format of the fields is not known",
            "add `Syntax::Csv`, `Syntax::Delimited(b'\\t')`, `Syntax::JsonLines` or `delimiter`, or give a Parquet file (not through a pipe)",
        ));
    }
    Ok(())
}

/// Returns the fields of the input with this number, if it has its own.
fn own_fields(keys: Option<&Keys>, number: u32) -> Vec<Field> {
    let own = keys.map_or(&[][..], |keys| &keys.fields_of);
    let own = own.iter().find(|(input, _)| *input == number);
    own.map_or_else(Vec::new, |(_, fields)| fields.clone())
}

/// Returns true if what was read of `file` can be read again under no name. Other devices, such as `/dev/null`, give
/// the same at every opening.
fn is_read_once(file: &File, metadata: &Metadata) -> bool {
    let kind = metadata.file_type();
    kind.is_fifo() || kind.is_socket() || (kind.is_char_device() && rustix::termios::isatty(file))
}

/// Opens standard input as a file of its own, so that it is closed like any other. One that is only for writing is
/// refused before any work is done.
fn stdin() -> io::Result<File> {
    use rustix::fs::OFlags;
    let stdin = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 0)?;
    let flags = rustix::fs::fcntl_getfl(&stdin)?;
    // A path that was opened as such (`O_PATH`) and not as a file stands for a stream that was closed.
    let cannot_be_read =
        flags.contains(OFlags::PATH) || flags.intersection(OFlags::RWMODE) == OFlags::WRONLY;
    if cannot_be_read {
        return Err(rustix::io::Errno::BADF.into());
    }
    Ok(File::from(stdin))
}
