#!/usr/bin/env python3
"""How outset scales with threads: what is counted here, and a model of machines with more cores than this one.

    scaling.py count A B      runs each strategy with 1, 2, 4 and 8 threads under perf, and counts waits
    scaling.py model          simulates threads that go through locks, for 1 to 64 cores

Counted are calls of futex(2): a thread makes one when it finds a lock, a queue or a pool of blocks taken for longer than
it spins, or when it wakes another one that has. Compared with the locks that are taken they say how often threads wait for one another.

The model has one core for each thread. A thread works on a batch, then takes each lock of a structure once, in the same order as all
others, as `FilterBuilder`, `ShardedSet` and `BucketWriter` do. A lock that is taken is waited for: up to SPIN
microseconds awake, beyond that asleep, which costs WAKE more. It knows nothing of memory bandwidth and of disks, which
limit a run before the locks do.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Lines of a batch: each lock is taken once for all of them.
BATCH = 2048
#: Microseconds that a thread spins, and what sleeping costs it beyond the waiting.
SPIN, WAKE = 1.0, 5.0
STRATEGIES = {"partition": "64M", "sieve": "64M", "bloom": "32M", "memory": "4G"}


@dataclass(frozen=True)
class Structure:
    """What threads share. Times are estimates: 85 ns for a line, of which a profile shows a third under these locks."""

    name: str
    #: Locks that a batch takes.
    locks: int
    #: Microseconds of a batch outside of the locks.
    work: float
    #: Microseconds under each lock.
    hold: float


STRUCTURES = [
    Structure("filter, 64 regions", 64, 113, 0.95),
    Structure("set, 64 shards", 64, 100, 1.0),
    Structure("87 buckets", 87, 130, 0.5),
    Structure("1000 buckets", 1000, 130, 0.06),
]


def simulate(structure: Structure, threads: int, batches: int = 150) -> tuple[float, float]:
    """Batches a microsecond, and the share of locks that were found taken."""
    chance = random.Random(1)
    free_at = [0.0] * structure.locks
    # Each thread: when it goes on, its number, the lock that it takes next, and batches done.
    ready = [(chance.random() * structure.work, number, 0, 0) for number in range(threads)]
    heapq.heapify(ready)
    contended = taken = 0
    end = 0.0
    while ready:
        now, number, lock, done = heapq.heappop(ready)
        if lock == structure.locks:
            end = max(end, now)
            if done + 1 < batches:
                heapq.heappush(ready, (now + structure.work * chance.uniform(0.9, 1.1), number, 0, done + 1))
            continue
        taken += 1
        held = structure.hold * chance.uniform(0.7, 1.3)
        waits = free_at[lock] - now
        contended += waits > 0
        asleep = WAKE if waits > SPIN else 0.0
        # While a thread wakes up, others may have the lock: only its own time is lost.
        free_at[lock] = max(now, free_at[lock]) + held
        heapq.heappush(ready, (free_at[lock] + asleep, number, lock + 1, done))
    return threads * batches / end, contended / taken


def model() -> None:
    print("| structure | threads | times one thread | locks found taken |\n|---|---|---|---|")
    for structure in STRUCTURES:
        alone, _ = simulate(structure, 1)
        for threads in (2, 4, 8, 16, 64):
            speed, contended = simulate(structure, threads)
            print(f"| {structure.name} | {threads} | {speed / alone:.1f} | {contended:.1%} |", flush=True)


def count(options: argparse.Namespace) -> None:
    print("| strategy | threads | processor seconds | seconds | futex calls | for each batch |\n|---|---|---|---|---|---|")
    for strategy, memory in STRATEGIES.items():
        for threads in (1, 2, 4, 8):
            with tempfile.TemporaryDirectory() as place:
                stats, counts = f"{place}/stats", f"{place}/counts"
                perf = ["perf", "stat", "-x,", "-o", counts, "-e", "syscalls:sys_enter_futex,task-clock"]
                run = [options.outset, "intersect", *options.files, "--strategy", strategy, "-m", memory, "-j", str(threads)]
                subprocess.run([*perf, *run, "-q", "-o", f"{place}/out", "--stats", stats], check=True)
                report = json.loads(Path(stats).read_text())
                found = [line.split(",") for line in Path(counts).read_text().splitlines() if line.count(",") > 3]
            counted = {fields[2]: float(fields[0]) for fields in found}
            batches = sum(phase["lines"] for phase in report["phases"]) / BATCH
            calls = counted["syscalls:sys_enter_futex"]
            seconds = counted["task-clock"] / 1000
            print(f"| {strategy} {memory} | {threads} | {seconds:.2f} | {report['seconds']:.2f} | {calls:,.0f} | {calls / batches:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("model")
    counting = commands.add_parser("count")
    counting.add_argument("files", nargs=2)
    counting.add_argument("--outset", default=str(ROOT / "target" / "release" / "outset"))
    options = parser.parse_args()
    model() if options.command == "model" else count(options)


if __name__ == "__main__":
    main()
