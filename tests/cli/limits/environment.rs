//! Environments with limits (rows C, D and E of `tests/matrix.tsv`): groups with little memory, file systems without
//! room, space that goes away, descriptors that are taken, directories with other things in them.
//!
//! What needs root says so and is skipped for others.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use differential::sweep;

use crate::data::{EXACT, common, lines, megabytes};
use crate::faults::signals::held_in_spill_of;
use crate::sandbox::{PATIENCE, Sandbox, can_mount};
use crate::tasks::{TASKS, Task, by_turns};

#[test]
fn c8_the_smallest_limit_is_enough_for_sixteen_inputs() {
    // Small ones, and an answer that is larger than all of them.
    sixteen_inputs(
        4000,
        TASKS[..2].iter().zip(["partition --buckets 40", "sieve"]),
    );
}

#[test]
#[ignore = "slow: 32 runs over sixteen files"]
fn c8_the_smallest_limit_is_enough_for_sixteen_inputs_by_every_strategy() {
    let strategies = ["auto", "partition", "partition --buckets 100", "sieve"];
    let ways = TASKS.iter();
    let ways = ways.flat_map(|task| strategies.map(|strategy| (task, strategy)));
    sixteen_inputs(20_000, ways);
}

/// Runs over files with `shared` lines that all have, and half as many of their own.
fn sixteen_inputs<'t>(shared: u64, ways: impl Iterator<Item = (&'t Task, &'t str)>) {
    let sandbox = Sandbox::new();
    let mut names = String::new();
    let text = |number: u64| {
        let first = 100_000 * (number + 1);
        [lines(first..first + shared / 2), lines(0..shared)].concat()
    };
    let texts: Vec<Vec<u8>> = (0..16).map(text).collect();
    for (number, text) in texts.iter().enumerate() {
        sandbox.write(&number.to_string(), text);
        names = format!("{names} {number}");
    }
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    for (task, strategy) in ways {
        let arguments = format!(
            "{} {names} --memory 16M --strategy {strategy} -j 2",
            task.words
        );
        let outcome = sandbox.run(&arguments);
        let answer = task.of(&texts);
        answer.assert_is(&outcome.succeeds_silently().stdout, &arguments);
    }
}

#[test]
#[ignore = "slow: a thousand files"]
fn d1_a_thousand_buckets_run_under_a_limit_of_256_descriptors() {
    let (a, b) = (megabytes(4, 0), megabytes(4, 60_000));
    let sandbox = Sandbox::with(&a, &b);
    for task in &TASKS {
        let words = task.words;
        let arguments = format!("{words} a b --strategy partition --buckets 1000 --memory 64M");
        let command = sandbox.command_after("ulimit -n 256", &arguments);
        let outcome = sandbox.start(command).finish();
        let answer = task.of(&[&a, &b]);
        answer.assert_is(&outcome.succeeds_silently().stdout, &arguments);
    }
}

#[test]
#[ignore = "slow: more than a thousand files"]
fn d3_more_inputs_than_descriptors_run_under_a_limit_of_1024() {
    let sandbox = Sandbox::new();
    let mut names = String::new();
    for number in 0..1100u64 {
        sandbox.write(
            &format!("f{number}"),
            [lines(0..5), lines(number + 5..number + 7)].concat(),
        );
        names = format!("{names} f{number}");
    }
    let arguments = format!("intersect {names} --strategy partition --memory 64M");
    let command = sandbox.command_after("ulimit -n 1024", &arguments);
    sandbox
        .start(command)
        .finish()
        .succeeds_silently()
        .has_lines(&common(&[&lines(0..5)]));
}

