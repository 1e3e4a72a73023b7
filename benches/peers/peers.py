"""The table of what is compared: outset at three limits, its peers, and what each is run with.

Owns the commands and their settings; runs nothing but `--version`. A peer that several queries or
commands would serve has several forms; which is fastest depends on the data, so run.py tries them.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from measure import Stages, Step

ENGINES = Path(__file__).with_name("engines.py")
# Lines are bytes: sort and comm must not compare by the rules of a language.
PLAIN = {"LC_ALL": "C"}
# Runs a merge takes at once. The default of 16 would merge most files here more than once.
BATCH = "--batch-size=256"


@dataclass(frozen=True)
class Job:
    """What one run is given: the files, where to write, what it may use."""

    a: Path
    b: Path
    result: Path
    temp: Path
    report: Path
    threads: int


Form = Callable[[Job], Stages]


@dataclass(frozen=True)
class Limits:
    """Bytes of memory: for the exact run, the filter's, the larger one, and more than enough."""

    exact: int
    bloom: int
    engine: int
    ample: int


@dataclass(frozen=True)
class Tool:
    """A program or package: where it is, which version, how to get it."""

    place: Path | None
    version: str
    get: str


@dataclass(frozen=True)
class Peer:
    """A row of the table."""

    name: str
    tool: Tool
    limit: int | None
    # The row of outset that it is compared with; none for outset itself.
    against: str | None
    forms: dict[str, Form]
    # A result may have extra lines: approximate, and said to be.
    is_superset: bool = False
    # A peak above the limit is a wrong result: outset promises it, the others do not.
    is_strict: bool = False

    @property
    def is_installed(self) -> bool:
        return self.tool.place is not None


def find_tools(binaries: Path, venv: Path | None, zet: str) -> dict[str, Tool]:
    """Looks for everything that the table names."""
    python = venv / "bin" / "python" if venv else Path(sys.executable)
    packages = {
        "duckdb": "duckdb",
        "clickhouse": "chdb",
        "polars": "polars",
        "datafusion": "datafusion",
    }
    tools = {name: _package(python, package) for name, package in packages.items()}
    tools["outset"] = _program(str(binaries / "outset"), "cargo build --release --workspace")
    tools["sort"] = _program("sort", "GNU coreutils")
    tools["zet"] = _program(zet, "cargo install zet")
    tools["sqlite"] = Tool(Path(sys.executable), f"SQLite {sqlite3.sqlite_version}", "")
    return tools


def table(tools: dict[str, Tool], limits: Limits) -> list[Peer]:
    """All rows, in the order in which they run and are shown."""

    # The first form of each is never hopeless: it bounds the time that others get in the trial.
    def engine(name: str, limit: int | None, against: str, forms: str, suffix: str = "") -> Peer:
        tool = tools[name]
        choices = {form: _engine(name, tool, form, limit) for form in forms.split()}
        return Peer(name + suffix, tool, limit, against, choices)

    sort, zet = tools["sort"], tools["zet"]
    return [
        _outset(tools["outset"], "sieve", limits.exact),
        _outset(tools["outset"], "partition", limits.exact),
        _outset(tools["outset"], "auto", limits.exact, "-same"),
        _outset(tools["outset"], "bloom", limits.bloom),
        _outset(tools["outset"], "auto", limits.ample),
        Peer("sort-comm-same", sort, limits.exact, "outset-sieve", _sorts(limits.exact)),
        Peer("sort-comm", sort, limits.ample, "outset-auto", _sorts(limits.ample)),
        engine("duckdb", limits.exact, "outset-sieve", "semi", "-same"),
        engine("duckdb", limits.engine, "outset-sieve", "semi intersect", "-small"),
        engine("duckdb", None, "outset-auto", "semi intersect"),
        engine("clickhouse", limits.engine, "outset-sieve", "group semi", "-small"),
        engine("clickhouse", None, "outset-auto", "in group semi intersect"),
        engine("polars", limits.engine, "outset-sieve", "semi", "-small"),
        engine("polars", None, "outset-auto", "semi unique"),
        engine("datafusion", limits.engine, "outset-sieve", "intersect semi", "-small"),
        engine("datafusion", None, "outset-auto", "intersect in semi"),
        Peer("zet", zet, None, "outset-auto", {"intersect": _zet(zet)}),
        engine("sqlite", limits.engine, "outset-sieve", "sorted key", "-small"),
    ]


