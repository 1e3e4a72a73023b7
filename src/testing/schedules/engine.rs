//! Whole runs: two inputs are read, spilled into buckets and joined, by all the threads of a run.

use std::collections::BTreeSet;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;

use tempfile::TempDir;

use super::{BLOCK, IN_FLIGHT, explore, line, number_of, temp_directory};
use crate::answer::Collector;
use crate::error::Result;
use crate::hash::LineHasher;
use crate::input::Input;
use crate::options::Options;
use crate::output::Sink;
use crate::pass::join::join;
use crate::pass::ranges::Ranges;
use crate::pass::spill::{SpillRequest, spill};
use crate::plan::layout::{Layout, PoolLayout, ScanLayout};
use crate::run::Run;
use crate::selection::{Order, Rule, Selection, SideReading, Sides};
use crate::sys::sync::model::Time;
use crate::temp::quota::Quota;
use crate::temp::space::TempSpace;
use crate::{Error, Source};

const BUCKETS: u32 = 3;

/// Two inputs with lines 0 to 29 and 20 to 49, some of them more than once, and a directory for spill.
#[derive(Debug)]
pub(super) struct Scene {
    directory: TempDir,
    layout: Layout,
}

impl Scene {
    pub(super) fn new() -> Self {
        let directory = temp_directory();
        for (name, first) in [("a", 0), ("b", 20)] {
            let numbers = (first..first + 30).chain((first..first + 30).step_by(4));
            let lines: Vec<Vec<u8>> = numbers.map(line).collect();
            std::fs::write(directory.path().join(name), lines.join(&b'\n')).unwrap();
        }
        std::fs::create_dir(directory.path().join("temp")).unwrap();
        let layout = Layout {
            memory_bytes: 64 << 20,
            usable_bytes: 16 << 20,
            threads: 2,
            scan: ScanLayout {
                workers: 2,
                readers: 2,
                chunk_bytes: 2 * BLOCK,
                chunk_buffers: 3,
                long_line_bytes: 256 << 10,
                long_line_eighths: 1,
                lanes: 1,
            },
            pool: PoolLayout {
                buckets: BUCKETS,
                writers: 2,
                block_bytes: BLOCK,
                blocks: u64::from(BUCKETS) + 1,
                join_workers: 2,
                ..PoolLayout::default()
            },
            ..Layout::default()
        };
        Self { directory, layout }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Makes a scene whose buckets are ranges of lines.
    fn in_ranges() -> Self {
        let mut scene = Self::new();
        scene.layout.pool.by_range = true;
        scene
    }

    /// Runs what `partition` does.
    pub(super) fn run(&self, selection: Selection, cap: u64, sink: &mut dyn Sink) -> Result<()> {
        let options = Options::default();
        let quota = Quota::new(cap);
        let space = TempSpace::new(&[self.path("temp")], quota.clone(), &options.interrupt);
        let hasher = LineHasher::with_key([3; 4]);
        let run = Run::new(&options, self.layout, hasher, &space);
        let sources = [Source::from(self.path("a")), Source::from(self.path("b"))];
        let mut inputs = Input::open_all(
            &sources,
            crate::decode::request::Opening::plain(&options.interrupt),
        )?;
        // As if it were not in the page cache: it is read by readers of their own, the other by the workers.
        let cold = inputs.remove(0).spooled(vec![self.path("a")])?;
        inputs.insert(0, cold);
        let out = Collector::new(sink);
        let by_range = self.layout.pool.by_range;
        let ranges = by_range.then(|| Ranges::of(&run, &inputs)).transpose()?;
        let pool = run.block_pool();
        let spilled = |input| {
            let request = SpillRequest {
                ranges: ranges.as_ref(),
                ..SpillRequest::default()
            };
            Ok(spill(&run, &pool, input, request)?.buckets)
        };
        let stores = inputs.iter().map(spilled).collect::<Result<Vec<_>>>()?;
        drop((pool, ranges));
        let rule = Rule::new(selection, inputs.len())?;
        let readings = (0..inputs.len()).zip(1..);
        let readings = readings.map(|(input, number)| SideReading { input, number });
        let sides = Sides::new(rule, readings.collect());
        join(&run, stores, &sides, &out)?;
        assert!(space.space_use().files > 0, "nothing was spilled");
        assert_eq!(quota.used_bytes(), 0, "a file is left");
        Ok(())
    }

    /// Checks that nothing is left of a run, whatever its end.
    pub(super) fn check_rest(&self) {
        assert_eq!(std::fs::read_dir(self.path("temp")).unwrap().count(), 0);
    }
}

fn check(scene: &Scene, selection: Selection) {
    let mut found = Vec::new();
    let mut sink = |line: &[u8]| {
        found.push(number_of(line));
        Ok(())
    };
    scene.run(selection, u64::MAX, &mut sink).unwrap();
    let expected: BTreeSet<usize> = match selection.name() {
        "diff" => (0..20).collect(),
        "union" => (0..50).collect(),
        _ => (20..30).collect(),
    };
    if !scene.layout.pool.by_range {
        found.sort_unstable();
    }
    assert!(expected.into_iter().eq(found), "a wrong result");
    scene.check_rest();
}

#[test]
fn j2_j3_a_whole_run_gives_the_right_lines_under_every_schedule() {
    for selection in [
        Selection::intersection(),
        Selection::difference(),
        Selection::union(),
    ] {
        let scene = Scene::new();
        let name = format!("a whole run, {}", selection.name());
        explore(&name, Time::Stands, move || check(&scene, selection));
    }
}

#[test]
fn j2_j3_a_whole_run_that_holds_blocks_gives_the_right_lines() {
    let mut scene = Scene::new();
    scene.layout.pool.blocks += IN_FLIGHT + 5;
    explore("a whole run, some in memory", Time::Stands, move || {
        check(&scene, Selection::intersection());
    });
}

#[test]
fn j2_j3_a_whole_run_in_ranges_gives_the_right_lines_in_order() {
    for selection in [Selection::intersection(), Selection::union()] {
        let scene = Scene::in_ranges();
        let name = format!("a whole run in ranges, {}", selection.name());
        let selection = selection.ordered(Order::Sorted);
        explore(&name, Time::Stands, move || check(&scene, selection));
    }
}

#[test]
fn j2_a_whole_run_on_a_full_disk_ends_with_its_error() {
    let scene = Scene::new();
    explore("a whole run, a full disk", Time::Passes, move || {
        let mut sink = |_: &[u8]| Ok(());
        let cap = 7 * BLOCK;
        let error = scene
            .run(Selection::intersection(), cap, &mut sink)
            .unwrap_err();
        assert!(matches!(error, Error::TempLimit { .. }), "{error}");
        scene.check_rest();
    });
}

#[test]
fn j2_a_whole_run_whose_result_cannot_be_written_ends_with_its_error() {
    let any = (Scene::new(), Selection::intersection());
    let in_order = Selection::intersection().ordered(Order::Sorted);
    for (scene, selection) in [any, (Scene::in_ranges(), in_order)] {
        let name = format!("no place for the result, {:?}", selection.order);
        explore(&name, Time::Passes, move || {
            let mut lines = 0;
            let mut sink = |_: &[u8]| {
                lines += 1;
                if lines < 4 {
                    Ok(())
                } else {
                    Err(io::ErrorKind::StorageFull.into())
                }
            };
            let ended = scene.run(selection, u64::MAX, &mut sink);
            assert!(matches!(ended, Err(Error::Output { .. })), "{ended:?}");
            scene.check_rest();
        });
    }
}

#[test]
fn j2_a_whole_run_ends_when_a_thread_of_the_join_panics() {
    let scene = Scene::new();
    explore("a whole run, a panic", Time::Passes, move || {
        let mut lines = 0;
        let mut sink = |_: &[u8]| {
            lines += 1;
            if lines == 4 {
                // Without the hook, which would print a schedule each time.
                resume_unwind(Box::new("planned"));
            }
            Ok(())
        };
        let run = || scene.run(Selection::intersection(), u64::MAX, &mut sink);
        let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"planned"));
        scene.check_rest();
    });
}
