//! What goes wrong during a run: an error of the right kind, in one line, and nothing left in temporary space (which
//! every run of these tests checks).
//!
//! Faults come through the observer: it is called before a phase reads anything and after each chunk, so the moment of a
//! fault is part of the test and not a matter of luck.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outset::stats::PhaseStats;
use outset::{Error, ErrorKind, Observer, Options, Selection, Strategy};

use crate::oracle::Lines;
use crate::util::{
    EXACT, MIB, Place, alone, entries, numbered, run, run_into, run_to_select, select_into,
};

/// When a fault happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before the phase reads.
    Start,
    /// After its first chunk or bucket.
    Middle,
}

/// Does something once, at a moment of the first phase whose name begins with `phase`.
struct Fault<F> {
    phase: String,
    moment: Moment,
    is_there: AtomicBool,
    is_done: AtomicBool,
    act: F,
}

impl<F: Fn() + Send + Sync + 'static> Fault<F> {
    fn at(phase: impl Into<String>, moment: Moment, act: F) -> Arc<Self> {
        Arc::new(Self {
            phase: phase.into(),
            moment,
            is_there: AtomicBool::new(false),
            is_done: AtomicBool::new(false),
            act,
        })
    }

    fn act_once(&self) {
        if !self.is_done.swap(true, Ordering::SeqCst) {
            (self.act)();
        }
    }

    /// Whether the fault has happened; a test without it would prove nothing.
    fn happened(&self) -> bool {
        self.is_done.load(Ordering::SeqCst)
    }
}

impl<F: Fn() + Send + Sync + 'static> Observer for Fault<F> {
    fn phase_started(&self, name: &str, _total_bytes: Option<u64>) {
        if name.starts_with(&self.phase) {
            self.is_there.store(true, Ordering::SeqCst);
            if self.moment == Moment::Start {
                self.act_once();
            }
        }
    }

    fn advanced(&self, _bytes_read: u64, _lines: u64) {
        if self.moment == Moment::Middle && self.is_there.load(Ordering::SeqCst) {
            self.act_once();
        }
    }

    fn phase_finished(&self, phase: &PhaseStats) {
        if phase.name.starts_with(&self.phase) {
            self.is_there.store(false, Ordering::SeqCst);
        }
    }
}

/// Runs with a fault, which must happen.
pub(crate) fn run_with_fault(
    paths: &[PathBuf],
    options: &Options,
    phase: &str,
    moment: Moment,
    act: impl Fn() + Send + Sync + 'static,
) -> Result<Lines, Error> {
    let selection = Selection::intersection();
    select_with_fault(selection, paths, options, phase, moment, act)
}

/// As [`run_with_fault`], for the lines that `selection` asks for.
pub(crate) fn select_with_fault(
    selection: Selection,
    paths: &[PathBuf],
    options: &Options,
    phase: &str,
    moment: Moment,
    act: impl Fn() + Send + Sync + 'static,
) -> Result<Lines, Error> {
    let fault = Fault::at(phase, moment, act);
    let options = Options {
        observer: Some(fault.clone()),
        ..options.clone()
    };
    let result = run_to_select(selection, paths, &options);
    assert!(
        fault.happened(),
        "{:?} has no {moment:?} of {phase}",
        options.strategy
    );
    result.map(|(lines, _)| lines)
}

/// As [`run_with_fault`], which must fail in this way.
fn fails_with(
    kind: ErrorKind,
    paths: &[PathBuf],
    options: &Options,
    phase: &str,
    moment: Moment,
    act: impl Fn() + Send + Sync + 'static,
) -> Error {
    match run_with_fault(paths, options, phase, moment, act) {
        Ok(lines) => panic!(
            "{} lines in spite of a fault in {phase}, {options:?}",
            lines.len()
        ),
        Err(error) => {
            assert_eq!(
                error.kind(),
                kind,
                "{error}; {moment:?} of {phase}, {options:?}"
            );
            error
        }
    }
}

/// Two files of 60 and more chunks, half of the lines in both. The first is the smaller one.
fn two_files(place: &Place) -> [PathBuf; 2] {
    [
        place.file("small", numbered(0..40_000, 100)),
        place.file("large", numbered(20_000..64_000, 100)),
    ]
}

/// The phases of a strategy that read `small` and `large`.
fn reading_phases(strategy: Strategy) -> &'static [(&'static str, usize)] {
    match strategy {
        Strategy::Memory => &[("build", 0), ("probe", 1)],
        Strategy::Partition => &[("spill", 0), ("spill", 1)],
        Strategy::Sieve => &[("filter", 0), ("spill", 1), ("spill", 0)],
        Strategy::Bloom => &[("filter", 0), ("spill", 1)],
    }
}

