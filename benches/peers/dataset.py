"""Jobs on a data set of many files, run by turns: what the measurements of documents and rows share."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import measure
from measure import Outcome, Step


def parse(parser: argparse.ArgumentParser, memory: str = "256M,8G") -> argparse.Namespace:
    """Reads the arguments, of which these are the same for every data set."""
    parser.add_argument("--dir", type=Path, required=True, help="where data and results lie")
    parser.add_argument("--outset", default="target/release/outset")
    parser.add_argument("--memory", default=memory, help="limits of outset")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=600.0)
    options = parser.parse_args()
    (options.dir / "temp").mkdir(parents=True, exist_ok=True)
    return options


def outset(
    options: argparse.Namespace,
    operation: str,
    key: Sequence[str],
    files: Sequence[object],
    out: Path,
) -> dict[str, Step]:
    """Says how outset runs an operation on the files by a key, with each of the limits."""
    command = [options.outset, operation, *key, "-j", options.threads, "-q"]
    command += ["-o", out, "--stats", options.dir / "report", *files]
    limits = options.memory.split(",")
    return {f"outset {memory}": Step([*command, "--memory", memory]) for memory in limits}


def by_turns(
    options: argparse.Namespace,
    jobs: dict[str, Step],
    files: list[Path],
    out: Path,
    fault_of: Callable[[Path], str | None],
) -> None:
    """Runs the jobs, which write to `out`, one after the other, and again, and prints a table."""
    temp, errors, report = (options.dir / name for name in ("temp", "errors", "report"))
    outcomes: dict[str, list[Outcome]] = {}
    for _ in range(options.runs):
        for name, step in jobs.items():
            out.unlink(missing_ok=True)
            report.unlink(missing_ok=True)
            measure.warm(files)
            outcome = measure.run([[step]], temp, errors, report, options.timeout)
            if outcome.is_ok:
                outcome.status = fault_of(out) or outcome.status
            outcomes.setdefault(name, []).append(outcome)
    out.unlink(missing_ok=True)
    tell(outcomes)


def tell(outcomes: dict[str, list[Outcome]]) -> None:
    """Prints a table: medians, from the fastest to the slowest run, and ratios to the first job."""
    print("| job | seconds | range | x first | peak | temp | answer |")
    print("|---|---|---|---|---|---|---|")
    first = None
    for name, of_job in outcomes.items():
        seconds = sorted(outcome.seconds for outcome in of_job)
        median = statistics.median(seconds)
        first = first or median
        peak = max(outcome.peak_bytes for outcome in of_job) >> 20
        answer = " ".join(sorted({outcome.status for outcome in of_job}))
        times = f"{median:.2f} | {seconds[0]:.2f} to {seconds[-1]:.2f} | {median / first:.2f}"
        temp = max(outcome.temp_bytes for outcome in of_job) >> 20
        print(f"| {name} | {times} | {peak} MiB | {temp} MiB | {answer} |")
