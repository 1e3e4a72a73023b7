//! What lines look like and how long they are.

use std::collections::BTreeMap;

use crate::common::{lines_of, run, small};
use data_gen::options::{Length, Terminator};
use data_gen::{Options, Workload};

/// The host of a URL; panics unless scheme, host, path and query have the form of a URL.
fn host_of(line: &[u8]) -> String {
    let text = std::str::from_utf8(line).unwrap();
    let (scheme, rest) = text.split_once("://").unwrap();
    assert!(matches!(scheme, "http" | "https"), "{text}");
    let (host, path) = rest.split_once('/').unwrap();
    let labels: Vec<&str> = host.split('.').collect();
    assert!((2..=4).contains(&labels.len()), "{text}");
    assert!(
        labels
            .iter()
            .all(|label| !label.is_empty() && label.bytes().all(|b| b.is_ascii_lowercase())),
        "{text}"
    );
    let (path, query) = path
        .split_once('?')
        .map_or((path, None), |(path, query)| (path, Some(query)));
    for segment in path.split('/') {
        let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
        assert!(!segment.is_empty() && segment.bytes().all(word), "{text}");
    }
    for pair in query.into_iter().flat_map(|query| query.split('&')) {
        let (name, value) = pair.split_once('=').unwrap();
        assert!(
            matches!(name, "id" | "p") && value.bytes().all(|b| b.is_ascii_alphanumeric()),
            "{text}"
        );
    }
    host.to_owned()
}

fn lines_of_first_file(options: &Options) -> Vec<Vec<u8>> {
    let run = run(options, 2);
    lines_of(&run.files[0], options.terminator)
        .into_iter()
        .map(<[u8]>::to_vec)
        .collect()
}

#[test]
fn urls_look_like_urls_with_a_few_hosts_often_and_many_rarely() {
    let lines = lines_of_first_file(&small(Workload::Urls, 20_000));
    let mut hosts = BTreeMap::<String, usize>::new();
    for line in &lines {
        *hosts.entry(host_of(line)).or_default() += 1;
    }
    let most = *hosts.values().max().unwrap();
    assert!(
        most > 500,
        "the most frequent host has {most} of 20,000 URLs"
    );
    assert!(hosts.len() > 5_000, "{} hosts", hosts.len());
    let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
    assert!(
        (62..66).contains(&(bytes / lines.len())),
        "{} bytes on average",
        bytes / lines.len()
    );
    let with_query = lines.iter().filter(|line| line.contains(&b'?')).count();
    assert!(
        (3_000..7_000).contains(&with_query),
        "{with_query} URLs with a query"
    );
}

#[test]
fn the_fixed_form_has_exactly_the_length_and_looks_like_a_url() {
    for length in [26, 27, 28, 29, 30, 31, 40, 63, 127, 1000] {
        let mut options = small(Workload::Urls, 2_000);
        options.length = Length::Exact(length);
        for line in lines_of_first_file(&options) {
            assert_eq!(line.len() as u64, length);
            host_of(&line);
        }
    }
}

#[test]
fn all_lines_share_exactly_the_prefix() {
    let lines = lines_of_first_file(&small(Workload::Prefix, 500));
    let prefix = &lines[0][..2000];
    assert!(
        lines
            .iter()
            .all(|line| line.starts_with(prefix) && host_of(line) == host_of(prefix))
    );
    assert!(
        lines
            .iter()
            .any(|line| line[2000..2002] != lines[0][2000..2002])
    );
}

#[test]
fn long_lines_are_few_and_reach_the_longest() {
    let mut options = small(Workload::Long, 3_000);
    options.longest = 100_000;
    let lengths: Vec<usize> = lines_of_first_file(&options).iter().map(Vec::len).collect();
    let long = lengths.iter().filter(|&&length| length >= 4096).count();
    assert!((10..60).contains(&long), "{long} long lines");
    assert_eq!(lengths.iter().max(), Some(&100_000));
}

#[test]
fn short_lines_are_as_short_as_their_number_allows() {
    let lines = lines_of_first_file(&small(Workload::Short, 1_000));
    assert!(lines.iter().all(|line| line.len() == 3), "{:?}", lines[0]);
}

#[test]
fn lines_of_bytes_hold_every_byte_but_the_terminator() {
    let mut options = small(Workload::Bytes, 2_000);
    for terminator in [Terminator::Lf, Terminator::Nul] {
        options.terminator = terminator;
        let mut seen = [false; 256];
        lines_of_first_file(&options)
            .into_iter()
            .flatten()
            .for_each(|byte| seen[usize::from(byte)] = true);
        let missing: Vec<usize> = (0..256).filter(|&byte| !seen[byte]).collect();
        assert_eq!(missing, [usize::from(terminator.byte())]);
    }
}
