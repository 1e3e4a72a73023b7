//! Files that are not what was written (rows I1, I2, I5 and I12 of the fault table): refused each time, by each way of
//! reading them, and soon.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use differential::sweep;
use outset::filter::{Filter, FilterTarget, Mapped, Shape, StoredFilter};
use outset::{Error, ErrorKind, Interrupt};

use super::image::{Image, PAGE};
use super::{
    Numbers, budget, filled, line, mapped, open, refuses, refuses_bytes, rules, saved, small_shapes,
};
use crate::util::{Sandbox, beside_others};

/// One that waits for somebody to write into a FIFO waits for ever.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn i1_what_is_no_filter_file_is_refused() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    refuses_bytes(&sandbox, b"", "is not a filter file");
    refuses_bytes(&sandbox, b"\x93", "is not a filter file");
    refuses_bytes(&sandbox, b"https://example.org/\n", "is not a filter file");
    refuses_bytes(&sandbox, &[0; 3 * PAGE], "is not a filter file");
    refuses_bytes(&sandbox, b"\x93OSF\r\n\x1a\n", "its header is cut");
    let mut numbers = Numbers(1);
    for _ in 0..300 {
        let length = numbers.below(4 * PAGE);
        let mut bytes = numbers.bytes(length);
        refuses_bytes(&sandbox, &bytes, "is not a filter file");
        // And some that begin as a filter file does.
        let front = b"\x93OSF\r\n\x1a\n\x01\0\0\0";
        let common = front.len().min(length);
        bytes[..common].copy_from_slice(&front[..common]);
        refuses_bytes(&sandbox, &bytes, "");
    }
}

#[test]
fn i1_what_cannot_be_read_is_refused_as_an_input() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    refuses(&sandbox.path("missing"), ErrorKind::Input);
    refuses(&sandbox.temp(), ErrorKind::Input);
    let knot = sandbox.path("knot");
    std::os::unix::fs::symlink(&knot, &knot).unwrap();
    refuses(&knot, ErrorKind::Input);
}

#[test]
fn i1_what_is_no_regular_file_is_refused_and_not_waited_for() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    refuses(Path::new("/dev/null"), ErrorKind::Damaged);
    refuses(Path::new("/dev/zero"), ErrorKind::Damaged);
    let path = sandbox.path("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
    let (done, wait) = mpsc::channel();
    // Not joined: if it hangs, the test must not.
    std::thread::spawn(move || done.send(StoredFilter::open(&path)).is_ok());
    let error = wait.recv_timeout(SOON).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
    assert!(
        error.to_string().contains("is not a regular file"),
        "{error}"
    );
}

/// A small filter file of each kind.
fn small_files(sandbox: &Sandbox) -> Vec<(Shape, Vec<u8>)> {
    let files = small_shapes().map(|shape| (shape, saved(sandbox, &filled(shape, rules(), 40))));
    files.into()
}

#[test]
fn i2_a_file_with_a_bit_of_any_byte_flipped_is_refused() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for (shape, bytes) in small_files(&sandbox) {
        let path = sandbox.file("flipped", &bytes);
        let file = write_to(&path);
        let places: Vec<(u64, u8)> = (0..).zip(bytes.iter().copied()).collect();
        for (&(at, byte), &bit) in sweep::pairs(&places, &[0, 1, 2, 3, 4, 5, 6, 7]) {
            file.write_all_at(&[byte ^ 1 << bit], at).unwrap();
            if let Ok(stored) = StoredFilter::open(&path) {
                assert!(at >= 2 * PAGE as u64, "{shape:?} with bit {bit} of {at}");
                drop(stored);
                refuses(&path, ErrorKind::Damaged);
            }
            file.write_all_at(&[byte], at).unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), bytes);
        open(&path).load(&budget(), 2).unwrap();
    }
}

#[test]
fn i2_a_file_of_any_other_length_is_refused() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for (shape, bytes) in small_files(&sandbox) {
        for more in [1, 8, PAGE] {
            let longer = [&bytes[..], &vec![0; more]].concat();
            refuses_bytes(&sandbox, &longer, "bytes instead of");
        }
        let path = sandbox.file("shortened", &bytes);
        let file = write_to(&path);
        for length in (0..bytes.len() as u64).rev() {
            file.set_len(length).unwrap();
            let Err(error) = StoredFilter::open(&path) else {
                panic!("{shape:?} of {length} bytes was opened");
            };
            assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
        }
    }
}

