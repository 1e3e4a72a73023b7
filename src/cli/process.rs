//! The memory of the process before a command begins.
//!
//! *Owns:* what is resident by then: what the parsing of arguments has left. *Invariants:* nothing here changes
//! what a command does, only how much of the limit is left for it. *Cost:* some dozen system calls; 300 more, and their
//! page faults, where the limit is small.

use std::ops::Range;

/// True if the system tells about itself in `/proc`.
pub(super) const HAS_PROC: bool = cfg!(all(target_os = "linux", not(portable)));

/// Bytes of code that the system may map at once. With 64 KiB, 1.5 MiB more of it are resident.
const PIECE_BYTES: usize = 16 << 10;

/// Limits below this one are small, in bytes: 3 MiB are more than a hundredth of them.
const SMALL_LIMIT_BYTES: u64 = 256 << 20;

/// Lets all threads allocate from one arena. All large memory is mapped past the allocator, save that of decoders;
/// arenas of their own would only cost each thread 64 MiB of address space, which `ulimit -v` counts.
pub(super) fn use_one_arena() {
    #[cfg(target_env = "gnu")]
    {
        #[expect(unsafe_code, reason = "mallopt has no safe wrapper")]
        // SAFETY: called before any other thread exists, with a parameter that glibc documents; a
        // refusal changes nothing.
        let _refused_is_fine = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// Gives back what the parser of arguments has freed: the definitions of all commands are some hundred KiB,
/// which would be resident during the whole run, on top of its memory limit.
pub(super) fn give_back_free_memory() {
    #[cfg(target_env = "gnu")]
    {
        #[expect(unsafe_code, reason = "malloc_trim has no safe wrapper")]
        // SAFETY: it only touches memory that the allocator knows to be free, under the allocator's lock.
        let _nothing_to_give_is_fine = unsafe { libc::malloc_trim(0) };
    }
}

/// Lets the system take back the pages of the program's own code, and of what stands before it in the file: constants,
/// and the list of relocations, which was read once. Half of the code, some 3 MiB, is for parsing arguments and for
/// printing help; what the command needs comes again from the page cache, in pieces of [`PIECE_BYTES`].
///
/// Without the pieces nearly all code comes again: since 6.18, Linux maps whatever lies in one piece of the page cache
/// at once, and a program that was copied lies there in pieces of megabytes.
///
/// It takes 4 ms, as long as a small job does by itself: so it is only done where the limit of `memory_bytes` is small.
pub(super) fn give_back_code(memory_bytes: u64) {
    if !HAS_PROC || memory_bytes >= SMALL_LIMIT_BYTES {
        return;
    }
    let (Ok(program), Ok(maps)) = (
        std::fs::read_link("/proc/self/exe"),
        std::fs::read_to_string("/proc/self/maps"),
    ) else {
        return;
    };
    let program = program.to_string_lossy();
    for mapping in maps.lines().filter(|line| line.ends_with(&*program)) {
        let mut words = mapping.split_whitespace();
        let (Some(range), Some(access), Some(offset)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        // Other mappings that cannot be written have been: they were relocated.
        if access != "r-xp" && (access, offset) != ("r--p", "00000000") {
            continue;
        }
        let bound = |text: &str| usize::from_str_radix(text, 16).ok();
        let bounds = range
            .split_once('-')
            .and_then(|(start, end)| bound(start).zip(bound(end)));
        if let Some((start, end)) = bounds {
            // Every other piece is one that a core dump leaves out. So each is a mapping of its own, and the system
            // maps no more than one at once. Which one it is follows from the address: a second call changes nothing.
            let first = (start / PIECE_BYTES) & !1;
            for piece in (first * PIECE_BYTES..end).step_by(2 * PIECE_BYTES) {
                let piece = start.max(piece)..end.min(piece + PIECE_BYTES);
                if !piece.is_empty() {
                    advise(piece, libc::MADV_DONTDUMP);
                }
            }
            advise(start..end, libc::MADV_DONTNEED);
        }
    }
}

/// Gives advice about a part of a mapping of the program's file that is never written. A refusal changes nothing.
fn advise(part: Range<usize>, advice: i32) {
    #[expect(unsafe_code, reason = "madvise of code has no safe wrapper")]
    // SAFETY: the mapping is of a file, private, and was never writable: code is not relocated here, and what stands at
    // the start of the file, its headers among it, is in a segment that cannot be written. The system reads the same
    // bytes again when they are needed; what a core dump leaves out, debuggers read from the file.
    let _refused_is_fine =
        unsafe { libc::madvise(part.start as *mut libc::c_void, part.len(), advice) };
}
