#!/usr/bin/env python3
"""outset and its peers on the same files in the same run: times, memory, and their ratios.

    python3 run.py --dir /big/disk --lines 20M --venv /path/to/venv

Owns the options and the order of the runs: for each workload a trial of every peer's forms, then
round after round of all peers, so that a slow hour of the machine falls on all of them. Every
answer is checked. A peer that fails stays in the table with the reason, and has no further rounds
there. Exit status 1 if outset failed, gave a wrong answer or went above its limit.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True  # No __pycache__ beside the sources.

import measure
import report
import workload
from measure import Outcome, Stages
from peers import Form, Job, Limits, Peer, baseline, find_tools, table
from report import Log, Row

# A form that is so much slower than another of its peer is given up: some joins take quadratic
# time where one line is frequent. A command that takes less than TRIAL_SECONDS is never given up.
TRIAL_FACTOR, TRIAL_SECONDS = 5.0, 10.0
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class Bench:
    """What all runs share."""

    options: argparse.Namespace
    log: Log
    generator: Path
    place: Path

    def measure(
        self, peer: Peer | None, form: Form, data: workload.Data, timeout: float
    ) -> tuple[Outcome, Stages]:
        """One run in an empty folder, and the check of its answer. No peer: a baseline."""
        temp = self.place / "temp"
        shutil.rmtree(self.place, ignore_errors=True)
        temp.mkdir(parents=True)
        # DataFusion makes one file, not a directory of them, if the name ends so.
        result, own_report = self.place / "result.csv", self.place / "report.json"
        job = Job(*data.files, result, temp, own_report, self.options.threads)
        stages = form(job)
        errors = self.place / "errors.txt"
        outcome = measure.run(stages, temp, errors, own_report, timeout)
        if peer and outcome.is_ok:
            self._check(peer, outcome, data, result)
        return outcome, stages

    def _check(self, peer: Peer, outcome: Outcome, data: workload.Data, result: Path) -> None:
        is_right, extra, said = workload.check(
            self.generator, data, result, is_superset=peer.is_superset
        )
        outcome.false_lines = extra
        if not is_right:
            outcome.status, outcome.detail = "wrong answer", said
        elif peer.is_strict and outcome.peak_bytes > (peer.limit or 0):
            outcome.status = "above its limit"
            outcome.detail = f"peak {outcome.peak_bytes} bytes"

    def prepare(self, data: workload.Data, *, is_cold: bool) -> str:
        """Brings the page cache into the state to be measured; says how."""
        if is_cold:
            return measure.make_cold(data.files, self.options.cold_by)
        return measure.warm(data.files)


@dataclass(frozen=True)
class Choice:
    """A peer, and the form in which it runs on this workload."""

    peer: Peer
    form: str
    # Set if no form gave the right answer: then there is nothing to measure.
    failure: Outcome | None = None

    def row(self) -> Row:
        row = Row.of(self.peer, self.form)
        row.outcomes += [self.failure] if self.failure else []
        return row


def main() -> int:
    options = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # Ended by the way of all exceptions.
    options.dir.mkdir(parents=True, exist_ok=True)
    limits = Limits(options.memory, options.bloom_memory, options.engine_memory, options.ample)
    tools = find_tools(options.bin_dir, options.venv, options.zet)
    peers = select(table(tools, limits), options.only, options.skip)
    facts = report.machine(options.dir, tools["outset"].place)
    print(", ".join(f"{name} {value}" for name, value in facts.items() if value), end="\n\n")
    with (options.json or options.dir / "peers.jsonl").open("a") as file:
        log = Log(file)
        options_shown = {name: str(value) for name, value in vars(options).items()}
        log.write("machine", **facts, options=options_shown)
        for peer in peers:
            if not peer.is_installed:
                log.write("absent", peer=peer.name, get=peer.tool.get)
        bench = Bench(options, log, options.bin_dir / "data-gen", options.dir / "run")
        try:
            return 0 if all([compare(bench, peers, name) for name in options.workload]) else 1
        finally:
            shutil.rmtree(bench.place, ignore_errors=True)


def compare(bench: Bench, peers: Sequence[Peer], name: str) -> bool:
    """One workload, in each state of the page cache; whether outset did what it promises."""
    data = workload.make(bench.generator, bench.options.dir / "data", name, bench.options.lines)
    absent = [peer for peer in peers if not peer.is_installed]
    chosen = [choose(bench, peer, data, name) for peer in peers if peer.is_installed]
    is_kept = True
    for is_cold in bench.options.states:
        state = "cold" if is_cold else "warm"
        base, rows, how = rounds(bench, chosen, data, name, is_cold=is_cold)
        is_kept &= not any(row.has_failed for row in rows if row.against is None)
        title = f"{name}, {bench.options.lines} lines a side, {data.bytes / 1e9:.2f} GB, {state}"
        print(f"### {title} ({how})\n")
        print(report.markdown(base, rows, absent), end="\n\n", flush=True)
    return is_kept


def rounds(
    bench: Bench, chosen: Sequence[Choice], data: workload.Data, name: str, *, is_cold: bool
) -> tuple[Row, list[Row], str]:
    """All rounds in one state of the page cache: the baseline, the peers, how it was prepared."""
    base_name, base_form = baseline(is_cold)
    base = Row(base_name)
    rows = [choice.row() for choice in chosen]
    timeout = bench.options.timeout
    for turn in range(bench.options.runs):
        how = bench.prepare(data, is_cold=is_cold)
        about = {"workload": name, "state": how, "turn": turn}
        outcome, stages = bench.measure(None, base_form, data, timeout)
        base.outcomes.append(outcome)
        bench.log.run("baseline", base, outcome, stages, **about)
        for choice, row in zip(chosen, rows, strict=True):
            if row.has_failed:
                continue
            tell(f"{name}, {'cold' if is_cold else 'warm'}, round {turn + 1}: {row.name}")
            bench.prepare(data, is_cold=is_cold)
            form = choice.peer.forms[row.form]
            outcome, stages = bench.measure(choice.peer, form, data, timeout)
            row.outcomes.append(outcome)
            bench.log.run("run", row, outcome, stages, **about)
    return base, rows, how


def choose(bench: Bench, peer: Peer, data: workload.Data, name: str) -> Choice:
    """The form of a peer that is fastest here; if all of them fail, the first, and its failure."""
    first = next(iter(peer.forms))
    if len(peer.forms) == 1 or not bench.options.choose:
        return Choice(peer, first)
    tried: dict[str, Outcome] = {}
    for form, build in peer.forms.items():
        tell(f"{name}, choosing: {peer.name} by {form}")
        bench.prepare(data, is_cold=False)
        fastest = min((o.seconds for o in tried.values() if o.is_ok), default=math.inf)
        timeout = min(bench.options.timeout, max(TRIAL_SECONDS, TRIAL_FACTOR * fastest))
        tried[form], stages = bench.measure(peer, build, data, timeout)
        bench.log.run("choice", Row.of(peer, form), tried[form], stages, workload=name)
    right = [form for form in tried if tried[form].is_ok]
    if not right:
        return Choice(peer, first, tried[first])
    return Choice(peer, min(right, key=lambda form: tried[form].seconds))


def select(peers: Sequence[Peer], only: Sequence[str], skip: Sequence[str]) -> list[Peer]:
    """The rows that were asked for. The rows of outset they are compared with always come too."""
    names = {peer.name for peer in peers}
    for name in (*only, *skip):
        if name not in names:
            raise SystemExit(f"run.py: no peer is called {name}; there are {', '.join(names)}")
    wanted = {peer.name for peer in peers if not only or peer.name in only} - set(skip)
    wanted |= {peer.against for peer in peers if peer.name in wanted and peer.against}
    return [peer for peer in peers if peer.name in wanted]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--dir", type=absolute, required=True, help="work folder: data, temporary files, results")
    add("--lines", default="1M", help="lines of each file, as data-gen takes them: 20M")
    add(
        "--workload",
        type=names_of,
        default=["fixed64"],
        help=f"one or more of {','.join(workload.WORKLOADS)}, or overlap-BYTES-COMMON[-REPEATS], "
        "such as overlap-64-30 or overlap-200-100-95; default fixed64",
    )
    add("--memory", type=size, default="64M", help="limit of the exact run; default 64M")
    add("--bloom-memory", type=size, default="32M", help="limit of the approximate one; 32M")
    add("--engine-memory", type=size, default="256M", help="limit of engines that need more; 256M")
    add("--ample", type=size, default="4G", help="more than enough; 4G")
    add("--runs", type=int, default=3, help="rounds, of which the median is shown; default 3")
    cores = len(os.sched_getaffinity(0))
    add("--threads", type=int, default=cores, help=f"threads of each; the processors: {cores}")
    add("--cold", action="store_true", help="only with files out of the page cache")
    add("--warm", action="store_true", help="only with files in the page cache")
    add(
        "--cold-by",
        choices=("auto", "drop", "fadvise"),
        default="auto",
        help="drop empties the page cache of the whole machine (root), fadvise only of the files",
    )
    add("--only", type=names_of, default=[], help="rows to run: duckdb,zet")
    add("--skip", type=names_of, default=[], help="rows not to run")
    add("--no-choose", dest="choose", action="store_false", help="take each peer's first form")
    add("--timeout", type=float, default=900.0, help="seconds that a run may take; 900")
    add("--json", type=absolute, help="append every run here; default DIR/peers.jsonl")
    add("--venv", type=absolute, help="virtual environment with the packages of requirements.txt")
    add("--zet", default="zet", help="the program zet, if it is not in PATH")
    add(
        "--bin-dir",
        type=absolute,
        default=Path(__file__).resolve().parents[2] / "target" / "release",
        help="where outset and data-gen are; default target/release",
    )
    options = parser.parse_args(arguments)
    options.states = [False, True] if options.cold == options.warm else [options.cold]
    for name in options.workload:
        if not workload.exists(name):
            parser.error(f"no workload is called {name}")
    if shutil.which(options.bin_dir / "data-gen") is None:
        parser.error(f"no data-gen in {options.bin_dir}: cargo build --release --workspace")
    return options


def absolute(text: str) -> Path:
    """Engines resolve relative paths each by its own rules. Symbolic links are kept."""
    return Path(text).absolute()


def names_of(text: str) -> list[str]:
    return text.split(",")


def size(text: str) -> int:
    """Bytes: 64M, 4G; powers of 1024, as outset and sort take them."""
    unit = UNITS.get(text[-1:].upper())
    return int(text[:-1]) * unit if unit else int(text)


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
