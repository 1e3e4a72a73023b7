"""The command: ``python -m pyoutset.spark intersect --side A... --side B... --out DIR``."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
from typing import TextIO

from pyspark.sql import SparkSession

from .job import run
from .request import COMPRESSIONS, EXCHANGES, OPERATIONS, PREFILTERS, Failed, Job, check
from .sizes import size
from .storage import reason


def split_size(text: str) -> int:
    """As :func:`size`, with a message that argparse shows."""
    try:
        return size(text)
    except ValueError as wrong:
        raise argparse.ArgumentTypeError(str(wrong)) from wrong


def spark_option(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not key or not sign:
        raise argparse.ArgumentTypeError(f"{text}: give KEY=VALUE")
    return key, value


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pyoutset.spark",
        description="Set operations on lines of files, as a Spark job. A line is the bytes before a newline.",
        epilog="Under spark-submit, give Spark its options there; else with --conf.",
    )
    add = parser.add_argument
    add("operation", choices=OPERATIONS, help="which lines are written: those of all sides, of the first alone, of any, of exactly one")
    add("--side", action="append", nargs="+", required=True, metavar="PATH", dest="sides", help="files and directories of one side, local unless they have a scheme; repeat the option for each side")
    add("--out", required=True, metavar="DIR", help="write the result to DIR, which must not exist; _SUCCESS says that it is complete")
    add("--exchange", default="auto", choices=EXCHANGES, help="blocks: through Spark's shuffle; files: on shared storage (--work); native: Spark's own plan, without outset; auto: files with --work, else blocks")
    add("--prefilter", default="auto", choices=PREFILTERS, help="filter sides by Bloom filters of each other before anything is moved; auto: where that saves more time than it takes; on: always")
    add("--partitions", type=int, default=0, metavar="N", help="number of buckets, 1 to 65536 [default: one for each 512 MiB]")
    add("--task-memory", default="1G", metavar="SIZE", help="memory limit of each child process [default: 1G]")
    add("--split", type=split_size, default=256 << 20, metavar="SIZE", help="bytes of a file that one task reads [default: 256M]")
    add("--work", metavar="DIR", help="directory that all machines share, for --exchange files alone")
    add("--compress", default="auto", choices=COMPRESSIONS, help="how blocks are compressed; auto: not where all of Spark is on one machine")
    add("--timeout", type=float, default=4 * 3600, metavar="SECONDS", help="kill a child process that takes longer, and try again [default: 4 hours]")
    add("--outset", metavar="PATH", help="the outset program [default: beside this Python, else in PATH]")
    add("--stats", metavar="FILE", help="write the summary of the job to FILE as JSON; that of native has no counts")
    add("--master", metavar="URL", help="Spark master, such as local[4] [default: that of spark-submit]")
    add("--conf", type=spark_option, action="append", default=[], metavar="KEY=VALUE", help="an option of Spark; repeat it for several")
    return parser


def session(options: argparse.Namespace) -> SparkSession:
    """The session: blocks are compressed by outset, so Spark need not do it again."""
    builder = SparkSession.builder.appName(f"outset {options.operation}")
    if options.master:
        builder = builder.master(options.master)
        if options.master.startswith("local"):
            # Spark would start the first `python3` in PATH: that of an environment is not, unless the environment is active.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if options.exchange != "native":
        builder = builder.config("spark.shuffle.compress", "false")
    for key, value in options.conf:
        builder = builder.config(key, value)
    try:
        spark = builder.getOrCreate()
    except Exception as failure:
        raise Failed(f"Spark: {reason(failure)}: see --master and --conf") from failure
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def heed_signals(spark: SparkSession | None = None) -> None:
    """Lets SIGINT and SIGTERM end this process by an exception, so that what was written is removed. Spark has a handler of its
    own as soon as there is a session, and says much about jobs that are cancelled."""

    def stop(number: int, _: object) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
        # Spark's progress bar leaves its line open.
        print(f"\npyoutset.spark: {signal.Signals(number).name}: stopped: what it has written is removed", file=sys.stderr)
        if spark:
            # On another thread: this one may be in the middle of a call.
            silence = threading.Thread(target=quiet, args=(spark,), daemon=True)
            silence.start()
            silence.join(5)
        raise SystemExit(128 + number)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, stop)


def quiet(spark: SparkSession) -> None:
    with contextlib.suppress(Exception):  # Spark may be gone
        spark.sparkContext.setLogLevel("OFF")


def summarise(options: argparse.Namespace, job: Job, stats: TextIO | None) -> dict:
    """Runs the job in a session of its own."""
    spark = session(options)
    try:
        heed_signals(spark)
        summary = run(spark, job)
    finally:
        with contextlib.suppress(Exception):  # Spark may be gone
            spark.stop()
    if stats:
        json.dump(summary, stats, indent=1)
    return summary


def report_file(path: str | None) -> contextlib.AbstractContextManager[TextIO | None]:
    """The file of the summary, which is opened before the job takes its time."""
    try:
        return open(path, "w") if path else contextlib.nullcontext()
    except OSError as wrong:
        raise Failed(f"{path}: {wrong.strerror}: name a file that can be written with --stats") from wrong


def main() -> int:
    options = arguments().parse_args()
    heed_signals()
    job = Job(
        operation=options.operation,
        sides=options.sides,
        out=options.out,
        exchange=options.exchange,
        prefilter=options.prefilter,
        partitions=options.partitions,
        task_memory=options.task_memory,
        work=options.work,
        split_bytes=options.split,
        compression=options.compress,
        outset=options.outset,
        timeout=options.timeout,
    )
    try:
        check(job)
        with report_file(options.stats) as stats:
            summary = summarise(options, job, stats)
    except (Failed, OSError) as failure:
        print(f"pyoutset.spark: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # of Spark's own handler, when its session has just been made
        return 130
    lines = summary.get("output_lines")
    found = "" if lines is None else f"{lines} lines · "
    print(f"pyoutset.spark: {found}{summary['exchange']} · {summary['seconds']} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