#[test]
#[ignore = "slow: close to a second"]
fn d4_descriptors_that_are_inherited_are_left_alone() {
    let (a, b) = (megabytes(2, 0), megabytes(2, 30_000));
    let sandbox = Sandbox::with(&a, &b);
    let strategies = ["auto", "partition", "sieve"].into_iter().cycle();
    for (task, strategy) in TASKS.iter().zip(strategies) {
        let arguments = format!("{} a b --memory 16M --strategy {strategy}", task.words);
        let command = sandbox.command_after(
            "ulimit -n 40 && exec 3<a 4<b 5>/dev/null 6<a 7<a 8<b 9<b",
            &arguments,
        );
        let outcome = sandbox.start(command).finish();
        let answer = task.of(&[&a, &b]);
        answer.assert_is(&outcome.succeeds_silently().stdout, &arguments);
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn e1_a_disk_that_fills_up_while_a_pipe_is_read_fails_the_run_and_is_left_empty() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::with(&megabytes(7, 0), &megabytes(12, 1000));
    // How much comes, nobody knows: the disk is full in the middle, while the second input is spilled, or at its end.
    let late = [(&TASKS[0], "partition", "12m")].into_iter();
    let early = by_turns(1).map(|(task, strategy)| (task, strategy, "2m"));
    for (task, strategy, size) in late.chain(early) {
        let words = task.words;
        let arguments = format!("{words} a - --memory 16M --strategy {strategy} -o ../out/r");
        let mut command = sandbox.command_on_small_disk("temp", size, &arguments);
        command.stdin(File::open(sandbox.input("b")).unwrap());
        sandbox
            .start(command)
            .finish()
            .fails(4, &["temp", "No space left", "--temp-dir"]);
        fs::remove_dir_all(sandbox.root().join("saved")).unwrap();
    }
}

#[test]
fn e5_a_run_that_cannot_fit_is_refused_before_anything_is_read() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::with(&megabytes(10, 0), &megabytes(11, 1000));
    for task in &TASKS {
        let arguments = format!("{} a b --memory 16M --strategy partition", task.words);
        let command = sandbox.command_on_small_disk("temp", "4m", &arguments);
        let start = Instant::now();
        let outcome = sandbox.start(command).finish();
        outcome.fails(4, &["of temporary space needed", "free"]);
        assert!(start.elapsed() < Duration::from_secs(5), "{outcome}");
        fs::remove_dir_all(sandbox.root().join("saved")).unwrap();
    }
}

/// A command in a namespace of its own, where `mount` makes `temp` something else; the status is 99 if the run leaves
/// anything there.
pub(crate) fn on_other_temp(sandbox: &Sandbox, mount: &str, arguments: &str) -> Command {
    let script = format!(
        "{mount} || exit 98\n(cd in && exec \"$0\" \"$@\"); status=$?\n\
         test -z \"$(ls -A temp small big 2> /dev/null | grep -v 'lost+found\\|:$')\" || {{ ls -lR temp small big >&2; exit 99; }}\nexit $status"
    );
    let mut command = sandbox.command_under(&["unshare", "-m", "sh", "-c", &script], arguments);
    command.current_dir(sandbox.root());
    command
}

#[test]
fn e2_a_temporary_directory_that_cannot_be_written_is_named() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::with(&megabytes(2, 0), &megabytes(2, 1000));
    for (task, strategy) in by_turns(0) {
        let words = task.words;
        let command = on_other_temp(
            &sandbox,
            "mount -t tmpfs -o ro none temp",
            &format!("{words} a b --memory 16M --strategy {strategy} --buckets 4 -o ../out/r"),
        );
        sandbox
            .start(command)
            .finish()
            .fails(4, &["Read-only file system", "--temp-dir"]);
    }
}

#[test]
fn e2_a_directory_that_may_only_be_read_is_named_also_where_its_room_is_asked_first() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::with(&megabytes(8, 0), &megabytes(8, 1000));
    // A file system that is full and read-only has no room, and that is not what is wrong with it.
    let mount = "mount -t tmpfs -o size=64k none temp && head -c 1M /dev/zero > temp/full 2> ignored; \
                 rm temp/full && mount -o remount,ro temp";
    let command = on_other_temp(
        &sandbox,
        mount,
        "intersect a b --memory 16M --strategy partition -o ../out/r",
    );
    let outcome = sandbox.start(command).finish();
    outcome.fails(4, &["Read-only file system", "--temp-dir"]);
    assert!(!outcome.stderr.contains("free"), "{outcome}");
}

/// Mounts `small` and `big` with so much room.
fn two_directories(small: &str, big: &str) -> String {
    format!(
        "mkdir -p small big && mount -t tmpfs -o size={small} none small \
         && mount -t tmpfs -o size={big} none big"
    )
}

