//! Results that are compressed: as the name of the file says, or `--compress`.

use std::fs;
use std::io::Read;
use std::thread;

use differential::sweep;

use crate::data::{lines, megabytes, split};
use crate::limits::memory::measured;
use crate::sandbox::{CODE_OF_DEBUG, Sandbox, can_mount};

/// The ends of names, and the first bytes of such files.
const FORMATS: [(&str, &[u8]); 5] = [
    ("gz", &[0x1f, 0x8b]),
    ("zst", &[0x28, 0xb5, 0x2f, 0xfd]),
    ("lz4", &[0x04, 0x22, 0x4d, 0x18]),
    ("bz2", b"BZh"),
    ("xz", &[0xfd, b'7', b'z', b'X', b'Z', 0]),
];

/// Decodes a file of the format with the first bytes of one of [`FORMATS`].
pub(crate) fn decoded(stored: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let format = FORMATS.iter().find(|(_, magic)| stored.starts_with(magic));
    let (name, _) = format.unwrap();
    match *name {
        "gz" => flate2::read::MultiGzDecoder::new(stored).read_to_end(&mut text),
        "zst" => zstd::stream::read::Decoder::new(stored)
            .unwrap()
            .read_to_end(&mut text),
        "bz2" => bzip2::read::MultiBzDecoder::new(stored).read_to_end(&mut text),
        "xz" => lzma_rust2::XzReader::new(stored, true).read_to_end(&mut text),
        _ => {
            let mut rest = stored;
            while !rest.is_empty() {
                let mut decoder = lz4_flex::frame::FrameDecoder::new(&mut rest);
                decoder.read_to_end(&mut text).unwrap();
            }
            Ok(text.len())
        }
    }
    .unwrap();
    text
}

/// Writes these texts in every format, and reads them again by outset and by others.
fn written_and_read(texts: &[Vec<u8>]) {
    let sandbox = Sandbox::new();
    for text in texts {
        sandbox.write("a", text);
        for (end, magic) in FORMATS {
            let name = format!("r.{end}");
            sandbox
                .run(&format!("union a --order input -o ../out/{name}"))
                .succeeds_silently();
            let stored = fs::read(sandbox.output(&name)).unwrap();
            assert!(stored.starts_with(magic), "{name}");
            assert!(decoded(&stored) == *text, "{name}: {} bytes", text.len());
            let again = sandbox.run(&format!("union ../out/{name} --order input"));
            assert!(again.succeeds_silently().stdout == *text, "{name}");
            fs::remove_file(sandbox.output(&name)).unwrap();
        }
    }
}

#[test]
fn f10_an_output_is_compressed_as_its_name_says() {
    written_and_read(&[Vec::new(), b"one line\n".to_vec(), lines(0..6_000)]);
}

#[test]
#[ignore = "slow: 40 MB in every format"]
fn f10_a_large_output_is_compressed_as_its_name_says() {
    written_and_read(&[megabytes(40, 0)]);
}

#[test]
fn f10_every_file_of_lines_is_compressed_as_its_name_says() {
    let sandbox = Sandbox::with(b"x\ny\ny\n", b"y\nz\n");
    sandbox
        .run("filter build b -o ../out/filter")
        .succeeds_silently();
    for (arguments, file, expected) in [
        (
            "union a b --order input -o ../out/r.GZ",
            "r.GZ",
            "x\ny\nz\n",
        ),
        (
            "union a b -o ../out/u.txt -D ../out/d.csv.zst",
            "d.csv.zst",
            "y\ny\n",
        ),
        (
            "intersect a b --count-only -o ../out/n.zstd",
            "n.zstd",
            "1\n",
        ),
        (
            "filter query ../out/filter a -o ../out/q.xz",
            "q.xz",
            "y\ny\n",
        ),
        (
            "filter insert ../out/filter a --print-new -o ../out/i.bz2",
            "i.bz2",
            "x\n",
        ),
        (
            "compare a b --max-fpr 1% --list-false ../out/l.lz4",
            "l.lz4",
            "",
        ),
    ] {
        sandbox.run(arguments).succeeds();
        let stored = fs::read(sandbox.output(file)).unwrap();
        assert_eq!(decoded(&stored), expected.as_bytes(), "{arguments}");
    }
    sandbox.run("overlaps a b -o ../out/o.gz").succeeds();
    let table = decoded(&fs::read(sandbox.output("o.gz")).unwrap());
    assert_eq!(table, sandbox.run("overlaps a b").stdout);
    // The header is part of the text.
    sandbox.write("c", "id,name\n1,x\n");
    sandbox
        .run("union --csv -k id c -o ../out/c.gz")
        .succeeds_silently();
    let stored = fs::read(sandbox.output("c.gz")).unwrap();
    assert_eq!(decoded(&stored), b"id,name\n1,x\n");
}

