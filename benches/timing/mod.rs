//! The timing of work that takes little: samples of many calls, of which the median counts.
//!
//! Each line says how long a thing takes, and how many of them go through in a second. Words after `--` choose what
//! runs: a measurement runs if its name contains one of them; `--quick` takes fewer samples.

use std::time::Duration;

/// The time that a sample should take; with `--quick`, and without.
const SAMPLE: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(200)];
/// Samples of each measurement; with `--quick`, and without.
const SAMPLES: [usize; 2] = [3, 11];

/// Measurements that belong together: each of work on as many things.
pub(crate) struct Group {
    name: String,
    things: u64,
}

impl Group {
    /// Begins measurements of work on `things` things, such as lines.
    pub(crate) fn new(name: impl Into<String>, things: u64) -> Self {
        let name = name.into();
        Self { name, things }
    }

    /// Prints what one call of `once` takes, which tells its own time; it is given the number of the call.
    pub(crate) fn measure(&self, name: &str, mut once: impl FnMut(u64) -> Duration) {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let mut wanted = words
            .iter()
            .filter(|word| !word.starts_with('-'))
            .peekable();
        let name = format!("{}, {name}", self.name);
        if wanted.peek().is_some() && !wanted.any(|word| name.contains(word.as_str())) {
            return;
        }
        let length = usize::from(!words.iter().any(|word| word == "--quick"));
        let mut calls = 0..;
        let mut sum = |count: u64| calls.by_ref().take(count as usize).map(&mut once).sum();
        // The first call finds nothing in any cache.
        let mut first: Duration = sum(1);
        first = first.min(sum(1)).max(Duration::from_nanos(1));
        let count = (SAMPLE[length].as_nanos() / first.as_nanos()).clamp(1, 1 << 20) as u64;
        let mut seconds: Vec<f64> = (0..SAMPLES[length])
            .map(|_| sum(count).as_secs_f64() / count as f64)
            .collect();
        seconds.sort_by(f64::total_cmp);
        let (least, median) = (seconds[0], seconds[seconds.len() / 2]);
        let each = |seconds: f64| seconds * 1e9 / self.things as f64;
        println!(
            "{name:<50} {:8.2} ns, at least {:8.2}; {:8.1} million a second",
            each(median),
            each(least),
            1e3 / each(median)
        );
    }
}
