"""The driver: from paths to a committed answer.

1. The ranges of all sides are listed, and a key is drawn.
2. Filters of sides that are small enough are built and shipped.
3. ``shard`` tasks split the ranges, ``join`` tasks join the buckets; Spark's text writer commits the parts.
4. The reports of all steps are compared (``outset finish``). Only then there is ``_SUCCESS``.

Reports come as accumulator updates, keyed by the task's work: an attempt that Spark repeats replaces the report of the one
before it.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Iterator

from pyspark import Accumulator, AccumulatorParam, cloudpickle
from pyspark.sql import DataFrame, SparkSession

from ..errors import ProgramError
from ..program import program
from . import filters, native, shards, splits, tasks
from .children import Setting
from .placing import partition_ids
from .request import MOST_BUCKETS, Failed, Job, check
from .running import Stop, Stopped, stoppable
from .splits import Split
from .storage import Output, reason, write

__all__ = ["Failed", "Job", "run", "write"]
#: What a job needs of the session while it runs.
SETTINGS = {
    # A block is a row: ten thousand of them, which Spark would put into a batch, are gigabytes.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
    # A shard that is tried again has other blocks with the same lines. Spark 4.1 and later would take that for
    # output that cannot be repeated, and give up; `finish` compares the lines.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableQueryLevelRollbackOnMismatch": "false",
}


class Reports(AccumulatorParam):
    """Reports by the work that they are of."""

    def zero(self, value: dict) -> dict:
        return {}

    def addInPlace(self, value1: dict, value2: dict) -> dict:  # noqa: N802
        value1.update(value2)
        return value1


def run(spark: SparkSession, job: Job) -> dict:
    """Runs a job and returns its summary; that of ``native`` has no counts, which would take another job. Raises :class:`Failed`
    where it is not complete: then nothing of it is left."""
    check(job)
    return stoppable(spark, lambda stop: attempt(spark, job, stop))


def attempt(spark: SparkSession, job: Job, stop: Stop) -> dict:
    start = time.time()
    output = Output(spark, job.out)
    exchange = job.exchanged()
    try:
        if exchange == "native":
            output.write(native.plan(spark, job.operation, job.sides))
            summary = {"operation": job.operation}
        else:
            summary = run_steps(spark, job, output, stop)
        stop.check()
        output.commit(summary)
    except BaseException as failure:
        said = str(failure) if isinstance(failure, (Failed, Stopped)) else f"{job.out}: {reason(failure)}"
        raise Failed(said + output.removed()) from failure
    return {**summary, "exchange": exchange, "seconds": round(time.time() - start, 2)}


def run_steps(spark: SparkSession, job: Job, output: Output, stop: Stop) -> dict:
    todo = splits.splits(job.sides, job.split_bytes, stop.check)
    setting = prepare(spark, job, todo)
    is_files = job.exchanged() == "files"
    with tempfile.TemporaryDirectory(prefix="outset-job-") as place, collected(spark) as reports:
        # The shards' directory is made last, so that nothing is left of it when a filter fails.
        with filters.applied(spark, job, setting, todo, place, stop) as given:
            with shards.directory(job.work) if job.work and is_files else nullcontext() as shared:
                setting = replace(setting, filters=given, shared=shared)
                # Functions of these modules go to the workers as they are: nothing need be installed there.
                cloudpickle.register_pickle_by_value(sys.modules[__package__.split(".")[0]])

                def note(work: str, report: str) -> None:
                    reports.add({work: report})

                with settings(spark, SETTINGS):
                    stop.check()
                    through = through_files if is_files else through_blocks
                    output.write(through(spark, setting, todo, note))
        return finish(setting, reports.value, len(todo), place, stop)


#: For each session how many jobs need other settings, and what it had before the first.
held: dict[str, tuple[int, dict[str, str | None]]] = {}
held_lock = threading.Lock()


@contextmanager
def settings(spark: SparkSession, wanted: dict[str, str]) -> Iterator[None]:
    """Gives the session these settings for a while. Jobs may run in threads: the last one gives it back its own."""
    session = str(spark._jsparkSession)
    with held_lock:
        count, before = held.get(session) or (0, {key: spark.conf.get(key, None) for key in wanted})
        for key in wanted:
            spark.conf.set(key, wanted[key])
        held[session] = count + 1, before
    try:
        yield
    finally:
        with held_lock:
            count, before = held.pop(session)
            if count > 1:
                held[session] = count - 1, before
            for key, value in before.items() if count == 1 else ():
                if value is None:
                    spark.conf.unset(key)
                else:
                    spark.conf.set(key, value)


@contextmanager
def collected(spark: SparkSession) -> Iterator[Accumulator]:
    """The reports of a job. PySpark keeps each accumulator as long as the process lives: what it has is removed."""
    reports = spark.sparkContext.accumulator({}, Reports())
    try:
        yield reports
    finally:
        reports.value = {}


def prepare(spark: SparkSession, job: Job, todo: list[Split]) -> Setting:
    """Draws the key, and ships the program."""
    context = spark.sparkContext
    total = sum(split.length for split in todo)
    is_local = context.master.startswith("local")
    setting = Setting(
        outset=find_outset(job.outset),
        key=secrets.token_hex(32),
        buckets=job.partitions or min(MOST_BUCKETS, max(1, -(-total // (512 << 20)))),
        sides=len(job.sides),
        operation=job.operation,
        memory=job.task_memory,
        compression={"auto": "none" if is_local else "lz4"}.get(job.compression, job.compression),
        filters={},
        shared=None,
        timeout=job.timeout,
        ships=not is_local,
    )
    if setting.ships:
        context.addFile(setting.outset)
    return setting


def through_blocks(spark: SparkSession, setting: Setting, todo: list[Split], note) -> DataFrame:
    """Blocks as rows through Spark's shuffle: some ten thousand rows in place of millions of lines."""
    tagged = numbered(spark, len(todo)).mapInArrow(
        tasks.shard_blocks(setting, todo, partition_ids(setting.buckets), note), "p int, k binary"
    )
    moved = tagged.repartition(setting.buckets, "p").select("k")
    return moved.mapInArrow(tasks.join_blocks(setting, note), "value binary")


