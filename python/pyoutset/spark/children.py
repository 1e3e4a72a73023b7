"""The children of tasks, and the frames that they write.

A stream of a child counts only with its trailer and status 0.
"""

from __future__ import annotations

import os
import secrets
import shutil
import struct
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Iterator

from ..children import LEASH, Child, widen, write_all

#: Of a frame: its bucket, its kind, and the bytes of the payload as it is stored. The format is in docs/clusters.md.
HEADER = 88
BUCKET, KIND, STORED = "<28xI", "<32xI", "<64xQ"
RECORDS, COUNTERS, LINES = 0, 1, 2
TRAILER, TRAILER_BYTES = "<8sQQQ", 32
TRAILER_MAGIC = b"OUTSETE1"
#: Bytes of the rows of one batch that is handed to Spark.
BATCH = 4 << 20


@dataclass(frozen=True)
class Setting:
    """What all tasks of a job have in common."""

    outset: str
    key: str
    buckets: int
    sides: int
    operation: str
    memory: str
    compression: str
    #: For each side that is filtered the file of the filter.
    filters: dict[int, str]
    shared: str | None
    timeout: float
    ships: bool

    def program(self) -> str:
        """The binary on this machine."""
        return located(self.outset, self.ships)


def located(path: str, ships: bool) -> str:
    """Where a file is that was shipped with ``addFile``."""
    if not ships:
        return path
    from pyspark import SparkFiles

    here = SparkFiles.get(os.path.basename(path))
    if not path.endswith(".osf") and not os.access(here, os.X_OK):
        os.chmod(here, 0o755)
    return here


@contextmanager
def workplace(setting: Setting) -> Iterator[str]:
    """A directory of this task, which is removed at its end; in it the key, which only this user can read. It is on any
    of the local disks: Spark names them to each worker."""
    parents = os.environ.get("SPARK_LOCAL_DIRS")
    # Workers are forked, and would all have the same numbers of `random`.
    parent = secrets.choice(parents.split(",")) if parents else None
    place = tempfile.mkdtemp(prefix="outset-", dir=parent)
    try:
        with open(os.open(f"{place}/key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(setting.key)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


class Step(Child):
    """A step of a job: its messages go to a file, and it is killed when it takes longer than it may. What it has written is
    removed with the directory of its task: it need not clean up."""

    patience = 0

    def __init__(self, setting: Setting, place: str, arguments: list[str]) -> None:
        self.place = place
        words = [setting.program(), *arguments, "--stats", f"{place}/stats", "-q", "-j", "1", "--memory", setting.memory, LEASH]
        with open(f"{place}/said", "wb") as said:
            super().__init__(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said)
        pipes: tuple[Any, Any] = (self.process.stdin, self.process.stdout)
        self.input, self.output = pipes
        for pipe in pipes:
            widen(pipe.fileno())
        self.timer = threading.Timer(setting.timeout, self.process.kill)
        self.timer.daemon = True
        self.timer.start()

    def __exit__(self, *failure: Any) -> None:
        self.timer.cancel()
        super().__exit__(*failure)

    def write(self, data: bytes | memoryview) -> None:
        """Feeds the child. That it is gone shows when its end is looked at."""
        try:
            write_all(self.input.fileno(), data)
        except BrokenPipeError:
            raise self.failure() from None

    def read_into(self, view: memoryview) -> int:
        """Reads the next bytes of its output; fewer than there is room for only at the end."""
        filled = 0
        while filled < len(view):
            read = self.output.readinto(view[filled:])
            if not read:
                break
            filled += read
        return filled

    def frames(self, kind: int, rows: Rows, skip: int) -> Iterator[int]:
        """Reads the frames of its output of this kind into ``rows``, each without its first ``skip`` bytes; yields the
        bucket of each when it is there. Ends well only behind the trailer."""
        frames = total = 0
        header = memoryview(bytearray(HEADER))
        while True:
            if self.read_into(header[:TRAILER_BYTES]) < TRAILER_BYTES:
                raise self.failure()
            if header[: len(TRAILER_MAGIC)] == TRAILER_MAGIC:
                _, said_frames, said_total, _ = struct.unpack_from(TRAILER, header)
                if (said_frames, said_total) != (frames, total) or self.read_into(header[:1]):
                    raise RuntimeError(f"{self.arguments[1]}: its trailer does not fit its output")
                return
            if self.read_into(header[TRAILER_BYTES:]) < HEADER - TRAILER_BYTES:
                raise self.failure()
            (stored,) = struct.unpack_from(STORED, header)
            view = rows.room(HEADER - skip + stored)
            view[: HEADER - skip] = header[skip:]
            if self.read_into(view[HEADER - skip :]) < stored:
                raise self.failure()
            frames, total = frames + 1, total + HEADER + stored
            if struct.unpack_from(KIND, header)[0] == kind:
                rows.add(len(view))
                yield struct.unpack_from(BUCKET, header)[0]

    def end(self) -> str:
        """Waits for a good end; returns the report."""
        self.input.close()
        if self.process.wait() != 0:
            raise self.failure()
        with open(f"{self.place}/stats") as report:
            return report.read()

    def failure(self) -> RuntimeError:
        """The error for a child that failed, or ended before its time."""
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        with open(f"{self.place}/said", errors="replace") as said:
            # In one line: Spark hands on the first one of a message.
            message = "; ".join(said.read()[-1000:].split("\n")).strip("; ") or "it ended before its output was complete"
        return RuntimeError(f"outset {self.arguments[1]} (status {self.process.returncode}): {message}")


class Rows:
    """A column of bytes that is read into where Arrow will find it."""

    def __init__(self) -> None:
        self.data = bytearray(BATCH + (1 << 20))
        self.ends = [0]

    def room(self, count: int) -> memoryview:
        """Where the next row goes."""
        start = self.ends[-1]
        if start + count > len(self.data):
            self.data = self.data[:start] + bytearray(count)
        return memoryview(self.data)[start : start + count]

    def add(self, count: int) -> None:
        self.ends.append(self.ends[-1] + count)

    def size(self) -> int:
        return self.ends[-1]

    def column(self):
        """The rows as an Arrow column. The next rows go to other memory."""
        import pyarrow as pa

        offsets = pa.py_buffer(struct.pack(f"<{len(self.ends)}i", *self.ends))
        column = pa.Array.from_buffers(pa.binary(), len(self.ends) - 1, [None, offsets, pa.py_buffer(self.data)])
        self.data, self.ends = bytearray(BATCH + (1 << 20)), [0]
        return column
