//! Memory groups (rows C2, C3 and C6 of `tests/matrix.tsv`): their limit is heeded, is enough, and may be lowered while
//! a run goes on.
//!
//! Only root can make one; for others these tests say so and are skipped.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::data::megabytes;
use crate::faults::kills::{check_output, check_temp};
use crate::faults::signals::held_in_spill_of;
use crate::sandbox::{PATIENCE, Sandbox};
use crate::tasks::{TASKS, by_turns};

/// A memory group (cgroup, version 1) below that of the tests, removed at the end.
struct Group(PathBuf);

impl Group {
    /// A group with this limit; `None`, which is said, where none can be made.
    fn new(name: &str, mebibytes: u64) -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = groups
            .lines()
            .find_map(|line| line.split_once(":memory:").map(|(_, path)| path.to_owned()));
        let made = own.and_then(|own| {
            let parent = Path::new("/sys/fs/cgroup/memory").join(own.trim_start_matches('/'));
            let path = parent.join(format!("outset-test-{name}-{}", std::process::id()));
            fs::create_dir(&path).ok()?;
            let group = Self(path);
            let limit = (mebibytes << 20).to_string();
            fs::write(group.0.join("memory.limit_in_bytes"), limit).ok()?;
            Some(group)
        });
        if made.is_none() {
            eprintln!(
                "skipped: no memory group can be made (only root can, with cgroups version 1)"
            );
        }
        made
    }

    /// Returns the commands by which a shell enters the group before it starts the program.
    fn entered(&self) -> String {
        format!("echo $$ > {}/cgroup.procs", self.0.display())
    }

    /// Lowers the limit to what is used now and `more` bytes, or as near to that as the system does at once.
    fn lower(&self, more: u64) {
        let used = || -> u64 {
            let text = fs::read_to_string(self.0.join("memory.usage_in_bytes")).unwrap();
            text.trim().parse().unwrap()
        };
        let limit = self.0.join("memory.limit_in_bytes");
        let is_lowered = (0..400).any(|tries| {
            let bytes = used() + more + (tries << 16);
            fs::write(&limit, bytes.to_string()).is_ok()
        });
        assert!(is_lowered, "the limit cannot be lowered");
    }

    /// Counts the processes of the group that were killed for want of memory.
    fn kills(&self) -> u64 {
        let control = fs::read_to_string(self.0.join("memory.oom_control")).unwrap();
        let kills = control
            .lines()
            .find_map(|line| line.strip_prefix("oom_kill "));
        kills.unwrap().parse().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn c2_without_a_limit_the_memory_groups_is_heeded() {
    let (a, b) = (megabytes(5, 0), megabytes(5, 100_000));
    let sandbox = Sandbox::with(&a, &b);
    for (mebibytes, task) in [48, 64].into_iter().zip(&TASKS) {
        let Some(group) = Group::new("default", mebibytes) else {
            return;
        };
        let arguments = format!("{} a b --stats ../out/s", task.words);
        let command = sandbox.command_after(&group.entered(), &arguments);
        let outcome = sandbox.start(command).finish();
        let answer = task.of(&[&a, &b]);
        answer.assert_is(&outcome.succeeds_silently().stdout, &arguments);
        let stats: serde_json::Value =
            serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
        let limit = stats["memory"]["limit_bytes"].as_u64().unwrap();
        assert!(limit <= mebibytes << 19, "{limit} of {mebibytes} MiB");
        assert_eq!(group.kills(), 0);
    }
}

#[test]
#[ignore = "slow: 80 MB through the disk"]
fn c3_a_group_with_little_more_memory_than_the_limit_is_enough_for_a_run_that_spills() {
    let (a, b) = (megabytes(40, 0), megabytes(40, 600_000));
    // Blocks in a file system in memory would count as memory of the group.
    let sandbox = Sandbox::on_disk();
    sandbox.write("a", &a);
    sandbox.write("b", &b);
    for (task, strategy) in by_turns(0).chain(by_turns(1)) {
        let Some(group) = Group::new(strategy, 16 + 32) else {
            return;
        };
        let words = task.words;
        let arguments = format!("{words} a b --memory 16M --strategy {strategy}");
        let command = sandbox.command_after(&group.entered(), &arguments);
        let outcome = sandbox.start(command).finish();
        let answer = task.of(&[&a, &b]);
        answer.assert_is(&outcome.succeeds_silently().stdout, &arguments);
        assert_eq!(group.kills(), 0, "{arguments}");
    }
}

#[test]
#[ignore = "slow: runs that are killed for want of memory"]
fn c6_a_limit_that_is_lowered_while_a_run_spills_leaves_no_wrong_output_and_one_directory_at_most()
{
    let a = megabytes(14, 0);
    let (first, rest) = (megabytes(2, 0), megabytes(10, 200_000));
    let b = [&first[..], &rest].concat();
    let sandbox = Sandbox::with(&a, &b);
    let mut killed = 0;
    for (more, task) in [0, 64, 256, 1024, 4096, 16384, 0, 256]
        .into_iter()
        .zip(&TASKS)
    {
        let answer = task.of(&[&a, &b]);
        let Some(group) = Group::new("lowered", 64) else {
            return;
        };
        // What comes through the pipe is what is in `b`.
        let outputs = "-o ../out/r";
        let (mut running, mut feed) = held_in_spill_of(task, &sandbox, &group.entered(), outputs);
        running.may_be_complete(answer.bytes());
        group.lower(more << 10);
        let _may_be_dead_by_now = feed.send(&rest);
        drop(feed);
        let outcome = running.end_within(PATIENCE);
        let is_complete = check_output(&sandbox, &answer);
        let is_left = check_temp(&sandbox);
        if outcome.status.success() {
            assert!(is_complete && !is_left, "{outcome}");
        } else {
            assert_eq!(
                outcome.status.signal(),
                Some(Signal::KILL.as_raw()),
                "{outcome}"
            );
            assert!(group.kills() > 0);
            killed += 1;
        }
        let next = format!(
            "{} a b --memory 16M --strategy partition -o ../out/r",
            task.words
        );
        sandbox.run(&next).succeeds_silently();
        assert!(check_output(&sandbox, &answer));
    }
    println!("{killed} of 8 runs were killed");
    assert!(killed > 0, "the limit was never too low");
}
