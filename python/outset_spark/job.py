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
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Iterator

from pyspark import AccumulatorParam, cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from . import filters, native, splits, tasks
from .placing import partition_ids
from .sizes import size
from .splits import Split
from .tasks import Setting

OPERATIONS = ("intersect", "diff", "union", "symdiff")
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


class Failed(Exception):
    """The job has failed; there is no ``_SUCCESS``."""


@dataclass
class Job:
    """What a job is to do."""

    operation: str
    #: The paths of each side: files and directories, local or with a scheme.
    sides: list[list[str]]
    #: The directory of the result, which must not exist.
    out: str
    exchange: str = "auto"
    #: ``auto``, ``on`` or ``off``: whether sides are filtered by each other; see :mod:`outset_spark.filters`.
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
    #: What the job is found to be; filled by ``run``.
    summary: dict = field(default_factory=dict)


class Reports(AccumulatorParam):
    """Reports by the work that they are of."""

    def zero(self, value: dict) -> dict:
        return {}

    def addInPlace(self, value1: dict, value2: dict) -> dict:  # noqa: N802, N803
        value1.update(value2)
        return value1


def run(spark: SparkSession, job: Job) -> dict:
    """Runs a job and returns its summary. Raises :class:`Failed` where it is not complete."""
    start = time.time()
    if job.operation not in OPERATIONS:
        raise Failed(f"operation: {job.operation} is none of {', '.join(OPERATIONS)}")
    if len(job.sides) < (1 if job.operation == "union" else 2):
        raise Failed("sides: give two or more with --side")
    if exists(spark, job.out):
        raise Failed(f"{job.out}: exists already: remove it, or name another directory")
    exchange = job.exchange
    if exchange == "auto":
        exchange = "files" if job.work else "blocks"
    if exchange == "files" and not job.work:
        raise Failed("exchange: files need a directory that all machines share: give it with --work")
    try:
        size(job.task_memory)
    except ValueError as wrong:
        raise Failed(f"task memory: {wrong}") from wrong
    if exchange == "native" and job.prefilter == "on":
        raise Failed("prefilter: Spark's own plan has none: leave out --prefilter on")
    if exchange == "native":
        write(native.plan(spark, job.operation, job.sides), job.out)
        summary = {"operation": job.operation}
    else:
        summary = run_steps(spark, job, exchange)
    commit(spark, job.out, summary)
    return {**summary, "exchange": exchange, "seconds": round(time.time() - start, 2)}


def run_steps(spark: SparkSession, job: Job, exchange: str) -> dict:
    todo = splits.splits(job.sides, job.split_bytes)
    with tempfile.TemporaryDirectory(prefix="outset-job-") as place:
        setting = prepare(spark, job, todo, place)
        reports = spark.sparkContext.accumulator({}, Reports())
        # Functions of these modules go to the workers as they are: nothing need be installed there.
        cloudpickle.register_pickle_by_value(sys.modules[__package__])

        def note(work: str, report: str) -> None:
            reports.add({work: report})

        try:
            with settings(spark, SETTINGS):
                through = through_files if exchange == "files" else through_blocks
                write(through(spark, setting, todo, note), job.out)
        except Exception as failure:
            raise Failed(f"{job.out}: {reason(failure)}") from failure
        finally:
            if setting.shared:
                shutil.rmtree(setting.shared, ignore_errors=True)
        return finish(setting, reports.value, len(todo), place)


@contextmanager
def settings(spark: SparkSession, wanted: dict[str, str]) -> Iterator[None]:
    """Gives the session these settings for a while."""
    before = {key: spark.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)


def prepare(spark: SparkSession, job: Job, todo: list[Split], place: str) -> Setting:
    """Draws the key, builds the filter, and ships what the tasks need."""
    context = spark.sparkContext
    total = sum(split.length for split in todo)
    is_local = context.master.startswith("local")
    outset = find_outset(job.outset)
    setting = Setting(
        outset=outset,
        key=secrets.token_hex(32),
        buckets=job.partitions or max(1, -(-total // (512 << 20))),
        sides=len(job.sides),
        operation=job.operation,
        memory=job.task_memory,
        compression={"auto": "none" if is_local else "lz4"}.get(job.compression, job.compression),
        filters={},
        local_dirs=context.getConf().get("spark.local.dir"),
        shared=None,
        timeout=job.timeout,
        ships=not is_local,
    )
    try:
        chosen = filters.choose(job.operation, todo, len(job.sides), job.prefilter, context.defaultParallelism)
        built = {side: filters.build(setting, todo, side, place) for side in set(chosen.values())}
    except filters.CannotFilter as failure:
        raise Failed(str(failure)) from failure
    if job.prefilter == "auto":
        built = {side: path for side, path in built.items() if filters.fits(setting, path)}
    applied = {side: built[source] for side, source in chosen.items() if source in built}
    if setting.ships:
        for path in (setting.outset, *built.values()):
            context.addFile(path)
    shared = None
    if job.work and job.exchange in ("auto", "files"):
        # Last, so that nothing is left of it when a step above fails.
        os.makedirs(job.work, exist_ok=True)
        shared = tempfile.mkdtemp(prefix="outset-shards-", dir=os.path.abspath(job.work))
    return replace(setting, filters=applied, shared=shared)


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


def write(answer: DataFrame, out: str) -> None:
    """Spark's text writer commits the parts; it must not say that the job has succeeded."""
    text = answer.select(F.col("value").cast("string").alias("value"))
    writer = text.write.option("lineSep", "\n").option("compression", "none")
    writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").text(out)


def finish(setting: Setting, reports: dict, shards: int, place: str) -> dict:
    """Compares the reports of all steps."""
    path = f"{place}/reports"
    with open(path, "w") as file:
        file.write("\n".join(reports.values()))
    arguments = [setting.outset, "finish", "--shards", str(shards), path]
    finished = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if finished.returncode:
        raise Failed(f"the job is not complete: {finished.stderr.strip()}")
    return json.loads(finished.stdout)


def commit(spark: SparkSession, out: str, summary: dict) -> None:
    """Writes ``_SUCCESS``, on whatever storage the result is."""
    system, path = hadoop(spark, out + "/_SUCCESS")
    stream = system.create(path, True)
    stream.write(bytearray(json.dumps(summary, indent=1).encode()))
    stream.close()


def exists(spark: SparkSession, out: str) -> bool:
    system, path = hadoop(spark, out)
    return system.exists(path)


def hadoop(spark: SparkSession, path: str):
    """Hadoop's file system of a path, and the path as it knows it."""
    if "://" not in path:
        path = "file://" + os.path.abspath(path)
    found = spark._jvm.org.apache.hadoop.fs.Path(path)
    return found.getFileSystem(spark._jsc.hadoopConfiguration()), found


def find_outset(named: str | None) -> str:
    """The binary: the one that is named, the one that was installed beside this Python, or that of the path."""
    beside = os.path.join(os.path.dirname(sys.executable), "outset")
    found = named or (beside if os.access(beside, os.X_OK) else shutil.which("outset"))
    if not found or not os.access(found, os.X_OK):
        raise Failed(f"{found or 'outset'}: there is no such program: install it, or name it with --outset")
    return os.path.abspath(found)


def reason(failure: Exception) -> str:
    """The line of a Spark failure that says why: what a child has said, if it was that."""
    lines = [line.strip() for line in str(failure).splitlines()]
    said = [line for line in lines if line.startswith("RuntimeError: ")]
    return said[-1].removeprefix("RuntimeError: ") if said else (lines or ["failed"])[0]
