//! The steps of a job as a scheduler runs them: shards, joins and the comparison of their reports.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::data::{common, lines, megabytes, split};
use crate::json;
use crate::limits::memory::measured;
use crate::outputs::compressed::decoded;
use crate::sandbox::{Sandbox, outset};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";

/// A sandbox with two inputs and the key of a job.
fn job(a: &[u8], b: &[u8]) -> Sandbox {
    let sandbox = Sandbox::with(a, b);
    sandbox.write("key", KEY);
    sandbox
}

/// Runs one step quietly; it must succeed.
fn step(sandbox: &Sandbox, arguments: &str) {
    sandbox.run(&format!("{arguments} -q")).succeeds_silently();
}

/// Shards both inputs in some ranges and joins all buckets, with reports in `../out`.
fn run_job(sandbox: &Sandbox, buckets: u32, operation: &str) {
    for (side, name) in [(1, "a"), (2, "b")] {
        let size = fs::metadata(sandbox.input(name)).unwrap().len();
        let cut = size / 3 + 1;
        for (number, range) in [format!("0:{cut}"), format!("{cut}:{size}")]
            .iter()
            .enumerate()
        {
            // The last range ends with the file.
            let range = match number {
                0 => range.clone(),
                _ => format!("{cut}:{}", size - cut),
            };
            let to = format!("../out/{name}{number}");
            step(
                sandbox,
                &format!(
                    "shard {name} --side {side} --buckets {buckets} --hash-key-file key --range {range} -o {to}.shard --stats {to}.json"
                ),
            );
        }
    }
    for bucket in 0..buckets {
        step(
            sandbox,
            &format!(
                "join ../out/a0.shard ../out/a1.shard ../out/b0.shard ../out/b1.shard --sides 2 --operation {operation} --bucket {bucket} -o ../out/part-{bucket} --stats ../out/join-{bucket}.json"
            ),
        );
    }
}

/// The lines of all parts.
fn parts(sandbox: &Sandbox, buckets: u32) -> Vec<u8> {
    let part = |bucket| fs::read(sandbox.output(&format!("part-{bucket}"))).unwrap();
    (0..buckets).flat_map(part).collect()
}

#[test]
fn m1_the_commands_of_a_job_give_the_lines_and_say_when_all_is_there() {
    let (a, b) = (lines(0..4000), lines(3000..9000));
    let sandbox = job(&a, &b);
    run_job(&sandbox, 4, "intersect");
    let found = parts(&sandbox, 4);
    let found: BTreeSet<&[u8]> = split(&found, b'\n').into_iter().collect();
    assert_eq!(found, common(&[&a, &b]));
    let reports = "../out/a0.json ../out/a1.json ../out/b0.json ../out/b1.json ../out/join-0.json ../out/join-1.json ../out/join-2.json";
    sandbox
        .run(&format!("finish {reports} -o ../out/_SUCCESS"))
        .fails(7, &["bucket 3", "was not joined"]);
    assert!(!sandbox.output("_SUCCESS").exists());
    let all = format!("finish {reports} ../out/join-3.json");
    sandbox
        .run(&format!("{all} -o ../out/_SUCCESS"))
        .succeeds_silently();
    let summary = json::parse(&fs::read(sandbox.output("_SUCCESS")).unwrap());
    assert_eq!(summary["output_lines"], 1000);
    assert_eq!(summary["shards"], 4);
    let printed = sandbox.run(&all);
    assert_eq!(json::parse(&printed.succeeds().stdout), summary);
    // A report of the second part twice, and one of another command.
    sandbox.run(&format!("{all} ../out/b1.json")).fails(
        7,
        &[
            "this shard was named before",
            "the report of each shard once",
        ],
    );
    sandbox
        .run(&format!("finish {reports} key"))
        .fails(2, &["key: is not a report"]);
    sandbox
        .run(&format!("finish {reports} ../out/join-9.json"))
        .fails(3, &["join-9.json"]);
}

