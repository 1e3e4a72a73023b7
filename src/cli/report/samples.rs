//! Samples over time, up to a fixed number of them, and the throughput that follows from them.
//!
//! *Owns:* thinning out, and the division of time into equal parts. *Invariants:* samples are in the
//! order of time; the largest resident size that was sampled stays. *Cost:* 24 bytes a sample.

use std::time::Duration;

use serde::Serialize;

/// The process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct MemorySample {
    /// Seconds after the start.
    pub(crate) seconds: f64,
    /// The resident size, in bytes.
    pub(crate) resident_bytes: u64,
    /// Bytes read so far, from inputs and temporary files.
    pub(crate) bytes_read: u64,
}

/// The speed of reading in a part of the time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Throughput {
    /// Its beginning, in seconds after the start.
    pub(crate) from_seconds: f64,
    /// Its end.
    pub(crate) to_seconds: f64,
    /// Bytes read per second.
    pub(crate) bytes_per_second: f64,
}

/// Samples, thinned out when they are too many.
#[derive(Debug)]
pub(super) struct Samples {
    samples: Vec<MemorySample>,
    interval: Duration,
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            samples: Vec::with_capacity(Self::MOST),
            interval: Self::FIRST_INTERVAL,
        }
    }
}

impl Samples {
    /// The most that are kept: more than a picture has room for.
    pub(super) const MOST: usize = 512;
    const FIRST_INTERVAL: Duration = Duration::from_millis(25);

    /// Returns the time from one sample to the next.
    pub(super) fn interval(&self) -> Duration {
        self.interval
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    pub(super) fn push(&mut self, sample: MemorySample) {
        if self.samples.len() == Self::MOST {
            let larger = |pair: &[MemorySample]| match *pair {
                [first, second] if first.resident_bytes > second.resident_bytes => first,
                [.., last] => last,
                [] => sample,
            };
            self.samples = self.samples.chunks(2).map(larger).collect();
            // By time, not by number: phases that begin and end are sampled too.
            let even = Duration::try_from_secs_f64(sample.seconds * 2.0 / Self::MOST as f64);
            self.interval = self.interval.max(even.unwrap_or_default());
        }
        self.samples.push(sample);
    }

    pub(super) fn into_vec(self) -> Vec<MemorySample> {
        self.samples
    }
}

/// The most parts that time is divided into.
const MOST_PARTS: usize = 60;

/// Bytes read per second in parts of equal length, about two samples each at least: what was read
/// between two samples is spread evenly over the time between them.
pub(super) fn throughput(samples: &[MemorySample]) -> Vec<Throughput> {
    let parts = (samples.len() / 2).min(MOST_PARTS);
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Vec::new();
    };
    let (start, length) = (first.seconds, last.seconds - first.seconds);
    if parts == 0 || length <= 0.0 {
        return Vec::new();
    }
    let at = |part: usize| start + length * part as f64 / parts as f64;
    let part = |number: usize| {
        let (from_seconds, to_seconds) = (at(number), at(number + 1));
        let bytes = read_until(samples, to_seconds) - read_until(samples, from_seconds);
        Throughput {
            from_seconds,
            to_seconds,
            bytes_per_second: bytes.max(0.0) / (to_seconds - from_seconds),
        }
    };
    (0..parts).map(part).collect()
}

/// Bytes read until `seconds`, between samples in proportion.
fn read_until(samples: &[MemorySample], seconds: f64) -> f64 {
    let behind = samples.partition_point(|sample| sample.seconds <= seconds);
    let before = samples.get(behind.saturating_sub(1));
    match (before, samples.get(behind)) {
        (Some(before), Some(after)) if after.seconds > before.seconds => {
            let share = (seconds - before.seconds) / (after.seconds - before.seconds);
            let bytes = after.bytes_read as f64 - before.bytes_read as f64;
            before.bytes_read as f64 + bytes * share.clamp(0.0, 1.0)
        }
        (Some(last), _) => last.bytes_read as f64,
        (None, _) => 0.0,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn sample(seconds: f64, resident_bytes: u64, bytes_read: u64) -> MemorySample {
        MemorySample {
            seconds,
            resident_bytes,
            bytes_read,
        }
    }

    #[test]
    fn however_many_samples_come_few_are_kept_in_order_and_the_peak_among_them() {
        let mut samples = Samples::default();
        for number in 0..100_000u64 {
            let resident = if number == 3_333 { 9_999 } else { number % 100 };
            samples.push(sample(number as f64, resident, number));
            assert!(samples.len() <= Samples::MOST);
        }
        assert!(samples.interval() > Samples::FIRST_INTERVAL * 100);
        let samples = samples.into_vec();
        assert!(samples.len() >= Samples::MOST / 2);
        assert!(samples.is_sorted_by(|a, b| a.seconds < b.seconds));
        assert!(samples.iter().any(|sample| sample.resident_bytes == 9_999));
    }

    #[test]
    fn throughput_adds_up_to_what_was_read() {
        // Uneven samples: a pause, then a burst.
        let samples: Vec<MemorySample> = (0..200u64)
            .map(|n| {
                let seconds = n as f64 * 0.1 + (n % 3) as f64 * 0.02;
                sample(seconds, 1, if n < 100 { 0 } else { (n - 100) * 1000 })
            })
            .collect();
        let parts = throughput(&samples);
        assert_eq!(parts.len(), MOST_PARTS);
        let bytes: f64 = parts
            .iter()
            .map(|part| part.bytes_per_second * (part.to_seconds - part.from_seconds))
            .sum();
        assert!((bytes - 99_000.0).abs() < 1.0, "{bytes}");
        assert!(parts[0].bytes_per_second.abs() < 1e-9);
        assert!((parts.last().unwrap().to_seconds - samples.last().unwrap().seconds).abs() < 1e-9);
        assert_eq!(throughput(&samples[..1]), []);
        assert_eq!(throughput(&[]), []);
    }
}
