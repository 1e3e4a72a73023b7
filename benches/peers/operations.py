#!/usr/bin/env python3
"""The operations of outset beside sort, comm and DuckDB, on the same files in the same run.

    python3 operations.py --dir /big/disk --lines 20M --venv /path/to/venv

Owns the table of commands, their order (round after round of all, so that a slow hour of the
machine falls on all of them), and the ratios of medians. `data-gen check` judges the answers of
the first round. Memory is the largest process of a command, as wait4(2) reports it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARIES = ROOT / "target" / "release"
DUCKDB = "DuckDB"
SORT = "LC_ALL=C sort -S 64M -T {temp}"
# A text column; bytes that stand in no line as delimiter and for NULL.
LINES = (
    "read_csv('{path}', columns = {{'line': 'VARCHAR'}}, auto_detect = false, header = false, "
    "delim = '\\x01', quote = '', escape = '', nullstr = '\\x02', new_line = '\\n', "
    "strict_mode = false)"
)


@dataclass(frozen=True)
class Command:
    """One row: who answers which question, and what the manifest calls that question."""

    question: str
    name: str
    # A shell command; {a}, {b}, {files}, {temp} and {result} are filled in. SQL for DuckDB.
    text: str
    data: str
    check: str = ""
    is_sql: bool = False


def table() -> list[Command]:
    """All rows, outset first in each question."""
    rows: list[Command] = []

    def ask(question: str, data: str, check: str, outset: list[str], peers: dict[str, str]) -> None:
        for words in outset:
            command = f"{{outset}} {words} -q --temp-dir {{temp}} -o {{result}}"
            rows.append(Command(question, f"outset {words}", command, data, check))
        for name, text in peers.items():
            rows.append(Command(question, name, text, data, check, name == DUCKDB))

    both = f"{SORT} -u {{a}} > {{temp}}/x && {SORT} -u {{b}} > {{temp}}/y"
    ask(
        "difference",
        "w",
        "--operation diff",
        ["diff {a} {b} -m 64M"],
        {
            "sort -u, comm -23": f"{both} && LC_ALL=C comm -23 {{temp}}/x {{temp}}/y > {{result}}",
            DUCKDB: "SELECT line FROM {a} EXCEPT SELECT line FROM {b}",
        },
    )
    repeats = ["diff --repeats {a} {b} -m 64M"]
    ask("difference, repeats kept", "w", "--operation diff --repeats", repeats, {})
    ask(
        "union",
        "w",
        "--operation union",
        [f"union {{a}} {{b}} -m 64M --order {order}" for order in ("any", "input", "sorted")],
        {
            "sort -u": f"{SORT} -u {{a}} {{b}} > {{result}}",
            DUCKDB: "SELECT line FROM {a} UNION SELECT line FROM {b}",
        },
    )
    ask(
        "one file, 95 % repeats",
        "r",
        "--operation union",
        ["union {a} -m 64M", "union {a} -m 64M --strategy partition"],
        {"sort -u": f"{SORT} -u {{a}} > {{result}}"},
    )
    ask(
        "overlaps of four files",
        "f",
        "",
        [],
        {
            "outset overlaps -m 64M": "{outset} overlaps {files} -m 64M -q --temp-dir {temp} > {result}",
            DUCKDB: "SELECT which, count(*) FROM (SELECT bit_or(side) AS which FROM ({sides}) "
            "GROUP BY line) GROUP BY which",
        },
    )
    orders = [f"intersect {{a}} {{b}} -m 64M --order {order}" for order in ("any", "input", "sorted")]
    ask("intersection, in order", "w", "--operation intersect", orders, {})
    return rows


def generate(options: argparse.Namespace) -> dict[str, list[Path]]:
    """The files of each workload, made once."""
    quarter = f"{int(options.lines.rstrip('M')) // 4}M"
    workloads = {
        "w": ["--lines", options.lines, "--common", "10%", "--fixed", "64"],
        "r": ["--files", "1", "--lines", options.lines, "--duplicates", "95%", "--fixed", "64"],
        "f": ["--files", "4", "--lines", quarter, "--common", "10%", "--fixed", "64"],
    }
    files = {}
    for name, words in workloads.items():
        place = options.dir / name
        if not (place / "manifest.json").exists():
            subprocess.run([BINARIES / "data-gen", "--dir", place, *words], check=True)
        files[name] = sorted(path for path in place.iterdir() if path.suffix == ".txt")
    return files


def duckdb(query: str, memory: str, result: Path, temp: Path) -> str:
    """A Python program that lets DuckDB write the answer of `query`."""
    target = f"'{result}' (FORMAT csv, HEADER false, DELIM '\\x01', QUOTE '')"
    statements = [
        "SET preserve_insertion_order = false",
        f"SET memory_limit = '{memory}'",
        f"SET temp_directory = '{temp}'",
        # With less memory, or with two threads, it runs out of it in some of these.
        "SET threads = 1",
        f"COPY ({query}) TO {target}",
    ]
    executed = "; ".join(f"c.execute({statement!r})" for statement in statements)
    return f"import duckdb; c = duckdb.connect(); {executed}"


def argv(row: Command, files: list[Path], place: Path, options: argparse.Namespace) -> list[str]:
    """The command of a row."""
    result, temp = place / "result", place / "temp"
    if not row.is_sql:
        named = {"a": files[0], "b": files[-1], "files": " ".join(map(str, files))}
        text = row.text.format(outset=BINARIES / "outset", temp=temp, result=result, **named)
        return ["bash", "-c", text]
    tables = [LINES.format(path=path) for path in files]
    sides = " UNION ALL ".join(
        f"SELECT line, {1 << side} AS side FROM {lines}" for side, lines in enumerate(tables)
    )
    query = row.text.format(a=tables[0], b=tables[-1], sides=sides)
    return [str(options.venv / "bin" / "python"), "-c", duckdb(query, options.duckdb_memory, result, temp)]


def run(
    row: Command, files: list[Path], options: argparse.Namespace, is_first: bool
) -> tuple[float, int] | None:
    """Seconds and peak KiB of one run in an empty folder; `None` where it failed."""
    place = options.dir / "run"
    shutil.rmtree(place, ignore_errors=True)
    (place / "temp").mkdir(parents=True)
    start = time.monotonic()
    process = subprocess.Popen(argv(row, files, place, options), stderr=subprocess.PIPE)
    errors = process.stderr.read().decode(errors="replace") if process.stderr else ""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - start
    if process.returncode != 0:
        print(f"  {row.name}: exit status {process.returncode}: {errors[-300:]}", file=sys.stderr)
        return None
    if is_first and row.check:
        manifest = files[0].parent / "manifest.json"
        words = [BINARIES / "data-gen", "check", "--manifest", manifest]
        words += ["--result", place / "result", *row.check.split()]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return seconds, usage.ru_maxrss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dir", type=Path, required=True, help="a folder for files and results")
    parser.add_argument("--lines", default="20M", help="lines of a file, in millions")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--venv", type=Path, help="where DuckDB is installed; left out without it")
    parser.add_argument("--duckdb-memory", default="512MB", help="the limit that DuckDB gets")
    options = parser.parse_args()
    files = generate(options)
    rows = [row for row in table() if options.venv or not row.is_sql]
    measured: dict[Command, list[tuple[float, int]]] = {row: [] for row in rows}
    failed: set[Command] = set()
    for number in range(options.rounds):
        for row in rows:
            if row not in failed and (found := run(row, files[row.data], options, number == 0)):
                measured[row].append(found)
            elif row not in failed:
                failed.add(row)
    print("| question | who | seconds | median | ratio | peak memory |\n|---|---|---|---|---|---|")
    base: dict[str, float] = {}
    for row in rows:
        if row in failed:
            print(f"| {row.question} | `{row.name}` | failed | | | |")
            continue
        seconds = [found[0] for found in measured[row]]
        median = statistics.median(seconds)
        ratio = base.setdefault(row.question, median) / median
        peak = max(found[1] for found in measured[row]) / 1024
        times = ", ".join(f"{one:.1f}" for one in seconds)
        print(f"| {row.question} | `{row.name}` | {times} | {median:.1f} | {ratio:.2f} | {peak:.0f} MiB |")


if __name__ == "__main__":
    main()