#[test]
fn f10_the_lines_of_a_join_and_the_summary_of_a_job_are_compressed_by_name() {
    let sandbox = job(b"x\ny\n", b"y\n");
    for (side, name) in [(1, "a"), (2, "b")] {
        let to = format!("-o ../out/{name} --stats ../out/{name}.json");
        step(
            &sandbox,
            &format!("shard {name} --side {side} --buckets 1 --hash-key-file key {to}"),
        );
    }
    let join = "join ../out/a ../out/b --sides 2 --bucket 0";
    step(
        &sandbox,
        &format!("{join} -o ../out/part.gz --stats ../out/j.json"),
    );
    let part = fs::read(sandbox.output("part.gz")).unwrap();
    assert_eq!(decoded(&part), b"y\n");
    let reports = "../out/a.json ../out/b.json";
    sandbox
        .run(&format!("finish {reports} ../out/j.json -o ../out/S.gz"))
        .succeeds_silently();
    let summary = json::parse(&decoded(&fs::read(sandbox.output("S.gz")).unwrap()));
    assert_eq!(summary["output_lines"], 1);
    sandbox.run(&format!("finish {reports}")).fails(
        7,
        &["joins: no report is of one: name the reports of all joins"],
    );
    sandbox
        .run("join ../out/a --sides 2 --bucket 5 -o ../out/x")
        .fails(2, &["has no bucket 5: give --bucket a number from 0 to 0"]);
}

#[test]
fn m1_statistics_on_standard_error_stand_alone() {
    let sandbox = job(b"x\n", b"");
    let shard = "shard a --side 1 --buckets 1 --hash-key-file key -o ../out/a --stats -";
    let outcome = sandbox.run(shard);
    let stats = json::parse(outcome.succeeds().stderr.as_bytes());
    assert_eq!(stats["sent"]["lines"], 1);
    let join = "join ../out/a --sides 1 --bucket 0 --operation union -o ../out/part --stats -";
    let outcome = sandbox.run(join);
    let stats = json::parse(outcome.succeeds().stderr.as_bytes());
    assert_eq!(stats["output"]["lines"], 1);
}

/// The lines of a stream of frames; the stream must be complete.
fn lines_of_frames(stream: &[u8]) -> Vec<u8> {
    let (frames, trailer) = stream.split_at(stream.len() - 32);
    assert!(trailer.starts_with(b"OUTSETE1"));
    let (mut rest, mut lines) = (frames, Vec::new());
    while !rest.is_empty() {
        let payload = u64::from_le_bytes(rest[64..72].try_into().unwrap()) as usize;
        lines.extend(&rest[88..88 + payload]);
        rest = &rest[88 + payload..];
    }
    lines
}

#[test]
fn m1_streams_of_blocks_go_through_pipes_and_the_result_as_well() {
    let (a, b) = (lines(0..3000), lines(2000..5000));
    let sandbox = job(&a, &b);
    let shard = |arguments: &str, content: &[u8]| {
        let arguments = format!("shard {arguments} --buckets 3 --hash-key-file key -q");
        let outcome = sandbox.run_fed(&arguments, content);
        outcome.succeeds().stdout.clone()
    };
    let both = [
        shard("a --side 1 --compress none", b""),
        shard("- --side 2 -m 16M", &b),
    ]
    .concat();
    let join = |arguments: &str, stream: &[u8]| {
        sandbox.run_fed(&format!("join - --sides 2 {arguments} -q"), stream)
    };
    let found = lines_of_frames(&join("", &both).succeeds().stdout);
    let found: BTreeSet<&[u8]> = split(&found, b'\n').into_iter().collect();
    assert_eq!(found, common(&[&a, &b]));
    let counted = lines_of_frames(&join("--operation union --count", &both).succeeds().stdout);
    assert_eq!(split(&counted, b'\n').len(), 5000);
    join("", &both[..both.len() - 5]).fails(7, &["the stream ends", "make the shard again"]);
    join("--bucket 1", &both).fails(2, &["-: the frame at byte", "instead of 1"]);
    join("--operation overlaps", &both).fails(2, &["invalid value 'overlaps'"]);
    join("--operation diff --at-least 2", &both).fails(2, &["only intersect takes"]);
}

