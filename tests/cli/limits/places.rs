//! Places with limits (rows C, D and E of `tests/matrix.tsv`): groups with little memory, file systems without room, space that goes
//! away, descriptors that are taken, directories with other things in them.
//!
//! What needs root says so and is skipped for others.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::data::{common, lines, megabytes};
use crate::faults::signals::held_in_spill;
use crate::sandbox::{Sandbox, can_mount};

#[test]
fn c8_the_smallest_limit_is_enough_for_sixteen_inputs() {
    sixteen_inputs(&["partition --buckets 100"]);
}

#[test]
#[ignore = "slow: four runs over sixteen files"]
fn c8_the_smallest_limit_is_enough_for_sixteen_inputs_by_every_strategy() {
    sixteen_inputs(&["auto", "partition", "partition --buckets 100", "sieve"]);
}

fn sixteen_inputs(strategies: &[&str]) {
    let sandbox = Sandbox::new();
    let mut names = String::new();
    let shared = lines(0..20_000);
    for number in 0..16u64 {
        let own = lines(100_000 * (number + 1)..100_000 * (number + 1) + 10_000);
        sandbox.write(&number.to_string(), [&own[..], &shared].concat());
        names = format!("{names} {number}");
    }
    for strategy in strategies {
        sandbox
            .run(&format!(
                "intersect {names} --memory 16M --strategy {strategy} -j 2"
            ))
            .succeeds_silently()
            .has_lines(&common(&[&shared]));
    }
}

#[test]
#[ignore = "slow: a thousand files"]
fn d1_a_thousand_buckets_run_under_a_limit_of_256_descriptors() {
    let (a, b) = (megabytes(4, 0), megabytes(4, 60_000));
    let sandbox = Sandbox::with(&a, &b);
    let arguments = "intersect a b --strategy partition --buckets 1000 --memory 64M";
    let command = sandbox.command_after("ulimit -n 256", arguments);
    sandbox
        .start(command)
        .finish()
        .succeeds_silently()
        .has_lines(&common(&[&a, &b]));
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
fn d4_descriptors_that_are_inherited_are_left_alone() {
    let (a, b) = (megabytes(3, 0), megabytes(3, 30_000));
    let sandbox = Sandbox::with(&a, &b);
    for strategy in ["auto", "partition", "sieve"] {
        let command = sandbox.command_after(
            "ulimit -n 40 && exec 3<a 4<b 5>/dev/null 6<a 7<a 8<b 9<b",
            &format!("intersect a b --memory 16M --strategy {strategy}"),
        );
        sandbox
            .start(command)
            .finish()
            .succeeds_silently()
            .has_lines(&common(&[&a, &b]));
    }
}

#[test]
fn e1_a_disk_that_fills_up_while_a_pipe_is_read_fails_the_run_and_is_left_empty() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::with(&megabytes(12, 0), &megabytes(20, 1000));
    // How much comes, nobody knows: the disk is full in the middle, while the second input is spilled, or at its end.
    for (strategy, size) in [("partition", "4m"), ("partition", "20m"), ("sieve", "4m")] {
        let arguments = format!("intersect a - --memory 16M --strategy {strategy} -o ../out/r");
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
    let sandbox = Sandbox::with(&megabytes(20, 0), &megabytes(22, 1000));
    let command = sandbox.command_on_small_disk(
        "temp",
        "4m",
        "intersect a b --memory 16M --strategy partition",
    );
    let start = Instant::now();
    let outcome = sandbox.start(command).finish();
    outcome.fails(4, &["of temporary space needed", "free"]);
    assert!(start.elapsed() < Duration::from_secs(5), "{outcome}");
}

/// A command in a namespace of its own, where `mount` makes `temp` something else; the status is 99 if the run leaves anything there.
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
    let command = on_other_temp(
        &sandbox,
        "mount -t tmpfs -o ro none temp",
        "intersect a b --memory 16M --strategy partition --buckets 4 -o ../out/r",
    );
    sandbox
        .start(command)
        .finish()
        .fails(4, &["Read-only file system", "--temp-dir"]);
}

