"""One measured run: what is run, what it came to, and the state of the page cache before it.

Knows nothing of outset or of its peers. The processes themselves belong to stopwatch.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STOPWATCH = Path(__file__).with_name("stopwatch.py")
# What engines say when memory is short. Compared in lower case.
MEMORY_WORDS = (
    "out of memory",
    "memory limit",
    "memory_limit",
    "resources exhausted",
    "memoryerror",
    "bad_alloc",
    "memory exhausted",
    "cannot allocate memory",
)


@dataclass(frozen=True)
class Step:
    """One process: its arguments, where its output goes, what its environment adds."""

    argv: Sequence[object]
    stdout: Path = Path(os.devnull)
    environment: dict[str, str] = field(default_factory=dict)

    def words(self) -> list[str]:
        return [str(word) for word in self.argv]


# One after the other; the steps of a stage at the same time.
Stages = list[list[Step]]


@dataclass
class Outcome:
    """What a run came to. `status` is `ok`, or the reason why it is not."""

    status: str
    seconds: float
    peak_bytes: int
    temp_bytes: int
    # A peak at or below this is not known more exactly.
    floor_bytes: int
    # Of all processes; what they moved to and from disks, as the kernel counts it.
    processor_seconds: float
    moved_bytes: int
    detail: str = ""
    # From the run's own report, where it wrote one.
    seconds_without_start: float | None = None
    strategy: str | None = None
    false_lines: int = 0

    @property
    def is_ok(self) -> bool:
        return self.status == "ok"


def run(stages: Stages, temp: Path, errors: Path, report: Path, timeout: float) -> Outcome:
    """Runs the stages until one fails or time is up, and takes in what the run reports."""
    task = {
        "stages": [[_told(step) for step in stage] for stage in stages],
        "temp": str(temp),
        "errors": str(errors),
        "timeout": timeout,
    }
    outcome = Outcome(**json.loads(_ask_stopwatch(json.dumps(task))))
    if not outcome.is_ok:
        _explain(outcome, errors.read_text(errors="replace"))
    _add_report(outcome, report)
    return outcome


def warm(files: Iterable[Path]) -> str:
    """Reads the files once, so that they are in the page cache as far as there is room."""
    os.sync()  # What the last run left dirty is not written on the next one's account.
    buffer = bytearray(1 << 20)
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
    return "files read once before each run"


def make_cold(files: Iterable[Path], how: str) -> str:
    """Puts the files out of the page cache; returns the way that was taken.

    `drop` empties the page cache of the whole machine and needs root. `fadvise` gives up the pages
    of these files only, and works for anyone. `auto` tries the first, then the second.
    """
    os.sync()  # Dirty pages stay in the cache, whatever is asked.
    if how in ("auto", "drop"):
        try:
            Path("/proc/sys/vm/drop_caches").write_text("3\n")
            return "drop_caches before each run"
        except OSError:
            if how == "drop":
                raise
    for path in files:
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return "posix_fadvise(DONTNEED) of the files before each run"


def _ask_stopwatch(task: str) -> str:
    command = [sys.executable, "-I", "-S", "-B", str(STOPWATCH)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            answer, _ = process.communicate(task)
        except BaseException:
            # It ends what it has started, which a kill would leave running.
            process.terminate()
            process.wait()
            raise
    if process.returncode != 0:
        raise RuntimeError(f"stopwatch.py ended with status {process.returncode}")
    return answer


def _told(step: Step) -> dict[str, Any]:
    return {
        "argv": step.words(),
        "stdout": str(step.stdout),
        "environment": step.environment,
    }


def _explain(outcome: Outcome, errors: str) -> None:
    """Adds the line of standard error that says most, cut to the size of a footnote."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line.lower() for word in MEMORY_WORDS)]
    # Of memory the first line speaks, and advice follows; a traceback ends with its reason.
    outcome.detail = (telling[:1] or lines[-1:] or [""])[0][:300]
    if telling and outcome.status.startswith("exit"):
        outcome.status = "out of memory"


def _add_report(outcome: Outcome, report: Path) -> None:
    try:
        values = json.loads(report.read_text())
    except (OSError, ValueError):
        return
    outcome.seconds_without_start = values.get("seconds")
    outcome.strategy = values.get("strategy")
    # Its own count is better than a sample: it knows its unlinked files.
    outcome.temp_bytes = values.get("temp", {}).get("peak_bytes", outcome.temp_bytes)
