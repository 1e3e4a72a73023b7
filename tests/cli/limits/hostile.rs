//! Lines that were made to meet in one bucket (row H6 of `tests/matrix.tsv`): they do so only under the key that they
//! were made for.

use std::fs;

use outset::hash::LineHasher;
use serde_json::Value;

use crate::data::{common, lines};
use crate::sandbox::Sandbox;

/// The key that somebody has got hold of, and as it is given.
const KEY: [u64; 4] = [0x0123_4567_89ab_cdef; 4];
const BUCKETS: u32 = 8;
/// Lines of each input.
const LINES: usize = 240_000;

/// `count` lines that are all in the same bucket under [`KEY`].
fn crafted(count: usize) -> Vec<u8> {
    let hasher = LineHasher::with_key(KEY);
    let mut found = Vec::new();
    let mut number = 0;
    let mut count_left = count;
    while count_left > 0 {
        let candidates = lines(number..number + 100_000);
        number += 100_000;
        let meeting = candidates
            .split_inclusive(|&byte| byte == b'\n')
            .filter(|line| hasher.bucket(hasher.hash(&line[..line.len() - 1]), 0, BUCKETS) == 0);
        for line in meeting.take(count_left) {
            found.extend_from_slice(line);
            count_left -= 1;
        }
    }
    found
}

/// Intersects, checks the result, and returns the report's part on buckets.
fn buckets(sandbox: &Sandbox, (a, b): (&[u8], &[u8]), strategy: &str, key: &str) -> Value {
    let arguments = format!(
        "intersect a b --memory 16M --strategy {strategy} --buckets {BUCKETS} {key} --stats ../out/s"
    );
    sandbox
        .run(&arguments)
        .succeeds_silently()
        .has_lines(&common(&[a, b]));
    let report: Value = serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
    let (peak, limit) = (
        &report["memory"]["peak_rss_bytes"],
        &report["memory"]["limit_bytes"],
    );
    assert!(peak.as_u64() <= limit.as_u64(), "{strategy}: {report}");
    report["buckets"].clone()
}

#[test]
#[ignore = "slow: more than a second"]
fn h6_lines_crafted_against_a_known_key_meet_in_one_bucket_under_it_and_in_none_without_it() {
    let all = crafted(LINES / 2 * 3);
    let half = all.len() / 3;
    let (a, b) = (&all[..2 * half], &all[half..]);
    let sandbox = Sandbox::with(a, b);
    let key = format!("--hash-key {}", format!("{:016x}", KEY[0]).repeat(4));
    let largest = |buckets: &Value| buckets["largest_lines"].as_u64().unwrap() as usize;

    let known = buckets(&sandbox, (a, b), "partition", &key);
    assert!(largest(&known) >= LINES, "{known}");
    assert!(known["split"].as_u64().unwrap() > 0, "{known}");

    let secret = buckets(&sandbox, (a, b), "partition", "");
    assert!(
        largest(&secret) < 2 * 2 * LINES / BUCKETS as usize,
        "{secret}"
    );
    assert_eq!(secret["split"], 0, "{secret}");

    for key in [&key[..], ""] {
        buckets(&sandbox, (a, b), "sieve", key);
    }
}

#[test]
fn h6_the_help_says_that_a_fixed_key_is_unsafe_for_data_of_strangers() {
    let sandbox = Sandbox::new();
    for command in ["intersect", "compare", "estimate", "filter build"] {
        let help = sandbox.run(&format!("{command} --help"));
        let text = String::from_utf8_lossy(&help.succeeds().stdout).into_owned();
        let (_, option) = text.split_once("--hash-key").unwrap();
        let words: Vec<&str> = option.split_whitespace().take(60).collect();
        assert!(
            words.join(" ").contains("Do not use one on untrusted data"),
            "{command}: {option}"
        );
    }
}
