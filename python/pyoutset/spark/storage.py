"""The directory of the result, on whatever storage Spark writes it to."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .listing import has_scheme
from .request import Failed

#: Seconds that tasks of a job that has failed may take to end.
PATIENCE = 10
#: How often the directory of a job that has failed is removed.
TRIES = 10


def resolved(path: str) -> str:
    """The one name that all of Spark and Hadoop have for a path: without a scheme it is local, whatever ``fs.defaultFS`` is."""
    return path if has_scheme(path) else "file://" + os.path.abspath(path)


def hadoop(spark: SparkSession, path: str):
    """Hadoop's file system of a path, and the path as it knows it."""
    try:
        found = spark._jvm.org.apache.hadoop.fs.Path(resolved(path))
        return found.getFileSystem(spark._jsc.hadoopConfiguration()), found
    except Exception as failure:
        raise Failed(f"{path}: {reason(failure)}: name storage that Spark's Hadoop knows, or give Spark its jar") from failure


def write(answer: DataFrame, out: str) -> None:
    """Spark's text writer commits the parts; it must not say that the job has succeeded."""
    text = answer.select(F.col("value").cast("string").alias("value"))
    writer = text.write.option("lineSep", "\n").option("compression", "none")
    writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").text(resolved(out))


class Output:
    """The directory of the result. What this job has written to it is removed when the job fails."""

    def __init__(self, spark: SparkSession, out: str) -> None:
        self.spark, self.out, self.uri = spark, out, resolved(out)
        self.system, self.path = hadoop(spark, out)
        self.is_ours = False
        self.refuse_existing()

    def refuse_existing(self) -> None:
        try:
            exists = self.system.exists(self.path)
        except Exception as failure:
            raise Failed(f"{self.out}: {reason(failure)}: name a directory that can be written") from failure
        if exists:
            raise Failed(f"{self.out}: exists already: remove it, or name another directory")

    def write(self, answer: DataFrame) -> None:
        # Another job may have made it since this one began.
        self.refuse_existing()
        self.is_ours = True
        try:
            write(answer, self.uri)
        except Exception as failure:
            self.is_ours = "PATH_ALREADY_EXISTS" not in str(failure)
            raise

    def commit(self, summary: dict) -> None:
        """Writes ``_SUCCESS``."""
        stream = self.system.create(self.spark._jvm.org.apache.hadoop.fs.Path(self.path, "_SUCCESS"), True)
        stream.write(bytearray(json.dumps(summary, indent=1).encode()))
        stream.close()

    def removed(self) -> str:
        """Removes what this job has written; returns what is to be said about it."""
        if not self.is_ours:
            return ""
        with contextlib.suppress(Exception):  # Spark may be gone, and its tasks with it
            self.wait_for_tasks()
        said = ""
        for _ in range(TRIES):
            # Spark's committer removes its own part of it at the same time, and what one of them does not find fails it.
            try:
                self.remove()
                return ""
            except Exception as failure:
                said = reason(failure)
                time.sleep(0.3)
        return f" ({self.out}: could not be removed: {said}: remove it before you try again)"

    def remove(self) -> None:
        if not self.uri.startswith("file:///"):
            self.system.delete(self.path, True)
            return
        # Also when Spark is gone.
        name = self.uri[len("file://") :]
        if os.path.lexists(name):
            shutil.rmtree(name)

    def wait_for_tasks(self) -> None:
        """A task that still runs when its job has failed would make the directory again."""
        tracker = self.spark.sparkContext._jsc.sc().statusTracker()
        last = time.monotonic() + PATIENCE
        while any(each.numRunningTasks() for each in tracker.getExecutorInfos()) and time.monotonic() < last:
            time.sleep(0.2)


#: What a Python worker says last of an error: it stands behind the lines of its trace, which are indented.
RAISED = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)")
#: An error of Java and its message, in the traces that Spark hands on.
CAUSE = re.compile(r"^(?:Caused by: |: )((?:[a-zA-Z_$][\w$]*\.)+[\w$]+)(?:: (.+))?$", re.MULTILINE)


def reason(failure: BaseException) -> str:
    """The line of a failure of Spark that says why: what a child or its task has said, else the cause of the Java exceptions
    that lies deepest and has a message."""
    text = str(failure)
    raised = RAISED.findall(text)
    if raised:
        return re.sub(r"^(RuntimeError|OSError): ", "", raised[-1])
    causes = CAUSE.findall(text)
    said = [message for _, message in causes if message]
    if said:
        # An exception that wraps another one has the name of that before its message.
        return re.sub(r"^(?:[a-z][\w$]*\.)+[A-Z][\w$]*: ", "", said[-1])
    if causes:
        return causes[-1][0]
    return next((line.strip() for line in text.splitlines() if line.strip()), type(failure).__name__)
