"""A signal that ends the waiting for a job."""

import os
import signal
import threading
import time

import pytest

from pyoutset.spark.running import Stop, Stopped, stoppable


def test_a_signal_is_not_the_end_before_the_job_has_removed_what_it_wrote(spark):
    removed = []

    def work(stop: Stop) -> dict:
        try:
            while True:
                stop.check()
                time.sleep(0.01)
        except Stopped:
            # Long enough for a caller that does not wait to be seen.
            time.sleep(1.5)
            removed.append(True)
            raise

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    try:
        with pytest.raises(SystemExit):
            stoppable(spark, work)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert removed