/// What a change is called, and how it is made.
type Change = (&'static str, fn(&Path));

/// What can happen to a file that is being read.
const CHANGES: [Change; 5] = [
    ("emptied", |path| write_to(path).set_len(0).unwrap()),
    ("shortened", |path| {
        let half = fs::metadata(path).unwrap().len() / 2;
        write_to(path).set_len(half).unwrap();
    }),
    ("lengthened", |path| {
        let length = fs::metadata(path).unwrap().len();
        write_to(path).set_len(length + 1).unwrap();
    }),
    ("rewritten with the same length", |path| {
        let length = fs::metadata(path).unwrap().len();
        fs::write(path, vec![b'\n'; length as usize]).unwrap();
    }),
    ("changed in one byte", |path| {
        std::os::unix::fs::FileExt::write_all_at(&write_to(path), b"\n", 2).unwrap();
    }),
];

fn write_to(path: &Path) -> fs::File {
    OpenOptions::new().write(true).open(path).unwrap()
}

/// Longer than the resolution of a file's times, so that a change moves them.
const MOMENTS: [Moment; 2] = [Moment::Start, Moment::Middle];

fn let_time_pass() {
    std::thread::sleep(Duration::from_millis(30));
}

#[test]
fn b5_b6_an_input_that_changes_while_it_is_read_fails_the_run() {
    changes_in_readings(|change, moment| change % 2 == moment);
}

#[test]
#[ignore = "slow: every change of every reading at two moments"]
fn b5_b6_every_change_of_an_input_while_it_is_read_fails_the_run() {
    changes_in_readings(|_, _| true);
}

/// Makes those changes at those moments that are wanted by their places in the lists.
fn changes_in_readings(is_wanted: fn(usize, usize) -> bool) {
    let _alone = alone();
    for strategy in Strategy::ALL {
        for &(verb, number) in reading_phases(strategy) {
            for (change_number, (change, act)) in CHANGES.into_iter().enumerate() {
                for (moment_number, moment) in MOMENTS.into_iter().enumerate() {
                    if !is_wanted(change_number, moment_number) {
                        continue;
                    }
                    let place = Place::new();
                    let files = two_files(&place);
                    let_time_pass();
                    let options = Options {
                        strategy: Some(strategy),
                        ..place.options()
                    };
                    let victim = files[number].clone();
                    let phase = format!("{verb} {}", victim.display());
                    let path = victim.clone();
                    let error = fails_with(
                        ErrorKind::Input,
                        &files,
                        &options,
                        &phase,
                        moment,
                        move || act(&path),
                    );
                    assert!(
                        error.to_string().starts_with(&victim.display().to_string()),
                        "{change}: {error}"
                    );
                }
            }
        }
    }
}

#[test]
fn b6_b7_an_input_replaced_by_another_file_fails_the_next_pass_over_it() {
    let _alone = alone();
    for strategy in Strategy::ALL {
        for &(verb, number) in reading_phases(strategy) {
            let place = Place::new();
            let files = two_files(&place);
            let options = Options {
                strategy: Some(strategy),
                ..place.options()
            };
            let phase = format!("{verb} {}", files[number].display());
            let (from, to) = (
                place.file("new", numbered(0..10, 100)),
                files[number].clone(),
            );
            let error = fails_with(
                ErrorKind::Input,
                &files,
                &options,
                &phase,
                Moment::Start,
                move || {
                    fs::rename(&from, &to).unwrap();
                },
            );
            assert!(matches!(error, Error::InputChanged { .. }), "{error}");
        }
    }
}

#[test]
fn b7_an_input_removed_before_a_pass_over_it_fails_the_run() {
    let _alone = alone();
    for strategy in Strategy::ALL {
        for &(verb, number) in reading_phases(strategy) {
            let place = Place::new();
            let files = two_files(&place);
            let options = Options {
                strategy: Some(strategy),
                ..place.options()
            };
            let (phase, path) = (
                format!("{verb} {}", files[number].display()),
                files[number].clone(),
            );
            fails_with(
                ErrorKind::Input,
                &files,
                &options,
                &phase,
                Moment::Start,
                move || {
                    fs::remove_file(&path).unwrap();
                },
            );
        }
    }
}

#[test]
fn b7_an_input_that_changes_between_the_readings_of_a_sieve_of_lone_lines_fails_the_run() {
    changes_between_readings(|change, moment| change % 2 == moment);
}

#[test]
#[ignore = "slow: every change at two moments"]
fn b7_every_change_between_the_readings_of_a_sieve_of_lone_lines_fails_the_run() {
    changes_between_readings(|_, _| true);
}

/// Makes those changes at those moments that are wanted by their places in the lists.
fn changes_between_readings(is_wanted: fn(usize, usize) -> bool) {
    let _alone = alone();
    for selection in [Selection::difference(), Selection::union()] {
        for number in [0, 1] {
            for (change_number, (change, act)) in CHANGES.into_iter().enumerate() {
                for (moment_number, moment) in MOMENTS.into_iter().enumerate() {
                    if !is_wanted(change_number, moment_number) {
                        continue;
                    }
                    let place = Place::new();
                    let files = two_files(&place);
                    let_time_pass();
                    let options = Options {
                        strategy: Some(Strategy::Sieve),
                        ..place.options()
                    };
                    let victim = files[number].clone();
                    let path = victim.clone();
                    let phase = format!("spill {}", victim.display());
                    let fault = Fault::at(phase, moment, move || act(&path));
                    let options = Options {
                        observer: Some(fault.clone()),
                        ..options
                    };
                    // Lines that came only with the change may come more than once before it is noticed.
                    let result = select_into(selection, &files, &options, &mut |_: &[u8]| Ok(()));
                    assert!(fault.happened(), "{selection:?}: no {moment:?}");
                    let Err(error) = result else {
                        panic!("{selection:?}: {change}, and the run succeeded");
                    };
                    assert_eq!(error.kind(), ErrorKind::Input, "{change}: {error}");
                    let said = error.to_string();
                    assert!(said.starts_with(&victim.display().to_string()), "{said}");
                }
            }
        }
    }
}

#[test]
fn a_run_that_is_interrupted_in_any_phase_says_so() {
    let _alone = alone();
    for strategy in Strategy::ALL {
        let mut phases: Vec<(&str, usize)> = reading_phases(strategy).to_vec();
        phases.push(("join", 2));
        for (verb, number) in phases {
            if (strategy, verb) == (Strategy::Memory, "join") {
                continue;
            }
            for moment in [Moment::Start, Moment::Middle] {
                // Several buckets, so that the middle of the join is not its end.
                let place = Place::new();
                let files = two_files(&place);
                let options = Options {
                    strategy: Some(strategy),
                    buckets: Some(7),
                    always_spill: true,
                    ..place.options()
                };
                let phase = files
                    .get(number)
                    .map_or(verb.to_owned(), |file| format!("{verb} {}", file.display()));
                let interrupt = options.interrupt.clone();
                fails_with(
                    ErrorKind::Interrupted,
                    &files,
                    &options,
                    &phase,
                    moment,
                    move || interrupt.stop(),
                );
            }
        }
    }
}

#[test]
fn a_run_that_was_stopped_before_it_began_does_nothing() {
    let _alone = alone();
    let place = Place::new();
    let files = two_files(&place);
    for strategy in EXACT {
        let options = Options {
            strategy,
            ..place.options()
        };
        options.interrupt.stop();
        let error = run_into(&files, &options, &mut |_: &[u8]| panic!("a line came")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
    }
}

#[test]
fn a_pipe_that_is_being_spooled_can_be_interrupted() {
    let _alone = alone();
    let place = Place::new();
    let pipes = [
        place.fifo("first", numbered(0..40_000, 100)),
        place.fifo("second", numbered(0..40_000, 100)),
    ];
    let options = Options {
        strategy: Some(Strategy::Sieve),
        ..place.options()
    };
    let interrupt = options.interrupt.clone();
    fails_with(
        ErrorKind::Interrupted,
        &pipes,
        &options,
        "spool",
        Moment::Middle,
        move || interrupt.stop(),
    );
}

#[test]
fn e4_a_cap_on_temporary_disk_that_is_too_low_fails_the_run() {
    let _alone = alone();
    let place = Place::new();
    let files = two_files(&place);
    for strategy in [Strategy::Partition, Strategy::Sieve, Strategy::Bloom] {
        for cap in [0, 4096, 100_000, MIB] {
            let options = Options {
                strategy: Some(strategy),
                always_spill: true,
                max_temp_bytes: Some(cap),
                ..place.options()
            };
            let error = run(&files, &options).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Temp, "{strategy}, {cap}: {error}");
            let Error::TempLimit {
                limit_bytes,
                needed_bytes,
                ..
            } = error
            else {
                panic!("{strategy}, {cap}: {error}");
            };
            assert!(
                limit_bytes == cap && needed_bytes > cap,
                "{strategy}, {cap}: {needed_bytes}"
            );
        }
    }
}

#[test]
fn a_pipe_that_outgrows_the_cap_while_it_is_spooled_fails_the_run() {
    let _alone = alone();
    let place = Place::new();
    let pipes = [
        place.fifo("first", numbered(0..40_000, 100)),
        place.fifo("second", numbered(0..40_000, 100)),
    ];
    let options = Options {
        strategy: Some(Strategy::Sieve),
        max_temp_bytes: Some(MIB),
        ..place.options()
    };
    let error = run(&pipes, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Temp, "{error}");
}

#[test]
fn a_cap_that_the_run_does_not_reach_does_not_stop_it() {
    let _alone = alone();
    let place = Place::new();
    let files = two_files(&place);
    for strategy in [Strategy::Partition, Strategy::Sieve] {
        for always_spill in [false, true] {
            let options = Options {
                strategy: Some(strategy),
                always_spill,
                ..place.options()
            };
            let (lines, stats) = run(&files, &options).unwrap();
            // Half as much again: what stays in memory depends on the order in which threads come.
            let cap = stats.temp.peak_bytes + stats.temp.peak_bytes / 2 + 64 * 1024;
            let capped = Options {
                max_temp_bytes: Some(cap),
                ..options
            };
            match run(&files, &capped) {
                Ok((again, _)) => assert_eq!(again, lines),
                Err(error) => panic!(
                    "{strategy}, cap {cap}, peak {}: {error}",
                    stats.temp.peak_bytes
                ),
            }
        }
    }
}

#[test]
fn a_sink_that_fails_ends_the_run_as_an_output_error() {
    let _alone = alone();
    let place = Place::new();
    let files = two_files(&place);
    for strategy in Strategy::ALL {
        for after in [0, 1, 10_000] {
            let options = Options {
                strategy: Some(strategy),
                buckets: Some(7),
                ..place.options()
            };
            let mut lines = 0;
            let error = run_into(&files, &options, &mut |_: &[u8]| {
                lines += 1;
                if lines > after {
                    return Err(io::Error::from(io::ErrorKind::BrokenPipe));
                }
                Ok(())
            })
            .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Output, "{strategy}: {error}");
            assert!(error.is_broken_pipe());
            assert_eq!(
                lines,
                after + 1,
                "{strategy}: the sink was called again after it failed"
            );
        }
    }
}

