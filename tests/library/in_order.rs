//! Answers in the order of the input: those that a last reading of the inputs writes are those that a sort gives.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use data_gen::Compression;
use differential::sweep;
use outset::{
    BadRecords, Dialect, Files, KeyType, Keys, Label, Options, Order, Ranking, Reader, Selection,
    Source, Stats, Strategy, Syntax, select,
};

use crate::faults::{Moment, select_with_fault};
use crate::util::{MIB, Sandbox, beside_others};

/// Options with memory beside that of other tests.
fn roomy(sandbox: &Sandbox) -> Options {
    Options {
        memory_bytes: Some(1024 * MIB),
        ..sandbox.options()
    }
}

/// Selects from these sides; returns the lines, without what stands up to a tab, and the statistics.
fn lines(sides: &[Source], selection: Selection, options: &Options) -> (Vec<Vec<u8>>, Stats) {
    let (lines, stats) = lines_as_they_are(sides, selection, options);
    (lines.iter().map(|line| after_tab(line)).collect(), stats)
}

/// Selects from these sides; returns the lines and the statistics.
fn lines_as_they_are(
    sides: &[Source],
    selection: Selection,
    options: &Options,
) -> (Vec<Vec<u8>>, Stats) {
    let mut lines = Vec::new();
    let mut sink = |line: &[u8]| {
        lines.push(line.to_vec());
        Ok(())
    };
    let stats = select(sides, selection, options, &mut sink).unwrap();
    (lines, stats)
}

/// Returns what of a line comes after its first tab: all of it, if it has none.
fn after_tab(line: &[u8]) -> Vec<u8> {
    let start = memchr::memchr(b'\t', line).map_or(0, |tab| tab + 1);
    line[start..].to_vec()
}

/// Returns true if a run has a phase whose name begins so.
fn has_phase(stats: &Stats, name: &str) -> bool {
    stats
        .phases
        .iter()
        .any(|phase| phase.name.starts_with(name))
}

/// Selects records, which are written by a last reading, and again with labels, for which they are sorted; returns the
/// statistics of both. The records must be the same, and more than 500.
fn read_again_and_sorted(
    sides: &[Source],
    selection: Selection,
    options: &Options,
    what: &str,
) -> (Stats, Stats) {
    let (found, stats) = lines_as_they_are(sides, selection, options);
    let labelled = selection.labelled(Label::SideCount);
    let (expected, sorted) = lines_as_they_are(sides, labelled, options);
    // A digit, and a tab or a comma.
    let expected = expected.iter().map(|line| &line[2..]);
    assert!(found.iter().map(Vec::as_slice).eq(expected), "{what}");
    assert!(found.len() > 500, "{what}");
    assert!(has_phase(&stats, "write "), "{what}");
    let order = sorted.phases.iter().find(|phase| phase.name == "order");
    assert_eq!(
        order.map(|phase| phase.lines),
        Some(sorted.output.lines),
        "{what}"
    );
    (stats, sorted)
}

/// Three files, with repeats, long lines, short ones, no end, and what is in several at different places; an empty one;
/// and these four again, compressed in different formats, some of which are decoded in pieces.
fn files(sandbox: &Sandbox) -> Vec<PathBuf> {
    let text = |count: usize, step: usize, offset: usize| -> Vec<u8> {
        let line = |i: usize| {
            let number = i * step % count + offset;
            let mut line = format!("{number:0>width$}\n", width = number * 7919 % 90).into_bytes();
            if number % 5000 == 77 {
                line.splice(0..0, b"long".repeat(number * 16));
            }
            line
        };
        (0..count).chain(0..count / 9).flat_map(line).collect()
    };
    let (mut a, b, mut c) = (text(9001, 7, 0), text(8000, 11, 4000), text(7000, 13, 9000));
    // Longer than any chunk, and empty lines.
    a.splice(0..0, [&b"y".repeat(1_300_000)[..], b"\n\n\n"].concat());
    c.extend([b"\n".repeat(100_000), b"y".repeat(1_300_000)].concat());
    let mut texts = vec![a, b, c, vec![]];
    let formats = [
        Compression::Bgzf,
        Compression::Zstd,
        Compression::Pzstd,
        Compression::Gzip,
    ];
    for (number, format) in formats.into_iter().enumerate() {
        texts.push(format.compress(&texts[number]).unwrap());
    }
    sandbox.files(&texts)
}

