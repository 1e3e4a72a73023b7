"""The same operations as plans of Spark alone: the oracle of the tests, and a fallback where tasks may start no child.

Lines are read with ``lineSep`` ``\\n`` and compared as bytes, so the answer is the same to the byte.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def lines(spark: SparkSession, paths: list[str]) -> DataFrame:
    """The lines of one side, in a column ``value`` of bytes."""
    read = spark.read.option("lineSep", "\n").option("recursiveFileLookup", "true").text(paths)
    return read.select(F.col("value").cast("binary").alias("value"))


def plan(spark: SparkSession, operation: str, sides: list[list[str]]) -> DataFrame:
    """The answer of an operation, in a column ``value``; joins with the hint that was measured as the best."""
    frames = [lines(spark, paths) for paths in sides]
    if operation == "union":
        return reduce(DataFrame.unionByName, frames).distinct()
    if operation == "symdiff":
        tagged = [frame.distinct() for frame in frames]
        counted = reduce(DataFrame.unionByName, tagged).groupBy("value").count()
        return counted.where("count = 1").select("value")
    how = "left_semi" if operation == "intersect" else "left_anti"
    join = lambda left, right: left.join(right.hint("SHUFFLE_HASH"), "value", how)  # noqa: E731
    return reduce(join, frames).distinct()