def baseline(is_cold: bool) -> tuple[str, Form]:
    """The least that anything must do: read both files; warm, also find the line ends."""
    if is_cold:
        return "cat", lambda job: [[Step(["cat", job.a, job.b])]]
    return "wc -l", lambda job: [[Step(["wc", "-l", job.a, job.b], environment=PLAIN)]]


def _outset(tool: Tool, strategy: str, limit: int, suffix: str = "") -> Peer:
    def form(job: Job) -> Stages:
        command: list[object] = [tool.place or "outset", "intersect", job.a, job.b, "--quiet"]
        command += ["--strategy", strategy, "--memory", limit, "--threads", job.threads]
        command += ["--temp-dir", job.temp, "--output", job.result, "--stats", job.report]
        return [[Step(command)]]

    return Peer(
        f"outset-{strategy}{suffix}",
        tool,
        limit,
        None,
        {strategy: form},
        is_superset=strategy == "bloom",
        is_strict=True,
    )


def _sorts(limit: int) -> dict[str, Form]:
    """Both sorts at the same time into pipes, or one after the other into files.

    The first writes and reads less, and has half of the memory for each sort.
    """

    def sort(job: Job, source: Path, target: Path, memory: int) -> Step:
        command = ["sort", "-u", f"--buffer-size={memory // 1024}K", BATCH]
        command += [f"--parallel={job.threads}", "-T", str(job.temp), "-o", str(target)]
        return Step([*command, str(source)], environment=PLAIN)

    def comm(job: Job, a: Path, b: Path) -> Step:
        return Step(["comm", "-12", a, b], stdout=job.result, environment=PLAIN)

    def sorted_files(job: Job) -> tuple[Path, Path]:
        return job.temp / "a.sorted", job.temp / "b.sorted"

    def together(job: Job) -> Stages:
        a, b = sorted_files(job)
        fifos = Step(["mkfifo", a, b])
        half = limit // 2
        return [[fifos], [sort(job, job.a, a, half), sort(job, job.b, b, half), comm(job, a, b)]]

    def apart(job: Job) -> Stages:
        a, b = sorted_files(job)
        return [[sort(job, job.a, a, limit)], [sort(job, job.b, b, limit)], [comm(job, a, b)]]

    return {"together": together, "apart": apart}


def _zet(tool: Tool) -> Form:
    def form(job: Job) -> Stages:
        command: list[object] = [tool.place or "zet", "intersect", job.a, job.b]
        return [[Step(command, stdout=job.result)]]

    return form


def _engine(name: str, tool: Tool, form: str, limit: int | None) -> Form:
    """A run of engines.py. Isolated: the files beside it must not stand in for packages."""

    def build(job: Job) -> Stages:
        command: list[object] = [tool.place or "python", "-I", "-B", ENGINES, name, form]
        command += [job.a, job.b, job.result, job.report]
        command += ["--temp", job.temp, "--threads", job.threads, "--limit", limit or 0]
        return [[Step(command, environment=_environment(job, limit))]]

    return build


def _environment(job: Job, limit: int | None) -> dict[str, str]:
    """Polars takes its settings from here, and the others do not read them."""
    settings = {"POLARS_MAX_THREADS": str(job.threads), "POLARS_TEMP_DIR": str(job.temp)}
    if limit:
        settings["POLARS_OOC_MEMORY_BUDGET_MB"] = str(limit >> 20)
        settings["POLARS_OOC_SPILL_DIR"] = str(job.temp)
    return settings


def _program(name: str, get: str) -> Tool:
    found = shutil.which(name)
    if found is None:
        return Tool(None, "", get)
    version = _first_line([found, "--version"])
    return Tool(Path(found), version or name, get)


def _package(python: Path, package: str) -> Tool:
    get = f"pip install -r requirements.txt ({package}) into a venv, and --venv"
    program = f"import importlib.metadata as m; print('{package}', m.version('{package}'))"
    version = _first_line([str(python), "-I", "-c", program])
    return Tool(python if version else None, version, get)


def _first_line(command: list[str]) -> str:
    """What a program says first, without colours; nothing if it cannot be run."""
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return re.sub(r"\x1b\[[0-9;]*m", "", answer.stdout).partition("\n")[0].strip()
