"""What a job is asked to do, and which requests make no sense."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from .sizes import size

OPERATIONS = ("intersect", "diff", "union", "symdiff")
EXCHANGES = ("auto", "blocks", "files", "native")
PREFILTERS = ("auto", "on", "off")
COMPRESSIONS = ("auto", "lz4", "none")
MOST_BUCKETS = 1 << 16


class Failed(Exception):
    """The job has failed; there is no ``_SUCCESS``."""


@dataclass
class Job:
    """What a job is to do."""

    operation: str
    #: The paths of each side: files and directories, local or with a scheme.
    sides: list[list[str]]
    #: The directory of the result, which must not exist; without a scheme it is local.
    out: str
    exchange: str = "auto"
    #: ``auto``, ``on`` or ``off``: whether sides are filtered by each other; see :mod:`pyoutset.spark.filters`.
    prefilter: str = "auto"
    #: Buckets, and tasks of the join; 0: one for each 512 MiB.
    partitions: int = 0
    #: The memory limit of each child.
    task_memory: str = "1G"
    #: A directory that all machines share, for ``files``.
    work: str | None = None
    split_bytes: int = 256 << 20
    #: How blocks are compressed; ``auto``: not where all of Spark is on one machine.
    compression: str = "auto"
    #: The binary; ``None``: the one beside this Python, else that of the path.
    outset: str | None = None
    #: Seconds after which a child is killed, and its task fails.
    timeout: float = 4 * 3600

    def exchanged(self) -> str:
        """The exchange that ``auto`` stands for here."""
        if self.exchange != "auto":
            return self.exchange
        return "files" if self.work else "blocks"


def check(job: Job) -> None:
    """Raises :class:`Failed` for a request that makes no sense, before anything is started or written."""
    choices = {
        "operation": (job.operation, OPERATIONS),
        "exchange": (job.exchange, EXCHANGES),
        "prefilter": (job.prefilter, PREFILTERS),
        "compression": (job.compression, COMPRESSIONS),
    }
    for name, (given, known) in choices.items():
        if given not in known:
            raise Failed(f"{name}: {given} is none of {', '.join(known)}")
    check_paths(job)
    if not 0 <= job.partitions <= MOST_BUCKETS:
        raise Failed(f"partitions: {job.partitions}: give 1 to {MOST_BUCKETS}, or 0 for one for each 512 MiB")
    if job.split_bytes < 1:
        raise Failed(f"split: {job.split_bytes}: give a byte or more, such as 256M")
    if not 0 < job.timeout <= threading.TIMEOUT_MAX:
        raise Failed(f"timeout: {job.timeout}: give seconds, such as 3600")
    try:
        size(job.task_memory)
    except ValueError as wrong:
        raise Failed(f"task memory: {wrong}") from wrong
    if job.exchanged() == "files" and not job.work:
        raise Failed("exchange: files need a directory that all machines share: give it with --work")
    if job.exchanged() != "files" and job.work:
        raise Failed(f"work: {job.exchange} writes no files there: leave out --work, or use --exchange files")
    if job.exchange == "native" and job.prefilter == "on":
        raise Failed("prefilter: Spark's own plan has none: leave out --prefilter on")


def check_paths(job: Job) -> None:
    if not job.out:
        raise Failed("out: is empty: name a directory with --out")
    if len(job.sides) < (1 if job.operation == "union" else 2):
        raise Failed("sides: give two or more with --side")
    for number, paths in enumerate(job.sides, 1):
        if isinstance(paths, str):
            raise Failed(f"side {number}: {paths} is a text: give a list of paths")
        if not paths or not all(paths):
            raise Failed(f"side {number}: has no paths, or an empty one: name files and directories")
