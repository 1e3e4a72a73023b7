//! A terminal for a run's standard error: what was drawn on it, and what is left there.
//!
//! It understands the few control sequences that a line which is drawn again and again needs; any other fails the
//! test, for a real terminal may not understand it either.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The width that terminals have by tradition.
const COLUMNS: usize = 80;

/// A pseudo-terminal.
pub(crate) struct Terminal {
    master: File,
    drawn: Arc<Mutex<Vec<String>>>,
}

impl Terminal {
    /// A terminal, and the end of it for a process.
    pub(crate) fn open() -> (Self, Stdio) {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: COLUMNS as u16,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap();
        let end = File::options()
            .read(true)
            .write(true)
            .open(path.to_str().unwrap())
            .unwrap();
        let terminal = Self {
            master: master.into(),
            drawn: Arc::default(),
        };
        (terminal, Stdio::from(end))
    }

    /// The texts drawn so far, each without the control sequences around it.
    pub(crate) fn drawn(&self) -> Arc<Mutex<Vec<String>>> {
        self.drawn.clone()
    }

    /// Shows what comes until nobody holds the other end; returns the screen as it is then.
    pub(crate) fn watch(mut self) -> JoinHandle<Vec<u8>> {
        thread::spawn(move || {
            let (mut screen, mut buffer) = (Screen::default(), [0; 4096]);
            // That nobody holds the other end any more comes as an error.
            while let Ok(count @ 1..) = self.master.read(&mut buffer) {
                let text = screen.show(&buffer[..count]);
                self.drawn.lock().unwrap().extend(text);
            }
            screen.text().into_bytes()
        })
    }

    /// The bytes that come until nobody holds the other end.
    pub(crate) fn listen(mut self) -> JoinHandle<Vec<u8>> {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // That nobody holds the other end any more comes as an error.
            let _end = self.master.read_to_end(&mut bytes);
            bytes
        })
    }
}

/// The text that a terminal shows.
#[derive(Default)]
struct Screen {
    lines: Vec<Vec<char>>,
    /// Those that go on in the next.
    wrapped: BTreeSet<usize>,
    row: usize,
    column: usize,
    /// A control sequence, or a character of several bytes, that has not ended.
    pending: Vec<u8>,
    /// A text that has not ended.
    text: String,
}

impl Screen {
    /// Shows bytes, and returns the texts that ended.
    fn show(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut ended = Vec::new();
        for &byte in bytes {
            let is_in_sequence = self.pending.first() == Some(&0x1b);
            if is_in_sequence || byte < b' ' {
                let text = std::mem::take(&mut self.text);
                ended.extend(Some(text).filter(|text| !text.is_empty()));
            }
            match byte {
                _ if is_in_sequence => self.go_on(byte),
                0x1b => self.pending.push(byte),
                b'\r' => self.column = 0,
                b'\n' => self.row += 1,
                _ => {
                    self.pending.push(byte);
                    if let Ok(text) = std::str::from_utf8(&self.pending) {
                        let c = text.chars().next().unwrap();
                        assert!(!c.is_control(), "{c:?} on the screen");
                        self.pending.clear();
                        self.put(c);
                    }
                }
            }
        }
        ended
    }

    fn put(&mut self, c: char) {
        if self.column == COLUMNS {
            self.wrapped.insert(self.row);
            (self.row, self.column) = (self.row + 1, 0);
        }
        self.text.push(c);
        let column = self.column;
        let line = self.line();
        line.resize(line.len().max(column + 1), ' ');
        line[column] = c;
        self.column += 1;
    }

    /// Another byte of a control sequence.
    fn go_on(&mut self, byte: u8) {
        self.pending.push(byte);
        if self.pending.len() == 2 || !byte.is_ascii_alphabetic() {
            return;
        }
        let sequence = String::from_utf8(std::mem::take(&mut self.pending)).unwrap();
        let parameter = &sequence[2..sequence.len() - 1];
        let count = || parameter.parse().unwrap_or(1);
        match (byte, parameter) {
            (b'A', _) => self.row -= count(),
            (b'B', _) => self.row += count(),
            (b'G', _) => self.column = count() - 1,
            (b'K', "2") => self.line().clear(),
            (b'K', "" | "0") => {
                let column = self.column;
                self.line().truncate(column);
            }
            (b'm', _) => {}
            _ => panic!("what is {sequence:?}?"),
        }
    }

    fn line(&mut self) -> &mut Vec<char> {
        let rows = self.lines.len().max(self.row + 1);
        self.lines.resize_with(rows, Vec::new);
        &mut self.lines[self.row]
    }

    /// The lines from top to bottom; the last has an end if the cursor is at the beginning of an empty one below it.
    fn text(&mut self) -> String {
        self.line();
        assert!(
            self.lines[self.row + 1..].iter().all(Vec::is_empty),
            "below the cursor: {:?}",
            self.lines
        );
        let mut text = String::new();
        for (row, line) in self.lines[..=self.row].iter().enumerate() {
            text.extend(line);
            if row < self.row && !self.wrapped.contains(&row) {
                text.push('\n');
            }
        }
        text
    }
}