#[test]
fn f10_an_option_overrides_the_name() {
    let sandbox = Sandbox::with(b"x\ny\n", b"");
    for (end, _) in FORMATS {
        let level = if end == "lz4" { "" } else { ":2" };
        let outcome = sandbox.run(&format!("union a --order input --compress {end}{level}"));
        assert_eq!(decoded(&outcome.succeeds_silently().stdout), b"x\ny\n");
    }
    let outcome = sandbox.run("union a --order input --compress none -o ../out/r.gz");
    outcome.succeeds_silently();
    assert_eq!(fs::read(sandbox.output("r.gz")).unwrap(), b"x\ny\n");
    let outcome = sandbox.run("union a --order input --compress gz -o /dev/stdout");
    assert_eq!(decoded(&outcome.succeeds_silently().stdout), b"x\ny\n");
    let fifo = sandbox.fifo("pipe.zst");
    let reader = thread::spawn(move || fs::read(fifo).unwrap());
    sandbox
        .run("union a --order input -o pipe.zst")
        .succeeds_silently();
    assert_eq!(decoded(&reader.join().unwrap()), b"x\ny\n");
}

#[test]
fn f10_what_cannot_be_compressed_is_refused_before_the_work() {
    let sandbox = Sandbox::with(b"x\n", b"x\n");
    for (arguments, said) in [
        ("--compress zst:20", "the levels of zst are 1 to 19"),
        ("--compress gz:0", "the levels of gz are 1 to 9"),
        ("--compress xz:x", "the levels of xz are 0 to 9"),
        ("--compress lz4:2", "lz4 has no levels"),
        ("--compress none:1", "expected none, gz"),
        ("--compress rar", "expected none, gz"),
        (
            "-o ../out/r.parquet.gz",
            "r.parquet.gz: a Parquet file is not compressed",
        ),
        (
            "-o ../out/r.parquet --compress gz",
            "--compress cannot compress a Parquet file",
        ),
    ] {
        sandbox
            .run(&format!("union a b {arguments}"))
            .fails(2, &[said]);
    }
}

#[test]
fn e2_a_full_disk_under_a_compressed_output_is_an_error_and_leaves_nothing() {
    let sandbox = Sandbox::with(&megabytes(4, 0), b"");
    for name in ["gz", "zst"] {
        sandbox
            .run(&format!("union a --compress {name} -o /dev/full"))
            .fails(5, &["/dev/full: cannot write"]);
        if can_mount() {
            let arguments = format!("union a -o ../out/r.{name}");
            let command = sandbox.command_on_small_disk("out", "200k", &arguments);
            let outcome = sandbox.start(command).finish();
            fs::remove_dir_all(sandbox.root().join("saved")).unwrap();
            outcome.fails(5, &["cannot write", "No space left"]);
        }
    }
}

#[test]
fn c16_memory_stays_under_the_limit_while_the_output_is_compressed() {
    let (a, b) = (megabytes(5, 0), megabytes(5, 50_000));
    let some = megabytes(1, 0);
    let sandbox = Sandbox::with(&a, &b);
    let all = split(&[a, b].concat(), b'\n').len();
    // The code of a debug build takes more of the least limit.
    let least = match CODE_OF_DEBUG {
        0 => "16M",
        _ => "19M",
    };
    let formats = [
        ("gz", least),
        ("zst", least),
        ("lz4", least),
        ("zst", "64M"),
    ];
    for (&(end, limit), strategy) in sweep::pairs(&formats, &["partition", "sieve"]) {
        let arguments =
            format!("union a b -j 8 --strategy {strategy} -q -o ../out/r.{end} --memory {limit}");
        let (outcome, peak) = measured(&sandbox, &arguments);
        outcome.succeeds();
        let most: u64 = limit.strip_suffix('M').unwrap().parse().unwrap();
        assert!(peak <= most << 20, "{arguments}: {} KiB", peak >> 10);
        let text = decoded(&fs::read(sandbox.output(&format!("r.{end}"))).unwrap());
        let found = split(&text, b'\n').len();
        assert!(found > all / 2 && found <= all, "{arguments}: {found}");
    }
    // What needs more says how much.
    sandbox.write("some", some);
    let inputs = if sweep::is_full() { "a b" } else { "some" };
    for end in ["bz2", "xz"] {
        let arguments = format!("union {inputs} -q -o ../out/r.{end}");
        let refused = sandbox.run(&format!("{arguments} --memory 16384K"));
        refused.fails(6, &["memory", "give at least"]);
        let arguments = format!("{arguments} --memory {}", refused.advised());
        let (outcome, peak) = measured(&sandbox, &arguments);
        outcome.succeeds();
        assert!(peak <= 40 << 20, "{arguments}: {} KiB", peak >> 10);
    }
}
