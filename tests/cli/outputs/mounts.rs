//! Outputs on file systems of their own (row F5 of `tests/matrix.tsv`): one that may only be read, a name that cannot
//! be replaced, and one that is on another disk than everything else.
//!
//! Only root can mount; for others these tests say so and are skipped.

use std::fs;
use std::process::Command;

use differential::sweep;

use crate::data::{lines, megabytes};
use crate::sandbox::{Sandbox, can_mount};
use crate::tasks::{TASKS, by_turns};

const BEFORE: &str = "before\n";
const STRATEGIES: [&str; 3] = [
    "memory --memory 64M",
    "partition --memory 16M",
    "sieve --memory 16M",
];
/// A check that the output, seen from the root of the sandbox, has what was there before and nothing else.
const UNTOUCHED: &str = "test \"$(cat out/r)\" = before && test \"$(ls -A out)\" = r";

/// A command in a mount namespace of its own, after `mount` and before `check`, both done by a shell in the root of the
/// sandbox. The exit status is 98 where the one fails, and 99 where the other does.
fn between(sandbox: &Sandbox, mount: &str, arguments: &str, check: &str) -> Command {
    let script = format!(
        "{mount} || exit 98\n(cd in && exec \"$0\" \"$@\"); status=$?\n\
         {check} || {{ ls -lR out temp >&2; exit 99; }}\nexit $status"
    );
    let mut command = sandbox.command_under(&["unshare", "-m", "sh", "-c", &script], arguments);
    command.current_dir(sandbox.root());
    command
}

fn with_result() -> Sandbox {
    let sandbox = Sandbox::with(&megabytes(2, 0), &megabytes(2, 1000));
    fs::write(sandbox.output("r"), BEFORE).unwrap();
    sandbox
}

#[test]
fn f5_an_output_on_a_file_system_that_may_only_be_read_is_refused_and_keeps_its_content() {
    if !can_mount() {
        return;
    }
    let sandbox = with_result();
    let mount = "mount --bind out out && mount -o remount,bind,ro out";
    for (task, strategy) in TASKS.iter().zip(STRATEGIES.into_iter().cycle()) {
        for name in ["r", "new"] {
            let arguments = format!("{} a b --strategy {strategy} -o ../out/{name}", task.words);
            sandbox
                .start(between(&sandbox, mount, &arguments, UNTOUCHED))
                .finish()
                .fails(5, &[&format!("out/{name}: "), "Read-only file system"]);
        }
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn f5_an_output_whose_name_cannot_be_replaced_keeps_its_content() {
    if !can_mount() {
        return;
    }
    let sandbox = with_result();
    fs::write(sandbox.root().join("mounted"), BEFORE).unwrap();
    // A rename onto a path where something is mounted fails: everything was written by then.
    let mount = "mount --bind mounted out/r";
    for (task, strategy) in TASKS.iter().zip(STRATEGIES.into_iter().cycle()) {
        let arguments = format!("{} a b --strategy {strategy} -o ../out/r", task.words);
        sandbox
            .start(between(&sandbox, mount, &arguments, UNTOUCHED))
            .finish()
            .fails(5, &["out/r: ", "Device or resource busy"]);
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn f5_an_output_on_another_device_than_everything_else_is_replaced_as_any() {
    if !can_mount() {
        return;
    }
    let sandbox = with_result();
    let [a, b] = ["a", "b"].map(|name| fs::read(sandbox.input(name)).unwrap());
    fs::create_dir(sandbox.root().join("other")).unwrap();
    // `out/link` leads from one device to another.
    let mount = "for at in temp out other; do mount -t tmpfs none $at || exit 98; done; \
                 echo before > out/r; echo before > other/r; ln -s ../other/r out/link";
    let names = [("r", "out/r"), ("new", "out/new"), ("link", "other/r")];
    for (number, task) in TASKS.iter().enumerate() {
        // Each with each, but not always the same two.
        let strategy = STRATEGIES[(number + number / 3) % 3];
        let (name, path) = names[number % 3];
        let arguments = format!("{} a b --strategy {strategy} -o ../out/{name}", task.words);
        let check = format!(
            "cat {path} > result && test -L out/link && test -z \"$(ls -A temp)\" \
                 && test -z \"$(find out other -name '*.part')\""
        );
        sandbox
            .start(between(&sandbox, mount, &arguments, &check))
            .finish()
            .succeeds_silently();
        let result = fs::read(sandbox.root().join("result")).unwrap();
        task.of(&[&a, &b]).assert_is(&result, &arguments);
    }
}

#[test]
fn f5_a_failure_on_another_device_keeps_what_is_there() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::with(&megabytes(4, 0), &lines(0..120_000));
    // All but the temporary files find room.
    let mount =
        "mount -t tmpfs -o size=1m none temp && mount -t tmpfs none out && echo before > out/r";
    let ways: Vec<_> = by_turns(0).collect();
    // Every other one is each operation, by both strategies in turn.
    for (task, strategy) in sweep::some(&ways, 4) {
        let words = task.words;
        let arguments = format!(
            "{words} a b --strategy {strategy} --memory 16M --buckets 4 --force -o ../out/r"
        );
        sandbox
            .start(between(&sandbox, mount, &arguments, UNTOUCHED))
            .finish()
            .fails(4, &["temp", "No space left"]);
    }
}

#[test]
fn f12_a_directory_that_cannot_be_replaced_is_refused_before_the_work() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::with(b"x\n", b"x\n");
    fs::create_dir(sandbox.output("d")).unwrap();
    // On the same device, the mount itself is what shows it.
    for mount in ["mount --bind out/d out/d", "mount -t tmpfs none out/d"] {
        if mount.contains("bind") && !crate::sandbox::makes_linux_calls() {
            continue;
        }
        let command = between(&sandbox, mount, "union a --out-dir ../out/d", "true");
        sandbox
            .start(command)
            .finish()
            .fails(2, &["or a mount point"]);
    }
}