#[test]
fn l10_an_answer_that_is_read_once_more_is_what_a_sort_gives() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let paths = files(&sandbox);
    let one = |index: usize| Source::from(&paths[index]);
    let many = |indexes: &[usize]| {
        let paths: Vec<_> = indexes.iter().map(|&index| paths[index].clone()).collect();
        Source::from(Files::new("many", paths))
    };
    let sides = [
        vec![one(0), one(1)],
        vec![one(2), one(0), one(1)],
        vec![one(1), one(0), one(0)],
        vec![many(&[3, 0, 3, 2, 3]), one(1)],
        vec![one(4), one(1)],
        vec![one(5), one(6), one(6)],
        vec![many(&[7, 4, 3, 2, 5]), one(6)],
    ];
    let sides: Vec<_> = sides.into_iter().enumerate().collect();
    // With numbers of threads.
    let selections = [
        (Selection::union(), 1),
        (Selection::difference(), 2),
        (Selection::symmetric_difference(), 3),
        (Selection::at_least(2), 1),
        (Selection::at_most(2), 2),
    ];
    let strategies = [Strategy::Memory, Strategy::Partition, Strategy::Sieve];
    let cases = sweep::triples(&sides, &selections, &strategies);
    let (mut read_again, runs) = (0, cases.len());
    for ((number, sides), &(selection, threads), &strategy) in cases {
        let options = Options {
            strategy: Some(strategy),
            threads: Some(threads),
            always_spill: true,
            ..roomy(&sandbox)
        };
        let selection = selection.ordered(Order::Input);
        let (found, stats) = lines(sides, selection, &options);
        let what = format!("{number}: {selection:?} by {strategy}");
        // A line with a label is sorted.
        let labelled = selection.labelled(Label::SideCount);
        let (expected, sorted) = lines(sides, labelled, &options);
        assert!(found == expected, "{what}");
        assert!(
            !expected.is_empty() && has_phase(&sorted, "order"),
            "{what}"
        );
        let is_read = has_phase(&stats, "write ");
        assert_ne!(is_read, has_phase(&stats, "order"), "{what}");
        read_again += usize::from(is_read);
    }
    // Of a few runs one more may be sorted.
    let least = if sweep::is_full() {
        runs * 5 / 6
    } else {
        runs * 2 / 3
    };
    assert!(read_again > least, "{read_again} of {runs}");
}

#[test]
fn l10_repeats_of_the_first_file_come_in_its_order() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let text = |numbers: std::ops::Range<u32>| -> Vec<u8> {
        let line = |number: u32| format!("{}\n", number * 7919 % 1000);
        numbers
            .flat_map(|number| line(number).into_bytes())
            .collect()
    };
    let (a, b) = (text(0..5000), text(0..300));
    let paths = sandbox.files(&[a.clone(), b.clone()]);
    let split = |text: &[u8]| -> Vec<Vec<u8>> {
        let lines = text.split(|&byte| byte == b'\n');
        let mut lines: Vec<_> = lines.map(<[u8]>::to_vec).collect();
        lines.pop();
        lines
    };
    let others = split(&b);
    let mut expected = split(&a);
    expected.retain(|line| !others.contains(line));
    for strategy in [Strategy::Memory, Strategy::Partition, Strategy::Sieve] {
        let options = Options {
            strategy: Some(strategy),
            always_spill: true,
            ..roomy(&sandbox)
        };
        let selection = Selection::difference().with_repeats().ordered(Order::Input);
        let sides = [Source::from(&paths[0]), Source::from(&paths[1])];
        let (found, stats) = lines(&sides, selection, &options);
        assert!(found == expected, "{strategy}");
        assert!(has_phase(&stats, "write "), "{strategy}");
    }
}

