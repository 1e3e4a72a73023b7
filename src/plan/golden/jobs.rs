//! The jobs whose plans are recorded.
//!
//! *Owns:* inputs from nothing to twenty times the canonical case, each under limits from the least one up,
//! every option that a caller can give, one at a time, and every
//! operation.

#![expect(clippy::too_many_lines, reason = "a list of jobs is as long as it is")]

use crate::decode::compressed::Decoding;
use crate::plan::tests::job;
use crate::plan::{Distinct, FilterPlan, InputShape, Job, SetEstimate};
use crate::selection::{Label, Order, Selection};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Makes an input of this number of lines, each of this length in bytes.
fn input(lines: u64, line_bytes: u64) -> InputShape {
    InputShape {
        bytes: Some(lines * line_bytes),
        lines: Some(lines),
        distinct_lines: None,
        is_cached: false,
        decoding: None,
        key_bytes: None,
    }
}

fn cached(lines: u64) -> InputShape {
    InputShape {
        is_cached: true,
        decoding: None,
        key_bytes: None,
        ..input(lines, 64)
    }
}

/// Makes an input that is compressed with zstd, in this number of pieces.
fn compressed(lines: u64, pieces: u64) -> InputShape {
    InputShape {
        decoding: Some(Decoding {
            memory_bytes: 3 * MIB,
            cost: 1,
            pieces,
        }),
        ..input(lines, 64)
    }
}

/// Makes an input of which one line in twenty is different.
fn repeated(lines: u64) -> InputShape {
    InputShape {
        distinct_lines: Some(Distinct::exactly(lines / 20)),
        ..input(lines, 64)
    }
}

const PIPE: InputShape = InputShape {
    bytes: None,
    lines: None,
    distinct_lines: None,
    is_cached: false,
    decoding: None,
    key_bytes: None,
};

/// Lists inputs from nothing to twenty times the canonical case, with limits from the least on.
pub(in crate::plan) fn sizes() -> Vec<(String, Job)> {
    let mut jobs = Vec::new();
    for (name, memory_bytes) in [
        ("16 MiB", 16 * MIB),
        ("24 MiB", 24 * MIB),
        ("64 MiB", 64 * MIB),
        ("1 GiB", GIB),
        ("4 GiB", 4 * GIB),
    ] {
        for (what, inputs) in [
            ("nothing", vec![input(0, 0); 2]),
            ("100 thousand lines", vec![input(100_000, 64); 2]),
            ("20 million lines", vec![input(20_000_000, 64); 2]),
            ("5 billion lines", vec![input(5_000_000_000, 64); 2]),
            ("100 billion lines", vec![input(100_000_000_000, 64); 2]),
            (
                "3 million in 900 million",
                vec![input(900_000_000, 40), input(3_000_000, 44)],
            ),
            (
                "five different",
                (1..6).rev().map(|i| input(i * 7_000_000, 30)).collect(),
            ),
            (
                "four of a billion",
                (1..5).map(|i| input(i * 1_000_000_000, 64)).collect(),
            ),
            ("a pipe and a file", vec![PIPE, input(9_000_000, 50)]),
            ("two pipes", vec![PIPE; 2]),
        ] {
            jobs.push((format!("{what}, {name}"), job(&inputs, memory_bytes)));
        }
    }
    jobs
}

