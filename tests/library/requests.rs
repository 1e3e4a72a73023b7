//! Requests that cannot be opened, planned or afforded: each fails before any work, with an error of the right kind
//! whose advice helps.

use std::fs;
use std::path::{Path, PathBuf};

use outset::{Error, ErrorKind, Options, Selection, Source, Strategy, plan_for};

use crate::util::{EXACT, MIB, Sandbox, beside_others, from_here, is_root, numbered, run};

/// The error of a run that must fail.
fn refused(paths: &[PathBuf], options: &Options) -> Error {
    match run(paths, options) {
        Ok((lines, stats)) => panic!("{} lines from {paths:?} by {}", lines.len(), stats.strategy),
        Err(error) => error,
    }
}

/// Checks that both orders of a good file and `bad` are refused as an input, by name.
fn refuses_input(sandbox: &Sandbox, bad: &Path) {
    let good = sandbox.file("good", "a\n");
    for paths in [[good.clone(), bad.to_owned()], [bad.to_owned(), good]] {
        let error = refused(&paths, &sandbox.options());
        assert_eq!(error.kind(), ErrorKind::Input, "{error}");
        assert!(
            error.to_string().starts_with(&bad.display().to_string()),
            "{error}"
        );
    }
}

#[test]
fn what_cannot_be_opened_is_refused_by_name() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    refuses_input(&sandbox, &sandbox.path("missing"));
    refuses_input(&sandbox, &sandbox.temp());
    let (first, second) = (sandbox.path("first"), sandbox.path("second"));
    std::os::unix::fs::symlink(&first, &second).unwrap();
    std::os::unix::fs::symlink(&second, &first).unwrap();
    refuses_input(&sandbox, &first);
    let dangling = sandbox.path("dangling");
    std::os::unix::fs::symlink(sandbox.path("missing"), &dangling).unwrap();
    refuses_input(&sandbox, &dangling);
}

#[test]
fn a_file_without_permission_is_refused() {
    let _shared = beside_others();
    if is_root() {
        eprintln!("skipped: root may read everything");
        return;
    }
    let sandbox = Sandbox::new();
    let file = sandbox.file("secret", "a\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o0);
    fs::set_permissions(&file, mode).unwrap();
    refuses_input(&sandbox, &file);
}

#[test]
fn a_request_without_sense_is_refused() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let paths = sandbox.files(&[b"a\n".to_vec(), b"a\n".to_vec()]);
    for (paths, options) in [
        (&paths[..0], sandbox.options()),
        (&paths[..1], sandbox.options()),
        (
            &paths[..],
            Options {
                threads: Some(0),
                ..sandbox.options()
            },
        ),
        (
            &paths[..],
            Options {
                buckets: Some(0),
                ..sandbox.options()
            },
        ),
        (
            &paths[..],
            Options {
                max_fpr: Some(1.5),
                ..sandbox.options()
            },
        ),
        (
            &paths[..],
            Options {
                max_fpr: Some(f64::NAN),
                ..sandbox.options()
            },
        ),
        (
            &paths[..],
            Options {
                bits_per_key: Some(0.0),
                ..sandbox.options()
            },
        ),
        (
            &paths[..],
            Options {
                bits_per_key: Some(f64::NAN),
                ..sandbox.options()
            },
        ),
    ] {
        let error = refused(paths, &options);
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    }
}

#[test]
fn a_temporary_directory_that_is_missing_is_named() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let paths = sandbox.files(&[numbered(0..20_000, 50), numbered(0..20_000, 51)]);
    let missing = sandbox.path("nowhere");
    let options = Options {
        strategy: Some(Strategy::Partition),
        temp_dirs: vec![missing.clone()],
        always_spill: true,
        ..sandbox.options()
    };
    let error = refused(&paths, &options);
    assert_eq!(error.kind(), ErrorKind::Temp, "{error}");
    assert!(
        error
            .to_string()
            .starts_with(&missing.display().to_string()),
        "{error}"
    );
}

/// The limit that a refusal advises.
fn advised_bytes(error: &Error) -> u64 {
    match error {
        Error::Memory { least_bytes, .. }
        | Error::MemoryPlan { least_bytes, .. }
        | Error::LineTooLong { least_bytes, .. } => *least_bytes,
        other => panic!("no memory error: {other}"),
    }
}

