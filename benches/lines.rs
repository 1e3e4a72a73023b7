//! Micro benchmarks of what is done to every line: finding its end, hashing it, asking a filter.
//!
//! `cargo bench --bench lines`. Throughput is per line; the filter is measured in cache and far
//! beyond it.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use outset::LineFormat;
use outset::budget::MemoryBudget;
use outset::filter::BlockedFilter;
use outset::hash::LineHasher;

/// URL-like lines of 64 bytes with their newline, as `data-gen --fixed 64` makes them.
fn lines(count: u64) -> Vec<u8> {
    (0..count)
        .flat_map(|i| {
            let id = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!("https://www.example.com/{:022}/{id:016x}\n", i % 97).into_bytes()
        })
        .collect()
}

fn split_and_hash(criterion: &mut Criterion) {
    let text = lines(16_384);
    let split: Vec<&[u8]> = LineFormat::default().lines(&text).collect();
    let hasher = LineHasher::with_key([1, 2, 3, 4]);
    let mut group = criterion.benchmark_group("lines of 64 bytes");
    group.throughput(Throughput::Elements(split.len() as u64));
    group.bench_function("split", |bencher| {
        bencher.iter(|| {
            LineFormat::default()
                .lines(&text)
                .map(<[u8]>::len)
                .sum::<usize>()
        });
    });
    group.bench_function("hash", |bencher| {
        let mut hashes = Vec::new();
        bencher.iter(|| hasher.hash_batch(&split, &mut hashes));
    });
    group.finish();
}

fn filter(criterion: &mut Criterion) {
    let hasher = LineHasher::with_key([1, 2, 3, 4]);
    let mut group = criterion.benchmark_group("blocked filter");
    for mebibytes in [1u64, 512] {
        let budget = MemoryBudget::new(1 << 30, 0);
        let Ok(mut filter) = BlockedFilter::new(&budget, mebibytes << 20, 5) else {
            return;
        };
        let hashes: Vec<u64> = (0..65_536u64)
            .map(|i| hasher.hash(&i.to_le_bytes()))
            .collect();
        group.throughput(Throughput::Elements(hashes.len() as u64));
        group.bench_function(
            BenchmarkId::new("insert", format!("{mebibytes} MiB")),
            |bencher| {
                let builder = filter.builder();
                bencher.iter(|| {
                    hashes
                        .chunks(2048)
                        .for_each(|batch| builder.insert_batch(batch));
                });
            },
        );
        group.bench_function(
            BenchmarkId::new("ask", format!("{mebibytes} MiB")),
            |bencher| {
                let mut kept = Vec::new();
                bencher.iter(|| filter.keep(&hashes, &mut kept));
            },
        );
    }
    group.finish();
}

criterion_group!(benches, split_and_hash, filter);
criterion_main!(benches);
