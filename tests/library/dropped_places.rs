//! The places of lines that a union drops, and of those that it keeps for them, against a naive oracle.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use data_gen::Compression;
use differential::sweep;
use outset::{
    Dialect, ErrorKind, Files, Keys, Options, Order, Producer, Ranking, Reader, Selection, Sink,
    Source, Strategy, Syntax, select,
};
use serde_json::Value;

use crate::util::{MIB, Sandbox, beside_others, from_here};

/// A sink for the places of dropped lines.
#[derive(Default)]
struct Places {
    kept: usize,
    dropped: Vec<Vec<u8>>,
    divides: bool,
}

impl Sink for Places {
    fn line(&mut self, _: &[u8]) -> io::Result<()> {
        self.kept += 1;
        Ok(())
    }

    fn duplicate(&mut self, place: &[u8]) -> io::Result<()> {
        self.dropped.push(place.to_vec());
        Ok(())
    }

    fn duplicates_header(&mut self, _: &[u8]) -> io::Result<()> {
        panic!("places have no header");
    }

    fn divides_by_file(&self) -> bool {
        self.divides
    }
}

/// A place: the name of a file, and the number of a line in it.
type Place = (String, u64);

/// Reads a place from its JSON.
fn place(value: &Value) -> Place {
    let number = value["line"].as_u64().unwrap();
    (value["file"].as_str().unwrap().to_owned(), number)
}

/// Runs a union, and returns how many lines were kept, and the pairs of places.
fn places(sides: &[Source], selection: Selection, options: &Options) -> (usize, Vec<[Place; 2]>) {
    let mut sink = Places {
        divides: selection == selection.ordered(Order::Input),
        ..Places::default()
    };
    select(sides, selection, &from_here(options), &mut sink).unwrap();
    let pair = |text: &Vec<u8>| {
        let value: Value = serde_json::from_slice(text).unwrap();
        [place(&value), place(&value["kept"])]
    };
    (sink.kept, sink.dropped.iter().map(pair).collect())
}

/// A file: its name, and the key and the number of the line of each record.
type Records = (PathBuf, Vec<(String, u64)>);

/// The oracle: how many keys there are, and the places of all records but the first, or the last, of each.
fn expected(files: &[Records], keeps_last: bool) -> (usize, BTreeSet<[Place; 2]>) {
    let mut groups: BTreeMap<&str, Vec<Place>> = BTreeMap::new();
    for (path, records) in files {
        let name = path.to_str().unwrap();
        for (key, line) in records {
            let group = groups.entry(key).or_default();
            group.push((name.to_owned(), *line));
        }
    }
    let mut pairs = BTreeSet::new();
    for group in groups.values() {
        let kept = if keeps_last { group.len() - 1 } else { 0 };
        let dropped = group.iter().enumerate().filter(|&(at, _)| at != kept);
        pairs.extend(dropped.map(|(_, place)| [place.clone(), group[kept].clone()]));
    }
    (groups.len(), pairs)
}