#[test]
fn l10_what_cannot_be_read_twice_is_sorted() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let text = b"b\na\nb\n";
    let packed = Compression::Gzip.compress(text).unwrap();
    let paths = sandbox.files(&[text.to_vec(), b"c\na\n".to_vec(), packed]);
    let plain = Options {
        always_spill: true,
        strategy: Some(Strategy::Partition),
        ..roomy(&sandbox)
    };
    let quoted = Options {
        keys: Some(Keys {
            syntax: Syntax::Csv(Dialect::new(b',')),
            fields: vec!["1".parse().unwrap()],
            ..Keys::default()
        }),
        ..plain.clone()
    };
    let selection = Selection::union().ordered(Order::Input);
    let stream = Source::from(Reader::new("stream", &text[..]));
    let of_file = |index: usize| Source::from(&paths[index]);
    for (first, options, is_read) in [
        (stream, &plain, false),
        (of_file(2), &plain, true),
        (of_file(0), &quoted, true),
        (of_file(2), &quoted, true),
        (of_file(0), &plain, true),
    ] {
        let (found, stats) = lines(&[first, of_file(1)], selection, options);
        assert_eq!(found, [b"b", b"a", b"c"]);
        assert_eq!(has_phase(&stats, "order"), !is_read);
        assert_eq!(has_phase(&stats, "write "), is_read);
    }
}

/// The records of a file: an identifier, a key that comes again and again, and a text that is longer than both, which
/// may go on in the next line.
fn records(syntax: Syntax, numbers: std::ops::Range<u32>) -> Vec<u8> {
    let record = |number: u32| {
        let key = number * 7919 % 3000;
        let text = "a long text ".repeat(1 + number as usize * 31 % 40);
        match syntax {
            Syntax::JsonLines => {
                format!("{{\"id\": {number}, \"text\": \"{text}\", \"key\": \"k\\u0041{key}\"}}\n")
            }
            _ if number.is_multiple_of(3) => format!("{number},\"{text}\n{text}\",\"kA{key}\"\r\n"),
            _ => format!("{number},{text},kA{key}\n"),
        }
    };
    let records: String = numbers.map(record).collect();
    let header = match syntax {
        Syntax::JsonLines => "",
        _ => "id,text,key\n",
    };
    [header, &records].concat().into_bytes()
}

#[test]
fn l10_of_records_that_are_written_again_only_keys_are_spilled() {
    let _shared = beside_others();
    let given = [Syntax::JsonLines, Syntax::Csv(Dialect::new(b','))].map(|syntax| {
        let sandbox = Sandbox::new();
        let texts = [records(syntax, 0..1500), records(syntax, 1000..9000)];
        let packed = Compression::Pzstd.compress(&texts[1]).unwrap();
        let paths = sandbox.files(&[texts[0].clone(), packed]);
        (syntax, sandbox, paths)
    });
    let unions = Selection::union();
    // With the order of the files; without one they are one side.
    let operations = [
        (None, unions),
        (None, unions.keeping_last()),
        (None, unions.keeping_ranked()),
        (Some([1, 0]), unions.keeping_last()),
        (Some([1, 0]), Selection::difference()),
        (Some([0, 1]), Selection::intersection()),
        (Some([1, 0]), Selection::difference().with_repeats()),
    ];
    for (turn, (&(syntax, ref sandbox, ref paths), &(order, selection))) in
        (0..).zip(sweep::pairs(&given, &operations))
    {
        let sides = match order {
            None => vec![Source::from(Files::new("both", paths.clone()))],
            Some(order) => order.map(|index: usize| Source::from(&paths[index])).into(),
        };
        let strategies = [Strategy::Partition, Strategy::Sieve];
        let is_ranked = selection == selection.keeping_ranked();
        let options = Options {
            keys: Some(Keys {
                syntax,
                fields: vec!["key".parse().unwrap()],
                has_header: syntax != Syntax::JsonLines,
                ranking: is_ranked.then(|| Ranking::Greatest("id".parse().unwrap())),
                ..Keys::default()
            }),
            strategy: Some(strategies[turn % 2]),
            threads: Some(1 + turn % 2 * 2),
            always_spill: true,
            ..roomy(sandbox)
        };
        let selection = selection.of_records().ordered(Order::Input);
        let what = format!("{syntax:?}: {selection:?} by {:?}", options.strategy);
        let (stats, sorted) = read_again_and_sorted(&sides, selection, &options, &what);
        let spilled = |stats: &Stats| stats.temp.peak_bytes;
        // Of each key one record is written, and nothing else of it chooses that.
        let is_of_keys = !is_ranked && selection != selection.with_repeats();
        assert!(
            !is_of_keys || spilled(&stats) * 4 < spilled(&sorted),
            "{what}"
        );
    }
}