#[test]
#[ignore = "slow: more than a second"]
fn e14_a_directory_that_is_full_leaves_the_rest_to_another() {
    if !can_mount() {
        return;
    }
    let (a, b) = (megabytes(8, 0), megabytes(9, 100_000));
    let sandbox = Sandbox::with(&a, &b);
    // Two buckets an input, so that none fits the smaller directory beside what it has; or many.
    let sizes = [
        ("1m", "64m", "40"),
        ("7m", "32m", "2"),
        ("10m", "30m", "40"),
    ];
    let orders = ["-T ../small -T ../big", "-T ../big -T ../small"];
    let cases = sweep::pairs(&sizes, &orders).into_iter().zip(&TASKS);
    for (((small, big, buckets), directories), task) in cases {
        let words = task.words;
        let arguments = format!(
            "{words} a b --memory 16M --strategy partition --buckets {buckets} {directories}"
        );
        let mount = two_directories(small, big);
        let command = on_other_temp(&sandbox, &mount, &arguments);
        let outcome = sandbox.start(command).finish();
        let answer = task.of(&[&a, &b]);
        answer.assert_is(&outcome.succeeds().stdout, &arguments);
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn e14_what_is_full_in_all_directories_fails_the_run_and_leaves_nothing_in_any() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::with(&megabytes(7, 0), &megabytes(7, 100_000));
    let mount = two_directories("2m", "4m");
    for task in &TASKS {
        let words = task.words;
        let run = format!("{words} a b --memory 16M --strategy partition -T ../small -T ../big");
        let refused = on_other_temp(&sandbox, &mount, &run);
        sandbox.start(refused).finish().fails(4, &["free"]);
        let forced = on_other_temp(&sandbox, &mount, &format!("{run} --force"));
        let outcome = sandbox.start(forced).finish();
        outcome.fails(4, &["No space left on device", "--temp-dir"]);
    }
}

#[test]
fn e3_a_file_system_without_inodes_is_an_error_of_temporary_space_that_says_so() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::with(&megabytes(2, 0), &megabytes(2, 1000));
    let mount = "truncate -s 16M image && mkfs.ext4 -q -N 32 image && mount -o loop image temp";
    let probe = on_other_temp(&sandbox, mount, "--version")
        .output()
        .unwrap();
    if probe.status.code() == Some(98) {
        eprintln!("skipped: no ext4 image can be mounted");
        return;
    }
    for task in &TASKS[..4] {
        let words = task.words;
        let arguments =
            format!("{words} a b --memory 16M --strategy partition --buckets 60 -o ../out/r");
        let command = on_other_temp(&sandbox, mount, &arguments);
        sandbox
            .start(command)
            .finish()
            .fails(4, &["No space left", "inodes", "--buckets"]);
        fs::remove_file(sandbox.root().join("image")).unwrap();
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn e9_what_is_made_in_temporary_space_is_the_owners_whatever_the_umask() {
    let sandbox = Sandbox::with(&megabytes(7, 0), &megabytes(8, 1000));
    for (umask, task) in ["000", "022", "777"].into_iter().zip(&TASKS) {
        let (running, feed) = held_in_spill_of(task, &sandbox, &format!("umask {umask}"), "");
        for name in sandbox.temp_names() {
            let directory = sandbox.temp().join(name);
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
            assert_eq!(mode(&directory) & !0o700, 0, "umask {umask}");
            for file in fs::read_dir(&directory).unwrap() {
                let path = file.unwrap().path();
                let allowed = if umask == "777" { 0 } else { 0o600 };
                assert_eq!(mode(&path), allowed, "umask {umask}: {}", path.display());
            }
        }
        drop(feed);
        running.finish().succeeds();
    }
}

/// All paths below a directory, with what is in files.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            all.extend(contents(&path));
        }
        let content = fs::read(&path).unwrap_or_default();
        all.insert(path, content);
    }
    all
}

