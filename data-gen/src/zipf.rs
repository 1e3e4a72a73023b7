//! Ranks by Zipf's law in constant memory.
//!
//! *Owns:* the sampling of `P(rank) ~ 1 / rank^s` over any number of ranks. *Invariant:* a rank is a
//! pure function of the stream. The logarithms are the platform's, so two kinds of machine may draw
//! other repeats; which lines there are, and are common, does not depend on them.
//! *Cost:* 40 to 80 ns a rank; no tables.
//!
//! *Sources:* rejection-inversion: Hörmann and Derflinger, "Rejection-inversion to generate variates
//! from monotone discrete distributions", ACM TOMACS 6(3), 1996.

use crate::seed::Stream;

/// Zipf's law with one exponent over `1..=ranks`.
#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    ranks: f64,
    exponent: f64,
    integral_of_first: f64,
    integral_of_last: f64,
    always: f64,
}

impl Zipf {
    /// The law with `exponent` (above 0) over `ranks` ranks, at least 1.
    pub(crate) fn new(exponent: f64, ranks: u64) -> Self {
        let mut law = Self {
            ranks: ranks as f64,
            exponent,
            integral_of_first: 0.0,
            integral_of_last: 0.0,
            always: 0.0,
        };
        law.integral_of_first = law.integral(1.5) - 1.0;
        law.integral_of_last = law.integral(law.ranks + 0.5);
        law.always = 2.0 - law.integral_inverse(law.integral(2.5) - law.weight(2.0));
        law
    }

    /// The next rank, from 0: the most frequent is 0.
    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        loop {
            let span = self.integral_of_first - self.integral_of_last;
            let area = self.integral_of_last + stream.unit() * span;
            let point = self.integral_inverse(area);
            let rank = point.round().clamp(1.0, self.ranks);
            if rank - point <= self.always || area >= self.integral(rank + 0.5) - self.weight(rank)
            {
                return rank as u64 - 1;
            }
        }
    }

    fn weight(&self, rank: f64) -> f64 {
        (-self.exponent * rank.ln()).exp()
    }

    /// An integral of the weight; written so that it holds for the exponent 1 too.
    fn integral(&self, point: f64) -> f64 {
        let log = point.ln();
        let scaled = (1.0 - self.exponent) * log;
        let ratio = if scaled.abs() > 1e-8 {
            scaled.exp_m1() / scaled
        } else {
            1.0 + scaled / 2.0
        };
        ratio * log
    }

    fn integral_inverse(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        let ratio = if scaled.abs() > 1e-8 {
            scaled.ln_1p() / scaled
        } else {
            1.0 - scaled / 2.0
        };
        (ratio * area).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_as_frequent_as_the_law_says() {
        for exponent in [0.5, 1.0, 1.5] {
            let law = Zipf::new(exponent, 1000);
            let mut stream = Stream::new(8);
            let mut counts = [0u32; 1000];
            let draws = 200_000;
            for _ in 0..draws {
                counts[law.draw(&mut stream) as usize] += 1;
            }
            let total: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-exponent)).sum();
            for rank in [1, 2, 3, 10] {
                let expected = f64::from(draws) * f64::from(rank).powf(-exponent) / total;
                let counted = f64::from(counts[rank as usize - 1]);
                let deviation = (counted - expected).abs() / expected.sqrt();
                assert!(
                    deviation < 5.0,
                    "rank {rank}, exponent {exponent}: {counted} for {expected}"
                );
            }
        }
    }

    #[test]
    fn one_rank_is_always_drawn() {
        let law = Zipf::new(1.0, 1);
        assert_eq!(law.draw(&mut Stream::new(1)), 0);
    }
}
