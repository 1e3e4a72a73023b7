//! Temporary space that cannot be written around the page cache, and temporary space that is full.
//!
//! What needs root says so and is skipped for others.

use crate::data::megabytes;
use crate::limits::environment::on_other_temp;
use crate::sandbox::{Sandbox, can_mount};
use crate::tasks::TASKS;

/// `ramfs` refuses files that are opened for direct writes.
#[test]
#[ignore = "slow: more than a second"]
fn a_file_system_without_direct_writes_is_written_through_the_page_cache() {
    if !can_mount() {
        return;
    }
    let (a, b) = (megabytes(6, 0), megabytes(6, 60_000));
    let sandbox = Sandbox::with(&a, &b);
    for (threads, task) in [1, 3].into_iter().zip(&TASKS) {
        let words = task.words;
        let command = on_other_temp(
            &sandbox,
            "mount -t ramfs -o mode=0777 none temp",
            &format!(
                "{words} a b --memory 16M --strategy partition --buckets 20 -j {threads} --stats ../out/s"
            ),
        );
        let outcome = sandbox.start(command).finish();
        let answer = task.of(&[&a, &b]);
        answer.assert_is(&outcome.succeeds().stdout, words);
        let stats = std::fs::read(sandbox.output("s")).unwrap();
        let stats: serde_json::Value = serde_json::from_slice(&stats).unwrap();
        assert!(
            stats["temp"]["written_bytes"].as_u64() > Some(3_000_000),
            "{stats}"
        );
    }
}

#[test]
fn e1_a_full_temporary_disk_says_that_it_is_space_that_is_missing() {
    if !can_mount() {
        return;
    }
    // A pipe has no size that could be looked at beforehand.
    let sandbox = Sandbox::with(&megabytes(8, 0), &megabytes(8, 0));
    let script = "mount -t tmpfs -o size=2m none temp || exit 98\n\
                  cd in && cat a | \"$0\" \"$@\"";
    let mut command = sandbox.command_under(
        &["unshare", "-m", "sh", "-c", script],
        "intersect - b --memory 16M --strategy partition --buckets 4 -o ../out/r",
    );
    command.current_dir(sandbox.root());
    let outcome = sandbox.start(command).finish();
    outcome.fails(4, &["No space left", "free some space"]);
}
