//! Rates of the literature, of a simulation, and at silly sizes.

use super::*;

fn close(value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value - expected).abs() <= tolerance * expected,
        "{value} instead of {expected}"
    );
}

/// Numbers that only look random, the same in every run (Steele, Lea, Flood: SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Returns the mean and the standard error of (ones / 512)^k over `blocks` blocks, into which `blocks` * 512 / `bits`
/// keys were thrown. A question's bits are independent, so the power is its chance given the block.
fn simulate(bits: f64, hashes: u32, blocks: usize) -> (f64, f64) {
    let mut filter = vec![[0u64; 8]; blocks];
    let mut numbers = Numbers(u64::from(hashes));
    for _ in 0..(blocks as f64 * 512.0 / bits) as u64 {
        let block = &mut filter[numbers.next() as usize % blocks];
        for _ in 0..hashes {
            let bit = (numbers.next() >> 55) as usize;
            block[bit / 64] |= 1 << (bit % 64);
        }
    }
    let rate = |block: &[u64; 8]| {
        let ones: u32 = block.iter().map(|word| word.count_ones()).sum();
        (f64::from(ones) / 512.0).powi(hashes as i32)
    };
    let mean = filter.iter().map(rate).sum::<f64>() / blocks as f64;
    let deviations = filter.iter().map(|block| (rate(block) - mean).powi(2));
    let variance = deviations.sum::<f64>() / blocks as f64;
    (mean, (variance / blocks as f64).sqrt())
}

#[test]
fn blocked_rates_are_those_of_a_simulation() {
    for (bits, hashes) in [(5.0, 3), (6.87, 5), (9.6, 6), (14.4, 9), (20.0, 11)] {
        let (rate, error) = simulate(bits, hashes, 1 << 14);
        let predicted = blocked_fpr(bits, hashes);
        assert!(
            (predicted - rate).abs() < 4.0 * error,
            "{bits} bits, k = {hashes}: {predicted}, simulated {rate} +- {error}"
        );
    }
}

#[test]
#[ignore = "slow: a million blocks, to see by how much the prediction is off"]
fn blocked_rates_are_those_of_a_long_simulation() {
    for (bits, hashes) in [(5.0, 3), (6.87, 5), (9.6, 6), (14.4, 9), (20.0, 11)] {
        let (rate, error) = simulate(bits, hashes, 1 << 20);
        let off = blocked_fpr(bits, hashes) / rate - 1.0;
        println!(
            "{bits} bits, k = {hashes}: off by {off:+.5}, error {:.5}",
            error / rate
        );
        assert!(off.abs() < 0.003, "{bits} bits, k = {hashes}: off by {off}");
    }
}

/// Computes the rate by another way: the occupancy of a block after each bit, whole, and its mean over the Poisson
/// distributed keys.
fn by_occupancy(bits: f64, hashes: u32) -> f64 {
    let mean = 512.0 / bits;
    let mut occupied = vec![0.0; 513];
    occupied[0] = 1.0;
    let (mut weight, mut rate) = ((-mean).exp(), 0.0);
    for keys in 1..(mean + 14.0 * mean.sqrt() + 40.0) as u32 {
        weight *= mean / f64::from(keys);
        for _ in 0..hashes {
            for ones in (1..=512).rev() {
                let (stay, from) = (ones as f64 / 512.0, (513 - ones) as f64 / 512.0);
                occupied[ones] = stay * occupied[ones] + from * occupied[ones - 1];
            }
            occupied[0] = 0.0;
        }
        let powers = (0..=512).map(|ones| (f64::from(ones) / 512.0).powi(hashes as i32));
        let of_block: f64 = occupied.iter().zip(powers).map(|(p, rate)| p * rate).sum();
        rate += weight * of_block;
    }
    rate
}

#[test]
fn blocked_rates_are_exact_in_both_sums_and_where_they_meet() {
    for bits in [3.0, 5.0, 9.6, 20.0, 28.0, 40.0, 120.0] {
        for hashes in [1, 3, 8, 14] {
            close(blocked_fpr(bits, hashes), by_occupancy(bits, hashes), 1e-7);
        }
    }
}

#[test]
fn blocked_rates_and_best_hashes_at_the_usual_sizes() {
    // Rates in per cent by bits per key and best k, computed apart from this crate.
    for (bits, hashes, percent) in [
        (5.0, 3, 9.3062),
        (6.87, 5, 3.8954),
        (8.0, 5, 2.3263),
        (9.6, 6, 1.1436),
        (12.0, 8, 0.413_49),
        (14.4, 9, 0.156_10),
        (16.0, 9, 0.084_391),
        (20.0, 11, 0.019_783),
    ] {
        close(blocked_fpr(bits, hashes) * 100.0, percent, 1e-4);
        assert_eq!(best_blocked(bits).0, hashes, "best k at {bits} bits");
    }
}

