"""The command: ``python -m outset_spark intersect --side A... --side B... --out DIR``."""

from __future__ import annotations

import argparse
import json
import sys

from pyspark.sql import SparkSession

from .job import OPERATIONS, Failed, Job, run
from .sizes import size


def split_size(text: str) -> int:
    """As :func:`size`, with a message that argparse shows."""
    try:
        return size(text)
    except ValueError as wrong:
        raise argparse.ArgumentTypeError(str(wrong)) from wrong


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m outset_spark",
        description="Set operations on lines of files, as a Spark job. A line is the bytes before a newline.",
        epilog="Under spark-submit, give Spark its options there; else with --conf.",
    )
    add = parser.add_argument
    add("operation", choices=OPERATIONS, help="which lines are written: those of all sides, of the first alone, of any, of exactly one")
    add("--side", action="append", nargs="+", required=True, metavar="PATH", dest="sides", help="files and directories of one side; repeat the option for each side")
    add("--out", required=True, metavar="DIR", help="write the result to DIR, which must not exist; _SUCCESS says that it is complete")
    add("--exchange", default="auto", choices=("auto", "blocks", "files", "native"), help="blocks: through Spark's shuffle; files: on shared storage (--work); native: Spark's own plan, without outset; auto: files with --work, else blocks")
    add("--prefilter", default="auto", choices=("auto", "on", "off"), help="filter sides by Bloom filters of each other before anything is moved; auto: where that saves more time than it takes; on: always")
    add("--partitions", type=int, default=0, metavar="N", help="number of buckets [default: one for each 512 MiB]")
    add("--task-memory", default="1G", metavar="SIZE", help="memory limit of each child process [default: 1G]")
    add("--split", type=split_size, default=256 << 20, metavar="SIZE", help="bytes of a file that one task reads [default: 256M]")
    add("--work", metavar="DIR", help="directory that all machines share, for --exchange files")
    add("--compress", default="auto", choices=("auto", "lz4", "none"), help="how blocks are compressed; auto: not where all of Spark is on one machine")
    add("--timeout", type=float, default=4 * 3600, metavar="SECONDS", help="kill a child process that takes longer, and try again [default: 4 hours]")
    add("--outset", metavar="PATH", help="the outset program [default: beside this Python, else in PATH]")
    add("--stats", metavar="FILE", help="write the summary of the job to FILE as JSON")
    add("--master", metavar="URL", help="Spark master, such as local[4] [default: that of spark-submit]")
    add("--conf", action="append", default=[], metavar="KEY=VALUE", help="an option of Spark; repeat it for several")
    return parser


def session(options: argparse.Namespace) -> SparkSession:
    """The session: blocks are compressed by outset, so Spark need not do it again."""
    builder = SparkSession.builder.appName(f"outset {options.operation}")
    if options.master:
        builder = builder.master(options.master)
    if options.exchange != "native":
        builder = builder.config("spark.shuffle.compress", "false")
    for option in options.conf:
        builder = builder.config(*option.split("=", 1))
    return builder.getOrCreate()


def main() -> int:
    options = arguments().parse_args()
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
    spark = session(options)
    spark.sparkContext.setLogLevel("ERROR")
    try:
        summary = run(spark, job)
    except (Failed, OSError) as failure:
        print(f"outset_spark: {failure}", file=sys.stderr)
        return 1
    finally:
        spark.stop()
    if options.stats:
        with open(options.stats, "w") as file:
            json.dump(summary, file, indent=1)
    lines = summary.get("output_lines")
    found = "" if lines is None else f"{lines} lines · "
    print(f"outset_spark: {found}{summary['exchange']} · {summary['seconds']} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