def through_files(spark: SparkSession, setting: Setting, todo: list[Split], note) -> DataFrame:
    """Shard files on shared storage: Spark schedules, and moves nothing."""
    sharded = numbered(spark, len(todo)).mapInArrow(tasks.shard_files(setting, todo, note), "k binary")
    sharded.write.format("noop").mode("overwrite").save()
    return numbered(spark, setting.buckets).mapInArrow(tasks.join_files(setting, len(todo), note), "value binary")


def numbered(spark: SparkSession, tasks_wanted: int) -> DataFrame:
    """A task for each number below this."""
    return spark.range(0, tasks_wanted, 1, tasks_wanted)


def finish(setting: Setting, reports: dict, shards_expected: int, place: str, stop: Stop) -> dict:
    """Compares the reports of all steps."""
    path = f"{place}/reports"
    with open(path, "w") as file:
        file.write("\n".join(reports.values()))
    finished = stop.call([setting.outset, "finish", "--shards", str(shards_expected), path])
    if finished.returncode:
        raise Failed(f"the job is not complete: {finished.stderr.strip()}")
    return json.loads(finished.stdout)


def find_outset(named: str | None) -> str:
    """The binary: the one that is named, or else the one that was installed with this package."""
    try:
        found = os.path.abspath(named) if named else program()
    except ProgramError as failure:
        raise Failed(f"{failure}, or with --outset") from failure
    if not os.access(found, os.X_OK):
        raise Failed(f"{found}: there is no such program: install it, or name it with --outset")
    return found