/// Four shards of records in this syntax: with a header where there is one, with fields and keys that go on in the next
/// line where they can, blank lines, long lines, and a last line that does not end. The last shard is empty.
fn shards(sandbox: &Sandbox, syntax: Syntax) -> Vec<Records> {
    let formats = [
        None,
        Some(Compression::Pzstd),
        Some(Compression::Bgzf),
        Some(Compression::Zstd),
    ];
    let shard = |number: u64| {
        let (mut text, mut line, mut records) = (String::new(), 1, Vec::new());
        if matches!(syntax, Syntax::Csv(_)) {
            text += "# by hand\nn,k\n";
            line += 2;
        }
        let count = if number == 3 { 0 } else { 4000 + 900 * number };
        for index in 0..count {
            // SplitMix64.
            let mixed = (number << 32 | index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mut key = format!("key {}", mixed >> 20 & 0xfff);
            if index % 1500 == 7 {
                key = key.repeat(20_000);
            }
            let written = match syntax {
                Syntax::Csv(_) if index.is_multiple_of(3) => {
                    key += "\nin two lines";
                    format!("\"{index}\n\n\",\"{key}\"")
                }
                Syntax::Csv(_) => format!("{index},{key}"),
                Syntax::JsonLines => format!("{{\"n\":{index},\"k\":\"{key}\"}}"),
                _ => key.clone(),
            };
            records.push((key, line));
            line += 1 + written.matches('\n').count() as u64;
            text += &written;
            if index + 1 < count {
                text += "\n";
            }
            if index % 50 == 20 && syntax != Syntax::Whole {
                text += "\n";
                line += 1;
            }
        }
        let packed = match formats[number as usize] {
            None => text.into_bytes(),
            Some(format) => format.compress(text.as_bytes()).unwrap(),
        };
        (sandbox.file(&format!("{number}"), packed), records)
    };
    (0..4).map(shard).collect()
}

fn keys(syntax: Syntax) -> Keys {
    let field = match syntax {
        Syntax::Whole => vec![],
        _ => vec!["k".parse().unwrap()],
    };
    Keys {
        syntax,
        fields: field,
        has_header: matches!(syntax, Syntax::Csv(_)),
        comment: Some(b'#'),
        ..Keys::default()
    }
}

#[test]
fn l12_each_dropped_line_is_told_with_the_one_that_is_kept() {
    let _shared = beside_others();
    let syntaxes = [
        Syntax::Whole,
        Syntax::Csv(Dialect::new(b',')),
        Syntax::JsonLines,
    ];
    let given = syntaxes.map(|syntax| {
        let sandbox = Sandbox::new();
        let files = shards(&sandbox, syntax);
        (syntax, sandbox, files)
    });
    let ways = [
        (None, false),
        (None, true),
        (Some(Strategy::Partition), false),
        (Some(Strategy::Partition), true),
        (Some(Strategy::Sieve), false),
        (Some(Strategy::Sieve), true),
    ];
    for (turn, (&(syntax, ref sandbox, ref files), &(strategy, keeps_last))) in
        (1..).zip(sweep::pairs(&given, &ways))
    {
        let paths: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
        let sides: Vec<Source> = match turn % 2 {
            0 => vec![Files::new("shards", paths).into()],
            _ => paths.iter().map(Source::from).collect(),
        };
        let options = Options {
            memory_bytes: Some(32 * MIB),
            strategy,
            always_spill: turn % 3 == 0,
            buckets: (turn % 4 == 0).then_some(5),
            threads: Some(1 + turn % 4),
            keys: (syntax != Syntax::Whole).then(|| keys(syntax)),
            ..sandbox.options()
        };
        let selection = match syntax {
            Syntax::Whole => Selection::union(),
            // Of keys alone, too.
            _ if turn % 5 == 0 => Selection::union(),
            _ => Selection::union().of_records(),
        };
        let selection = match turn % 3 {
            0 => selection.ordered(Order::Input),
            1 => selection.ordered(Order::Count),
            _ => selection,
        };
        let selection = if keeps_last {
            selection.keeping_last()
        } else {
            selection
        };
        let found = places(&sides, selection.with_duplicate_places(), &options);
        let (kept, pairs) = expected(files, keeps_last);
        let case = format!("{syntax:?} {strategy:?} {keeps_last} {turn}");
        assert_eq!(found.0, kept, "{case}");
        assert_eq!(found.1.len(), pairs.len(), "{case}");
        let found: BTreeSet<[Place; 2]> = found.1.into_iter().collect();
        let other = found.difference(&pairs).next();
        assert!(found == pairs, "{case}: {other:?}");
    }
}

#[test]
fn l12_lines_of_streams_are_numbered_from_their_header_on() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let text = "n,k\n1,a\n\n2,b\n3,a\n";
    // The second output has comments before its header, and no end of its last line.
    let script = "test $0 = x || printf '# %s\\n#\\n' $0; printf 'n,k\\n4,%s\\n5,a' $0";
    let printed = Producer::new("printed", ["sh", "-c", script, "{}"], ["x", "b"]);
    // Sieve copies both, and each output to a file of its own.
    for strategy in [None, Some(Strategy::Sieve)] {
        let sides = [
            Source::from(Reader::new("-", text.as_bytes())),
            Source::from(printed.clone()),
        ];
        let options = Options {
            keys: Some(keys(Syntax::Csv(Dialect::new(b',')))),
            strategy,
            ..sandbox.options()
        };
        let selection = Selection::union().of_records().with_duplicate_places();
        let (kept, mut pairs) = places(&sides, selection, &options);
        pairs.sort();
        let at = |file: &str, line| (file.to_owned(), line);
        assert_eq!(kept, 3, "{strategy:?}");
        assert_eq!(
            pairs,
            [
                [at("-", 5), at("-", 2)],
                [at("b", 4), at("-", 4)],
                [at("b", 5), at("-", 2)],
                [at("x", 3), at("-", 2)],
            ],
            "{strategy:?}"
        );
    }
}