#[test]
fn the_memory_that_a_refusal_advises_is_enough() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let paths = sandbox.files(&[numbered(0..300_000, 50), numbered(0..300_000, 51)]);
    let sources: Vec<Source> = paths.iter().map(Source::from).collect();
    // Below the floor of every strategy; `memory` needs more than that floor.
    let floor = [
        None,
        Some(Strategy::Partition),
        Some(Strategy::Sieve),
        Some(Strategy::Bloom),
    ];
    let mut requests: Vec<Options> = floor
        .into_iter()
        .map(|strategy| Options {
            strategy,
            memory_bytes: Some(MIB),
            ..sandbox.options()
        })
        .collect();
    requests.push(Options {
        strategy: Some(Strategy::Memory),
        ..sandbox.options()
    });
    for strategy in [Strategy::Partition, Strategy::Sieve, Strategy::Bloom] {
        for buckets in [3000, 50_000] {
            requests.push(Options {
                strategy: Some(strategy),
                buckets: Some(buckets),
                ..sandbox.options()
            });
        }
    }
    for options in requests {
        let from_here = from_here(&options);
        let asked = from_here.memory_bytes.unwrap();
        let error = refused(&paths, &options);
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        let advised = advised_bytes(&error);
        let enough = Options {
            memory_bytes: Some(advised),
            ..from_here
        };
        let accepted = plan_for(&sources, Selection::intersection(), &enough);
        assert!(
            advised > asked && accepted.is_ok(),
            "{error}; then, with {advised} instead of {asked} bytes: {:?}; {options:?}",
            accepted.err().map(|error| error.to_string())
        );
    }
}

#[test]
fn a_filter_that_would_be_worse_than_accepted_is_refused() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let paths = sandbox.files(&[numbered(0..10_000, 50), numbered(0..10_000, 51)]);
    let options = |max_fpr| Options {
        strategy: Some(Strategy::Bloom),
        bits_per_key: Some(5.0),
        max_fpr,
        ..sandbox.options()
    };
    for accepted in [0.05, 0.0] {
        let error = refused(&paths, &options(Some(accepted)));
        assert!(matches!(error, Error::RateTooHigh { .. }), "{error}");
        assert_eq!(error.kind(), ErrorKind::Memory);
    }
    for accepted in [Some(0.15), None] {
        let (_, stats) = run(&paths, &options(accepted)).unwrap();
        assert_eq!(stats.strategy, "bloom", "{accepted:?}");
    }
}

#[test]
fn a12_a_line_longer_than_the_memory_is_named_with_its_location() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let front = b"a\nb\n".to_vec();
    let endless = sandbox.file("endless", &front);
    // A hole: one line of NUL bytes without end.
    fs::OpenOptions::new()
        .write(true)
        .open(&endless)
        .unwrap()
        .set_len(64 * MIB)
        .unwrap();
    let other = sandbox.file("other", "b\n");
    for strategy in EXACT.into_iter().chain([Some(Strategy::Bloom)]) {
        let options = Options {
            strategy,
            ..sandbox.options()
        };
        let asked = from_here(&options).memory_bytes.unwrap();
        let error = refused(&[endless.clone(), other.clone()], &options);
        assert_eq!(error.kind(), ErrorKind::Memory, "{strategy:?}: {error}");
        let Error::LineTooLong { path, offset, .. } = &error else {
            panic!("{strategy:?}: {error}");
        };
        assert_eq!((path, *offset), (&endless, 4), "{strategy:?}");
        assert!(
            advised_bytes(&error) > asked,
            "{strategy:?}, {asked} bytes: {error}"
        );
    }
}

#[test]
fn a_line_from_a_pipe_longer_than_the_memory_is_named_with_its_location() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let other = sandbox.file("other", "b\n");
    for strategy in EXACT {
        let pipe = sandbox.fifo("pipe", [&b"a\nb\n"[..], &vec![b'x'; 32 << 20]].concat());
        let options = Options {
            strategy,
            ..sandbox.options()
        };
        let asked = from_here(&options).memory_bytes.unwrap();
        let error = refused(&[pipe.clone(), other.clone()], &options);
        let Error::LineTooLong { path, offset, .. } = &error else {
            panic!("{strategy:?}: {error}");
        };
        assert_eq!((path, *offset), (&pipe, 4), "{strategy:?}");
        assert!(
            advised_bytes(&error) > asked,
            "{strategy:?}, {asked} bytes: {error}"
        );
    }
}

#[test]
fn a_sieve_with_few_bits_filters_its_survivors_and_only_where_that_saves_something() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let options = Options {
        strategy: Some(Strategy::Sieve),
        bits_per_key: Some(4.0),
        always_spill: true,
        ..sandbox.options()
    };
    let filtered = |second: std::ops::Range<u32>| {
        let paths = sandbox.files(&[numbered(0..200_000, 40), numbered(second, 40)]);
        let (_, stats) = run(&paths, &options).unwrap();
        let names = stats.phases.iter().map(|phase| phase.name.clone());
        let survivors = names.filter(|name| name.starts_with("filter survivors"));
        (survivors.count(), stats.temp.written_bytes)
    };
    let (filters, few_common) = filtered(190_000..390_000);
    assert_eq!(filters, 1);
    // Of the second reading nearly only what is common passes its filter: far from both inputs.
    let (filters, all_common) = filtered(0..200_000);
    assert_eq!(filters, 0, "everything passes: a filter would drop nothing");
    assert!(few_common * 3 < all_common, "{few_common}, {all_common}");
}
