//! The points of a sweep.
//!
//! *Owns:* the parsing of `--sweep`. *Invariants:* a sweep has at least one point.

use std::str::FromStr;

use outset::compare::Point;
use outset::size::{Size, parse_rate};
use outset::{Error, Options, machine};

/// A quantity and its values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sweep {
    /// Memory limits.
    Memory(Vec<Size>),
    /// Rates that filters are sized for.
    MaxFpr(Vec<f64>),
}

impl Sweep {
    /// Refuses options that a sweep would put something else in the place of.
    pub(super) fn check(&self, options: &Options) -> Result<(), Error> {
        let clash = match self {
            Self::Memory(_) if options.memory_bytes.is_some() => "--memory",
            Self::MaxFpr(_) if options.max_fpr.is_some() => "--max-fpr",
            Self::MaxFpr(_) if options.bits_per_key.is_some() => "--bits-per-key",
            _ => return Ok(()),
        };
        Err(Error::usage(
            format!("{clash}: cannot be combined with --sweep"),
            format!("leave out {clash}, because --sweep sets it"),
        ))
    }

    /// Returns the points, in the order given.
    pub(super) fn points(&self) -> Vec<Point> {
        match self {
            Self::Memory(sizes) => {
                let base = machine::memory_base_bytes();
                let point = |size: &Size| Point {
                    memory_bytes: Some(size.of(base)),
                    ..Point::default()
                };
                sizes.iter().map(point).collect()
            }
            Self::MaxFpr(rates) => {
                let point = |&fpr: &f64| Point {
                    filter_fpr: Some(fpr),
                    ..Point::default()
                };
                rates.iter().map(point).collect()
            }
        }
    }
}

impl FromStr for Sweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, values) = text.split_once('=').unwrap_or((text, ""));
        match name {
            "memory" => parse_all(values, str::parse::<Size>).map(Self::Memory),
            "max-fpr" => parse_all(values, parse_positive_rate).map(Self::MaxFpr),
            _ => Err("give memory=SIZE,SIZE... or max-fpr=P,P...".to_owned()),
        }
    }
}

fn parse_all<T, E: ToString>(
    values: &str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Vec<T>, String> {
    let each = |value| parse(value).map_err(|error| error.to_string());
    values.split(',').map(each).collect()
}

/// Parses a rate above 0, because no filter has the rate 0.
fn parse_positive_rate(text: &str) -> Result<f64, String> {
    match parse_rate(text) {
        Ok(rate) if rate > 0.0 => Ok(rate),
        Ok(_) => Err("give a rate above 0, such as 1%".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn values_are_parsed_and_nonsense_is_refused() {
        let memory: Sweep = "memory=16M,1G".parse().unwrap();
        let limits: Vec<_> = memory.points().iter().map(|p| p.memory_bytes).collect();
        assert_eq!(limits, [Some(16 << 20), Some(1 << 30)]);
        let rates: Sweep = "max-fpr=5%,0.001".parse().unwrap();
        assert_eq!(rates, Sweep::MaxFpr(vec![0.05, 0.001]));
        for wrong in [
            "memory",
            "memory=",
            "memory=16M,",
            "max-fpr=0",
            "max-fpr=2",
            "speed=1",
        ] {
            assert!(wrong.parse::<Sweep>().is_err(), "{wrong}");
        }
    }
}
