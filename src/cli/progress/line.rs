//! Progress in words.
//!
//! *Owns:* the line of a terminal, the plain line, and the summary of a phase. *Invariants:* the
//! line of a terminal is no longer than that is wide, and has no control characters. *Cost:* some allocations.

use outset::stats::PhaseStats;

use super::pace::Outlook;
use crate::cli::escaping::shortened;
use crate::cli::events::{Event, Progress};
use crate::cli::numbers;

/// Words what a phase did.
pub(super) fn phase_summary(name: &str, phase: &PhaseStats) -> String {
    let rate = phase.bytes_read as f64 / phase.seconds.max(1e-6);
    let spilled = match phase.bytes_written {
        0 => String::new(),
        bytes => format!(", {} spilled", numbers::bytes(bytes)),
    };
    // Where bytes are only copied, no lines are counted.
    let lines = match phase.lines {
        0 => String::new(),
        lines => format!("{}, ", numbers::counted(lines, "line")),
    };
    format!(
        "{name}: {lines}{} in {:.2} s, {}/s{spilled}",
        numbers::bytes(phase.bytes_read),
        phase.seconds,
        numbers::bytes(rate as u64),
    )
}

/// In place of the middle of a name that is too long.
const GAP: &str = "..";
/// Columns of a line, however wide the terminal is.
const MOST_COLUMNS: usize = 80;
/// Columns of a name that has a bar beside it.
const NAME_COLUMNS: usize = 24;
/// Columns of the bar.
const BAR_COLUMNS: usize = 10;
/// Fewer columns than this tell nothing of a name: on a narrow terminal other things go first.
const LEAST_NAME: usize = 12;

/// Draws the line on a terminal with `columns` columns. The name of a part takes the room of the bar.
pub(super) fn bar_text(name: &str, is_part: bool, outlook: &Outlook, columns: usize) -> String {
    let share = outlook.share();
    let far = match share {
        Some(share) => format!("{:>3}%", (share * 100.0) as u32),
        None => numbers::bytes(outlook.done),
    };
    // One column stays free: some terminals wrap a line that fills the last.
    let columns = columns.min(MOST_COLUMNS);
    let room = |tail: &String| columns.saturating_sub(tail.chars().count() + 1);
    let tails = shorter_and_shorter(outlook).map(|times| format!("{far}{times}"));
    let fits = |tail: &&String| room(tail) >= LEAST_NAME;
    let Some(tail) = tails.iter().find(fits).or(tails.last()) else {
        return far;
    };
    let name_columns = room(tail).min(NAME_COLUMNS + 1 + BAR_COLUMNS);
    match share {
        Some(share) if !is_part && name_columns == NAME_COLUMNS + 1 + BAR_COLUMNS => {
            let full = "#".repeat((share * BAR_COLUMNS as f64) as usize);
            let name = shortened(name, NAME_COLUMNS, GAP);
            format!("{name:<NAME_COLUMNS$} {full:.<BAR_COLUMNS$} {tail}")
        }
        _ => format!(
            "{:<name_columns$} {tail}",
            shortened(name, name_columns, GAP)
        ),
    }
}

/// Writes the event for a program that watches the run.
pub(super) fn event_text(part: &str, phase: &str, outlook: &Outlook) -> String {
    let progress = Progress {
        part: Some(part).filter(|part| !part.is_empty()),
        phase,
        bytes: outlook.done,
        total_bytes: outlook.total,
        bytes_per_second: outlook.rate.map(|rate| rate as u64),
        phase_seconds_left: outlook.phase_left,
        seconds_left: outlook.run_left.or(outlook.phase_left),
    };
    Event::Progress(progress).line()
}

/// Writes the line where there is no terminal.
pub(super) fn plain_text(name: &str, outlook: &Outlook) -> String {
    format!("{}{}", last_text(name, outlook), times(outlook))
}

/// Words the progress of a phase that goes on no more.
pub(super) fn last_text(name: &str, outlook: &Outlook) -> String {
    let far = match (outlook.share(), outlook.total) {
        (Some(share), Some(total)) => {
            format!("{}% of {}", (share * 100.0) as u32, numbers::bytes(total))
        }
        _ => numbers::bytes(outlook.done),
    };
    format!("{name}: {far}")
}

/// Words rate and times left, as far as they are known.
fn times(outlook: &Outlook) -> String {
    let [all, ..] = shorter_and_shorter(outlook);
    all
}

/// Words rate and times left, as far as they are known; less and less of them.
fn shorter_and_shorter(outlook: &Outlook) -> [String; 4] {
    let rate = outlook.rate;
    let rate = rate.map(|rate| format!(", {}/s", numbers::bytes(rate as u64)));
    let [phase, run] =
        [outlook.phase_left, outlook.run_left].map(|left| left.map(numbers::time_left));
    let run = run.map(|run| match phase {
        Some(_) => format!(" (run: {run})"),
        None => format!(", run: {run} left"),
    });
    let phase = phase.map(|phase| format!(", {phase} left"));
    let [rate, phase, run] = [rate, phase, run].map(Option::unwrap_or_default);
    [
        format!("{rate}{phase}{run}"),
        format!("{rate}{phase}"),
        phase,
        String::new(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Outlook = Outlook {
        done: 512 << 20,
        total: Some(1 << 30),
        rate: Some(99.94 * 1_048_576.0),
        phase_left: Some(5900.0),
        run_left: Some(5900.0),
    };

    #[test]
    fn the_line_on_a_terminal_has_everything_in_80_columns() {
        let name = format!("filter /a/very/long/{}/way/to/file.txt", "x".repeat(100));
        let text = bar_text(&name, false, &HALF, 80);
        assert_eq!(
            text,
            "filter /a/v..to/file.txt #####.....  50%, 99.9 MiB/s, 99 min left (run: 99 min)"
        );
        assert!(text.len() <= 80, "{}", text.len());
        let part = bar_text(&format!("exact, 32 MiB: {name}"), true, &HALF, 80);
        assert!(part.len() <= 80, "{part}");
        assert!(part.starts_with("exact, 32 MiB: f.."), "{part}");
        let unknown = Outlook {
            total: None,
            phase_left: None,
            run_left: None,
            ..HALF
        };
        let unknown = bar_text("spill -", false, &unknown, 80);
        assert!(unknown.ends_with(" 512 MiB, 99.9 MiB/s"), "{unknown}");
    }

    #[test]
    fn a_narrow_terminal_loses_the_least_useful_first_and_never_half_a_number() {
        for columns in 0..100 {
            let text = bar_text("exact: filter urls-of-today.txt", true, &HALF, columns);
            assert!(
                text.chars().count() <= columns.clamp(6, 80),
                "{columns}: {text}"
            );
            assert!(text.contains("50%"), "{columns}: {text}");
            assert_eq!(
                text.contains("99 min left"),
                columns >= 30,
                "{columns}: {text}"
            );
            assert_eq!(
                text.contains("99.9 MiB/s"),
                columns >= 42,
                "{columns}: {text}"
            );
        }
    }

    #[test]
    fn plain_lines_say_how_far_of_what() {
        assert_eq!(
            plain_text("filter a", &HALF),
            "filter a: 50% of 1 GiB, 99.9 MiB/s, 99 min left (run: 99 min)"
        );
        let nothing = Outlook {
            total: Some(0),
            ..Outlook::default()
        };
        assert_eq!(plain_text("filter a", &nothing), "filter a: 100% of 0 B");
    }
}
