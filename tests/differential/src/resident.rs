//! The resident memory of this process, as the system counts it.
//!
//! *Owns:* reading and resetting the figures of `/proc/self`. *Invariants:* what cannot be read is 0. *Cost:* a
//! small file.

use std::fs;

/// Bytes that a run is told the process has resident, if its limit must mean the same whatever else the process has:
/// about the size of the command before a run.
pub const OF_COMMAND: u64 = 8 << 20;

/// Returns the bytes that are resident now.
pub fn now() -> u64 {
    status_bytes("VmRSS:")
}

/// The most that was resident since [`restart_peak`], in bytes.
pub fn peak() -> u64 {
    status_bytes("VmHWM:")
}

/// Lets the peak begin anew at what is resident now; false where the system does not allow it.
pub fn restart_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

fn status_bytes(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = value.map(|text| text.trim().trim_end_matches(" kB").parse::<u64>());
    kilobytes.and_then(Result::ok).unwrap_or(0) * 1024
}