/// Lists jobs that each ask for one thing that a caller can ask for.
pub(in crate::plan) fn requests() -> Vec<(String, Job)> {
    let base = || job(&[input(20_000_000, 64), input(30_000_000, 64)], 64 * MIB);
    let stored = FilterPlan::existing(
        crate::filter::Shape::for_fpr(crate::filter::Kind::Classic, 5_000_000, 0.01, None),
        5_000_000,
        0.0098,
    );
    let jobs = [
        (
            "a rate of 5%",
            Job {
                max_fpr: Some(0.05),
                ..base()
            },
        ),
        (
            "a rate of 40%",
            Job {
                max_fpr: Some(0.4),
                ..base()
            },
        ),
        (
            "300 buckets",
            Job {
                buckets: Some(300),
                ..base()
            },
        ),
        (
            "60,000 buckets",
            Job {
                buckets: Some(60_000),
                ..base()
            },
        ),
        (
            "one bucket",
            Job {
                buckets: Some(1),
                ..base()
            },
        ),
        (
            "4 bits a key",
            Job {
                bits_per_key: Some(4.0),
                ..base()
            },
        ),
        (
            "100 bits a key",
            Job {
                bits_per_key: Some(100.0),
                ..base()
            },
        ),
        (
            "a filter to be saved",
            Job {
                wants_filter: true,
                ..base()
            },
        ),
        (
            "half in common",
            Job {
                common_share: Some(0.5),
                ..base()
            },
        ),
        (
            "nothing in common",
            Job {
                common_share: Some(0.0),
                ..base()
            },
        ),
        (
            "everything spilled",
            Job {
                always_spill: true,
                ..base()
            },
        ),
        (
            "16 threads",
            Job {
                threads: 16,
                ..base()
            },
        ),
        (
            "a line of 9 MiB",
            Job {
                longest_line_bytes: 9 * MIB,
                ..base()
            },
        ),
        (
            "a line longer than memory",
            Job {
                longest_line_bytes: GIB,
                ..base()
            },
        ),
        (
            "a set that overflowed",
            Job {
                set_estimate: SetEstimate::Overflowed,
                ..base()
            },
        ),
        (
            "a set that is tried",
            Job {
                set_estimate: SetEstimate::Try,
                ..base()
            },
        ),
        (
            "addresses, 2 GiB",
            Job {
                is_ipv4: true,
                memory_bytes: 2 * GIB,
                ..base()
            },
        ),
        (
            "what one file of addresses has alone, 1 GiB",
            Job {
                is_ipv4: true,
                selection: Selection::difference(),
                memory_bytes: GIB,
                ..base()
            },
        ),
        (
            "all records of addresses that three files have, 2 GiB",
            Job {
                is_ipv4: true,
                selection: Selection::intersection().of_records().with_repeats(),
                ..job(&[input(100_000_000, 60); 3], 2 * GIB)
            },
        ),
        (
            "addresses in three files, 1100 MiB",
            Job {
                is_ipv4: true,
                ..job(&[input(100_000_000, 13); 3], 1100 * MIB)
            },
        ),
        (
            "compressed as a whole, 64 MiB",
            job(&[compressed(20_000_000, 1); 2], 64 * MIB),
        ),
        (
            "compressed in pieces, 64 MiB",
            job(&[compressed(20_000_000, 1000); 2], 64 * MIB),
        ),
        (
            "compressed in pieces, 16 MiB",
            job(&[compressed(20_000_000, 1000); 2], 16 * MIB),
        ),
        (
            "compressed in pieces, 4 GiB",
            job(&[compressed(2_000_000_000, 1000); 2], 4 * GIB),
        ),
        ("cached, 8 GiB", job(&[cached(20_000_000); 2], 8 * GIB)),
        (
            "cached, one much larger, 8 GiB",
            job(&[cached(2_000_000), cached(900_000_000)], 8 * GIB),
        ),
        (
            "most lines come again, 64 MiB",
            Job {
                selection: Selection::union(),
                ..job(&[repeated(20_000_000)], 64 * MIB)
            },
        ),
        (
            "most lines come again, 256 MiB",
            Job {
                selection: Selection::union(),
                ..job(&[repeated(20_000_000)], 256 * MIB)
            },
        ),
        (
            "cached, little memory",
            job(&[cached(20_000_000); 2], 900 * MIB),
        ),
        (
            "a stored filter",
            Job {
                stored_filter: Some(stored),
                ..job(&[input(20_000_000, 64)], 64 * MIB)
            },
        ),
        (
            "a rate that wants more memory",
            Job {
                max_fpr: Some(0.003),
                ..job(&[input(5_000_000_000, 64); 2], GIB)
            },
        ),
        (
            "a rate that no filter reaches",
            Job {
                max_fpr: Some(1e-9),
                ..job(&[input(5_000_000_000, 64); 2], GIB)
            },
        ),
        (
            "a rate below that of a stored filter",
            Job {
                max_fpr: Some(0.001),
                stored_filter: Some(stored),
                ..job(&[input(20_000_000, 64)], 64 * MIB)
            },
        ),
        (
            "a stored filter larger than memory, two inputs",
            Job {
                stored_filter: Some(FilterPlan {
                    bits: 8 << 30,
                    ..stored
                }),
                ..job(&[input(20_000_000, 64); 2], 64 * MIB)
            },
        ),
    ];
    let named = |(name, job): (&str, Job)| (name.to_owned(), job);
    jobs.into_iter().map(named).collect()
}

