"""Bloom filters of sides, which spare the other sides most of their lines before anything is moved.

The driver reads a side once to build a filter of it. That is worth its time if the side is small, or if so few processors share
the work that moving the lines of the other sides takes longer. The join stays exact: a filter lets false positives through,
and never stops a line that is in its side.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import Iterator

from pyspark.sql import SparkSession

from ..children import LEASH
from . import shipping
from .children import Setting
from .request import Failed, Job
from .running import Stop
from .sizes import size
from .splits import Split

#: No filter is built of a larger side: the driver would read for longer than ten seconds or so.
MOST_BYTES = 8 << 30
#: How many bytes of a side may be read for each byte that is spared, times the processors: to build a filter takes the
#: driver about 1 ns a byte; to shard, move and join a byte takes about 20 ns of one processor, and half of the bytes may be spared.
SPARED = 8
#: A shard that cannot hold its filter beside its blocks takes ten times as long. Its memory must be at least this multiple of the
#: filter.
HELD = 3


#: The exit status of a command that cannot keep its memory limit.
OVER_MEMORY = 6


class TooLarge(Failed):
    """A filter cannot be built: its files are too many for a command line, or it is for the memory of a task."""


def choose(operation: str, todo: list[Split], sides: int, prefilter: str, processors: int) -> dict[int, int]:
    """For each side that is filtered the side whose filter it is given.

    The answer of ``intersect`` has only lines that all sides have, so each side is filtered by the smallest other one. That of
    ``diff`` has lines of the first side: of the others, only lines that are in it matter.
    """
    if prefilter == "off":
        return {}
    if operation not in ("intersect", "diff"):
        if prefilter == "on":
            raise Failed(f"prefilter: a filter spares {operation} nothing: leave out --prefilter on")
        return {}
    sizes = {side: sum(split.length for split in todo if split.side == side) for side in range(1, sides + 1)}
    local = [side for side in sizes if not any(split.is_remote for split in todo if split.side == side)]
    sources = [side for side in sorted(local, key=sizes.__getitem__) if operation == "intersect" or side == 1]
    if prefilter == "on" and not sources:
        raise Failed("prefilter: a filter is built of local files: leave out --prefilter on")
    chosen: dict[int, int] = {}
    for source in sources[:2]:
        spared = [side for side in sizes if side != source and side not in chosen]
        is_quick = sizes[source] * processors <= SPARED * sum(sizes[side] for side in spared)
        if (is_quick and sizes[source] <= MOST_BYTES) or (prefilter == "on" and not chosen):
            chosen.update((side, source) for side in spared)
    return chosen


def fits(setting: Setting, path: str) -> bool:
    """Can each shard hold this filter?"""
    return os.path.getsize(path) * HELD <= size(setting.memory)


@contextmanager
def applied(
    spark: SparkSession, job: Job, setting: Setting, todo: list[Split], place: str, stop: Stop
) -> Iterator[dict[int, str]]:
    """For each side that is filtered the file of its filter, on all machines while the body runs."""
    context = spark.sparkContext
    chosen = choose(job.operation, todo, setting.sides, job.prefilter, context.defaultParallelism)
    below = shipping.directory() if setting.ships and chosen else place
    built: dict[int, str] = {}
    shipped: list[str] = []
    try:
        for side in sorted(set(chosen.values())):
            try:
                path = build(setting, todo, side, place, below, stop)
            except TooLarge:
                if job.prefilter == "on":
                    raise
                continue
            if job.prefilter == "auto" and not fits(setting, path):
                os.unlink(path)
                continue
            built[side] = path
            if setting.ships:
                shipped.append(path)
                context.addFile(path)
        yield {side: built[source] for side, source in chosen.items() if source in built}
    finally:
        shipping.empty(shipped)


def build(setting: Setting, todo: list[Split], side: int, place: str, below: str, stop: Stop) -> str:
    """Builds a filter of a side with the key of the job, in a file in ``below``; ``place`` is the directory of the job. The name
    is that of no other job: Spark ships a file of each name once in a session."""
    key, path = f"{place}/key-{side}", f"{below}/{os.path.basename(place)}-{side}.osf"
    with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(setting.key)
    files = sorted({split.path for split in todo if split.side == side})
    how = ["--hash-key-file", key, "-q", "-o", path, "--max-fpr", "1%", "--memory", setting.memory, LEASH]
    try:
        built = stop.call([setting.outset, "filter", "build", *how, "--", *files])
    except OSError as failure:
        if failure.errno != errno.E2BIG:
            raise
        raise TooLarge(f"prefilter: the names of {len(files)} files fit no command line: leave out --prefilter on") from failure
    finally:
        os.unlink(key)
    if built.returncode == OVER_MEMORY:
        raise TooLarge(f"prefilter: {built.stderr.strip()}")
    if built.returncode:
        raise Failed(f"prefilter: {built.stderr.strip()}")
    return path
