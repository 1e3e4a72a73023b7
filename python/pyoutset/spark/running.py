"""A job on a thread of its own, so that it can be stopped.

A call of Spark blocks its thread, and what breaks into it leaves the answer on the connection for the call after it. So the job
runs on a thread that nothing breaks into. The caller's thread waits: when a signal ends its waiting, it cancels what Spark does
for the job, whose thread then fails and removes what it has written.
"""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import threading
import time
from typing import Callable

from pyspark import InheritableThread
from pyspark.sql import SparkSession

#: Seconds that a job has to end and to remove what it has written.
PATIENCE = 60


class Stopped(Exception):
    """The job was told to end."""


class Stop:
    """What tells a job to end."""

    def __init__(self) -> None:
        self.tag = f"outset-{secrets.token_hex(8)}"
        self.event = threading.Event()

    def check(self) -> None:
        """Ends the job here if it is to end."""
        if self.event.is_set():
            raise Stopped("the job was stopped")

    def call(self, arguments: list[str]) -> subprocess.CompletedProcess:
        """Runs a child of the driver, and kills it when the job is to end."""
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace") as child:
            try:
                while True:
                    self.check()
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        said = child.communicate(timeout=0.2)
                        return subprocess.CompletedProcess(arguments, child.returncode, *said)
            except BaseException:
                child.kill()
                raise


def stoppable(spark: SparkSession, work: Callable[[Stop], dict]) -> dict:
    """The result of ``work`` on a thread with the properties of this one. Whatever ends the waiting ends the work first."""
    stop = Stop()
    results: list[dict] = []
    failures: list[BaseException] = []
    # Not the thread's own end: a signal that breaks into `join` makes CPython take a thread that runs for one that
    # has ended (bpo-45274), and the process would end in the middle of the removal.
    ended = threading.Event()

    def body() -> None:
        try:
            spark.sparkContext.addJobTag(stop.tag)
            results.append(work(stop))
        except BaseException as failure:
            failures.append(failure)
        finally:
            ended.set()

    InheritableThread(target=body, daemon=True).start()
    try:
        while not ended.wait(1):
            pass
    except BaseException:
        end(spark, ended, stop)
        raise
    if failures:
        raise failures[0]
    return results[0]


def end(spark: SparkSession, ended: threading.Event, stop: Stop) -> None:
    """Ends the work, and waits until it has. Spark forgets to cancel a job that it is about to start: so again and again."""
    stop.event.set()
    last = time.monotonic() + PATIENCE
    while not ended.is_set() and time.monotonic() < last:
        with contextlib.suppress(Exception):  # of a Spark that is gone, too
            spark.sparkContext.cancelJobsWithTag(stop.tag)
        ended.wait(0.5)