#[test]
fn m4_requests_that_no_step_can_meet_are_refused_before_anything_is_read() {
    let sandbox = job(&lines(0..10), &lines(0..10));
    let gzip = Command::new("gzip")
        .args(["-k", "a"])
        .current_dir(sandbox.input("."))
        .status();
    let shard = "shard --side 1 --hash-key-file key -o ../out/x -q";
    sandbox
        .run_fed(&format!("{shard} - --buckets 2 --range 0:5"), b"x\n")
        .fails(2, &["-: is not a regular file", "leave out --range"]);
    if gzip.is_ok_and(|status| status.success()) {
        sandbox
            .run(&format!("{shard} a.gz --buckets 2 --range 0:5"))
            .fails(2, &["a.gz: is compressed", "leave out --range"]);
    }
    for (arguments, said) in [
        ("a --buckets 0", "give a number from 1 to 65536"),
        ("a --buckets 2 --range 5", "such as 1G:256M"),
        ("a --buckets 2 --side 0", "--side"),
    ] {
        sandbox
            .run(&format!("{shard} {arguments}"))
            .fails(2, &[said]);
    }
    sandbox
        .run("shard a --side 1 --buckets 2 --hash-key-file a -q")
        .fails(2, &["a: has no hash key", "od -An"]);
    // A key that cannot be read may be there later, and no output replaces one.
    sandbox
        .run("shard a --side 1 --buckets 2 --hash-key-file nowhere -q")
        .fails(3, &["nowhere: No such file"]);
    for arguments in ["-o key", "-o ../out/x --stats key"] {
        sandbox
            .run(&format!(
                "shard a --side 1 --buckets 2 --hash-key-file key {arguments} -q"
            ))
            .fails(2, &["key: ", "would replace it"]);
    }
    sandbox
        .run("intersect a b --hash-key-file key -o key -q")
        .fails(2, &["key: ", "would replace it"]);
    assert_eq!(fs::read_to_string(sandbox.input("key")).unwrap(), KEY);
    sandbox.write("a", lines(0..100_000));
    let outcome = sandbox.run(&format!("{shard} a --buckets 20000 -m 32M"));
    outcome.fails(6, &["one block per bucket (20000 buckets)"]);
    let enough = outcome.advised();
    step(
        &sandbox,
        &format!("shard a --side 1 --hash-key-file key -o ../out/x --buckets 20000 -m {enough}"),
    );
    sandbox
        .run("join ../out/x --sides 4000000000 --bucket 0 -m 64M -q")
        .fails(2, &["give a number from 1 to 4094"]);
    sandbox
        .run("join ../out/x --sides 2 -q")
        .fails(2, &["--bucket"]);
    sandbox
        .run("join a --sides 2 --bucket 0 -q")
        .fails(7, &["a: byte", "it is not a shard file"]);
}

#[test]
#[ignore = "slow: more than a second"]
fn m4_many_sides_and_many_shards_are_joined_under_a_small_limit() {
    let sandbox = job(&lines(0..2000), b"");
    let mut list: Vec<String> = Vec::new();
    let mut everything = Vec::new();
    for side in 1..=120 {
        let own = lines(side..side + 100);
        sandbox.write("side", &own);
        everything.extend_from_slice(&own);
        step(
            &sandbox,
            &format!(
                "shard side --side {side} --buckets 2 --hash-key-file key -o ../out/{side}.shard"
            ),
        );
        list.push(format!("../out/{side}.shard"));
    }
    sandbox.write("list", list.join("\n"));
    let mut found = Vec::new();
    for bucket in 0..2 {
        let arguments = format!(
            "join --shards-from list --sides 120 --operation union --bucket {bucket} -o ../out/part -q -m 32M"
        );
        under(&sandbox, &arguments, 32);
        found.extend(fs::read(sandbox.output("part")).unwrap());
    }
    let sorted = |lines| split(lines, b'\n').into_iter().collect::<BTreeSet<&[u8]>>();
    assert_eq!(sorted(&found), sorted(&everything));
    sandbox
        .run("join --shards-from nowhere --sides 2 --bucket 0 -q")
        .fails(3, &["nowhere: No such file", "--shards-from"]);
    sandbox
        .run("join a --shards-from list --sides 2 --bucket 0 -q")
        .fails(2, &["cannot be used with"]);
}

#[test]
#[ignore = "slow: more than a second"]
fn m7_shard_and_join_stay_under_their_limits() {
    let (a, b) = (megabytes(12, 0), megabytes(12, 6));
    let sandbox = job(&a, &b);
    for limit in [16, 64] {
        for (side, name) in [(1, "a"), (2, "b")] {
            let arguments = format!(
                "shard {name} --side {side} --buckets 1 --hash-key-file key -o ../out/{name}{limit} -j 2 -q -m {limit}M"
            );
            under(&sandbox, &arguments, limit);
        }
        let arguments = format!(
            "join ../out/a{limit} ../out/b{limit} --sides 2 --bucket 0 -j 2 -o ../out/found{limit} -q -m {limit}M"
        );
        under(&sandbox, &arguments, limit);
        let found = fs::read(sandbox.output(&format!("found{limit}"))).unwrap();
        let found: BTreeSet<&[u8]> = split(&found, b'\n').into_iter().collect();
        assert_eq!(found, common(&[&a, &b]));
    }
    let many = "shard a --side 1 --buckets 700 --hash-key-file key -o ../out/many -j 2 -q -m 16M";
    under(&sandbox, many, 16);
}

