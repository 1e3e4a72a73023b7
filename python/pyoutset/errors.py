"""What can go wrong, by the exit status of the program and what it says about it.

The message of each is that of the program: what it is about, what happened, what to do about it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any


class OutsetError(Exception):
    """A run has failed: there is no result, and nothing is left behind."""

    #: The exit status of the program; ``None`` if it was not the program that failed.
    status: int | None = None

    def __init__(self, message: str, **known: Any) -> None:
        super().__init__(message)
        # As attributes, they are there again after pickling.
        self.__dict__.update(known)


class UsageError(OutsetError, ValueError):
    """The request makes no sense, or contradicts itself."""


class InputError(OutsetError):
    """An input cannot be read, has a record without a key, or has changed during the run."""

    #: The file, or ``side N`` for one that is in memory.
    path: str | None = None
    #: The line of a file, from 1, or the index of an item in memory, from 0; ``None`` where it is not known.
    line: int | None = None
    #: The byte of the file at which the fault is.
    offset: int | None = None


class TemporarySpaceError(OutsetError):
    """Temporary space is full, cannot be used, or is over its limit."""

    path: str | None = None


class OutputError(OutsetError):
    """The result cannot be written."""

    path: str | None = None


class MemoryLimitError(OutsetError):
    """The run cannot keep its memory limit, or the system refuses memory or threads."""

    #: A limit in bytes that is enough; ``None`` where none is known.
    needed_bytes: int | None = None


class ApproximationError(OutsetError):
    """The false-positive rate would be above ``max_fpr``."""


class DamagedError(OutsetError):
    """A filter or a temporary file is damaged, or is none."""

    path: str | None = None


class Interrupted(OutsetError):
    """The program was ended by a signal. (Ctrl-C is a ``KeyboardInterrupt`` in the main thread, and this in all others.)"""


class ProgramError(OutsetError):
    """The program cannot be found or started, or has a bug."""


class OutsetWarning(UserWarning):
    """A warning of the program: about a filter, or an approximate result."""


@contextlib.contextmanager
def storing(path: str) -> Iterator[None]:
    """Makes a :class:`TemporarySpaceError` of what the system says when a temporary file is written."""
    try:
        yield
    except OSError as failure:
        message = f"{path}: cannot be written: {failure.strerror or failure}: free some space, or choose another temp_dir"
        raise TemporarySpaceError(message, path=path) from failure


KINDS: dict[str, type[OutsetError]] = {
    "usage": UsageError,
    "input": InputError,
    "temp": TemporarySpaceError,
    "output": OutputError,
    "memory": MemoryLimitError,
    "machine": MemoryLimitError,
    "approximation": ApproximationError,
    "damaged": DamagedError,
    "interrupted": Interrupted,
}
#: What a status means where the program has said nothing else: its arguments were not understood.
STATUSES: dict[int, type[OutsetError]] = {
    2: UsageError,
    3: InputError,
    4: TemporarySpaceError,
    5: OutputError,
    6: MemoryLimitError,
    7: DamagedError,
}


def of_event(event: Mapping[str, Any]) -> OutsetError:
    """The error that the program has described."""
    kind = KINDS.get(event["kind"], ProgramError)
    known = ("status", "path", "line", "offset", "needed_bytes")
    return kind(event["message"], **{name: event[name] for name in known if name in event and hasattr(kind, name)})


def of_status(status: int, said: str) -> OutsetError:
    """The error of a program that has only ended."""
    if status < 0:
        return Interrupted(said or f"the program was ended by signal {-status}", status=status)
    message = said or f"the program has ended with status {status}, and said nothing"
    return STATUSES.get(status, ProgramError)(message, status=status)
