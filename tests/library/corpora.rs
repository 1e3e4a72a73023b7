//! The corpora of the fuzz targets, replayed: what a fuzzer once found interesting is tried with every change.
//!
//! What belongs here calls the same functions as `tests/fuzz/fuzz_targets`. The corpus of `parse_options` is replayed
//! by the tests of the command line, which has its code.

use std::fs;

use differential::sweep;

use crate::filter_files::recipe::load_filter;
use crate::util::{beside_others, root};

/// Calls `body` with every `step`-th file of a corpus, in a full sweep with all; in the order of their names, so that a
/// failure comes again.
fn replay(target: &str, step: usize, body: fn(&[u8])) {
    let _shared = beside_others();
    let corpus = root().join("tests/fuzz/corpus").join(target);
    let entries = fs::read_dir(&corpus).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(
        files.len() > 10,
        "{} files in {}",
        files.len(),
        corpus.display()
    );
    for file in sweep::some(&files, files.len() / step) {
        // Told if it fails, for a body does not know what it is called with.
        println!("{}", file.display());
        body(&fs::read(file).unwrap());
    }
}

#[test]
fn what_is_no_input_is_split_like_any() {
    replay("split_lines", 1, differential::targets::split_lines);
}

#[test]
fn spill_files_that_no_writer_made_are_refused_or_give_their_lines() {
    replay("read_block", 1, differential::targets::read_block);
}

#[test]
fn a21_keys_of_any_bytes_are_those_of_a_loop() {
    replay("records", 1, differential::targets::records);
}

#[test]
fn b21_compressed_files_that_no_encoder_made_are_refused_or_give_their_lines() {
    replay("decode", 1, differential::targets::decode);
}

#[test]
fn b23_parquet_files_that_no_writer_made_are_refused_or_read() {
    replay("parquet", 1, differential::targets::parquet);
}

#[test]
fn small_cases_give_the_oracles_answer_by_every_setting() {
    replay("engine", 4, differential::targets::engine);
}

#[test]
fn filter_files_of_any_bytes_are_refused_or_can_be_worked_with() {
    replay("load_filter", 1, load_filter);
}
