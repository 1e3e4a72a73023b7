//! Inputs that a program reads itself, and results that it takes one by one.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use data_gen::Compression;
use outset::{
    Error, ErrorKind, Interrupt, Keys, Options, Reader, Results, Selection, Source, Strategy,
    Syntax, collect,
};

use crate::util::{Sandbox, beside_others};

fn numbers(range: std::ops::Range<u32>) -> Vec<u8> {
    let lines = range.map(|number| format!("{number:07}\n"));
    lines.collect::<Vec<_>>().concat().into_bytes()
}

fn options(sandbox: &Sandbox) -> Options {
    Options {
        memory_bytes: Some(64 << 20),
        // Other tests of the process do not count.
        resident_bytes: Some(8 << 20),
        temp_dirs: vec![sandbox.temp()],
        ..Options::default()
    }
}

fn lines(range: std::ops::Range<u32>) -> BTreeSet<Vec<u8>> {
    range
        .map(|number| format!("{number:07}").into_bytes())
        .collect()
}

#[test]
fn n1_readers_are_inputs_like_pipes_by_every_strategy() {
    let (_others, sandbox) = (beside_others(), Sandbox::new());
    let path = sandbox.file("b", numbers(15_000..45_000));
    for strategy in [
        None,
        Some(Strategy::Memory),
        Some(Strategy::Partition),
        Some(Strategy::Sieve),
    ] {
        for stored in [
            numbers(0..30_000),
            Compression::Zstd.compress(&numbers(0..30_000)).unwrap(),
        ] {
            let options = Options {
                strategy,
                ..options(&sandbox)
            };
            let reader = || Source::from(Reader::new("memory", Cursor::new(stored.clone())));
            let inputs = [reader(), Source::from(&path)];
            let common = collect(&inputs, Selection::intersection(), &options).unwrap();
            assert_eq!(common.len(), 15_000);
            assert_eq!(
                common.into_iter().collect::<BTreeSet<_>>(),
                lines(15_000..30_000)
            );
            let inputs = [reader(), reader()];
            let all = collect(&inputs, Selection::symmetric_difference(), &options).unwrap();
            assert!(all.is_empty());
        }
    }
    let header = b"id,name\n1,x\n\n2,y\n";
    let keys = Keys {
        syntax: Syntax::Csv(outset::Dialect::new(b',')),
        fields: vec!["id".parse().unwrap()],
        has_header: true,
        ..Keys::default()
    };
    let options = Options {
        keys: Some(keys),
        ..options(&sandbox)
    };
    let reader = Source::from(Reader::new("records", &header[..]));
    let mut found = collect(&[reader], Selection::union().of_records(), &options).unwrap();
    found.sort();
    assert_eq!(found, [b"1,x", b"2,y"]);
}

/// Gives some bytes, and then fails or panics.
struct Failing(Cursor<Vec<u8>>, bool);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 if self.1 => panic!("a reader that panics"),
            0 => Err(io::Error::new(
                io::ErrorKind::ConnectionReset,
                "the other end is gone",
            )),
            read => Ok(read),
        }
    }
}

#[test]
fn n1_a_reader_that_fails_or_panics_fails_the_run() {
    let (_others, sandbox) = (beside_others(), Sandbox::new());
    let path = sandbox.file("b", numbers(0..10));
    for panics in [false, true] {
        for bytes in [0, 100, 300_000] {
            for strategy in [None, Some(Strategy::Partition), Some(Strategy::Sieve)] {
                for swaps in [false, true] {
                    let options = Options {
                        strategy,
                        ..options(&sandbox)
                    };
                    let content = numbers(0..bytes / 8);
                    let reader = Reader::new("network", Failing(Cursor::new(content), panics));
                    let mut inputs = [Source::from(reader), Source::from(&path)];
                    if swaps {
                        inputs.swap(0, 1);
                    }
                    let error = collect(&inputs, Selection::difference(), &options).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Input, "{error}");
                    assert!(error.to_string().starts_with("network: "), "{error}");
                }
            }
        }
    }
}

#[test]
fn n1_a_reader_is_read_once() {
    let (_others, sandbox) = (beside_others(), Sandbox::new());
    let reader = Reader::new("once", &b"a\n"[..]);
    let source = Source::from(reader);
    let twice = [source.clone(), source.clone()];
    let error = collect(&twice, Selection::union(), &options(&sandbox)).unwrap_err();
    assert!(matches!(error, Error::Usage { .. }), "{error}");
    let error = collect(&[source], Selection::union(), &options(&sandbox)).unwrap_err();
    assert!(error.to_string().contains("read already"), "{error}");
}

/// Gives lines without an end, and counts them.
struct Endless(Arc<AtomicU64>);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        let line = format!("{number}\n");
        buffer[..line.len()].copy_from_slice(line.as_bytes());
        Ok(line.len())
    }
}

#[test]
fn n2_lines_come_one_by_one_and_the_statistics_behind_them() {
    let (_others, sandbox) = (beside_others(), Sandbox::new());
    let (a, b) = (
        sandbox.file("a", numbers(0..60_000)),
        sandbox.file("b", numbers(30_000..90_000)),
    );
    let inputs = vec![Source::from(&a), Source::from(&b)];
    let mut results = Results::of(inputs.clone(), Selection::union(), options(&sandbox));
    assert!(results.stats().is_none());
    let found: Result<BTreeSet<Vec<u8>>, Error> = results.by_ref().collect();
    assert_eq!(found.unwrap(), lines(0..90_000));
    assert_eq!(results.stats().unwrap().output.lines, 90_000);
    assert!(results.next().is_none());
    // What is wrong is the last that comes.
    let missing = vec![Source::from(&a), Source::from(sandbox.path("nothing"))];
    let mut results = Results::of(missing, Selection::union(), options(&sandbox));
    assert!(matches!(results.next(), Some(Err(Error::Input { .. }))));
    assert!(results.next().is_none() && results.stats().is_none());
}

#[test]
fn n2_results_that_are_dropped_stop_their_run_and_leave_nothing() {
    let (_others, sandbox) = (beside_others(), Sandbox::new());
    let count = Arc::new(AtomicU64::new(0));
    for strategy in [Strategy::Partition, Strategy::Bloom] {
        let options = Options {
            strategy: Some(strategy),
            interrupt: Interrupt::new(),
            ..options(&sandbox)
        };
        let endless = Source::from(Reader::new("endless", Endless(count.clone())));
        let results = Results::of(vec![endless], Selection::union(), options);
        std::thread::sleep(Duration::from_millis(20));
        drop(results);
        assert_eq!(fs::read_dir(sandbox.temp()).unwrap().count(), 0);
    }
    // A caller that takes a few lines of many.
    let a = sandbox.file("a", numbers(0..300_000));
    let mut results = Results::of(
        vec![Source::from(&a)],
        Selection::union(),
        options(&sandbox),
    );
    assert!(results.next().unwrap().is_ok());
    drop(results);
    assert_eq!(fs::read_dir(sandbox.temp()).unwrap().count(), 0);
}