#[test]
#[ignore = "slow: larger files, more threads"]
fn m7_shard_and_join_of_larger_files_stay_under_their_limits() {
    let sandbox = job(&megabytes(400, 0), &megabytes(400, 200));
    for limit in [16, 64, 256] {
        for threads in [1, 2, 8] {
            for (side, name) in [(1, "a"), (2, "b")] {
                let arguments = format!(
                    "shard {name} --side {side} --buckets 2 --hash-key-file key -o ../out/{name}{limit} -j {threads} -q -m {limit}M"
                );
                under(&sandbox, &arguments, limit);
            }
            let arguments = format!(
                "join ../out/a{limit} ../out/b{limit} --sides 2 --bucket 1 -j {threads} -o ../out/found -q -m {limit}M"
            );
            under(&sandbox, &arguments, limit);
        }
    }
}

/// Runs a step, which must succeed under `limit` MiB.
fn under(sandbox: &Sandbox, arguments: &str, limit: u64) {
    let (outcome, peak) = measured(sandbox, arguments);
    outcome.succeeds_silently();
    let over = peak.saturating_sub(limit << 20) >> 10;
    assert!(
        peak > 2 << 20 && over == 0,
        "{arguments}: {over} KiB over the limit"
    );
}

#[test]
#[ignore = "slow: more than a second"]
fn m8_a_step_ends_when_its_parent_is_gone_or_a_signal_comes_and_leaves_nothing() {
    let sandbox = job(b"", b"");
    // Nobody writes to it: the step waits.
    let fifo = sandbox.fifo("waits");
    let script = format!(
        "{} shard {} --side 1 --buckets 2 --hash-key-file key -o ../out/x --end-with-parent & echo $!; exec sleep 100",
        outset(),
        fifo.display()
    );
    // Opens it for both, so that the step gets beyond opening it.
    let held = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&fifo)
        .unwrap();
    let mut parent = Command::new("sh")
        .args(["-c", &script])
        .current_dir(sandbox.input("."))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut stdout = std::io::BufReader::new(parent.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut said).unwrap();
    let child = Pid::from_raw(said.trim().parse().unwrap()).unwrap();
    thread::sleep(Duration::from_millis(300));
    let is_there = || kill_process(child, Signal::CONT).is_ok();
    assert!(is_there());
    parent.kill().unwrap();
    parent.wait().unwrap();
    let start = Instant::now();
    while is_there() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "the step goes on"
        );
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(fs::read_dir(sandbox.output(".")).unwrap().count(), 0);
    drop(held);

    let mut command = sandbox.command("join - --sides 2 -o ../out/y -q");
    command.stdin(Stdio::piped());
    let mut running = sandbox.start(command);
    thread::sleep(Duration::from_millis(300));
    assert!(running.is_going_on(), "it waits for frames");
    running.signal(Signal::TERM);
    running.finish().ends_by(Signal::TERM);
}

#[test]
fn m10_a_job_on_several_machines_is_sized_without_files() {
    let sandbox = Sandbox::new();
    let plan = "plan --lines 50e9,50e9 --line-bytes 64 --memory 4G --machines 16";
    let outcome = sandbox.run(plan);
    let text = String::from_utf8(outcome.succeeds().stdout.clone()).unwrap();
    for part in [
        "on 16 machines",
        "buckets of",
        "network: 5.5 TiB in all",
        "temporary disk: ",
    ] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    let sizing = json::parse(&sandbox.run(&format!("{plan} --json")).succeeds().stdout);
    assert_eq!(sizing["input_bytes"], 6_400_000_000_000_u64);
    let buckets = json::number(&sizing, "/buckets");
    assert!(buckets * json::number(&sizing, "/bucket_bytes") >= 6.4e12);
    // A shard with that number of buckets runs within the memory of a task.
    sandbox.write("a", b"x\n");
    sandbox.write("key", KEY);
    let shard =
        format!("shard a --side 1 --buckets {buckets} --hash-key-file key -o ../out/x -m 4G -j 1");
    step(&sandbox, &shard);
    sandbox
        .run("plan --lines 5,5 --machines 0")
        .fails(2, &["--machines"]);
    sandbox
        .run("plan --machines 3 a")
        .fails(2, &["'--machines <N>' cannot be used with '[FILE]...'"]);
    sandbox
        .run("plan --lines 5e9,5e9 --machines 3 --memory 1M")
        .fails(6, &["memory limit"]);
}