#[test]
fn bits_for_a_blocked_rate_are_just_enough() {
    for fpr in [0.5, 0.1, 0.01, 1e-4, 1e-8] {
        let bits = blocked_bits_per_key(fpr, None);
        assert!(best_blocked(bits).1 <= fpr && best_blocked(bits * 0.9999).1 > fpr);
        let bits = blocked_bits_per_key(fpr, Some(4));
        assert!(blocked_fpr(bits, 4) <= fpr && blocked_fpr(bits * 0.9999, 4) > fpr);
    }
    // More than the flat filter's 9.585, by the price of the blocks.
    close(blocked_bits_per_key(0.01, None), 9.92, 0.01);
    assert_eq!(
        blocked_bits_per_key(0.0, None).to_bits(),
        MOST_BLOCKED_BITS_PER_KEY.to_bits()
    );
}

#[test]
fn flat_figures_of_the_textbooks() {
    close(flat_bits(1_000_000, 0.0001), 19_170_116.75, 1e-9);
    close(flat_bits(5_000_000_000, 0.01) / 8e9, 5.99, 1e-3);
    close(flat_fpr(8.0, 6), 0.0216, 2e-3);
    close(flat_fpr(8.0, 5), 0.0217, 2e-3);
    close(flat_fpr(20.0, 10), 0.000_088_9, 1e-3);
    close(flat_hashes_exact(flat_bits(1, 0.0001)), 13.29, 1e-3);
    // The rate with the best k, whole or not, is 0.6185^b.
    let best = (1.0 - (-std::f64::consts::LN_2).exp()).powf(flat_hashes_exact(10.0));
    close(best, 0.6185_f64.powi(10), 1e-3);
    for (bits, hashes) in [
        (1.0, 1),
        (5.0, 3),
        (6.87, 5),
        (8.0, 6),
        (9.585, 7),
        (19.17, 13),
    ] {
        assert_eq!(best_flat_hashes(bits, 64), hashes, "{bits} bits");
        close(
            flat_bits_per_key(flat_fpr(bits, hashes), hashes),
            bits,
            1e-9,
        );
    }
    assert_eq!(best_flat_hashes(200.0, 64), 64);
    assert_eq!(hash_table_bytes(50_000_000_000), 600_000_000_000);
}

#[test]
fn counters_and_digests_have_the_chances_of_their_papers() {
    close(counter_overflow(std::f64::consts::LN_2), 1.37e-15, 3e-3);
    let by_hand = (std::f64::consts::E * 4.0 / (16.0 * 8.0)).powi(16) * 8e6;
    close(counting_overflow(8_000_000, 1_000_000, 4), by_hand, 1e-9);
    close(collision_chance(2), 2f64.powi(-128), 1e-12);
    close(
        collision_chance(5_000_000_000),
        12.5e18 / 2f64.powi(128),
        1e-9,
    );
    close(fingerprint_fpr(1 << 33), 2f64.powi(-95), 1e-12);
    for keys in [0, 1, 2, 3, 4, 5, 1_000_000, 5_000_000_001, u64::MAX / 5 * 4] {
        let slots = fingerprint_slots(keys);
        assert!(
            fingerprint_capacity(slots) >= keys,
            "{keys} keys in {slots} slots"
        );
        assert!(
            slots == 0 || fingerprint_capacity(slots - 1) < keys,
            "{keys} keys in {slots} slots"
        );
    }
}

#[test]
fn rates_stay_rates_at_silly_sizes() {
    let silly = [
        0.0,
        -1.0,
        f64::MIN_POSITIVE,
        1e-310,
        1e-9,
        0.001,
        0.1,
        1.0,
        100.0,
        1e6,
        1e12,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
    ];
    for number in silly {
        for hashes in [0, 1, 2, 7, 13, 14, 15, 64, u32::MAX] {
            for rate in [blocked_fpr(number, hashes), flat_fpr(number, hashes)] {
                assert!(
                    (0.0..=1.0).contains(&rate),
                    "{number} bits, {hashes} hashes: {rate}"
                );
            }
            assert!(!blocked_bits_per_key(number, Some(hashes)).is_nan());
        }
        assert!((1..=14).contains(&best_flat_hashes(number, 14)), "{number}");
        assert!((1..=14).contains(&best_blocked(number).0), "{number}");
    }
    for keys in [0, 1, u64::MAX] {
        assert!((0.0..=1.0).contains(&collision_chance(keys)));
        assert!((0.0..=1.0).contains(&counting_overflow(keys, u64::MAX, u32::MAX)));
    }
    assert!(blocked_fpr(0.001, 1) > 0.99 && best_blocked(1000.0).1 < 1e-9);
}

#[test]
fn what_is_no_size_gives_a_filter_that_knows_nothing() {
    for bits in [0.0, -1e-9, -5.0, -700.0, f64::NEG_INFINITY, f64::NAN] {
        assert_eq!(best_blocked(bits), (1, 1.0));
        for hashes in 0..20 {
            assert!(blocked_fpr(bits, hashes) >= 1.0);
        }
    }
}