#[test]
fn e10_what_others_have_in_the_temporary_directory_stays() {
    let sandbox = Sandbox::with(&megabytes(2, 0), &megabytes(2, 1000));
    let place = sandbox.root().join("place");
    let valuable = sandbox.root().join("valuable");
    for directory in ["outset-spill-thesis", "outset-spill-other", "backup"] {
        fs::create_dir_all(place.join(directory)).unwrap();
        fs::write(place.join(directory).join("thesis.txt"), "years of work").unwrap();
    }
    fs::create_dir(&valuable).unwrap();
    fs::write(valuable.join("lock"), "").unwrap();
    fs::write(valuable.join("000001-x"), "years of work").unwrap();
    for link in ["outset-spill-link", "outset-spill-aaaaaa"] {
        symlink(&valuable, place.join(link)).unwrap();
    }
    fs::write(place.join("outset-spill-file"), "x").unwrap();
    // Private and empty, as a run makes its own: nothing but the name tells them apart.
    for empty in ["outset-results", "outset-k3JdQ1"] {
        fs::create_dir(place.join(empty)).unwrap();
        fs::set_permissions(place.join(empty), Permissions::from_mode(0o700)).unwrap();
    }
    fs::write(place.join("lock"), "x").unwrap();
    let before = (contents(&place), contents(&valuable));
    // Every other task: each operation, by both strategies in turn.
    for (task, strategy) in by_turns(0).step_by(2) {
        let words = task.words;
        let arguments = format!(
            "{words} a b --memory 16M --strategy {strategy} --buckets 4 -T ../place -o ../out/r"
        );
        sandbox.run(&arguments).succeeds_silently();
        assert_eq!((contents(&place), contents(&valuable)), before);
        sandbox
            .run(&format!("{arguments} --max-temp 100K"))
            .fails(4, &["--max-temp"]);
        assert_eq!((contents(&place), contents(&valuable)), before);
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn e11_runs_side_by_side_in_one_directory_do_not_disturb_each_other() {
    side_by_side(5);
}

#[test]
#[ignore = "slow: 150 runs"]
fn e11_many_runs_side_by_side_in_one_directory_do_not_disturb_each_other() {
    side_by_side(50);
}

fn side_by_side(rounds: usize) {
    let (a, b) = (lines(0..20_000), lines(10_000..34_000));
    let sandbox = Sandbox::with(&a, &b);
    let answers = TASKS.each_ref().map(|task| task.of(&[&a, &b]));
    let all = by_turns(0).chain(by_turns(1)).zip(answers.iter().cycle());
    let mut all = all.collect::<Vec<_>>().into_iter().cycle();
    for round in 0..rounds {
        let three = all.by_ref().take(3);
        let children: Vec<_> = three
            .map(|((task, strategy), answer)| {
                let words = task.words;
                let arguments =
                    format!("{words} a b --memory 16M --strategy {strategy} --buckets 4");
                (
                    sandbox.start(sandbox.command(&arguments)),
                    answer,
                    arguments,
                )
            })
            .collect();
        for (child, answer, arguments) in children {
            // The others may be at it still.
            let outcome = child.end_within(PATIENCE);
            let what = format!("round {round}: {arguments}");
            answer.assert_is(&outcome.succeeds_silently().stdout, &what);
        }
        assert!(
            sandbox.temp_names().is_empty(),
            "{:?}",
            sandbox.temp_names()
        );
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn e13_a_temporary_directory_that_is_removed_during_the_run_is_an_error_of_temporary_space() {
    let sandbox = Sandbox::with(&megabytes(7, 0), &megabytes(8, 1000));
    let whats = ["files", "directory", "place", "files"].into_iter();
    for (what, task) in whats.zip(&TASKS) {
        let (running, feed) = held_in_spill_of(task, &sandbox, "true", "-o ../out/r");
        let _the_run_writes_meanwhile = (0..100).find(|_| {
            for name in sandbox.temp_names() {
                let directory = sandbox.temp().join(name);
                for file in fs::read_dir(&directory).unwrap() {
                    let _gone_already = fs::remove_file(file.unwrap().path());
                }
                if what != "files" {
                    let _gets_files = fs::remove_dir(&directory);
                }
            }
            what == "files" || sandbox.temp_names().is_empty()
        });
        if what == "place" {
            fs::remove_dir(sandbox.temp()).unwrap();
        }
        drop(feed);
        if what == "place" {
            // Looked for by the harness, which must find it empty.
            thread::sleep(Duration::from_millis(500));
            fs::create_dir(sandbox.temp()).unwrap();
        }
        running.finish().fails(4, &["spill file", "No such file"]);
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn h10_one_line_beside_many_is_found_from_both_sides() {
    let many = megabytes(2, 0);
    let one = lines(60_000..60_001);
    let sandbox = Sandbox::with(&one, &many);
    for (task, strategy) in TASKS.iter().zip(EXACT.into_iter().cycle()) {
        // A set of many lines does not fit.
        let strategy = strategy.replace("memory", "auto");
        for (inputs, texts) in [("a b", [&one, &many]), ("b a", [&many, &one])] {
            let words = task.words;
            let arguments = format!("{words} {inputs} --memory 16M --strategy {strategy}");
            let outcome = sandbox.run(&arguments);
            let answer = task.of(&texts.map(Vec::as_slice));
            answer.assert_is(&outcome.succeeds_silently().stdout, &arguments);
        }
    }
    let arguments = "intersect a b --memory 16M --strategy memory";
    sandbox
        .run(arguments)
        .succeeds_silently()
        .has_lines(&common(&[&one]));
}