#[test]
fn l10_a_cell_has_a_bit_for_each_of_its_lines_and_no_other_has_it() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    // Cells of 64 KiB with 65 lines each, one more than a word has bits: the last is kept, the first of the next is
    // not.
    let line = |number: usize| {
        let bytes = if number % 65 == 64 { 1536 } else { 1000 };
        format!("{number:0>width$}\n", width = bytes - 1).into_bytes()
    };
    let a: Vec<u8> = (0..65 * 24).flat_map(line).collect();
    let b: Vec<u8> = (0..24).flat_map(|cell| line(cell * 65)).collect();
    assert_eq!(a.len(), 24 << 16);
    let paths = sandbox.files(&[a, b]);
    for threads in [1, 3] {
        let options = Options {
            threads: Some(threads),
            always_spill: true,
            strategy: Some(Strategy::Partition),
            ..roomy(&sandbox)
        };
        let sides = [Source::from(&paths[0]), Source::from(&paths[1])];
        let selection = Selection::difference().ordered(Order::Input);
        let (found, stats) = lines(&sides, selection, &options);
        let expected = (0..65 * 24).filter(|number| number % 65 != 0).map(line);
        assert!(
            found
                .iter()
                .map(|line| [line, &b"\n"[..]].concat())
                .eq(expected)
        );
        assert!(has_phase(&stats, "write "));
    }
}

#[test]
fn b6_lines_that_are_not_found_again_fail_the_run() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let paths = sandbox.files(&[b"one\ntwo\nthree\n".to_vec(), b"four\n".to_vec()]);
    let options = Options {
        always_spill: true,
        strategy: Some(Strategy::Partition),
        ..roomy(&sandbox)
    };
    let selection = Selection::union().ordered(Order::Input);
    let altered = paths[0].clone();
    let join_two_lines = move || {
        // Its size and its times are as they were.
        let file = File::options().write(true).open(&altered).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        file.write_all_at(b"-", 3).unwrap();
        file.set_modified(modified).unwrap();
    };
    let result = select_with_fault(
        selection,
        &paths,
        &options,
        "write ",
        Moment::Start,
        join_two_lines,
    );
    let error = result.unwrap_err().to_string();
    assert!(
        error.contains("3 lines of the result were found again, of 4"),
        "{error}"
    );
}

#[test]
fn l10_more_small_files_than_there_is_room_for_are_sorted_after_all() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    // Each has a cell of its own, for which nobody has planned: they are not counted before they are read.
    let numbers: Vec<u32> = (0..9000).collect();
    let texts: Vec<Vec<u8>> = numbers
        .iter()
        .map(|number| format!("{}\nx{number}\n", number % 4000).into_bytes())
        .collect();
    let side = Source::from(Files::new("many", sandbox.files(&texts)));
    let options = Options {
        strategy: Some(Strategy::Partition),
        always_spill: true,
        ..roomy(&sandbox)
    };
    let selection = Selection::union().ordered(Order::Input);
    let (found, stats) = lines(&[side], selection, &options);
    let new = |&number: &u32| {
        let first = (number < 4000).then(|| format!("{number}"));
        first.into_iter().chain([format!("x{number}")])
    };
    let expected = numbers.iter().flat_map(new).map(String::into_bytes);
    assert!(found.into_iter().eq(expected));
    assert!(has_phase(&stats, "order") && !has_phase(&stats, "write "));
}

#[test]
fn l10_more_lines_than_a_compressed_file_begins_with_are_sorted_after_all() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    // A sample sees long lines alone.
    let long = (0..300).map(|number| format!("{number}{}\n", "x".repeat(4000)));
    let short = (0..200_000).map(|number| format!("{}\n", number * 7919 % 100_000));
    let text: String = long.chain(short).collect();
    let packed = Compression::Gzip.compress(text.as_bytes()).unwrap();
    let sides = [Source::from(&sandbox.files(&[packed])[0])];
    let options = Options {
        strategy: Some(Strategy::Partition),
        always_spill: true,
        ..roomy(&sandbox)
    };
    let selection = Selection::union().ordered(Order::Input);
    let (found, stats) = lines(&sides, selection, &options);
    let expected = text.lines().take(100_300).map(str::as_bytes);
    assert!(found.iter().map(Vec::as_slice).eq(expected));
    assert!(has_phase(&stats, "order") && !has_phase(&stats, "write "));
}

