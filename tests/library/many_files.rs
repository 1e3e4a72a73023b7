//! The message of a run of very many buckets before it makes their files.

use std::sync::{Arc, Mutex};

use outset::plan::Plan;
use outset::{ErrorKind, Interrupt, Notice, Observer, Options, Strategy};

use crate::util::{MIB, Sandbox, beside_others, numbered, run};

/// Hears notices, and stops the run at the first one.
#[derive(Default)]
struct Stops {
    interrupt: Interrupt,
    heard: Mutex<Vec<String>>,
    planned_files: Mutex<Option<u64>>,
}

impl Observer for Stops {
    fn planned(&self, plan: &Plan) {
        *self.planned_files.lock().unwrap() = plan.many_files.map(|many| many.files);
    }

    fn noticed(&self, notice: &Notice) {
        self.heard.lock().unwrap().push(notice.to_string());
        self.interrupt.stop();
    }
}

#[test]
fn d6_a_run_says_what_very_many_buckets_cost_before_it_makes_their_files() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let paths = sandbox.files(&[numbered(0..12_000, 20), numbered(6_000..18_000, 20)]);
    let stops = Arc::new(Stops::default());
    let options = Options {
        strategy: Some(Strategy::Partition),
        buckets: Some(12_000),
        memory_bytes: Some(256 * MIB),
        always_spill: true,
        observer: Some(stops.clone()),
        interrupt: stops.interrupt.clone(),
        ..sandbox.options()
    };
    let stopped = run(&paths, &options).map(drop).unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::Interrupted);
    let files = stops.planned_files.lock().unwrap().unwrap();
    assert!((23_000..=24_000).contains(&files), "{files}");
    let heard = stops.heard.lock().unwrap();
    let said = format!("`buckets` 12000: makes up to {files} temporary files, ");
    assert!(heard.len() == 1 && heard[0].starts_with(&said), "{heard:?}");
}