#[test]
fn l12_places_that_make_no_sense_are_refused() {
    let sandbox = Sandbox::new();
    let path = sandbox.file("a", "n,k\na,a\n");
    let sides = [Source::from(&path), Source::from(&path)];
    let refused = |selection: Selection, strategy| {
        let options = Options {
            strategy,
            ..sandbox.options()
        };
        let failed = select(
            &sides,
            selection,
            &from_here(&options),
            &mut Places::default(),
        )
        .unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Usage);
        failed.to_string()
    };
    // Without a record, nothing says which of them has the largest number.
    let csv = keys(Syntax::Csv(Dialect::new(b',')));
    let options = Options {
        keys: Some(Keys {
            ranking: Some(Ranking::Greatest("n".parse().unwrap())),
            ..csv
        }),
        ..sandbox.options()
    };
    let ranked = Selection::union().with_duplicate_places().keeping_ranked();
    let mut sink = Places::default();
    let failed = select(&sides, ranked, &from_here(&options), &mut sink).unwrap_err();
    assert!(
        failed.to_string().contains("no record is chosen"),
        "{failed}"
    );
    for (selection, strategy, said) in [
        (Selection::difference(), None, "only a union drops lines"),
        (Selection::union().min_count(2), None, "`min_count`"),
        (Selection::union(), Some(Strategy::Memory), "memory cannot"),
        (Selection::union(), Some(Strategy::Bloom), "exact strategy"),
    ] {
        let message = refused(selection.with_duplicate_places(), strategy);
        assert!(message.contains(said), "{message}");
    }
}

#[test]
#[ignore = "slow: hundreds of processes"]
fn l12_places_need_little_memory_however_many_outputs_there_are() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let names: Vec<String> = (0..300).map(|number| (number % 100).to_string()).collect();
    let echoed = Source::from(Producer::new("echoed", ["echo"], names));
    let (kept, pairs) = places(
        &[echoed],
        Selection::union().with_duplicate_places(),
        &sandbox.options(),
    );
    assert_eq!((kept, pairs.len()), (100, 200));
    assert!(
        pairs
            .iter()
            .all(|[dropped, kept]| dropped.1 == 1 && kept.1 == 1)
    );
}

#[test]
fn l12_places_need_little_memory_however_many_chunks_there_are() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    // A stream that is much larger than the file beside it, with lines longer than a chunk.
    let small = Source::from(sandbox.file("small", "x\n"));
    let line = |number: usize| {
        [
            number.to_string().into_bytes(),
            vec![b'y'; 70_000],
            vec![b'\n'],
        ]
        .concat()
    };
    let long: Vec<u8> = (0..200).flat_map(|number| line(number % 150)).collect();
    let (kept, mut pairs) = places(
        &[
            small,
            Source::from(Reader::new("long", std::io::Cursor::new(long))),
        ],
        Selection::union().with_duplicate_places(),
        &sandbox.options(),
    );
    pairs.sort();
    let at = |line| ("long".to_owned(), line);
    assert_eq!(kept, 151);
    assert!(
        pairs
            .into_iter()
            .eq((1..=50).map(|line| [at(line + 150), at(line)]))
    );
}

#[test]
fn l12_the_lines_of_a_file_that_is_two_sides_are_dropped_for_themselves() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let a = sandbox.file("a", "1\n2\n3\n2\n");
    let b = sandbox.file("b", "3\n4\n");
    let name = |path: &PathBuf| path.to_str().unwrap().to_owned();
    let at = |path: &PathBuf, line| (name(path), line);
    let sides = [&a, &b, &a].map(Source::from);
    for strategy in [None, Some(Strategy::Partition), Some(Strategy::Sieve)] {
        let options = Options {
            strategy,
            ..sandbox.options()
        };
        let selection = Selection::union().with_duplicate_places();
        let (kept, mut pairs) = places(&sides, selection, &options);
        pairs.sort();
        assert_eq!(kept, 4, "{strategy:?}");
        let mut expected = vec![
            [at(&b, 1), at(&a, 3)],
            [at(&a, 4), at(&a, 2)],
            [at(&a, 4), at(&a, 2)],
        ];
        expected.extend([1, 2, 3].map(|line| [at(&a, line), at(&a, line)]));
        expected.sort();
        assert_eq!(pairs, expected, "{strategy:?}");
        // The last occurrences are in the third side.
        let (_, pairs) = places(&sides, selection.keeping_last(), &options);
        let of_b: Vec<_> = pairs
            .iter()
            .filter(|[dropped, _]| dropped.0 == name(&b))
            .collect();
        assert_eq!(of_b, [&[at(&b, 1), at(&a, 3)]], "{strategy:?}");
    }
}
