//! The uses of filters, row by row of the systems that the program stands for: a bitmap, the textbooks' filter,
//! removal, frequencies, a crawler's frontier, digests, blacklists.
//!
//! Row 11, the sizing tables, is in [`crate::filters::size`]; row 12, the bitmap of addresses, in
//! [`crate::results::strategies`].

use std::collections::BTreeSet;
use std::fs;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::data::{common, lines, split};
use crate::sandbox::{Sandbox, root};

fn json(sandbox: &Sandbox, arguments: &str) -> Value {
    let outcome = sandbox.run(arguments);
    serde_json::from_slice(&outcome.succeeds_silently().stdout).unwrap()
}

/// Returns the number that `--count-only` prints.
fn count(sandbox: &Sandbox, arguments: &str) -> u64 {
    let outcome = sandbox.run(arguments);
    let text = String::from_utf8_lossy(&outcome.succeeds_silently().stdout).into_owned();
    text.trim().parse().unwrap()
}

/// Builds a filter of 40,000 lines; it must be wrong as often as `size` says of its kind, and as `info` says.
fn is_wrong_as_often_as_size_says(kind: &str, bits: f64, hashes: &str) {
    const OTHERS: u64 = 400_000;
    let sandbox = Sandbox::with(&lines(0..40_000), &lines(1_000_000..1_000_000 + OTHERS));
    sandbox
        .run(&format!(
            "filter build a -o ../out/f --kind {kind} --lines 40000 --bits-per-key {bits} {hashes}"
        ))
        .succeeds_silently();
    let size = json(
        &sandbox,
        &format!("size --lines 40000 --bits-per-key {bits} {hashes} --json"),
    );
    let kinds = size["kinds"].as_array().unwrap();
    let row = kinds.iter().find(|row| row["kind"] == kind).unwrap();
    let info = json(&sandbox, "filter info ../out/f --json");
    assert_eq!(info["hashes"], row["hashes"]);
    assert_eq!(info["bits"], row["bits"]);
    assert_eq!(
        count(&sandbox, "filter query ../out/f a --count-only"),
        40_000
    );
    let measured = count(&sandbox, "filter query ../out/f b --count-only") as f64;
    for rate in [
        &row["predicted_fpr"],
        &info["fill_fpr"],
        &info["predicted_fpr"],
    ] {
        let expected = rate.as_f64().unwrap() * OTHERS as f64;
        // A tenth, and four sigma of the questions and of the filter.
        assert!(
            (measured - expected).abs() < 0.1 * expected + 4.0 * expected.sqrt(),
            "{kind}: {measured} passed, {expected} were predicted"
        );
    }
}

#[test]
fn row_5_a_bitmap_with_one_hash_function_collides_as_often_as_predicted() {
    is_wrong_as_often_as_size_says("classic", 8.0, "--hashes 1");
    is_wrong_as_often_as_size_says("blocked", 8.0, "--hashes 1");
}

#[test]
fn row_6_a_filter_with_positions_from_two_hashes_is_the_classic_one() {
    is_wrong_as_often_as_size_says("classic", 9.6, "");
    is_wrong_as_often_as_size_says("classic", 12.0, "--hashes 13");
}

#[test]
fn row_7_a_counting_filter_forgets_lines_again() {
    is_wrong_as_often_as_size_says("counting", 30.0, "");
    let (all, gone) = (lines(0..5000), lines(0..2000));
    let sandbox = Sandbox::with(&all, &gone);
    sandbox
        .run("filter build a -o ../out/f --kind counting --lines 5000 --max-fpr 0.000001")
        .succeeds_silently();
    sandbox.run("filter remove ../out/f b").succeeds_silently();
    let left = sandbox.run("filter query ../out/f a");
    assert_eq!(left.succeeds_silently().stdout, lines(2000..5000));
    // A line that is certainly absent is left alone, and said so.
    let again = sandbox.run("filter remove ../out/f b");
    assert!(
        again
            .succeeds()
            .stderr
            .contains("skipped 2,000 of 2,000 lines"),
        "{again}"
    );
    let left = sandbox.run("filter query ../out/f a");
    assert_eq!(left.succeeds_silently().stdout, lines(2000..5000));
    // 40 times in, 40 times out: its counters no longer know, and it stays.
    sandbox.write("hot", lines(9000..9001).repeat(40));
    sandbox
        .run("filter insert ../out/f hot")
        .succeeds_silently();
    sandbox
        .run("filter remove ../out/f hot")
        .succeeds_silently();
    assert_eq!(
        count(&sandbox, "filter query ../out/f hot --count-only"),
        40
    );
    let info = json(&sandbox, "filter info ../out/f --json");
    assert!(info["saturated"].as_u64().unwrap() > 0);
    assert_eq!(info["keys"].as_u64().unwrap(), 3000);
}

