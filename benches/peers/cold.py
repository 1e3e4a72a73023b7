"""Intersects two files, cold and warm, beside what the disk does by itself.

Needs root, for it empties the page cache of the machine, and files of `data-gen`. Before each cold run
both files are read around the cache, in three ways; the best of these rates is the disk's. The share is the
bytes that a cold run moved per second, as the kernel counts them, divided by that rate.
"""

from __future__ import annotations

import argparse
import mmap
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import measure
from measure import Outcome, Step

JOBS = {
    "24M": ["-m", "24M"],
    "64M": ["-m", "64M"],
    "32M, bloom": ["-m", "32M", "--strategy", "bloom"],
}
# Threads that read at the same time, and bytes of a read.
WAYS = [(1, 4 << 20), (2, 1 << 20), (4, 512 << 10)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs=2)
    parser.add_argument("--dir", type=Path, required=True, help="where results lie")
    parser.add_argument("--outset", default="target/release/outset")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    options.dir.mkdir(parents=True, exist_ok=True)
    rates: list[float] = []
    runs: dict[str, list[tuple[Outcome, Outcome, float]]] = {name: [] for name in JOBS}
    for _ in range(options.runs):
        for name, words in JOBS.items():
            rate = max(disk_rate(options.files, *way) for way in WAYS)
            measure.make_cold(options.files, "drop")
            cold = run(options, words)
            measure.warm(options.files)
            warm = run(options, words)
            rates.append(rate)
            runs[name].append((cold, warm, cold.moved_bytes / cold.seconds / rate))
    print(f"The disk by itself: {told(rate / 1e9 for rate in rates)} GB/s\n")
    print("| job | cold | warm | processor, cold and warm | moved | share of the disk's rate | peak |")
    print("|---|---|---|---|---|---|---|")
    for name, found in runs.items():
        cold, warm, shares = zip(*found, strict=True)
        processor = [statistics.median(one.processor_seconds for one in side) for side in (cold, warm)]
        times = f"{told(one.seconds for one in cold)} | {told(one.seconds for one in warm)}"
        moved = statistics.median(one.moved_bytes for one in cold) / 1e9
        peak = max(one.peak_bytes for one in (*cold, *warm)) >> 20
        row = f"{times} | {processor[0]:.2f}, {processor[1]:.2f} | {moved:.2f} GB | {told(shares)}"
        print(f"| {name} | {row} | {peak} MiB |")


def told(values: Iterable[float]) -> str:
    """Says the median, and the least and the most."""
    ordered = sorted(values)
    return f"{statistics.median(ordered):.2f} ({ordered[0]:.2f} to {ordered[-1]:.2f})"


def run(options: argparse.Namespace, words: Sequence[str]) -> Outcome:
    """Runs outset once, and checks its answer."""
    out, errors, report = (options.dir / name for name in ("out", "errors", "report"))
    step = Step([options.outset, "intersect", *options.files, *words, "-q", "-o", out])
    outcome = measure.run([[step]], options.dir, errors, report, timeout=600.0)
    if not outcome.is_ok:
        sys.exit(f"{outcome.status}: {outcome.detail}")
    check(options.files[0].parent / "manifest.json", out, "bloom" in words)
    out.unlink()
    return outcome


def check(manifest: Path, out: Path, is_approximate: bool) -> None:
    """Ends the program if the answer is wrong."""
    program = measure.STOPWATCH.parents[2] / "target" / "release" / "data-gen"
    words = [program, "check", "--manifest", manifest, "--result", out]
    words += ["--superset"] if is_approximate else []
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def disk_rate(files: Sequence[Path], threads: int, size: int) -> float:
    """Reads the files around the cache, and returns the bytes of a second."""
    measure.make_cold(files, "drop")
    read_bytes: list[int] = []
    start = time.monotonic()
    for path in files:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
        offsets, lock = iter(range(0, path.stat().st_size, size)), threading.Lock()

        def read(fd: int = fd, offsets: Iterator[int] = offsets, lock: threading.Lock = lock) -> None:
            with mmap.mmap(-1, size) as buffer:
                while True:
                    with lock:
                        offset = next(offsets, None)
                    if offset is None:
                        return
                    read_bytes.append(os.preadv(fd, [buffer], offset))

        team = [threading.Thread(target=read) for _ in range(threads)]
        for thread in team:
            thread.start()
        for thread in team:
            thread.join()
        os.close(fd)
    seconds = time.monotonic() - start
    if sum(read_bytes) != sum(path.stat().st_size for path in files):
        sys.exit("the files could not be read around the page cache")
    return sum(read_bytes) / seconds


if __name__ == "__main__":
    main()
