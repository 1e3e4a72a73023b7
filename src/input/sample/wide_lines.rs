//! The encoding of lines that are not ASCII.
//!
//! *Owns:* counting those that are UTF-8, and the others. *Invariants:* nothing but a notice depends on it. *Cost:* a
//! look at each byte of a window.

/// The lines of the windows that have bytes beyond ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct WideLines {
    utf8: u64,
    other: u64,
}

impl WideLines {
    /// Looks at lines, which are whole.
    pub(super) fn add(&mut self, lines: &[u8], terminator: u8) {
        if lines.is_ascii() {
            return;
        }
        let lines = lines.split(|&byte| byte == terminator);
        for line in lines.filter(|line| !line.is_ascii()) {
            match str::from_utf8(line) {
                Ok(_) => self.utf8 += 1,
                Err(_) => self.other += 1,
            }
        }
    }

    /// Returns true if most are UTF-8.
    pub(crate) fn are_utf8(&self) -> bool {
        self.utf8 > self.other
    }

    /// Returns true if most are not.
    pub(crate) fn are_other(&self) -> bool {
        self.other > self.utf8
    }
}