#[test]
fn i2_sections_that_were_swapped_are_refused() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for shape in small_shapes() {
        let shape = Shape {
            cells: (2 << 23) / shape.kind.cell_bits(),
            ..shape
        };
        let bytes = saved(&sandbox, &filled(shape, rules(), 1000));
        let (front, body) = bytes.split_at(2 * PAGE);
        let (first, second) = body.split_at(1 << 20);
        let swapped = [front, second, first].concat();
        refuses_bytes(&sandbox, &swapped, "section 0 of its body is damaged");
        // The entries of the table, too, with its checksum right: the sections' own depend on their offsets.
        let mut image = Image { bytes: swapped };
        let (one, other) = (&bytes[PAGE..PAGE + 8], &bytes[PAGE + 8..PAGE + 16]);
        image.put(PAGE, [other, one].concat());
        let table = xxhash_rust::xxh3::xxh3_64(&image.bytes[PAGE..2 * PAGE]);
        image.put_number(104, table);
        image.seal_header();
        refuses_bytes(&sandbox, &image.bytes, "section 0 of its body is damaged");
        let repeated = [front, first, first].concat();
        refuses_bytes(&sandbox, &repeated, "section 1 of its body is damaged");
    }
}

#[test]
fn i5_a_file_that_changes_between_opening_and_reading_is_refused() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for (_, bytes) in small_files(&sandbox) {
        for length in [0, PAGE, 2 * PAGE, bytes.len() - 1] {
            let path = sandbox.file("changing", &bytes);
            let stored = open(&path);
            write_to(&path).set_len(length as u64).unwrap();
            for error in errors(stored) {
                let message = error.to_string();
                assert!(message.contains("was truncated"), "{message}");
            }
        }
        let path = sandbox.file("changing", &bytes);
        let stored = open(&path);
        let last = bytes.len() - 9;
        let flipped = [bytes[last] ^ 1];
        write_to(&path).write_all_at(&flipped, last as u64).unwrap();
        errors(stored);
    }
}

/// Returns the error of each way of reading the body of a damaged file.
fn errors(stored: StoredFilter) -> [Error; 3] {
    let errors = [
        stored.load(&budget(), 2).map(drop).unwrap_err(),
        stored.occupancy(&budget()).map(drop).unwrap_err(),
        stored.check(&budget()).map(drop).unwrap_err(),
    ];
    for error in &errors {
        assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
    }
    errors
}

#[test]
fn i12_one_who_has_the_old_file_goes_on_with_it_when_it_is_replaced() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let path = sandbox.path("filter");
    for shape in small_shapes() {
        let save = |filter: &Filter| filter.save(&path, &Interrupt::new()).unwrap();
        save(&filled(shape, rules(), 40));
        let stored = open(&path);
        let old = mapped(open(&path));
        save(&filled(shape, rules(), 0));
        let has_all = |filter: &Filter<Mapped>| (0..40).all(|n| filter.contains(&line(n)));
        assert!(has_all(&old));
        assert!(has_all(&mapped(stored)));
        assert_eq!(open(&path).occupancy(&budget()).unwrap().used, 0);
    }
}

#[test]
fn i12_of_two_who_would_change_a_file_one_is_refused() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let path = sandbox.path("filter");
    let filter = filled(small_shapes()[0], rules(), 40);
    filter.save(&path, &Interrupt::new()).unwrap();
    let first = FilterTarget::open(&path, &Interrupt::new()).unwrap();
    let error = FilterTarget::open(&path, &Interrupt::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Output, "{error}");
    assert!(error.to_string().contains("another process"), "{error}");
    // Asking is no change.
    super::examine::examine(&path).unwrap();
    // What was written twice is there once, and whole.
    first.write(&filled(small_shapes()[1], rules(), 3)).unwrap();
    first.write(&filter).unwrap();
    first.finish().unwrap();
    assert!(std::fs::read(&path).unwrap() == saved(&sandbox, &filter));
    FilterTarget::open(&path, &Interrupt::new()).unwrap();
}

fn write_to(path: &Path) -> File {
    OpenOptions::new().write(true).open(path).unwrap()
}
