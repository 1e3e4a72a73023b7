"""The directory of the shard files of a job, on storage that all machines share."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from .request import Failed

PREFIX, OWNER = "outset-shards-", "owner"


@contextmanager
def directory(work: str) -> Iterator[str]:
    """A directory below ``work``, which is removed at the end. A driver that is killed leaves it to the next one: that it is
    alive is said by the lock that it holds on a file there."""
    try:
        os.makedirs(work, exist_ok=True)
        sweep(work)
        place = tempfile.mkdtemp(prefix=PREFIX, dir=os.path.abspath(work))
    except OSError as wrong:
        raise Failed(f"{wrong.filename or work}: {wrong.strerror}: give a directory that can be written with --work") from wrong
    try:
        with open(f"{place}/{OWNER}", "w") as owner:
            if lock(owner.fileno()):
                owner.write(here())
                owner.flush()
            yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def sweep(work: str) -> None:
    """Removes what drivers have left that were killed. Only those are judged that saw ``work`` as this one does: a lock of
    another machine, or through another mount, may not be seen here."""
    for place in Path(work).glob(f"{PREFIX}*"):
        try:
            with open(place / OWNER, "r+") as owner:
                # The name is written under the lock: who reads it and gets the lock knows that its holder is gone.
                if owner.read() == here() and lock(owner.fileno()):
                    shutil.rmtree(place, ignore_errors=True)
        except OSError:
            continue


def lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def here() -> str:
    """The start of this machine, and the mounts that this process sees."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + " " + os.readlink("/proc/self/ns/mnt")
    except OSError:
        # No other process has the same: nothing is swept.
        return f"unknown {os.getpid()} {os.urandom(8).hex()}"
