"""Child processes.

A child never outlives what it works for: it is ended when its block is left, and ends by itself (:data:`LEASH`) when this process is
gone. It stays in the process group of this one, so that Ctrl-C on a terminal reaches both.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import IO, Any

#: The option that lets the program end with its parent.
LEASH = "--end-with-parent"
#: Bytes of a pipe: fewer pieces than with the 64 KiB of the system.
PIPE_BYTES = 1 << 20


def widen(pipe: int) -> None:
    """Asks for a large pipe. What the system refuses stays as it is."""
    import fcntl

    with contextlib.suppress(OSError):
        fcntl.fcntl(pipe, getattr(fcntl, "F_SETPIPE_SZ", 1031), PIPE_BYTES)


def write_all(pipe: int, data: bytes | memoryview) -> None:
    """Writes all bytes; the interpreter lock is free meanwhile. Raises ``BrokenPipeError`` if the reader is gone."""
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]


class Child:
    """A child process, which is ended when its block is left."""

    #: Seconds that it has to clean up when it is told to end; 0: it is killed at once.
    patience: float = 10

    def __init__(
        self,
        arguments: list[str],
        *,
        stdin: int | IO[Any] = subprocess.DEVNULL,
        stdout: int | IO[Any] = subprocess.DEVNULL,
        stderr: int | IO[Any] = subprocess.DEVNULL,
        keeps: Sequence[int] = (),
    ) -> None:
        self.arguments = arguments
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            self.arguments, stdin=stdin, stdout=stdout, stderr=stderr, bufsize=0, pass_fds=keeps
        )

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends the child, and returns when it has ended."""
        try:
            if self.patience and self.process.poll() is None:
                self.process.terminate()
                self.process.wait(self.patience)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # Also where a second Ctrl-C has ended the waiting.
            self.process.kill()
            self.process.wait()
