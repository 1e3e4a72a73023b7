"""Files that Spark ships to its executors.

A session ships its files to each executor that it ever starts, and a file that is gone fails all of its later work. So a shipped
file stays until this process ends; that of a filter is emptied when its job is done, since it is large and has the job's key.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile


@functools.cache
def directory() -> str:
    """Where this process keeps them."""
    place = tempfile.mkdtemp(prefix="outset-shipped-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def empty(paths: list[str]) -> None:
    for path in paths:
        os.truncate(path, 0)
