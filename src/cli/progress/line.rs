//! Progress in words.
//!
//! *Owns:* the line of a terminal, the plain line, and the summary of a phase. *Invariants:* the
//! line of a terminal has 80 columns at most and no control characters. *Cost:* some allocations.

use outset::size::{display_bytes, display_count, display_duration};
use outset::stats::PhaseStats;

use super::pace::Outlook;
use crate::cli::escaped;

/// What a phase did.
pub(super) fn phase_summary(name: &str, phase: &PhaseStats) -> String {
    let rate = phase.bytes_read as f64 / phase.seconds.max(1e-6);
    let spilled = match phase.bytes_written {
        0 => String::new(),
        bytes => format!(", {} spilled", display_bytes(bytes)),
    };
    format!(
        "{name}: {} lines, {} in {:.2} s, {}/s{spilled}",
        display_count(phase.lines).to_string().trim(),
        display_bytes(phase.bytes_read),
        phase.seconds,
        display_bytes(rate as u64),
    )
}

/// Columns of a name that has a bar beside it.
const NAME_COLUMNS: usize = 24;
/// Columns of the bar.
const BAR_COLUMNS: usize = 12;

/// The line on a terminal: 80 columns at most. The name of a part takes the room of the bar.
pub(super) fn bar_text(name: &str, is_part: bool, outlook: &Outlook) -> String {
    let Some(share) = outlook.share() else {
        let columns = NAME_COLUMNS + 1 + BAR_COLUMNS;
        return format!(
            "{:<columns$} {}{}",
            shortened(name, columns),
            display_bytes(outlook.done),
            times(outlook)
        );
    };
    let percent = (share * 100.0) as u32;
    if is_part {
        let columns = NAME_COLUMNS + 1 + BAR_COLUMNS;
        let name = shortened(name, columns);
        return format!("{name:<columns$} {percent:>3}%{}", times(outlook));
    }
    let full = "#".repeat((share * BAR_COLUMNS as f64) as usize);
    format!(
        "{:<NAME_COLUMNS$} {full:.<BAR_COLUMNS$} {percent:>3}%{}",
        shortened(name, NAME_COLUMNS),
        times(outlook)
    )
}

/// The line where there is no terminal.
pub(super) fn plain_text(name: &str, outlook: &Outlook) -> String {
    let far = match (outlook.share(), outlook.total) {
        (Some(share), Some(total)) => {
            format!("{}% of {}", (share * 100.0) as u32, display_bytes(total))
        }
        _ => display_bytes(outlook.done).to_string(),
    };
    format!("{name}: {far}{}", times(outlook))
}

/// Rate and times left, as far as they are known.
fn times(outlook: &Outlook) -> String {
    let rate = outlook.rate;
    let parts = [
        rate.map(|rate| format!(", {}/s", display_bytes(rate as u64))),
        outlook
            .phase_left
            .map(|left| format!(", {} left", display_duration(left))),
        outlook
            .run_left
            .map(|left| format!(", run {}", display_duration(left))),
    ];
    parts.into_iter().flatten().collect()
}

/// At most `columns` characters of a name, without control characters: its beginning, which says what is done, and
/// its end, which tells files apart.
fn shortened(name: &str, columns: usize) -> String {
    let name = escaped(name);
    let length = name.chars().count();
    if length <= columns {
        return name;
    }
    let head = columns / 2 - 1;
    let tail = columns - head - 2;
    let start: String = name.chars().take(head).collect();
    let end: String = name.chars().skip(length - tail).collect();
    format!("{start}..{end}")
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
        let text = bar_text(&name, false, &HALF);
        assert_eq!(
            text,
            "filter /a/v..to/file.txt ######......  50%, 99.9 MiB/s, 99 min left, run 99 min"
        );
        assert!(text.len() <= 80, "{}", text.len());
        let part = bar_text(&format!("exact, 32 MiB: {name}"), true, &HALF);
        assert!(part.len() <= 80, "{part}");
        assert!(part.starts_with("exact, 32 MiB: fi"), "{part}");
        let unknown = Outlook {
            total: None,
            phase_left: None,
            run_left: None,
            ..HALF
        };
        let unknown = bar_text("spill -", false, &unknown);
        assert!(unknown.ends_with(" 512 MiB, 99.9 MiB/s"), "{unknown}");
    }

    #[test]
    fn plain_lines_say_how_far_of_what() {
        assert_eq!(
            plain_text("filter a", &HALF),
            "filter a: 50% of 1 GiB, 99.9 MiB/s, 99 min left, run 99 min"
        );
        let nothing = Outlook {
            total: Some(0),
            ..Outlook::default()
        };
        assert_eq!(plain_text("filter a", &nothing), "filter a: 100% of 0 B");
    }

    #[test]
    fn names_are_escaped_before_they_are_shortened() {
        assert_eq!(shortened("spill a\n\x1b[2J", 24), "spill a\\n\\u{1b}[2J");
        assert_eq!(shortened(&"\x1b".repeat(30), 24).chars().count(), 24);
        assert_eq!(
            shortened("spill täglich-größer-als-erwartet", 20),
            "spill täg..-erwartet"
        );
    }
}
