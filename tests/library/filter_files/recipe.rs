//! The body of the fuzz target `load_filter`: whatever bytes a filter file has, it is refused or it is a filter, and
//! loading takes no more memory than the file is long.
//!
//! Input that begins as a filter file does is a file. It is tried as it is, and again with its checksums made right,
//! for otherwise hardly any would get past them. Other input is a recipe for a file with right checksums: see
//! [`cooked`].
//!
//! The fuzz target uses this file, too.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, memfd_create};

use super::examine;
use super::image::{self, Image, Parts};

/// The first byte of every filter file.
const FIRST: u8 = 0x93;
/// Bytes of a recipe before its patches.
const PARTS: usize = 12;

/// Tries what `data` is or describes.
pub(crate) fn load_filter(data: &[u8]) {
    if data.first() != Some(&FIRST) {
        if let Some(image) = cooked(data) {
            try_file(&image.bytes);
        }
        return;
    }
    try_file(data);
    let mut image = Image {
        bytes: data.to_vec(),
    };
    image.seal();
    try_file(&image.bytes);
}

/// The file of a recipe: kind, rules, shape and counts; how many patches; patches of the header (where, which byte);
/// the body.
fn cooked(recipe: &[u8]) -> Option<Image> {
    let (parts, rest) = recipe.split_at_checked(PARTS)?;
    let patches = usize::from(parts[11] % 8) * 3;
    let (patches, body) = rest.split_at_checked(patches)?;
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(8).max(8), 0);
    let cells_bits = [1, 1, 1, 4, 16, 128][usize::from(parts[0] % 6)];
    // Few cells less than the body has room for.
    let cells = (body.len() as u64 * 8 / cells_bits).saturating_sub(u64::from(parts[4]));
    let mut image = Image::new(&Parts {
        kind: parts[0] % 6,
        terminator: if parts[1] & 1 == 0 { b'\n' } else { 0 },
        strip_cr: parts[1] >> 1 & 1,
        hashes: u32::from(parts[2]),
        cells,
        keys: u64::from(parts[5]),
        planned_keys: u64::from_le_bytes([parts[6], parts[7], 0, 0, 0, 0, 0, parts[8]]),
        key: [u64::from(parts[9]), 1, 2, u64::from(parts[10])],
        body,
    });
    for patch in patches.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([patch[0], patch[1]])) % (image::PAGE - 8);
        image.put(at, [patch[2]]);
    }
    image.seal();
    Some(image)
}

fn try_file(bytes: &[u8]) {
    let file = memfd_create("filter", MemfdFlags::CLOEXEC).unwrap();
    let mut file = File::from(file);
    file.write_all(bytes).unwrap();
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    if let Err(error) = examine::examine(&path) {
        let message = error.to_string();
        assert!(
            message.starts_with("/proc/") && !message.contains('\n'),
            "{message}"
        );
    }
}
