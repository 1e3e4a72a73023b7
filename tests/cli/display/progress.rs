//! Progress and the final summary: on a terminal, redirected, and unwanted.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::data::{common, lines, megabytes};
use crate::sandbox::{Feed, Outcome, PATIENCE, Running, Sandbox, assert_is_summary};
use crate::terminal::Terminal;

/// Starts a run with its standard error on a terminal, and its standard output not read.
fn start_on_terminal<'s>(
    sandbox: &'s Sandbox,
    arguments: &str,
) -> (Running<'s>, Arc<Mutex<Vec<String>>>) {
    let (terminal, end) = Terminal::open();
    let mut command = sandbox.command(arguments);
    command.stderr(end).env("TERM", "xterm");
    let mut running = sandbox.start_unread(command);
    let drawn = terminal.drawn();
    running.show_on(terminal);
    (running, drawn)
}

/// Reads standard output so slowly that the run takes about this long, which it should be waiting for.
fn read_slowly(running: &mut Running<'_>, bytes: usize, seconds: f64) {
    let mut stdout = running.child.stdout.take().unwrap();
    let mut buffer = vec![0; 1 << 16];
    let pause = Duration::from_secs_f64(seconds * buffer.len() as f64 / bytes as f64);
    while stdout.read(&mut buffer).unwrap() > 0 {
        thread::sleep(pause);
    }
}

fn wait_until_drawn(drawn: &Mutex<Vec<String>>, running: &mut Running<'_>, part: &str) {
    let start = Instant::now();
    while !drawn.lock().unwrap().iter().any(|text| text.contains(part)) {
        assert!(running.is_going_on(), "the run ended early");
        assert!(start.elapsed() < PATIENCE, "{part:?} was never drawn");
        thread::sleep(Duration::from_millis(1));
    }
}

/// The content of a line of progress.
#[derive(Debug)]
struct Step {
    name: String,
    percent: u32,
    has_rate: bool,
    /// Seconds left of the phase.
    left: Option<f64>,
    /// Seconds left of the run.
    run: Option<f64>,
}

fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let factor = match unit {
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        "days" => 86_400.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

/// Understands `NAME ####.... 12%, 3 MiB/s, 5 s left (run: 10 s)` and
/// `NAME: 12% of 3 MiB, 3 MiB/s, 5 s left (run: 10 s)`.
fn parse(line: &str) -> Option<Step> {
    let mut parts = line.trim_end().split(", ");
    let (head, _) = parts.next()?.split_once('%')?;
    let (name, percent) = head.rsplit_once(' ')?;
    let mut step = Step {
        name: name.trim_end_matches(['#', '.', ' ', ':']).to_owned(),
        percent: percent.parse().ok()?,
        has_rate: false,
        left: None,
        run: None,
    };
    for part in parts {
        if let Some((left, run)) = part.split_once(" left (run: ") {
            step.left = Some(seconds(left)?);
            step.run = Some(seconds(run.strip_suffix(')')?)?);
        } else if let Some(run) = part.strip_prefix("run: ") {
            step.run = Some(seconds(run.strip_suffix(" left")?)?);
        } else if let Some(left) = part.strip_suffix(" left") {
            step.left = Some(seconds(left)?);
        } else {
            part.strip_suffix("iB/s").or(part.strip_suffix(" B/s"))?;
            step.has_rate = true;
        }
    }
    Some(step)
}

/// Tells whether a line says what a phase did.
fn is_phase_summary(line: &str) -> bool {
    let parts = [": ", " lines, ", " in ", " s, ", "B/s"];
    let mut rest = line;
    parts.iter().all(|part| {
        let behind = rest.split_once(part).map(|(_, behind)| behind);
        rest = behind.unwrap_or_default();
        behind.is_some()
    })
}

fn last_line(outcome: &Outcome) -> &str {
    outcome.stderr.lines().last().unwrap_or_default()
}

#[test]
#[ignore = "slow: more than a second"]
fn a_terminal_shows_a_rate_and_a_time_left_that_converges_and_keeps_the_summaries_only() {
    let text = megabytes(8, 0);
    let sandbox = Sandbox::with(&text, &text);
    let (mut running, drawn) = start_on_terminal(
        &sandbox,
        "intersect a b --strategy memory -j 1 --memory 64M",
    );
    read_slowly(&mut running, text.len(), 2.0);
    let outcome = running.finish();
    outcome.succeeds();
    let drawn = drawn.lock().unwrap();
    for text in drawn.iter().filter(|text| text.contains('%')) {
        assert!(text.trim_end().len() <= 80, "{text:?}");
    }
    let steps = drawn.iter().filter_map(|text| parse(text));
    let steps: Vec<Step> = steps.filter(|step| step.name == "probe b").collect();
    assert!(steps.len() >= 4, "drawn too seldom: {drawn:?}");
    assert!(steps.iter().rev().take(3).all(|step| step.has_rate));
    assert!(steps.is_sorted_by_key(|step| step.percent), "{steps:?}");
    let lefts: Vec<f64> = steps.iter().filter_map(|step| step.left).collect();
    let (first, last) = (lefts.first().unwrap(), lefts.last().unwrap());
    assert!(last <= first && *last <= 2.0, "{steps:?}");

    // The line is gone; above its place are the phases, and what the run came to.
    let left: Vec<&str> = outcome.stderr.lines().collect();
    assert!(
        outcome.stderr.ends_with('\n') && left.len() == 3,
        "{outcome}"
    );
    for (line, name) in left.iter().zip(["build a", "probe b"]) {
        let line = line.strip_prefix("outset: ").unwrap();
        assert!(
            line.starts_with(name) && is_phase_summary(line),
            "{outcome}"
        );
    }
    assert_is_summary(left[2], "exact");
}

#[test]
#[ignore = "slow: more than a second"]
fn the_time_left_of_the_run_counts_the_phases_to_come() {
    let text = megabytes(2, 0);
    let sandbox = Sandbox::with(&text, &text);
    for name in ["c", "d", "e"] {
        sandbox.write(name, &text);
    }
    sandbox.run("filter build a -o ../out/f").succeeds();
    let (mut running, drawn) = start_on_terminal(
        &sandbox,
        "filter query ../out/f a b c d e -j 1 --memory 64M",
    );
    read_slowly(&mut running, 5 * text.len(), 2.5);
    running.finish().succeeds();
    let drawn = drawn.lock().unwrap();
    let steps: Vec<Step> = drawn.iter().filter_map(|text| parse(text)).collect();
    let (last, before): (Vec<&Step>, Vec<&Step>) =
        steps.iter().partition(|step| step.name == "query e");
    for step in before.iter().filter(|step| step.left.is_some()) {
        assert!(step.run >= step.left, "{step:?}");
    }
    assert!(before.iter().any(|step| step.run > step.left), "{drawn:?}");
    assert!(last.iter().all(|step| step.run.is_none()), "{drawn:?}");
}

#[test]
fn a_size_that_is_not_known_has_no_end() {
    let sandbox = Sandbox::with(&lines(0..1000), b"");
    let pipe = sandbox.fifo("pipe");
    let (mut running, drawn) = start_on_terminal(
        &sandbox,
        "intersect a pipe --strategy partition --memory 16M",
    );
    running.read_stdout();
    let mut feed = Feed::open(&pipe, &mut running);
    assert!(feed.send(&megabytes(2, 0)));
    wait_until_drawn(&drawn, &mut running, "spill pipe");
    drop(feed);
    running.finish().succeeds();
    let drawn = drawn.lock().unwrap();
    let mut of_pipe = drawn.iter().filter(|text| text.starts_with("spill pipe"));
    assert!(
        of_pipe.all(|text| !text.contains('%') && !text.contains("left")),
        "{drawn:?}"
    );
}

#[test]
fn a_signal_leaves_the_terminal_clean() {
    let sandbox = Sandbox::with(&megabytes(2, 0), b"");
    let pipe = sandbox.fifo("pipe");
    let (mut running, drawn) = start_on_terminal(
        &sandbox,
        "intersect a pipe --strategy partition --memory 16M",
    );
    running.read_stdout();
    let mut feed = Feed::open(&pipe, &mut running);
    assert!(feed.send(&megabytes(1, 0)));
    wait_until_drawn(&drawn, &mut running, "spill pipe");
    // Not SIGINT: what a shell starts in the background ignores it.
    running.signal(Signal::TERM);
    let outcome = running.finish();
    assert!(!outcome.status.success(), "{outcome}");
    // The first input's line stays, and one that says where the run was.
    let left: Vec<&str> = outcome.stderr.lines().collect();
    assert_eq!(left.len(), 2, "{outcome}");
    assert!(left[0].starts_with("outset: spill a: "), "{outcome}");
    assert!(
        left[1].starts_with("outset: interrupted in spill pipe: "),
        "{outcome}"
    );
    assert!(outcome.stderr.ends_with('\n'), "{outcome}");
    drop(feed);
}

#[test]
fn an_error_stands_on_a_line_of_its_own_and_the_terminal_is_clean() {
    let sandbox = Sandbox::with(&megabytes(1, 0), b"");
    let pipe = sandbox.fifo("pipe");
    let (mut running, drawn) = start_on_terminal(
        &sandbox,
        "intersect a pipe --strategy partition --memory 16M --max-temp 2M",
    );
    running.read_stdout();
    let mut feed = Feed::open(&pipe, &mut running);
    assert!(feed.send(&megabytes(1, 0)));
    wait_until_drawn(&drawn, &mut running, "spill pipe");
    for _ in 0..30 {
        if !feed.send(&megabytes(1, 0)) {
            break;
        }
    }
    drop(feed);
    let outcome = running.finish();
    outcome.fails(4, &["max-temp"]);
    assert!(outcome.stderr.ends_with('\n'), "{outcome}");
    assert!(last_line(&outcome).starts_with("outset: "), "{outcome}");
    assert!(
        outcome
            .stderr
            .lines()
            .all(|line| line.starts_with("outset: ")),
        "{outcome}"
    );
}

#[test]
#[ignore = "slow: close to a second"]
fn quiet_draws_nothing_on_a_terminal_unless_progress_is_asked_for() {
    let sandbox = Sandbox::with(&megabytes(1, 0), b"");
    for (options, is_drawn) in [
        ("-q", false),
        ("--progress never", false),
        ("-q --progress always", true),
    ] {
        let pipe = sandbox.fifo("pipe");
        let (mut running, drawn) = start_on_terminal(
            &sandbox,
            &format!("intersect a pipe --strategy partition --memory 16M {options}"),
        );
        running.read_stdout();
        let mut feed = Feed::open(&pipe, &mut running);
        assert!(feed.send(&megabytes(1, 0)));
        if is_drawn {
            wait_until_drawn(&drawn, &mut running, "spill pipe");
        } else {
            thread::sleep(Duration::from_millis(500));
        }
        drop(feed);
        let outcome = running.finish();
        outcome.succeeds();
        let has_drawn = drawn
            .lock()
            .unwrap()
            .iter()
            .any(|text| text.contains("spill pipe"));
        assert_eq!(has_drawn, is_drawn, "{options}: {outcome}");
        let is_summarised = outcome.stderr.contains("common lines");
        assert_eq!(
            is_summarised,
            !options.contains("-q"),
            "{options}: {outcome}"
        );
        std::fs::remove_file(sandbox.input("pipe")).unwrap();
    }
}

#[test]
#[ignore = "slow: a line comes every two seconds"]
fn redirected_progress_is_whole_lines_with_a_rate_and_a_time_left() {
    let text = megabytes(8, 0);
    let sandbox = Sandbox::with(&text, &text);
    let mut running = sandbox.start_unread(
        sandbox.command("intersect a b --strategy memory -j 1 --memory 64M --progress always"),
    );
    // A line comes every two seconds.
    read_slowly(&mut running, text.len(), 2.3);
    let outcome = running.finish();
    outcome.succeeds();
    assert!(
        outcome.stderr.chars().all(|c| c == '\n' || !c.is_control()),
        "{outcome}"
    );
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let (summary, others) = lines.split_last().unwrap();
    assert_is_summary(summary, "exact");
    let others = others
        .iter()
        .map(|line| line.strip_prefix("outset: ").unwrap());
    let (phases, steps): (Vec<&str>, Vec<&str>) = others.partition(|line| is_phase_summary(line));
    assert_eq!(phases.len(), 2, "{outcome}");
    let parsed: Vec<Step> = steps.iter().filter_map(|line| parse(line)).collect();
    assert!(
        !parsed.is_empty() && parsed.len() == steps.len(),
        "{outcome}"
    );
    for step in parsed {
        assert!(step.name == "probe b" && step.percent <= 100, "{step:?}");
        assert!(
            step.has_rate && step.left.is_some() && step.run.is_none(),
            "{step:?}"
        );
    }
}

#[test]
fn what_is_spilled_is_in_the_summary_of_its_phase() {
    let (a, b) = (megabytes(14, 0), megabytes(14, 0));
    let sandbox = Sandbox::with(&a, &b);
    let outcome = sandbox.run("intersect a b --strategy partition --memory 16M -v --count-only");
    let phase = |name: &str| {
        let mut lines = outcome.succeeds().stderr.lines();
        let line = lines.find(|line| line.starts_with(&format!("outset: {name}")));
        line.unwrap_or_else(|| panic!("no {name}: {outcome}"))
    };
    assert!(phase("spill a").ends_with(" spilled"), "{outcome}");
    assert!(phase("join").ends_with("B/s"), "{outcome}");
}

#[test]
fn redirected_there_is_the_summary_and_nothing_else() {
    let (a, b) = (lines(0..3000), lines(2000..6000));
    let sandbox = Sandbox::with(&a, &b);
    for option in ["", "--progress auto", "--progress never"] {
        let outcome = sandbox.run(&format!("intersect a b {option}"));
        outcome.succeeds_silently();
        assert!(
            outcome
                .stderr
                .starts_with("outset: 1,000 common lines (exact, memory) in "),
            "{outcome}"
        );
    }
    let outcome = sandbox.run("intersect a b --strategy bloom --bits-per-key 4");
    let said: Vec<&str> = outcome.succeeds().stderr.lines().collect();
    assert_eq!(said.len(), 2, "{outcome}");
    assert!(
        said[0].starts_with("outset: approximate result: "),
        "{outcome}"
    );
    assert_is_summary(said[1], "approximate");
}

#[test]
fn quiet_says_nothing_but_that_a_result_is_approximate() {
    let sandbox = Sandbox::with(&lines(0..3000), &lines(2000..6000));
    let exact = sandbox.run("intersect a b -q");
    assert_eq!(exact.succeeds().stderr, "", "{exact}");
    let approximate = sandbox.run("intersect a b -q --strategy bloom");
    let said: Vec<&str> = approximate.succeeds().stderr.lines().collect();
    assert_eq!(said.len(), 1, "{approximate}");
    assert!(said[0].starts_with("outset: approximate result: "));
}

#[test]
fn a_report_on_standard_error_is_all_that_an_exact_run_says() {
    let (a, b) = (lines(0..3000), lines(2000..6000));
    let sandbox = Sandbox::with(&a, &b);
    for quiet in ["", "-q"] {
        let outcome = sandbox.run(&format!("intersect a b {quiet} --stats -"));
        outcome.succeeds().has_lines(&common(&[&a, &b]));
        let stats: Value = serde_json::from_str(&outcome.stderr).unwrap();
        assert_eq!(stats["output"]["lines"], 1000);
    }
}

#[test]
fn an_estimate_a_plan_by_one_and_filters_show_progress_when_asked_to() {
    let sandbox = Sandbox::with(&lines(0..3000), &lines(2000..6000));
    for (arguments, names) in [
        ("estimate a b", &["estimate a", "estimate b"][..]),
        ("plan --estimate a b", &["estimate a", "estimate b"]),
        ("filter build a b -o ../out/f", &["insert a", "insert b"]),
        ("filter query ../out/f a b", &["query a", "query b"]),
        ("filter insert ../out/f b", &["insert b"]),
    ] {
        let outcome = sandbox.run(&format!("{arguments} --progress always"));
        let said: BTreeSet<&str> = outcome.succeeds().stderr.lines().collect();
        // What saves a filter says what it made, too.
        let saves = arguments.contains("../out/f") && !arguments.contains("query");
        assert_eq!(said.len(), names.len() + usize::from(saves), "{outcome}");
        for name in names {
            let is_there = said
                .iter()
                .any(|line| line.starts_with(&format!("outset: {name}: ")));
            assert!(is_there, "no {name}: {outcome}");
        }
        sandbox.run(arguments).succeeds_silently();
    }
}

#[test]
fn names_with_control_characters_do_not_reach_the_terminal() {
    let sandbox = Sandbox::with(&lines(0..3000), b"");
    sandbox.write("b\u{1b}[2Jx", lines(0..3000));
    let mut arguments = sandbox.command("intersect a --progress always -o ../out/r");
    arguments.arg("b\u{1b}[2Jx");
    let outcome = sandbox.start(arguments).finish();
    assert!(
        outcome.succeeds().stderr.contains("b\\u{1b}[2Jx: "),
        "{outcome}"
    );
    assert!(!outcome.stderr.contains('\u{1b}'), "{outcome}");
}

#[test]
fn a_reader_that_goes_away_leaves_no_line_of_a_phase_that_did_nothing() {
    let sandbox = Sandbox::with(&megabytes(4, 0), b"x\n");
    let (mut running, _drawn) = start_on_terminal(
        &sandbox,
        "union a b --strategy partition --order sorted --memory 16M",
    );
    // Nobody reads standard output.
    drop(running.child.stdout.take());
    let outcome = running.finish();
    assert!(!outcome.status.success(), "{outcome}");
    let mut left = outcome.stderr.lines();
    assert!(
        left.all(|line| !line.contains(" 0 lines") && !line.contains("order")),
        "{outcome}"
    );
}
