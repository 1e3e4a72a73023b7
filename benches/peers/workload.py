"""The data: named workloads of two files, made by data-gen and kept, and the check of an answer.

Owns which data-gen options a workload stands for, and the manifest with the exact answer.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

# Lines of 64 bytes with their end, in random order, distinct and 10 % in common if not said
# otherwise. `duplicated`: each line about ten times in its file. `tiny`: a thousand lines beside the
# other file. The rest are data-gen's own.
WORKLOADS = {
    "fixed64": ["--workload", "urls", "--fixed", "64", "--common", "10%"],
    "common": ["--workload", "urls", "--fixed", "64", "--common", "100%"],
    "disjoint": ["--workload", "urls", "--fixed", "64", "--common", "0%"],
    "duplicated": ["--workload", "urls", "--fixed", "64", "--duplicates", "90%"],
    "urls": ["--workload", "urls"],
    "zipf": ["--workload", "zipf"],
    "hot": ["--workload", "hot"],
    "short": ["--workload", "short"],
    "tiny": ["--workload", "urls", "--fixed", "64", "--common", "10%"],
}

# Workloads whose first file is another size than the second: that many lines.
LINES_OF_FIRST = {"tiny": "1000"}

# `overlap-64-30`: lines of 64 bytes, 30 % in common, each once; `overlap-200-30-95`: lines of 200
# bytes, of which 95 % repeat another.
OVERLAP = re.compile(r"overlap-(?P<bytes>\d+)-(?P<common>\d+)(?:-(?P<repeats>\d+))?")


def exists(workload: str) -> bool:
    """Whether there is such a workload."""
    return workload in WORKLOADS or OVERLAP.fullmatch(workload) is not None


def generator_options(workload: str) -> list[str]:
    """What a workload is for data-gen; `KeyError` where it is none."""
    found = OVERLAP.fullmatch(workload)
    if not found:
        return WORKLOADS[workload]
    lengths = ["--workload", "urls", "--fixed", found["bytes"]]
    repeats = ["--duplicates", f"{found['repeats']}%"] if found["repeats"] else []
    return [*lengths, "--common", f"{found['common']}%", *repeats]


@dataclass(frozen=True)
class Data:
    """Two files and their manifest."""

    place: Path

    @property
    def files(self) -> tuple[Path, Path]:
        return self.place / "a.txt", self.place / "b.txt"

    @property
    def manifest(self) -> Path:
        return self.place / "manifest.json"

    @property
    def bytes(self) -> int:
        return sum(path.stat().st_size for path in self.files)


def make(generator: Path, place: Path, workload: str, lines: str) -> Data:
    """Makes the files, if they are not there from an earlier run."""
    data = Data(place / f"{workload}-{lines}")
    if not data.manifest.exists():  # Written last: where it is, the files are complete.
        of_first = LINES_OF_FIRST.get(workload)
        of_each = f"{of_first},{lines}" if of_first else lines
        wanted = [*generator_options(workload), "--lines", of_each]
        command: list[str | Path] = [generator, "--dir", data.place, *wanted]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return data


def check(generator: Path, data: Data, result: Path, *, is_superset: bool) -> tuple[bool, int, str]:
    """Whether the answer is right, how many lines of it are not common, and what was said."""
    command: list[str | Path] = [generator, "check", "--manifest", data.manifest]
    command += ["--result", result]
    if is_superset:
        command.append("--superset")
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    said = " ".join(f"{answer.stdout} {answer.stderr}".split())
    extra = re.search(r"not selected (\d+)", said)
    return answer.returncode == 0, int(extra[1]) if extra else 0, said