#[test]
fn row_8_a_spectral_filter_estimates_frequencies() {
    let text: Vec<u8> = (0..2000u64)
        .flat_map(|number| lines(number..number + 1).repeat(1 + number as usize % 9))
        .collect();
    let sandbox = Sandbox::with(&text, &lines(0..3000));
    sandbox
        .run("filter build a -o ../out/f --kind spectral --lines 2000 --max-fpr 0.1%")
        .succeeds_silently();
    let outcome = sandbox.run("filter count ../out/f b");
    let table = String::from_utf8(outcome.succeeds_silently().stdout.clone()).unwrap();
    let (asked, mut wrong) = (lines(0..3000), 0);
    assert_eq!(table.lines().count(), 3000);
    for ((number, row), line) in (0..).zip(table.lines()).zip(split(&asked, b'\n')) {
        let (text, estimate) = row.split_once('\t').unwrap();
        assert_eq!(text.as_bytes(), line);
        let estimate: u64 = estimate.parse().unwrap();
        let truth = if number < 2000 { 1 + number % 9 } else { 0 };
        assert!(estimate >= truth, "{row}");
        wrong += u64::from(estimate != truth);
    }
    assert!(wrong <= 12, "{wrong} of 3000 estimates are too high");
}

#[test]
fn row_9_a_crawler_gives_lines_and_rate_and_gets_each_url_once() {
    let urls = |numbers: std::ops::Range<u32>| -> Vec<u8> {
        let url = |number| format!("https://example.org/page/{number}\n").into_bytes();
        numbers.flat_map(url).collect()
    };
    let sandbox = Sandbox::with(&urls(0..6000), &urls(4000..9000));
    sandbox
        .run("filter build -o ../out/seen --lines 10000 --max-fpr 0.0001%")
        .succeeds_silently();
    let first = sandbox.run("filter insert ../out/seen a a --print-new");
    assert_eq!(first.succeeds_silently().stdout, urls(0..6000));
    let second = sandbox.run_fed("filter insert ../out/seen --print-new", &urls(4000..9000));
    assert_eq!(second.succeeds_silently().stdout, urls(6000..9000));
    let third = sandbox.run("filter insert ../out/seen a b --print-new");
    assert_eq!(third.succeeds_silently().stdout, b"");
    let asked = sandbox.run_fed("filter query ../out/seen", &urls(8000..12_000));
    assert_eq!(asked.succeeds_silently().stdout, urls(8000..9000));
    // All lines were inserted, repeats included; a file that is named twice is one.
    assert_eq!(
        json(&sandbox, "filter info ../out/seen --json")["keys"],
        6000 + 5000 + 11_000
    );
}

#[test]
fn row_10_digests_answer_exactly_and_the_chance_of_a_collision_is_printed() {
    let sandbox = Sandbox::with(&lines(0..20_000), &lines(10_000..300_000));
    sandbox
        .run("filter build a -o ../out/f --kind fingerprint")
        .succeeds_silently();
    let outcome = sandbox.run("filter query ../out/f b");
    assert_eq!(outcome.succeeds_silently().stdout, lines(10_000..20_000));
    let chance = json(&sandbox, "filter info ../out/f --json")["collision_chance"].clone();
    // n (n - 1) / 2 pairs in 2^128.
    let expected = 20_000.0 * 19_999.0 / 2.0 / 2f64.powi(128);
    assert!(
        (chance.as_f64().unwrap() / expected - 1.0).abs() < 1e-6,
        "{chance}"
    );
    let text = sandbox.run("filter info ../out/f");
    let text = String::from_utf8_lossy(&text.succeeds_silently().stdout).into_owned();
    assert!(
        text.contains(&format!("same digest is {expected:.1e}")),
        "{text}"
    );
}

