//! Jobs of several processes: shards of any ranges and joins of their buckets give what one run gives, and what is
//! damaged, cut, mixed or repeated on the way is refused or harmless.

use std::fs::{self, File};
use std::ops::Range;

use differential::choices::{Choices, mixed};
use differential::generate;
use differential::lines::Scale;
use outset::cluster::{
    Compression, JobKey, JoinRequest, JoinStats, ShardRequest, ShardStats, Shards, finish, join,
    shard,
};
use outset::{
    Error, ErrorKind, Keys, Label, LineFormat, Options, Result, Selection, Source, select,
};

use crate::util::{MIB, Sandbox, alone, beside_others, from_here};

/// The bytes of a header, and of a trailer.
const HEADER: usize = 88;
const TRAILER: usize = 32;

fn key() -> JobKey {
    JobKey::new([1, 2, 3, 4])
}

fn request(side: u32, buckets: u32) -> ShardRequest {
    ShardRequest {
        side,
        buckets,
        key: key(),
        range: None,
        filter: None,
        compression: Compression::Lz4,
    }
}

fn options(sandbox: &Sandbox, terminator: u8) -> Options {
    Options {
        memory_bytes: Some(64 * MIB),
        temp_dirs: vec![sandbox.temp()],
        threads: Some(2),
        format: LineFormat {
            terminator,
            ..LineFormat::default()
        },
        ..Options::default()
    }
}

/// The stream of a shard, and its report.
fn sharded(
    source: &Source,
    request: &ShardRequest,
    options: &Options,
) -> Result<(Vec<u8>, ShardStats)> {
    let mut stream = Vec::new();
    let stats = shard(
        source,
        request,
        &from_here(options),
        (&mut stream, "memory"),
    )?;
    Ok((stream, stats))
}

/// The lines of a join, sorted, and its report.
fn joined(
    (selection, sides): (Selection, u32),
    bucket: Option<u32>,
    shards: Shards,
    options: &Options,
) -> Result<(Vec<Vec<u8>>, JoinStats)> {
    let request = JoinRequest {
        selection,
        sides,
        bucket,
    };
    let mut lines = Vec::new();
    let mut sink = |line: &[u8]| {
        lines.push(line.to_vec());
        Ok(())
    };
    let stats = join(&request, shards, &from_here(options), &mut sink)?;
    lines.sort_unstable();
    Ok((lines, stats))
}

/// A stream that is read from a file.
fn stream(sandbox: &Sandbox, bytes: impl AsRef<[u8]>) -> Shards {
    let path = sandbox.file("stream", bytes);
    Shards::Stream(File::open(&path).unwrap(), path)
}

/// The frames of a stream of one section, each with its header, without those of counters.
fn frames(stream: &[u8]) -> Vec<&[u8]> {
    let (mut rest, mut frames) = (&stream[..stream.len() - TRAILER], Vec::new());
    while !rest.is_empty() {
        let stored = u64::from_le_bytes(rest[64..72].try_into().unwrap()) as usize;
        let kind = rest[32];
        let (frame, behind) = rest.split_at(HEADER + stored);
        if kind == 0 {
            frames.push(frame);
        }
        rest = behind;
    }
    frames
}

/// A stream of these frames, as a program that moves frames writes it.
fn mixed_stream(frames: &[&[u8]]) -> Vec<u8> {
    let mut stream = frames.concat();
    let numbers = [frames.len() as u64, stream.len() as u64, u64::MAX];
    stream.extend(b"OUTSETE1");
    stream.extend(numbers.map(u64::to_le_bytes).as_flattened());
    stream
}