#[test]
fn e4_a_run_after_a_failed_one_is_not_affected_by_it() {
    let _alone = alone();
    let place = Place::new();
    let files = two_files(&place);
    for strategy in EXACT {
        let options = Options {
            strategy,
            ..place.options()
        };
        let failed = run_into(&files, &options, &mut |_: &[u8]| {
            Err(io::Error::other("no"))
        });
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Output);
        assert_eq!(run(&files, &options).unwrap().0.len(), 20_000);
    }
}

/// The spill files of the run that is going on.
pub(crate) fn spill_files(temp: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = entries(temp)
        .iter()
        .flat_map(|directory| entries(directory))
        .filter(|path| !path.ends_with("lock"))
        .collect();
    files.sort();
    files
}

/// Joins after `damage` was done to the spill files, which must fail in this way.
fn damaged(
    kind: ErrorKind,
    buckets: &[u32],
    damage: impl Fn(&[PathBuf]) + Send + Sync + Copy + 'static,
) {
    for strategy in [Strategy::Partition, Strategy::Sieve, Strategy::Bloom] {
        for &buckets in buckets {
            let place = Place::new();
            let files = two_files(&place);
            let options = Options {
                strategy: Some(strategy),
                buckets: Some(buckets),
                always_spill: true,
                ..place.options()
            };
            let temp = place.temp();
            fails_with(kind, &files, &options, "join", Moment::Start, move || {
                let files = spill_files(&temp);
                assert!(!files.is_empty(), "nothing was spilled");
                damage(&files);
            });
        }
    }
}

