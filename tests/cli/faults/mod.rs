//! The messages and remains of a run that goes wrong: an exit status for each kind of cause, one line, the inputs and
//! the output as they were. The sandbox checks the latter after every run.

mod changes;
pub(crate) mod kills;
mod lost;
mod outputs;
mod refusals;
pub(crate) mod signals;
mod sweep;
mod temporary;
mod unreadable;

use crate::data::{lines, megabytes};
use crate::sandbox::{Sandbox, outset};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

const EXACT: [&str; 4] = ["auto", "memory", "partition", "sieve"];
const BEFORE: &str = "what was there before\n";

/// Two inputs and a result of an earlier run.
fn prepared(a: &[u8], b: &[u8]) -> Sandbox {
    let sandbox = Sandbox::with(a, b);
    fs::write(sandbox.output("r"), BEFORE).unwrap();
    sandbox
}

fn small() -> Sandbox {
    prepared(&lines(0..3000), &lines(2000..6000))
}

/// Inputs of which neither fits in 16 MiB, with most lines common.
fn large() -> Sandbox {
    prepared(&megabytes(12, 0), &megabytes(13, 1000))
}

/// A command without root's right to read and write everything; `None` where that cannot be had.
fn unprivileged(sandbox: &Sandbox, arguments: &str) -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        return Some(sandbox.command(arguments));
    }
    let dropped = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let can_run = Command::new("setpriv")
        .args(dropped)
        .args([outset(), "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !can_run {
        eprintln!(
            "skipped: root reads everything, and setpriv cannot start the program as anyone else"
        );
        return None;
    }
    for directory in ["", "in", "out", "temp"] {
        let path = sandbox.root().join(directory);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        // What the test has closed stays closed.
        if mode & 0o200 != 0 {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        }
    }
    let plain = sandbox.command(arguments);
    let mut command = Command::new("setpriv");
    command
        .args(dropped)
        .arg(outset())
        .args(plain.get_args())
        .current_dir(sandbox.root().join("in"))
        .env("TMPDIR", sandbox.temp())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Some(command)
}
