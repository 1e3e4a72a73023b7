"""The report of the runs: the machine, JSON lines with every run, a table with the ratios.

Owns the words and numbers that are shown; decides nothing about what runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from measure import Outcome, Stages
from peers import Peer

MIB = float(1 << 20)


class Log:
    """JSON lines, each written as soon as it is known: a broken benchmark keeps its runs."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, kind: str, **values: Any) -> None:
        self._file.write(json.dumps({"kind": kind, **values}) + "\n")
        self._file.flush()

    def run(self, kind: str, row: Row, outcome: Outcome, stages: Stages, **values: Any) -> None:
        self.write(
            kind,
            **values,
            peer=row.name,
            version=row.version,
            form=row.form,
            limit_bytes=row.limit,
            status=outcome.status,
            answer_ok=outcome.is_ok,
            seconds=round(outcome.seconds, 4),
            seconds_without_start=outcome.seconds_without_start,
            peak_rss_bytes=outcome.peak_bytes,
            temp_bytes=outcome.temp_bytes,
            false_lines=outcome.false_lines,
            strategy=outcome.strategy,
            detail=outcome.detail,
            command=[[step.words() for step in stage] for stage in stages],
        )


@dataclass
class Row:
    """A peer in one table, with the runs it has had."""

    name: str
    version: str = ""
    form: str = ""
    limit: int | None = None
    against: str | None = None
    outcomes: list[Outcome] = field(default_factory=list)

    @classmethod
    def of(cls, peer: Peer, form: str) -> Row:
        return cls(peer.name, peer.tool.version, form, peer.limit, peer.against)

    @property
    def right(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.is_ok]

    @property
    def has_failed(self) -> bool:
        return len(self.right) < len(self.outcomes)

    @property
    def seconds(self) -> float | None:
        """The median of the right runs."""
        return statistics.median(o.seconds for o in self.right) if self.right else None

    @property
    def is_peak_known(self) -> bool:
        """Whether the peak stands out from the stopwatch's own."""
        return (self.peak or 0) > max((o.floor_bytes for o in self.right), default=0)

    @property
    def peak(self) -> int | None:
        """The largest of the right runs."""
        return max(o.peak_bytes for o in self.right) if self.right else None


def markdown(base: Row, rows: Sequence[Row], absent: Sequence[Peer]) -> str:
    """The table of one workload in one state of the page cache."""
    named = {row.name: row for row in rows}
    heads = ["", "limit", "seconds", "range", "of it work", "peak MiB", "temp MiB"]
    heads += [f"x {base.name}", "x outset, time", "x outset, peak", "answer"]
    lines = [_line(heads), "|" + "---|" + "--:|" * (len(heads) - 2) + "---|"]
    lines.append(_line([base.name, "", *_seconds(base), "", "", "", _ratio(1, 1), "", "", ""]))
    lines += [_line(_cells(row, base, named.get(row.against or ""))) for row in rows]
    for peer in absent:
        cells = [peer.name, _limit(peer.limit)] + [""] * (len(heads) - 3) + ["not installed"]
        lines.append(_line(cells))
    return "\n".join([*lines, "", *_notes(rows, absent)])


def machine(place: Path, outset: Path | None) -> dict[str, Any]:
    """Where and when this was measured, and of what."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _field(Path("/proc/cpuinfo"), "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "ram": _field(Path("/proc/meminfo"), "MemTotal"),
        "kernel": platform.release(),
        "file_system": _file_system(place),
        "load_at_start": os.getloadavg()[0],
        "commit": _commit(),
        "outset_sha256": _sha256(outset) if outset else None,
    }


def _cells(row: Row, base: Row, ours: Row | None) -> list[str]:
    temp = max((outcome.temp_bytes for outcome in row.right), default=None)
    return [
        row.name,
        _limit(row.limit),
        *_seconds(row),
        _work(row),
        _peak(row),
        "" if temp is None else f"{temp / MIB:.0f}",
        _ratio(row.seconds, base.seconds),
        _ratio(row.seconds, ours.seconds) if ours else "",
        _ratio(row.peak, ours.peak) if ours and ours.is_peak_known else "",
        _answer(row),
    ]


def _seconds(row: Row) -> list[str]:
    if not row.right:
        return ["", ""]
    all_seconds = [outcome.seconds for outcome in row.right]
    spread = f"{min(all_seconds):.2f} to {max(all_seconds):.2f}" if len(all_seconds) > 1 else ""
    return [f"{row.seconds:.2f}", spread]


def _work(row: Row) -> str:
    """Seconds without the start and end of the process, by its own clock, where it tells them."""
    told = [o.seconds_without_start for o in row.right if o.seconds_without_start is not None]
    return f"{statistics.median(told):.2f}" if told else ""


def _peak(row: Row) -> str:
    if row.peak is None:
        return ""
    return f"{'' if row.is_peak_known else '< '}{row.peak / MIB:.0f}"


def _ratio(value: float | None, of: float | None) -> str:
    return f"{value / of:.2f}" if value and of else ""


def _limit(limit: int | None) -> str:
    return "none" if limit is None else f"{limit / MIB:.0f} MiB"


def _answer(row: Row) -> str:
    if not row.outcomes:
        return "not run"
    bad = [outcome.status for outcome in row.outcomes if not outcome.is_ok]
    if bad:
        count = f" ({len(bad)} of {len(row.outcomes)})" if row.right else ""
        return f"**{bad[0]}**{count}"
    false_lines = max(outcome.false_lines for outcome in row.outcomes)
    return f"ok, {false_lines} false lines" if false_lines else "ok"


def _notes(rows: Sequence[Row], absent: Sequence[Peer]) -> list[str]:
    """What does not fit in a cell."""
    notes = []
    for row in rows:
        strategy = next((o.strategy for o in row.outcomes if o.strategy), None)
        how = f"form `{row.form}`" if strategy is None else f"strategy `{strategy}`"
        notes.append(f"- {row.name}: {row.version}, {how}{_failure(row)}")
    notes += [f"- {peer.name}: not installed. To get it: {peer.tool.get}" for peer in absent]
    return notes


def _failure(row: Row) -> str:
    """How far the first run that failed came, and what it said."""
    bad = next((outcome for outcome in row.outcomes if not outcome.is_ok), None)
    if bad is None:
        return ""
    reached = f"after {bad.seconds:.2f} s, at a peak of {bad.peak_bytes / MIB:.0f} MiB"
    return f". Failed {reached}{': ' if bad.detail else ''}{bad.detail}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _sha256(path: Path) -> str:
    """Which build it was: the commit does not say whether the program was built from it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _field(path: Path, name: str) -> str:
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "unknown"


def _file_system(place: Path) -> str:
    """The type of the mount with the longest name that the place is below."""
    best, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text().splitlines():
        _, mount, found, *_ = line.split()
        is_below = place.resolve().is_relative_to(mount)
        if is_below and len(mount) >= len(best):
            best, kind = mount, found
    return kind


def _commit() -> str:
    """The commit of the sources, marked if they differ from it."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return answer.stdout.strip()