/// Changes one bit of a file.
fn flip(path: &Path, offset: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[offset] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// In the header: magic, run, store, bucket, level, kind, sequence, length, records, checksum; then in the first record.
const OFFSETS: [usize; 13] = [0, 8, 16, 20, 24, 28, 32, 40, 48, 56, 64, 70, 170];

#[test]
fn e8_a_bit_that_flips_in_a_spill_file_is_noticed() {
    flips(OFFSETS.into_iter().step_by(3));
}

#[test]
#[ignore = "slow: bits of every field"]
fn e8_a_bit_that_flips_in_any_field_of_a_spill_file_is_noticed() {
    flips(OFFSETS);
}

fn flips(offsets: impl IntoIterator<Item = usize>) {
    let _alone = alone();
    for offset in offsets {
        // One bucket or several: at one offset both.
        let buckets: &[u32] = if offset == 0 { &[1, 7] } else { &[3] };
        damaged(ErrorKind::Damaged, buckets, move |files| {
            for file in files {
                flip(file, offset);
            }
        });
    }
}

#[test]
fn e8_a_bit_that_flips_in_a_single_spill_file_is_noticed() {
    let _alone = alone();
    damaged(ErrorKind::Damaged, &[1, 7], |files| {
        flip(&files[files.len() / 2], 100);
    });
}

#[test]
fn e8_a_spill_file_that_lost_its_end_is_noticed() {
    let _alone = alone();
    damaged(ErrorKind::Damaged, &[1, 7], |files| {
        let length = fs::metadata(&files[0]).unwrap().len();
        write_to(&files[0]).set_len(length - 4096).unwrap();
    });
}

#[test]
fn e8_a_spill_file_in_the_place_of_another_is_noticed() {
    let _alone = alone();
    let place = Place::new();
    let files = two_files(&place);
    let options = Options {
        strategy: Some(Strategy::Partition),
        buckets: Some(7),
        always_spill: true,
        ..place.options()
    };
    let temp = place.temp();
    fails_with(
        ErrorKind::Damaged,
        &files,
        &options,
        "join",
        Moment::Start,
        move || {
            let files = spill_files(&temp);
            let aside = temp.join("aside");
            fs::rename(&files[0], &aside).unwrap();
            fs::rename(&files[1], &files[0]).unwrap();
            fs::rename(&aside, &files[1]).unwrap();
        },
    );
}

#[test]
fn e8_blocks_that_changed_places_within_a_file_are_noticed() {
    let _alone = alone();
    damaged(ErrorKind::Damaged, &[1], |files| {
        let length = |file: &PathBuf| fs::metadata(file).unwrap().len();
        let largest = files.iter().max_by_key(|file| length(file)).unwrap();
        let bytes = fs::read(largest).unwrap();
        // The magic tells where blocks begin.
        let starts = (0..bytes.len())
            .step_by(4096)
            .filter(|&at| bytes[at..].starts_with(b"OUTSETB1"));
        let mut ends: Vec<usize> = starts.skip(1).chain([bytes.len()]).collect();
        assert!(ends.len() > 1, "a single block has no other place");
        ends.insert(0, 0);
        let blocks: Vec<&[u8]> = ends.windows(2).map(|at| &bytes[at[0]..at[1]]).collect();
        let moved: Vec<u8> = blocks.iter().rev().copied().flatten().copied().collect();
        fs::write(largest, moved).unwrap();
    });
}

#[test]
fn e13_a_spill_file_that_was_removed_is_an_error_of_temporary_space() {
    let _alone = alone();
    damaged(ErrorKind::Temp, &[1, 7], |files| {
        fs::remove_file(&files[0]).unwrap();
    });
}

#[test]
fn the_observer_hears_of_every_phase_and_every_byte() {
    /// What was heard: phases begun, phases ended, bytes, lines.
    #[derive(Default)]
    struct Heard(Mutex<(Vec<String>, Vec<String>, u64, u64)>);
    impl Observer for Heard {
        fn phase_started(&self, name: &str, _total_bytes: Option<u64>) {
            self.0.lock().unwrap().0.push(name.to_owned());
        }
        fn advanced(&self, bytes_read: u64, lines: u64) {
            let mut heard = self.0.lock().unwrap();
            heard.2 += bytes_read;
            heard.3 += lines;
        }
        fn phase_finished(&self, phase: &PhaseStats) {
            self.0.lock().unwrap().1.push(phase.name.clone());
        }
    }
    let _alone = alone();
    let place = Place::new();
    let files = two_files(&place);
    for strategy in Strategy::ALL {
        let heard = Arc::new(Heard::default());
        let options = Options {
            strategy: Some(strategy),
            observer: Some(heard.clone()),
            memory_bytes: Some(24 * MIB),
            ..place.options()
        };
        let (_, stats) = run(&files, &options).unwrap();
        let heard = heard.0.lock().unwrap();
        let names: Vec<&String> = stats.phases.iter().map(|phase| &phase.name).collect();
        assert!(
            heard.0.iter().eq(names.iter().copied()) && heard.0 == heard.1,
            "{:?}",
            heard.0
        );
        let sum = |part: fn(&PhaseStats) -> u64| stats.phases.iter().map(part).sum::<u64>();
        assert_eq!(
            (heard.2, heard.3),
            (sum(|p| p.bytes_read), sum(|p| p.lines)),
            "{strategy}"
        );
        assert_eq!(
            (stats.inputs[0].lines, stats.inputs[1].lines),
            (40_000, 44_000)
        );
    }
}