/// Lists every operation and every way to write its lines, over two or three inputs under a limit that none fits.
pub(in crate::plan) fn selections() -> Vec<(String, Job)> {
    let of = |inputs: &[InputShape], selection| Job {
        selection,
        ..job(inputs, 64 * MIB)
    };
    let (two, three) = (
        [input(20_000_000, 64), input(30_000_000, 64)],
        [
            input(9_000_000, 64),
            input(30_000_000, 64),
            input(20_000_000, 64),
        ],
    );
    let records = two.map(|shape| InputShape {
        key_bytes: shape.bytes.map(|bytes| bytes / 4),
        ..shape
    });
    // Long ones, compressed, and answers that can be read where they are written.
    let documents = [1_000_000, 2_000_000].map(|lines| InputShape {
        key_bytes: Some(lines * 2000),
        decoding: compressed(1, 1).decoding,
        ..input(lines, 2400)
    });
    let filed = |inputs: [InputShape; 2], selection, memory_bytes| Job {
        selection,
        rereadable_bytes: 12 * GIB,
        ..job(&inputs, memory_bytes)
    };
    // Two sides of the first input, and one of the second.
    let twice = |selection| Job {
        sides: vec![0, 1, 0],
        ..of(&two, selection)
    };
    let (common, alone, all) = (
        Selection::intersection(),
        Selection::difference(),
        Selection::union(),
    );
    let jobs = vec![
        ("three in common", of(&three, common)),
        ("in two of three", of(&three, Selection::at_least(2))),
        ("alone in the first of two", of(&two, alone)),
        ("alone in the first of three", of(&three, alone)),
        ("in one of two", of(&two, Selection::symmetric_difference())),
        ("in one of three", of(&three, Selection::exactly(1))),
        ("all of two", of(&two, all)),
        ("all of three", of(&three, all)),
        ("all of one", of(&two[..1], all)),
        ("repeats of what two have", of(&two, common.with_repeats())),
        (
            "repeats of what three have",
            of(&three, common.with_repeats()),
        ),
        ("repeats of what one has", of(&three, alone.with_repeats())),
        ("a multiset in common", of(&two, common.with_all())),
        ("a multiset of two", of(&two, all.with_all())),
        (
            "all of two, and duplicates",
            of(&two, all.with_duplicates()),
        ),
        (
            "all of two, and which lines are dropped",
            of(&two, all.with_duplicate_places()),
        ),
        ("all of two, counted", of(&two, all.labelled(Label::Count))),
        (
            "in common, counted",
            of(&two, common.labelled(Label::Count)),
        ),
        (
            "all of three, with its sides",
            of(&three, all.labelled(Label::Sides)),
        ),
        (
            "in common, in the order of the input",
            of(&two, common.ordered(Order::Input)),
        ),
        ("in common, sorted", of(&two, common.ordered(Order::Sorted))),
        (
            "all of two, in the order of the input",
            of(&two, all.ordered(Order::Input)),
        ),
        ("all of two, sorted", of(&two, all.ordered(Order::Sorted))),
        (
            "all of one, most lines come again, sorted",
            of(&[repeated(20_000_000)], all.ordered(Order::Sorted)),
        ),
        (
            "all of one, most lines come again, sorted in more",
            Job {
                memory_bytes: 256 * MIB,
                ..of(&[repeated(20_000_000)], all.ordered(Order::Sorted))
            },
        ),
        (
            "all of two, the most frequent first",
            of(&two, all.ordered(Order::Count)),
        ),
        ("the most frequent of two", of(&two, all.top(100))),
        ("what two have once", of(&two, all.max_count(1))),
        ("in common, again", of(&two, common.min_count(3))),
        (
            "alone, in the order of the input",
            of(&two, alone.ordered(Order::Input)),
        ),
        ("all of one pipe", of(&[PIPE], all)),
        ("all of a pipe and a file", of(&[PIPE, two[0]], all)),
        ("alone in a pipe", of(&[PIPE, two[0]], alone)),
        ("alone in a file beside a pipe", of(&[two[0], PIPE], alone)),
        ("keys in common", of(&records, common)),
        ("keys of all", of(&records, all)),
        ("records in common", of(&records, common.of_records())),
        ("records of all", of(&records, all.of_records())),
        (
            "repeated records in common",
            of(&records, common.of_records().with_repeats()),
        ),
        ("two files, one of them twice, in common", twice(common)),
        (
            "two files, one of them twice, alone in the first",
            twice(alone),
        ),
        (
            "two files, one of them twice, repeats",
            twice(common.with_repeats()),
        ),
        (
            "two files, one of them twice, repeats alone",
            twice(alone.with_repeats()),
        ),
        (
            "two files, one of them twice, in two",
            twice(Selection::exactly(2)),
        ),
        (
            "documents of all, into a file",
            filed(documents, all.of_records(), 256 * MIB),
        ),
        (
            "documents of all, in order, into a file",
            filed(documents, all.of_records().ordered(Order::Input), 256 * MIB),
        ),
        (
            "documents of all, sorted, into a file",
            filed(
                documents,
                all.of_records().ordered(Order::Sorted),
                256 * MIB,
            ),
        ),
        (
            "documents of all, into a file, with no room for their places",
            filed(documents, all.of_records(), 64 * MIB),
        ),
        (
            "documents of all, into a file that the page cache does not hold",
            Job {
                rereadable_bytes: GIB,
                ..filed(documents, all.of_records(), 256 * MIB)
            },
        ),
        (
            "short records of all, into a file",
            filed(records, all.of_records(), GIB),
        ),
        (
            "long lines of all, into a file",
            filed([input(2_000_000, 2000); 2], all, 512 * MIB),
        ),
    ];
    let named = |(name, job): (&str, Job)| (name.to_owned(), job);
    jobs.into_iter().map(named).collect()
}