/// A real list, where there is one.
fn real(name: &str) -> Option<Vec<u8>> {
    let data = root().join("../shared/data");
    let Ok(packed) = fs::File::open(data.join(format!("{name}.gz"))) else {
        eprintln!("skipped: there is no data in {}", data.display());
        return None;
    };
    let mut bytes = Vec::new();
    std::io::copy(&mut GzDecoder::new(packed), &mut bytes).unwrap();
    Some(bytes)
}

/// The lines of `text` without the CR that may end them.
fn without_cr(text: &[u8]) -> Vec<&[u8]> {
    let lines = split(text, b'\n').into_iter();
    lines
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .collect()
}

#[test]
fn row_13_a_mail_server_asks_for_senders_domains_that_are_blacklisted() {
    let names = [
        "email-domains-disposable.txt",
        "email-domains-ded-2026.txt",
        "email-domains-ded-2020-crlf.txt",
    ];
    let Some([blacklist, senders, with_cr]) = names
        .into_iter()
        .map(real)
        .collect::<Option<Vec<_>>>()
        .and_then(|lists| <[Vec<u8>; 3]>::try_from(lists).ok())
    else {
        return;
    };
    let sandbox = Sandbox::with(&blacklist, &senders);
    sandbox.write("crlf", &with_cr);
    sandbox
        .run("filter build a -o ../out/f --max-fpr 0.1% --strip-cr")
        .succeeds_silently();
    let from_file = sandbox.run("filter query ../out/f b");
    let from_pipe = sandbox.run_fed("filter query ../out/f", &senders);
    let hits = split(&from_file.succeeds_silently().stdout, b'\n');
    assert!(from_file.stdout == from_pipe.succeeds_silently().stdout);
    let truth = common(&[&blacklist, &senders]);
    assert_eq!(truth.len(), 7842);
    assert!(
        hits.iter()
            .copied()
            .collect::<BTreeSet<_>>()
            .is_superset(&truth)
    );
    // 0.1 % of the 493 others.
    assert!(hits.len() - truth.len() <= 5, "{} hits", hits.len());
    // The filter knows that a CR is no part of a line.
    let hits = count(&sandbox, "filter query ../out/f crlf --count-only");
    assert!((25_287..25_287 + 150).contains(&hits), "{hits} hits");
    let asked = sandbox.run("filter query ../out/f crlf");
    let hits: BTreeSet<&[u8]> = without_cr(&asked.stdout).into_iter().collect();
    let listed: BTreeSet<&[u8]> = split(&blacklist, b'\n').into_iter().collect();
    let others = without_cr(&with_cr);
    assert!(
        others
            .iter()
            .all(|line| !listed.contains(line) || hits.contains(line))
    );
}

#[test]
fn row_13_a_spelling_list_shows_the_words_that_are_not_in_it() {
    let text = "it was the bset of times it was the wrost of times";
    let words = text.replace(' ', "\n");
    let known = "best\nit\nof\nthe\ntimes\nwas\nworst\n";
    let sandbox = Sandbox::with(known.as_bytes(), words.as_bytes());
    sandbox
        .run("filter build a -o ../out/f --lines 50000 --max-fpr 0.01%")
        .succeeds_silently();
    for outcome in [
        sandbox.run("filter query ../out/f b --invert"),
        sandbox.run_fed("filter query ../out/f - --invert", words.as_bytes()),
    ] {
        assert_eq!(outcome.succeeds_silently().stdout, b"bset\nwrost\n");
    }
}

#[test]
fn row_13_a_cache_guard_refuses_keys_that_are_certainly_not_stored() {
    let (stored, asked) = (lines(0..30_000), lines(25_000..60_000));
    let sandbox = Sandbox::with(&stored, &asked);
    for kind in ["blocked", "classic", "fingerprint"] {
        sandbox
            .run(&format!(
                "filter build a -o ../out/f --kind {kind} --max-fpr 2%"
            ))
            .succeeds_silently();
        let refused = sandbox.run("filter query ../out/f b --invert");
        let refused = split(&refused.succeeds_silently().stdout, b'\n');
        let known: BTreeSet<&[u8]> = split(&stored, b'\n').into_iter().collect();
        assert!(refused.iter().all(|line| !known.contains(line)), "{kind}");
        assert!(
            refused.len() > 30_000 * 97 / 100,
            "{kind}: {}",
            refused.len()
        );
    }
}
