//! Standard error as JSON (`--progress json`): progress, messages and errors for the program that started the run.

use serde_json::Value;

use crate::data::{lines, megabytes};
use crate::sandbox::{Feed, Outcome, Sandbox};

/// The lines on standard error, each of which is an event.
fn events(outcome: &Outcome) -> Vec<Value> {
    let parsed = outcome
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}: {outcome}")));
    let events: Vec<Value> = parsed.collect();
    assert!(
        events.iter().all(|event| event["event"].is_string()),
        "{outcome}"
    );
    events
}

fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    let is_one = |event: &&Value| event["event"] == kind;
    events.iter().filter(is_one).collect()
}

#[test]
fn progress_comes_as_objects_with_bytes_and_seconds() {
    let sandbox = Sandbox::with(&megabytes(2, 0), b"");
    let pipe = sandbox.fifo("pipe");
    let command =
        sandbox.command("intersect a pipe --strategy partition --memory 16M --progress json");
    let mut running = sandbox.start(command);
    let mut feed = Feed::open(&pipe, &mut running);
    assert!(feed.send(&megabytes(1, 0)));
    std::thread::sleep(std::time::Duration::from_millis(500));
    drop(feed);
    let outcome = running.finish();
    outcome.succeeds();
    let events = events(&outcome);
    let steps = of_kind(&events, "progress");
    let of_pipe = steps
        .iter()
        .find(|step| step["phase"].as_str().unwrap().starts_with("spill pipe"));
    let step = of_pipe.unwrap_or_else(|| panic!("{outcome}"));
    assert!(step["bytes"].as_u64().unwrap() > 0, "{outcome}");
    for unknown in ["total_bytes", "phase_seconds_left", "part"] {
        assert!(step[unknown].is_null(), "{unknown}: {outcome}");
    }
    let said = of_kind(&events, "message");
    assert_eq!(said.len(), 1, "{outcome}");
    assert!(said[0]["text"].as_str().unwrap().contains("common lines"));
}

#[test]
fn an_error_is_an_object_with_its_kind_and_what_would_do() {
    let sandbox = Sandbox::with(b"id,x\n1,2\n\"3\"4,5\n", &lines(0..10));
    let error = |arguments: &str, status: u64| {
        let outcome = sandbox.run(&format!("{arguments} --progress json -q"));
        assert_eq!(outcome.status.code(), Some(status as i32), "{outcome}");
        let mut events = events(&outcome);
        // A run that takes a moment may tell of its progress before.
        events.retain(|event| event["event"] != "progress");
        assert_eq!(events.len(), 1, "{outcome}");
        assert_eq!(events[0]["event"], "error", "{outcome}");
        assert_eq!(events[0]["status"], status, "{outcome}");
        events[0].clone()
    };
    let missing = error("intersect a nowhere", 3);
    assert_eq!(
        (&missing["kind"], &missing["path"]),
        (&"input".into(), &"nowhere".into())
    );
    // Which keeps the arguments from being understood.
    let key = error("union a --hash-key-file nowhere", 3);
    assert_eq!(
        (&key["kind"], &key["path"]),
        (&"input".into(), &"nowhere".into())
    );
    let record = error("union a --csv -k id", 3);
    assert_eq!((&record["path"], &record["line"]), (&"a".into(), &3.into()));
    let memory = error("intersect a b --memory 1M", 6);
    assert_eq!(
        (&memory["kind"], &memory["needed_bytes"]),
        (&"memory".into(), &(16 << 20).into())
    );
    let rate = error(
        "intersect a b --strategy bloom --bits-per-key 1 --max-fpr 1e-20",
        6,
    );
    assert_eq!(rate["kind"], "approximation");
    let usage = error("diff a", 2);
    assert_eq!(usage["kind"], "usage");
    let named = usage["message"].as_str().unwrap();
    assert!(!named.starts_with("outset:"), "{named}");
}

#[test]
fn quiet_keeps_progress_and_errors() {
    let sandbox = Sandbox::with(&lines(0..10), &lines(0..10));
    let outcome = sandbox.run("intersect a b --progress json -q --stats -");
    outcome.succeeds();
    let events = events(&outcome);
    let stats = of_kind(&events, "stats");
    assert_eq!(stats[0]["stats"]["output"]["lines"], 10, "{outcome}");
    assert!(of_kind(&events, "message").is_empty(), "{outcome}");
}