#[test]
fn l10_a_file_that_is_decoded_in_pieces_has_one_order_in_every_reading() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    // Digits that hardly become smaller, so that there are pieces, whose lines come again in the next.
    let line = |number: u64| {
        let mixed = (number % 60_000 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let digits = mixed.rotate_left(29).wrapping_mul(mixed);
        format!("{digits:016x}{mixed:016x}{:016x}\n", digits ^ mixed << 7)
    };
    let text: String = (0..150_000).map(line).collect();
    let packed = Compression::Bgzf.compress(text.as_bytes()).unwrap();
    assert!(packed.len() > 3 << 20);
    let sides = [Source::from(&sandbox.files(&[packed])[0])];
    for keeps_last in [false, true] {
        let options = Options {
            strategy: Some(Strategy::Partition),
            threads: Some(3),
            always_spill: true,
            ..roomy(&sandbox)
        };
        let union = Selection::union().ordered(Order::Input);
        let (selection, expected) = if keeps_last {
            (union.keeping_last(), 90_000..150_000)
        } else {
            (union, 0..60_000)
        };
        let (found, stats) = lines(&sides, selection, &options);
        let expected = expected.map(|number| line(number).trim_end().as_bytes().to_vec());
        assert!(found.into_iter().eq(expected), "{keeps_last}");
        assert!(has_phase(&stats, "write "));
    }
}

#[test]
fn l10_records_come_in_order_with_headers_comments_and_bad_records_among_them() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let line = |i: u32| match i % 11 {
        0 => "# a comment\tb\n".to_owned(),
        1 => "no key\n".to_owned(),
        2 => format!(
            "{i}\t Key{} \t{}\r\n",
            i % 5000,
            "x".repeat(i as usize % 300)
        ),
        _ => format!("{i}\tkey{}\t\n", i / 3),
    };
    let text = |numbers: std::ops::Range<u32>| -> Vec<u8> {
        let lines = numbers.map(line).collect::<String>();
        [b"id\tname\trest\n", lines.as_bytes()].concat()
    };
    let paths = sandbox.files(&[text(0..20_000), text(15_000..40_000)]);
    let sides = [Source::from(&paths[0]), Source::from(&paths[1])];
    let keys = Keys {
        syntax: Syntax::Delimited(b'\t'),
        fields: vec!["name".parse().unwrap()],
        has_header: true,
        ignores_case: true,
        trims: true,
        comment: Some(b'#'),
        bad_records: BadRecords::Skip,
        ..Keys::default()
    };
    // The operations by turns.
    let all = [Selection::union(), Selection::difference()];
    for (number, strategy) in [Strategy::Partition, Strategy::Sieve]
        .into_iter()
        .enumerate()
    {
        for (turn, threads) in [1, 3].into_iter().enumerate() {
            let selection = all[(number + turn) % 2];
            let options = Options {
                keys: Some(keys.clone()),
                strategy: Some(strategy),
                threads: Some(threads),
                always_spill: true,
                ..roomy(&sandbox)
            };
            let selection = selection.of_records().ordered(Order::Input);
            read_again_and_sorted(&sides, selection, &options, &strategy.to_string());
        }
    }
}

#[test]
fn l10_repeats_of_addresses_come_in_order_whichever_copy_is_kept() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let sides = [
        &b"192.0.2.1\n192.0.2.1\n192.0.2.2\n192.0.2.3\n"[..],
        b"192.0.2.3\n",
    ];
    // They cannot be read once more.
    let sides = || sides.map(|side| Source::from(Reader::new("side", side)));
    let selection = Selection::difference().with_repeats().ordered(Order::Input);
    for selection in [selection, selection.keeping_last()] {
        let options = Options {
            strategy: Some(Strategy::Memory),
            key_type: KeyType::Ipv4,
            ..roomy(&sandbox)
        };
        let (found, _) = lines(&sides(), selection, &options);
        assert_eq!(found, [&b"192.0.2.1"[..], b"192.0.2.1", b"192.0.2.2"]);
    }
}