/// Ranges that cover `size` bytes once.
fn division(choices: &mut Choices, size: u64) -> Vec<Range<u64>> {
    let mut cuts = vec![0, size];
    for _ in 0..choices.below(4) {
        cuts.push(choices.below(size + 1));
    }
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// The selections that a number of sides can have.
fn selections(sides: u32) -> Vec<Selection> {
    let mut selections = vec![
        Selection::intersection(),
        Selection::union(),
        Selection::union().with_all(),
        Selection::union().labelled(Label::Count),
        Selection::union().min_count(2),
        Selection::union().max_count(1).labelled(Label::Count),
        Selection::union().labelled(Label::Sides),
    ];
    if sides > 1 {
        selections.extend([
            Selection::difference(),
            Selection::symmetric_difference(),
            Selection::at_least(2),
            Selection::intersection().min_count(3),
            Selection::difference().max_count(1),
            Selection::intersection().with_all(),
            Selection::difference().with_repeats(),
        ]);
    }
    selections
}

/// A job of random inputs, ranges, buckets and memory gives what a run over the whole inputs gives.
fn check_job(number: u64) {
    let mut choices = Choices::seeded(mixed(number));
    let case = generate::case(&mut choices, Scale::SEEDED);
    let sandbox = Sandbox::new();
    let options = Options {
        memory_bytes: Some(choices.pick(&[16, 64, 256]) * MIB),
        threads: Some(choices.between(1, 3) as usize),
        always_spill: choices.one_in(3),
        ..options(&sandbox, case.terminator)
    };
    let sources: Vec<Source> = sandbox
        .files(&case.contents())
        .iter()
        .map(Source::from)
        .collect();
    let sides = sources.len() as u32;
    let buckets = choices.pick(&[1, 2, 7, 20]);
    let (mut files, mut reports, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for (side, source) in (1..).zip(&sources) {
        let Source::Path(path) = source else { panic!() };
        let size = fs::metadata(path).unwrap().len();
        for range in division(&mut choices, size) {
            let request = ShardRequest {
                range: Some(range),
                compression: choices.pick(&[Compression::Lz4, Compression::None]),
                ..request(side, buckets)
            };
            let (stream, stats) = sharded(source, &request, &options).unwrap();
            reports.push(serde_json::to_string(&stats).unwrap());
            files.push(sandbox.file(&format!("{}.shard", files.len()), &stream));
            all.push(stream);
        }
    }
    // By turns: all of them would take long.
    let turn = choices.below(3) as usize;
    for selection in selections(sides).into_iter().skip(turn).step_by(3) {
        let mut expected = Vec::new();
        let mut sink = |line: &[u8]| {
            expected.push(line.to_vec());
            Ok(())
        };
        select(&sources, selection, &from_here(&options), &mut sink).unwrap();
        expected.sort_unstable();
        let wanted = (selection, sides);
        let (mut found, mut joins) = (Vec::new(), reports.clone());
        for bucket in 0..buckets {
            let shards = Shards::Files(files.clone());
            let (lines, stats) = joined(wanted, Some(bucket), shards, &options).unwrap();
            found.extend(lines);
            joins.push(serde_json::to_string(&stats).unwrap());
        }
        found.sort_unstable();
        assert_eq!(
            found, expected,
            "case {number}, {selection:?}, {buckets} buckets"
        );
        let reports = joins
            .iter()
            .map(|text| ("a report".to_owned(), text.as_bytes()));
        let finished = finish(reports, None).unwrap();
        assert_eq!(finished.output_lines, expected.len() as u64);
        // All shards, one behind the other, are a stream of all buckets.
        let (lines, _) = joined(wanted, None, stream(&sandbox, all.concat()), &options).unwrap();
        assert_eq!(lines, expected, "case {number}, {selection:?}, as a stream");
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn m1_shards_of_any_ranges_and_joins_of_their_buckets_give_what_one_run_gives() {
    let _shared = beside_others();
    (0..6).for_each(check_job);
}

#[test]
#[ignore = "slow: hundreds of jobs"]
fn m1_hundreds_of_jobs_give_what_one_run_gives() {
    let _shared = beside_others();
    (6..400).for_each(check_job);
}

/// A side of short and long lines, of which some are repeated.
fn text(numbers: Range<u32>) -> Vec<u8> {
    let line = |number: u32| {
        // Two of a side are longer than a frame may have of several lines.
        let times = if number.is_multiple_of(1500) {
            70_000
        } else {
            1
        };
        format!("{}-{number}\n", "line".repeat(times))
    };
    numbers.map(line).collect::<String>().into_bytes()
}

/// A job of two sides: where its files are, and the stream of each.
fn small_job(sandbox: &Sandbox) -> (Options, Vec<Source>, [Vec<u8>; 2]) {
    let options = options(sandbox, b'\n');
    let paths = sandbox.files(&[text(0..3000), text(1000..4000)]);
    let sources: Vec<Source> = paths.iter().map(Source::from).collect();
    let stream_of = |side: u32| {
        let source = &sources[side as usize - 1];
        sharded(source, &request(side, 5), &options).unwrap().0
    };
    let streams = [stream_of(1), stream_of(2)];
    (options, sources, streams)
}

const COMMON: (Selection, u32) = (Selection::intersection(), 2);

#[test]
fn m2_frames_come_in_any_order_and_a_repeated_one_changes_no_set() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let (options, _, [first, second]) = small_job(&sandbox);
    let whole = stream(&sandbox, [&first[..], &second].concat());
    let (expected, stats) = joined(COMMON, None, whole, &options).unwrap();
    assert_eq!(expected.len(), 2000);
    assert_eq!(stats.joined, [0, 1, 2, 3, 4]);
    let mut all: Vec<&[u8]> = frames(&first).into_iter().chain(frames(&second)).collect();
    let mut choices = Choices::seeded(7);
    for _ in 0..4 {
        for last in (1..all.len()).rev() {
            all.swap(last, choices.below(last as u64 + 1) as usize);
        }
        let mixed = stream(&sandbox, mixed_stream(&all));
        let (lines, again) = joined(COMMON, None, mixed, &options).unwrap();
        assert_eq!((&lines, &again.sides), (&expected, &stats.sides));
    }
    all.push(all[3]);
    let repeated = stream(&sandbox, mixed_stream(&all));
    let (lines, again) = joined(COMMON, None, repeated, &options).unwrap();
    assert_eq!(lines, expected);
    assert_ne!(again.sides, stats.sides, "finish notices");
}

#[test]
fn m3_a_stream_that_was_cut_damaged_or_mixed_up_is_refused() {
    damaged_stream(12, 13);
}

#[test]
#[ignore = "slow: every bit of two headers"]
fn m3_a_stream_that_was_cut_or_damaged_anywhere_is_refused() {
    damaged_stream(400, 1);
}

/// Cuts and damages a stream at so many places, and flips every so many bits of two headers.
fn damaged_stream(places: u32, step: usize) {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let (options, _, [first, second]) = small_job(&sandbox);
    let whole = [&first[..], &second].concat();
    let expected = joined(COMMON, None, stream(&sandbox, &whole), &options)
        .unwrap()
        .0;
    let kind_of = |bytes: &[u8]| {
        let shards = stream(&sandbox, bytes);
        joined(COMMON, None, shards, &options)
            .map(|(lines, _)| lines)
            .map_err(|error| error.kind())
    };
    let mut choices = Choices::seeded(11);
    for _ in 0..places {
        let at = choices.below(whole.len() as u64) as usize;
        // Where the second begins, the first alone is complete: that a shard is missing shows in the reports.
        if at != first.len() {
            let kind = kind_of(&whole[..at]).unwrap_err();
            assert_eq!(kind, ErrorKind::Damaged, "cut at {at}");
        }
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << choices.below(8);
        let found = kind_of(&damaged);
        assert_eq!(
            found.err(),
            Some(ErrorKind::Damaged),
            "a flipped bit of byte {at}"
        );
    }
    // What is said of its job, shard, side and bucket, of the first frame and of the next: no request was wrong.
    for start in [0, frames(&first)[0].len()] {
        for bit in (8 * 8..32 * 8).step_by(step) {
            let mut damaged = whole.clone();
            damaged[start + bit / 8] ^= 1 << (bit % 8);
            let found = kind_of(&damaged).err();
            assert_eq!(found, Some(ErrorKind::Damaged), "bit {bit} from {start}");
        }
    }
    assert_eq!(kind_of(&whole).unwrap(), expected);
    // A frame more or less than its shard counts, and counters of another shard.
    let (frame, counters) = (frames(&first)[1], &first[..first.len() - TRAILER]);
    let with = [frame, counters].concat();
    assert_eq!(kind_of(&with), Err(ErrorKind::Damaged));
    let without = &first[frames(&first)[0].len()..];
    assert_eq!(kind_of(without), Err(ErrorKind::Damaged));
    let behind = [&first[..first.len() - TRAILER], &second].concat();
    assert_eq!(kind_of(&behind), Err(ErrorKind::Damaged));
    assert_eq!(kind_of(b""), Err(ErrorKind::Damaged));
    assert_eq!(
        kind_of(b"some text that is no shard, and long enough\n"),
        Err(ErrorKind::Damaged)
    );
}

#[test]
fn m3_a_shard_file_that_was_cut_or_damaged_gives_no_wrong_line() {
    // A bit or two of every byte of the counters.
    shard_file_damaged(15, 7);
}

#[test]
#[ignore = "slow: every bit of the counters"]
fn m3_a_shard_file_that_was_cut_or_damaged_at_any_bit_gives_no_wrong_line() {
    shard_file_damaged(200, 1);
}

/// Damages the file at some places, and every so many bits of its counters.
fn shard_file_damaged(places: u32, step: usize) {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let (options, _, [first, second]) = small_job(&sandbox);
    let intact = sandbox.file("intact", &second);
    let join_with = |bytes: &[u8], bucket: u32| {
        let files = vec![sandbox.file("other", bytes), intact.clone()];
        joined(COMMON, Some(bucket), Shards::Files(files), &options)
    };
    let expected: Vec<_> = (0..5)
        .map(|bucket| join_with(&first, bucket).unwrap().0)
        .collect();
    let mut choices = Choices::seeded(13);
    for _ in 0..places {
        let at = choices.below(first.len() as u64) as usize;
        let bucket = choices.below(5) as u32;
        let cut = join_with(&first[..at], bucket).unwrap_err();
        assert_eq!(cut.kind(), ErrorKind::Damaged, "cut at {at}");
        let mut damaged = first.clone();
        damaged[at] ^= 1 << choices.below(8);
        // Most bytes are of other buckets.
        match join_with(&damaged, bucket) {
            Ok((lines, _)) => assert_eq!(lines, expected[bucket as usize], "byte {at}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Damaged, "{error}"),
        }
    }
    // The counters: those of the bucket are checked, the others are not read.
    let start = first.len() - TRAILER - 5 * 56;
    for bit in (0..5 * 56 * 8).step_by(step) {
        let mut damaged = first.clone();
        damaged[start + bit / 8] ^= 1 << (bit % 8);
        let is_of = (bit / 8 / 56) as u32;
        let found = join_with(&damaged, is_of).unwrap_err();
        assert_eq!(found.kind(), ErrorKind::Damaged, "bit {bit}");
        if bit % 97 == 0 {
            let bucket = (is_of + 1) % 5;
            let (lines, _) = join_with(&damaged, bucket).unwrap();
            assert_eq!(lines, expected[bucket as usize], "bit {bit}");
        }
    }
    let two = [&first[..], &first].concat();
    assert!(matches!(join_with(&two, 0), Err(Error::BadFrames { .. })));
    assert!(matches!(join_with(&first, 5), Err(Error::Usage { .. })));
}

#[test]
fn m4_what_is_of_another_job_side_or_bucket_is_refused() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let (options, sources, [first, second]) = small_job(&sandbox);
    let refused = |bytes: &[u8], sides: u32, bucket: Option<u32>| {
        let wanted = (Selection::union(), sides);
        joined(wanted, bucket, stream(&sandbox, bytes), &options)
            .unwrap_err()
            .to_string()
    };
    for (key, buckets) in [(JobKey::new([9; 4]), 5), (key(), 6)] {
        let other = ShardRequest {
            key,
            ..request(1, buckets)
        };
        let (other, _) = sharded(&sources[0], &other, &options).unwrap();
        let said = refused(&[&second[..], &other].concat(), 2, None);
        assert!(said.contains("from a different job"), "{said}");
    }
    let said = refused(&second, 1, None);
    assert!(
        said.contains("from side 2, but there is only 1 side"),
        "{said}"
    );
    let said = refused(&first, 1, Some(77));
    assert!(said.contains("instead of 77"), "{said}");
}

#[test]
fn m5_a_filter_of_the_other_side_spares_lines_and_must_have_the_key_of_the_job() {
    use outset::filter::Kind;
    use outset::hash::HashKey;
    use outset::stored::{BuildRequest, FilterSize, KeyCount, build};
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let (options, sources, [first, _]) = small_job(&sandbox);
    let build_with = |options: &Options, hash_key: HashKey, name: &str| {
        let request = BuildRequest {
            kind: Kind::Blocked,
            keys: KeyCount::Lines(3000),
            size: FilterSize::Fpr(0.001),
            hashes: None,
            like: None,
        };
        let options = Options {
            hash_key,
            ..options.clone()
        };
        let built = build(&sources[..1], &request, &from_here(&options)).unwrap();
        let path = sandbox.path(name);
        built.filter.save(&path, &options.interrupt).unwrap();
        path
    };
    let filtered = |filter| ShardRequest {
        filter: Some(filter),
        ..request(2, 5)
    };
    let own = filtered(build_with(
        &options,
        HashKey::Fixed([1, 2, 3, 4]),
        "own.osf",
    ));
    let (second, stats) = sharded(&sources[1], &own, &options).unwrap();
    assert_eq!(stats.input.lines, 3000);
    assert!(
        (2000..2050).contains(&stats.sent.lines),
        "{}",
        stats.sent.lines
    );
    let both = stream(&sandbox, [&first[..], &second].concat());
    let (lines, _) = joined(COMMON, None, both, &options).unwrap();
    assert_eq!(lines.len(), 2000);
    let folding = Options {
        keys: Some(Keys {
            ignores_case: true,
            ..Keys::default()
        }),
        ..options.clone()
    };
    let folded = filtered(build_with(
        &folding,
        HashKey::Fixed([1, 2, 3, 4]),
        "folded.osf",
    ));
    let refused = sharded(&sources[1], &folded, &options).unwrap_err();
    assert!(
        refused.to_string().contains("asks for whole lines"),
        "{refused}"
    );
    let foreign = filtered(build_with(&options, HashKey::Random, "foreign.osf"));
    let refused = sharded(&sources[1], &foreign, &options).unwrap_err();
    assert!(
        refused.to_string().contains("a different hash key"),
        "{refused}"
    );
}

#[test]
fn m6_a_bucket_without_lines_need_not_be_joined_and_an_empty_shard_counts_once() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let options = options(&sandbox, b'\n');
    let (mut streams, mut reports) = (Vec::new(), Vec::new());
    for (side, text) in [(1, "a\n"), (2, "b\na\n"), (2, "")] {
        let source = Source::from(&sandbox.file(&format!("{side}-{}", text.len()), text));
        let (stream, stats) = sharded(&source, &request(side, 64), &options).unwrap();
        streams.extend(stream);
        reports.push(serde_json::to_string(&stats).unwrap());
    }
    let (lines, stats) = joined(COMMON, None, stream(&sandbox, streams), &options).unwrap();
    assert_eq!(lines.len(), 1);
    assert!(stats.joined.len() <= 2, "{:?}", stats.joined);
    reports.push(serde_json::to_string(&stats).unwrap());
    let finish_with = |reports: &[&String], count| {
        let named = reports.iter().map(|text| ("r".to_owned(), text.as_bytes()));
        finish(named, Some(count)).map_err(|error| error.to_string())
    };
    let [first, second, empty, join] = &reports[..] else {
        panic!("four reports");
    };
    let finished = finish_with(&[first, second, empty, join], 3).unwrap();
    assert_eq!((finished.shards, finished.output_lines), (3, 1));
    // In the place of one that was forgotten.
    let said = finish_with(&[first, empty, empty, join], 3).unwrap_err();
    assert!(said.contains("this shard was named before"), "{said}");
    let said = finish_with(&[first, second, empty], 3).unwrap_err();
    assert!(said.contains("joins: no report is of one"), "{said}");
}

#[test]
fn m6_a_job_is_finished_only_if_everything_is_there_once() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let (options, sources, _) = small_job(&sandbox);
    let (mut files, mut shards) = (Vec::new(), Vec::new());
    for (side, source) in (1..).zip(&sources) {
        let Source::Path(path) = source else { panic!() };
        let size = fs::metadata(path).unwrap().len();
        for range in [0..size / 3, size / 3..size] {
            let request = ShardRequest {
                range: Some(range),
                ..request(side, 3)
            };
            let (stream, stats) = sharded(source, &request, &options).unwrap();
            files.push(sandbox.file(&format!("{}.shard", files.len()), stream));
            shards.push(serde_json::to_string(&stats).unwrap());
        }
    }
    let join_of = |bucket: u32, files: &[std::path::PathBuf]| {
        let shards = Shards::Files(files.to_vec());
        let (_, stats) = joined(COMMON, Some(bucket), shards, &options).unwrap();
        serde_json::to_string(&stats).unwrap()
    };
    let joins: Vec<String> = (0..3).map(|bucket| join_of(bucket, &files)).collect();
    let finish_with = |shards: &[String], joins: &[String], count: Option<u64>| {
        let all = shards.iter().chain(joins);
        let finished = finish(all.map(|text| ("r".to_owned(), text.as_bytes())), count);
        finished.map_err(|error| error.to_string())
    };
    let finished = finish_with(&shards, &joins, Some(4)).unwrap();
    assert_eq!((finished.shards, finished.buckets), (4, 3));
    assert_eq!(finished.output_lines, 2000);
    let fails = |shards: &[String], joins: &[String], count, expected: &str| {
        let said = finish_with(shards, joins, count).unwrap_err();
        assert!(said.contains(expected), "{said}");
    };
    fails(&shards[1..], &joins, None, "no shard has read bytes 0 to");
    fails(&shards[..3], &joins, None, "no shard has read bytes");
    let twice = [&shards[..], &shards[2..3]].concat();
    fails(&twice, &joins, None, "this shard was named before");
    let again = shards[2].replacen("\"shard\":\"", "\"shard\":\"0", 1);
    let twice = [&shards[..], &[again]].concat();
    fails(&twice, &joins, None, "two shards have read bytes 0 to");
    let nul = shards[1].replace("\"line_end\":\"newline\"", "\"line_end\":\"nul\"");
    let other = [&shards[..1], &[nul], &shards[2..]].concat();
    fails(&other, &joins, None, "its byte after each line");
    fails(&shards, &joins[1..], None, "bucket 0: was not joined");
    let twice = [&joins[..], &joins[..1]].concat();
    fails(&shards, &twice, None, "bucket 0: was joined 2 times");
    let short = [&joins[..2], &[join_of(2, &files[..3])]].concat();
    fails(&shards, &short, None, "side 2: 3000 lines were sent");
    fails(&shards, &joins, Some(5), "5 expected, but 4 reported");
    fails(&[], &joins, None, "none reported");
    let other = [
        &joins[..2],
        &[joins[2].replace("\"intersect\"", "\"union\"")],
    ]
    .concat();
    fails(&shards, &other, None, "its operation differs");
    let piped: Vec<String> = shards
        .iter()
        .map(|text| text.replacen("\"file_bytes\":", "\"was\":", 1))
        .collect();
    fails(&piped, &joins, None, "give the number of shards");
    assert!(finish_with(&piped, &joins, Some(4)).is_ok());
    // A side without a shard, and one that was filtered.
    let of_first: Vec<String> = (0..3).map(|bucket| join_of(bucket, &files[..2])).collect();
    fails(&shards[..2], &of_first, None, "side 2: has no shard");
    let filtered = shards[0].replace("\"is_filtered\":false", "\"is_filtered\":true");
    let filtered = [&[filtered], &shards[1..]].concat();
    assert!(finish_with(&filtered, &joins, None).is_ok());
    let as_union: Vec<String> = joins
        .iter()
        .map(|text| text.replace("\"filters_from_side\":1", "\"filters_from_side\":null"))
        .collect();
    fails(&filtered, &as_union, None, "needs all lines of side 1");
    let as_diff: Vec<String> = joins
        .iter()
        .map(|text| text.replace("\"filters_from_side\":1", "\"filters_from_side\":2"))
        .collect();
    fails(&filtered, &as_diff, None, "needs all lines of side 1");
    // Joins that wrote different things, and a report that is cut short.
    let labelled = joins[2].replace("\"label\":\"none\"", "\"label\":\"count\"");
    let other = [&joins[..2], &[labelled]].concat();
    fails(&shards, &other, None, "its selection of lines");
    let ended = joins[2].replace("\"newline\"", "\"nul\"");
    let other = [&joins[..2], &[ended]].concat();
    fails(&shards, &other, None, "its byte after each line");
    let short = [&joins[..2], &[joins[2][..joins[2].len() / 2].to_owned()]].concat();
    fails(&shards, &short, None, "the report is truncated");
    let changed = shards[0].replacen("\"bytes\":", "\"bytes\":1", 1);
    let changed = [&[changed], &shards[1..]].concat();
    fails(&changed, &joins, None, "were read for side 1");
}

#[test]
fn m4_more_shards_can_be_joined_than_files_can_be_open() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let (options, sources, _) = small_job(&sandbox);
    let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let Source::Path(path) = &sources[0] else {
        panic!()
    };
    let size = fs::metadata(path).unwrap().len();
    let length = size / 150 + 1;
    let mut files = Vec::new();
    for number in 0..150 {
        let request = ShardRequest {
            range: Some(number * length..(number + 1) * length),
            ..request(1, 1)
        };
        let (stream, _) = sharded(&sources[0], &request, &options).unwrap();
        files.push(sandbox.file(&format!("{number}.shard"), stream));
    }
    let few = rustix::process::Rlimit {
        current: Some(100),
        maximum: limits.maximum,
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, few).unwrap();
    let found = joined(
        (Selection::union(), 1),
        Some(0),
        Shards::Files(files),
        &options,
    );
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limits).unwrap();
    assert_eq!(found.unwrap().0.len(), 3000);
}
