//! The machine of a run, in its mark.
//!
//! *Owns:* the line of a mark that names a machine, as its system calls it and by the start of that system.
//!
//! *Invariants:* a machine is another one if both differ. A machine that was started anew has kept its name, and a
//! container with another name has the start of its machine. A mark without the line, such as one that a full disk cut
//! off, counts as one of this machine.
//!
//! *Cost:* two small files of `/proc`. Where there are none, a mark has no such line.
//!
//! *Sources:* flock(2) on NFS, and nfs(5) on `local_lock`; proc(5) on `hostname` and `boot_id`.

use std::os::fd::OwnedFd;

use crate::sys::calls::proc_text;

/// The beginning of the line.
const BEGINNING: &str = "Machine: ";
/// The bytes of a mark that are read: more than one has.
const MOST_BYTES: usize = 1024;

/// Returns the line for a mark of this machine; `None` where the system does not tell.
pub(super) fn line() -> Option<String> {
    let name = proc_text("sys/kernel/hostname")?;
    let start = proc_text("sys/kernel/random/boot_id")?;
    Some(format!("{BEGINNING}{} {}\n", name.trim(), start.trim()))
}

/// Returns true if a mark has the line of another machine.
pub(super) fn is_another(mark: &OwnedFd) -> bool {
    let mut bytes = [0; MOST_BYTES];
    let read = rustix::io::pread(mark, &mut bytes, 0).unwrap_or(0);
    differs(&bytes[..read], line().as_deref())
}

/// Returns true if `mark` has a line that shares neither name nor start with `own`.
fn differs(mark: &[u8], own: Option<&str>) -> bool {
    let text = String::from_utf8_lossy(mark);
    let words = |line: &str| {
        let (name, start) = line.strip_prefix(BEGINNING)?.trim_end().rsplit_once(' ')?;
        Some((name.to_owned(), start.to_owned()))
    };
    let Some((name, start)) = text.lines().find_map(words) else {
        return false;
    };
    own.and_then(words)
        .is_none_or(|own| own.0 != name && own.1 != start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e11_a_machine_is_another_if_name_and_start_differ() {
        let own = Some("Machine: node-1 4f2a\n");
        for (mark, is_another) in [
            ("", false),
            ("A note.\n", false),
            ("A note.\nMachine: cut-o", false),
            ("A note.\nMachine: node-1 4f2a\n", false),
            ("A note.\nMachine: node-1 77b0\n", false),
            ("A note.\nMachine: container 4f2a\n", false),
            ("A note.\nMachine: node-2 77b0\n", true),
            ("A note.\nMachine:  77b0\n", true),
        ] {
            assert_eq!(differs(mark.as_bytes(), own), is_another, "{mark:?}");
        }
        assert!(differs(b"Machine: node-1 4f2a\n", None));
        assert!(!differs(b"A note.\n", None));
    }
}
