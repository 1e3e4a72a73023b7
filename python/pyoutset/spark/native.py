"""The same operations as plans of Spark alone: the oracle of the tests, and a fallback where tasks may start no child.

Lines are read with ``lineSep`` ``\\n`` and compared as bytes, so the answer is the same to the byte. Spark decodes a file by its
name, and outset by its first bytes: where the two do not agree, Spark would take compressed bytes for lines. It also
leaves out a byte order mark, which for outset is a part of the first line. Such files are refused.
"""

from __future__ import annotations

import codecs
import re
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ..frames import FIRST_BYTES, is_compressed
from .listing import File, first_bytes, is_data, side_files
from .request import Failed
from .storage import hadoop, reason, resolved

#: The compressed files that every Hadoop decodes: the end of the name, and what the file begins with.
CODECS = {".gz": rb"\x1f\x8b\x08", ".bz2": rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"}


def lines(spark: SparkSession, paths: list[str]) -> DataFrame:
    """The lines of one side, in a column ``value`` of bytes."""
    found = side_files(paths, lambda path: hadoop_files(spark, path))
    for file in found:
        refuse_unread(spark, file)
    # Spark takes a path for a pattern.
    patterns = [re.sub(r"([\\\[\]{}*?,])", r"\\\1", resolved(file.path)) for file in found]
    read = spark.read.option("lineSep", "\n").option("recursiveFileLookup", "true").text(patterns)
    return read.select(F.col("value").cast("binary").alias("value"))


def hadoop_files(spark: SparkSession, path: str) -> list[File]:
    """The files at a path with a scheme, by Spark's own file system: its schemes are not those of pyarrow."""
    system, place = hadoop(spark, path)
    root = system.makeQualified(place).toString()
    try:
        listed, found = system.listFiles(place, True), []
        while listed.hasNext():
            status = listed.next()
            name = status.getPath().toString()
            if all(map(is_data, name[len(root) :].strip("/").split("/"))) or name == root:
                found.append(File(name, status.getLen(), True))
    except Exception as failure:
        raise Failed(f"{path}: {reason(failure)}: name files and directories that can be read") from failure
    return sorted(found)


def refuse_unread(spark: SparkSession, file: File) -> None:
    """Raises :class:`Failed` for a file that Spark would leave out, or decode otherwise than outset."""
    system, place = hadoop(spark, file.path)
    advice = "rename it, or use --exchange blocks, which goes by what it has"
    if not is_data(place.getName()):
        raise Failed(f"{file.path}: Spark leaves out files with such names: {advice}")
    if not file.size:
        return
    codec = spark._jvm.org.apache.hadoop.io.compress.CompressionCodecFactory(spark._jsc.hadoopConfiguration()).getCodec(place)
    ending = codec.getDefaultExtension() if codec else None
    first = hadoop_first_bytes(system, place) if file.is_remote else first_bytes(file)
    if ending is None and is_compressed(first):
        raise Failed(f"{file.path}: is compressed, and Spark does not know that by its name: {advice}")
    if ending is not None and not (ending in CODECS and re.match(CODECS[ending], first)):
        raise Failed(f"{file.path}: Spark takes it for {ending} by its name, and cannot be relied on to decode it: {advice}")
    text = hadoop_first_bytes(system, place, codec) if codec else first
    if text.startswith(codecs.BOM_UTF8):
        advice = "remove it, or use --exchange blocks, where it belongs to the first line"
        raise Failed(f"{file.path}: begins with a byte order mark, which Spark leaves out: {advice}")


def hadoop_first_bytes(system, place, codec=None) -> bytes:
    """The first bytes of a file, decoded if there is a codec."""
    stream = system.open(place)
    try:
        stream = codec.createInputStream(stream) if codec else stream
        read = [stream.read() for _ in range(FIRST_BYTES)]
    finally:
        stream.close()
    return bytes(byte for byte in read if byte >= 0)


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
