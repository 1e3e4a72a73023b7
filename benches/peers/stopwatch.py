"""Runs commands and measures them from outside. A program of its own, so that it stays small.

Owns the processes of one run; told by JSON on standard input, tells by JSON on standard output.
Why it is small: Linux lets a child begin with the peak memory of the process that made it, so no
peak below this program's own can be seen. `floor_bytes` is that size. Hence few imports.

A run is a list of stages, one after the other; the steps of a stage run at the same time (two
sorts that feed a `comm`). The peak of a run is its largest stage; the peak of a stage is the sum
of its steps, for they are there together. The peak of a step is `ru_maxrss` of `wait4`: kept by
the kernel, so no sampling can miss it; it counts pages of mapped files too.

Temporary disk is sampled: the files below a directory are added up twenty times a second. Files
that are unlinked while open are not seen.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from typing import Any, BinaryIO

SAMPLE_SECONDS = 0.05


def main() -> None:
    # So that `finally` is reached, and no peer outlives the benchmark.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    task = json.load(sys.stdin)
    with open(task["errors"], "wb") as errors, Sampler(task["temp"]) as sampler:
        start = time.monotonic()
        status, peak = "ok", 0
        for stage in task["stages"]:
            left = task["timeout"] - (time.monotonic() - start)
            status, stage_peak = run_stage(stage, errors, left)
            peak = max(peak, stage_peak)
            if status != "ok":
                break
        seconds = time.monotonic() - start
    of_all = resource.getrusage(resource.RUSAGE_CHILDREN)
    values = {"status": status, "seconds": seconds, "peak_bytes": peak}
    values |= {"processor_seconds": of_all.ru_utime + of_all.ru_stime}
    values |= {"moved_bytes": (of_all.ru_inblock + of_all.ru_oublock) * 512}
    values |= {"temp_bytes": sampler.peak_bytes, "floor_bytes": own_peak()}
    json.dump(values, sys.stdout)


def run_stage(stage: list[dict[str, Any]], errors: BinaryIO, timeout: float) -> tuple[str, int]:
    """Runs steps at the same time; the first that fails ends the others."""
    running: dict[int, subprocess.Popen[bytes]] = {}
    # Set by the timer: what it kills did not fail by itself.
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        kill(list(running))

    timer = threading.Timer(max(timeout, 0.0), expire)
    status, peak = "ok", 0
    try:
        for step in stage:
            process = spawn(step, errors)
            running[process.pid] = process
        timer.start()
        while running:
            pid, code, usage = os.wait4(-1, 0)
            process = running.pop(pid)
            process.returncode = os.waitstatus_to_exitcode(code)
            peak += usage.ru_maxrss * 1024
            if process.returncode != 0 and status == "ok":
                status = why(process.returncode, expired.is_set())
                kill(list(running))
    finally:
        timer.cancel()
        kill(list(running))
    return status, peak


def spawn(step: dict[str, Any], errors: BinaryIO) -> subprocess.Popen[bytes]:
    """Starts a step in a process group of its own: `kill` must reach what it starts itself."""
    with open(step["stdout"], "wb") as stdout:
        process = subprocess.Popen(
            step["argv"],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=errors,
            env={**os.environ, **step["environment"]},
            start_new_session=True,
        )
    try:
        # If memory runs out, the kernel shall take the peer and leave the measurement.
        with open(f"/proc/{process.pid}/oom_score_adj", "w") as score:
            score.write("1000")
    except OSError:
        pass
    return process


def kill(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def why(code: int, is_late: bool) -> str:
    if is_late:
        return "timed out"
    # Signal 9 from elsewhere: as a rule the kernel's, for want of memory, but that is not known.
    return f"killed (signal {-code})" if code < 0 else f"exit status {code}"


def own_peak() -> int:
    """Not `ru_maxrss`: that one may be the peak of this program's own parent."""
    with open("/proc/self/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return int(fields["VmHWM"].split()[0]) * 1024


class Sampler:
    """Adds up the files below a directory while a run goes on, and keeps the largest sum."""

    def __init__(self, place: str) -> None:
        self.peak_bytes = 0
        self._place = place
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            self.peak_bytes = max(self.peak_bytes, bytes_below(self._place))


def bytes_below(place: str) -> int:
    total = 0
    for folder, _, names in os.walk(place):
        for name in names:
            try:
                total += os.stat(os.path.join(folder, name)).st_blocks * 512
            except FileNotFoundError:
                pass  # Gone between the listing and the look.
    return total


if __name__ == "__main__":
    main()