#[test]
fn e2_a_place_that_may_only_be_read_is_named_also_where_its_room_is_asked_first() {
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
fn two_places(small: &str, big: &str) -> String {
    format!(
        "mkdir -p small big && mount -t tmpfs -o size={small} none small \
         && mount -t tmpfs -o size={big} none big"
    )
}

#[test]
fn e14_a_place_that_is_full_leaves_the_rest_to_another() {
    // In the one order or the other.
    full_place(|size, order| size % 2 == order);
}

#[test]
#[ignore = "slow: six runs over 17 MB"]
fn e14_a_place_that_is_full_leaves_the_rest_to_another_wherever_it_stands() {
    full_place(|_, _| true);
}

/// Runs with a small place and a large one, of those sizes and in those orders that are wanted by their numbers.
fn full_place(is_wanted: fn(usize, usize) -> bool) {
    if !can_mount() {
        return;
    }
    let (a, b) = (megabytes(8, 0), megabytes(9, 100_000));
    let sandbox = Sandbox::with(&a, &b);
    let expected = common(&[&a, &b]);
    // Two buckets an input, so that none fits the smaller place beside what it has; or many.
    let sizes = [
        ("1m", "64m", "40"),
        ("7m", "16m", "2"),
        ("10m", "13m", "40"),
    ];
    let orders = ["-T ../small -T ../big", "-T ../big -T ../small"];
    for (size, (small, big, buckets)) in sizes.into_iter().enumerate() {
        for (order, places) in orders.into_iter().enumerate() {
            if !is_wanted(size, order) {
                continue;
            }
            let arguments = format!(
                "intersect a b --memory 16M --strategy partition --buckets {buckets} {places}"
            );
            let mount = two_places(small, big);
            let command = on_other_temp(&sandbox, &mount, &arguments);
            let outcome = sandbox.start(command).finish();
            outcome.succeeds().has_lines(&expected);
        }
    }
}

#[test]
fn e14_what_is_full_in_all_places_fails_the_run_and_leaves_nothing_in_any() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::with(&megabytes(12, 0), &megabytes(12, 100_000));
    let mount = two_places("3m", "6m");
    let run = "intersect a b --memory 16M --strategy partition -T ../small -T ../big";
    let refused = on_other_temp(&sandbox, &mount, run);
    sandbox.start(refused).finish().fails(4, &["free"]);
    let forced = on_other_temp(&sandbox, &mount, &format!("{run} --force"));
    let outcome = sandbox.start(forced).finish();
    outcome.fails(4, &["No space left on device", "--temp-dir"]);
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
    let arguments = "intersect a b --memory 16M --strategy partition --buckets 60 -o ../out/r";
    let command = on_other_temp(&sandbox, mount, arguments);
    sandbox
        .start(command)
        .finish()
        .fails(4, &["No space left", "inodes", "--buckets"]);
}

#[test]
fn e9_what_is_made_in_temporary_space_is_the_owners_whatever_the_umask() {
    let sandbox = Sandbox::with(&megabytes(14, 0), &megabytes(16, 1000));
    for umask in ["000", "022", "777"] {
        let (running, feed) = held_in_spill(&sandbox, &format!("umask {umask}"), "");
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
    for directory in ["outset-thesis", "outset-other", "backup"] {
        fs::create_dir_all(place.join(directory)).unwrap();
        fs::write(place.join(directory).join("thesis.txt"), "years of work").unwrap();
    }
    fs::create_dir(&valuable).unwrap();
    fs::write(valuable.join("lock"), "").unwrap();
    fs::write(valuable.join("000001-x"), "years of work").unwrap();
    for link in ["outset-link", "outset-aaaaaa"] {
        symlink(&valuable, place.join(link)).unwrap();
    }
    fs::write(place.join("outset-file"), "x").unwrap();
    fs::write(place.join("lock"), "x").unwrap();
    let before = (contents(&place), contents(&valuable));
    for strategy in ["partition", "sieve"] {
        let arguments = format!(
            "intersect a b --memory 16M --strategy {strategy} --buckets 4 -T ../place --count-only"
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
fn e11_runs_side_by_side_in_one_place_do_not_disturb_each_other() {
    side_by_side(10);
}

#[test]
#[ignore = "slow: 150 runs"]
fn e11_many_runs_side_by_side_in_one_place_do_not_disturb_each_other() {
    side_by_side(50);
}

fn side_by_side(rounds: usize) {
    let (a, b) = (lines(0..20_000), lines(10_000..34_000));
    let sandbox = Sandbox::with(&a, &b);
    let count = format!("{}\n", common(&[&a, &b]).len());
    for round in 0..rounds {
        let children: Vec<_> = ["partition", "sieve", "partition"]
            .iter()
            .map(|strategy| {
                sandbox
                    .command(&format!(
                        "intersect a b --memory 16M --strategy {strategy} --buckets 4 --count-only"
                    ))
                    .spawn()
                    .unwrap()
            })
            .collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "round {round}: {said}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), count, "{said}");
        }
        assert!(
            sandbox.temp_names().is_empty(),
            "{:?}",
            sandbox.temp_names()
        );
    }
}

#[test]
fn e13_a_temporary_directory_that_is_removed_during_the_run_is_an_error_of_temporary_space() {
    let sandbox = Sandbox::with(&megabytes(14, 0), &megabytes(16, 1000));
    for what in ["files", "directory", "place"] {
        let (running, feed) = held_in_spill(&sandbox, "true", "-o ../out/r");
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
fn h10_one_line_beside_many_is_found_from_both_sides() {
    let many = megabytes(12, 0);
    let one = lines(200_000..200_001);
    let sandbox = Sandbox::with(&one, &many);
    for strategy in ["auto", "memory", "partition", "sieve"] {
        for inputs in ["a b", "b a"] {
            sandbox
                .run(&format!(
                    "intersect {inputs} --memory 16M --strategy {strategy}"
                ))
                .succeeds_silently()
                .has_lines(&common(&[&one]));
        }
    }
}
