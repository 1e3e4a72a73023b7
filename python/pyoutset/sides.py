"""The sides of an operation: what the program reads by itself, and what is fed to it.

A side that is in memory gets a pipe, and a thread of this process that writes to it. The threads do not wait for each other, so
the program may read the sides in any order.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Union

from . import parquet
from .children import widen, write_all
from .errors import UsageError, storing
from .feeding import pieces, stream
from .frames import FIRST_BYTES, Piece, framed, is_compressed
from .options import On, has_header, has_names

#: Anything that can be a side: a path or pattern, files, a result, or lines in memory (also Arrow and data frame columns).
Side = Union[str, "os.PathLike[str]", "Files", Iterable[Any], Any]

#: The ends of names that say what a file has, and those that may follow them.
FORMATS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
COMPRESSED = re.compile(r"\.(gz|zst|lz4|bz2|xz)$", re.IGNORECASE)
#: Seconds that all threads together have to end.
PATIENCE = 1


class Files:
    """Several files as one side: paths, directories and patterns.

    >>> Files("crawl/part-*", "more.txt")
    Files('crawl/part-*', 'more.txt')
    """

    def __init__(self, *paths: str | os.PathLike[str]) -> None:
        if not paths:
            raise UsageError("Files: has no paths: name files, directories or patterns")
        self.paths = [named(path) for path in paths]

    def __repr__(self) -> str:
        return f"Files({', '.join(map(repr, self.paths))})"


def named(path: Any) -> str:
    """A path as a word that the program cannot take for an option, or for standard input."""
    text = os.fsdecode(path)
    if not text:
        raise UsageError("a path is empty: name a file")
    return f"./{text}" if text.startswith("-") else text


def of(side: Side) -> Files | Any:
    """A side as files, or as it is if it is in memory."""
    if isinstance(side, (str, os.PathLike)):
        return Files(side)
    if isinstance(side, (bytes, bytearray, Mapping)):
        raise UsageError(f"{type(side).__name__}: is no side: give a path, or an iterable of lines")
    if isinstance(side, (list, tuple)) and side and all(isinstance(each, os.PathLike) for each in side):
        return Files(*side)
    return side


def expanded(paths: list[str]) -> list[str]:
    """The files of patterns, for commands that know none."""
    import glob

    found: list[str] = []
    for path in paths:
        found += [path] if os.path.lexists(path) else sorted(glob.glob(path)) or [path]
    return found


def is_table(side: Any, on: On | None) -> bool:
    """Tells whether a side is a table, of which columns are compared."""
    if on is None:
        return False
    if hasattr(side, "__outset_file__"):
        return bool(side.has_rows)
    return parquet.are_parquet(side.paths) if isinstance(side, Files) else parquet.is_table(side)


def is_spent(side: Any) -> bool:
    """Tells whether a side can be read only once."""
    return isinstance(side, Iterator) or hasattr(side, "read") or hasattr(side, "read_next_batch")


def checked(sides: Sequence[Side]) -> list[Any]:
    """The sides. Raises :class:`UsageError` for an iterator that is given twice: each side would get a part of it."""
    found = [of(side) for side in sides]
    once = [id(side) for side in found if is_spent(side)]
    if len(once) != len(set(once)):
        raise UsageError("an iterator is given twice, and can be read only once: make it a list")
    return found


def guessed_format(sides: Sequence[Any], on: On | None, options: Mapping[str, Any]) -> dict[str, bool]:
    """The format that the names of all files have, if fields are compared and nothing else says what they are."""
    if (on is None and not options.get("key_of")) or any(options.get(name) for name in ("csv", "tsv", "jsonl", "delimiter")):
        return {}
    names = [COMPRESSED.sub("", path) for side in sides if isinstance(side, Files) for path in side.paths]
    found = {FORMATS.get(os.path.splitext(name)[1].lower()) for name in names}
    only = found.pop() if len(found) == 1 else None
    return {only: True} if only else {}


#: The ends of all pipes. A process that is forked off would hold them open, and the program would wait for their end.
open_pipes: set[int] = set()
#: Held while a pipe is opened or closed, and by a thread that forks: the numbers are then those of pipes.
pipes_lock = threading.RLock()


def forget_pipes() -> None:
    for pipe in open_pipes:
        os.close(pipe)
    open_pipes.clear()
    pipes_lock.release()


os.register_at_fork(before=pipes_lock.acquire, after_in_parent=pipes_lock.release, after_in_child=forget_pipes)


def above_standard(end: int) -> int:
    """An end of a pipe with a number that no standard stream has: the program has its own at those."""
    if end > 2:
        return end
    import fcntl

    moved = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(end)
    return moved


class Feeder:
    """The thread that writes what one side has to the program."""

    def __init__(self, name: str, pieces: Iterator[Piece]) -> None:
        self.pieces = pieces
        self.failure: BaseException | None = None
        with pipes_lock:
            self.reading, self.writing = (above_standard(end) for end in os.pipe())
            open_pipes.update((self.reading, self.writing))
        widen(self.writing)
        self.thread = threading.Thread(target=self.feed, name=f"outset {name}", daemon=True)
        self.stop: Any = None
        #: True once nobody reads any more.
        self.is_over = False

    @property
    def path(self) -> str:
        """What the program opens."""
        return f"/dev/fd/{self.reading}"  # before it is released

    def release(self) -> None:
        """Leaves the reading end to the program."""
        if self.reading >= 0:
            self.close(self.reading)
        # The number may be that of another file from now on.
        self.reading = -1

    def start(self, stop: Any) -> None:
        """Starts to feed a program that has been started; ``stop`` ends it if the side fails."""
        self.stop = stop
        self.thread.start()

    def feed(self) -> None:
        try:
            for piece in self.pieces:
                if self.is_over or not self.write(piece):
                    break
        except BaseException as failure:
            self.failure = failure
            # The program has ended before the pipe does: a part of the lines is never taken for all.
            self.stop()
        finally:
            self.close(self.writing)

    def write(self, piece: Piece) -> bool:
        """Writes a piece; tells whether somebody reads."""
        try:
            write_all(self.writing, piece)
        except BrokenPipeError:
            return False  # the program says why it is gone, or needs no more
        return True

    def close(self, end: int) -> None:
        """Closes an end of the pipe, once."""
        with pipes_lock:
            if end in open_pipes:
                open_pipes.discard(end)
                os.close(end)


def spooled(side: Any, name: str, options: Mapping[str, Any], path: str) -> str:
    """A file with the lines, for what is read several times."""
    lines = pieces(side, name, terminator_of(options))
    first = next(lines, b"")
    whole = chain([first], lines)
    # Lines that begin like a compressed file would be decoded. An open file is what it is.
    is_taken = options.get("decompress") != "none" and is_compressed(bytes(first[:FIRST_BYTES]))
    with storing(path):
        file = open(path, "wb", buffering=0)
    with file:
        for piece in framed(whole) if is_taken and not hasattr(side, "read") else whole:
            with storing(path):
                write_all(file.fileno(), piece)
    return path


def terminator_of(options: Mapping[str, Any]) -> bytes:
    return b"\0" if options.get("zero_terminated") else b"\n"


def need_files(on: On | None, options: Mapping[str, Any]) -> bool:
    """Tells whether the program cannot read a frame from a pipe: it reads headers beforehand, wants sizes that are certain where a
    rate is, and may be told not to decode."""
    is_certain = any(options.get(name) for name in ("key_of", "header_of", "max_fpr"))
    is_named = has_header(on, options) or (has_names(on) and not options.get("jsonl"))
    return is_certain or is_named or options.get("decompress") == "none"


def renamed(text: str, names: Mapping[str, str]) -> str:
    """What the program says, with the names that sides have here in place of paths."""
    for path, name in names.items():
        text = re.sub(rf"{re.escape(path)}(?!\d)", name, text)
    return text


class Sides:
    """The sides of one run."""

    def __init__(
        self,
        sides: Sequence[Any],
        on: On | None,
        options: Mapping[str, Any],
        place: str,
        spools: bool = False,
        are_files: bool = False,
        are_labelled: bool = False,
        writes_all: bool = False,
    ) -> None:
        self.words: list[str] = []
        self.feeders: list[Feeder] = []
        #: What the program calls a side, and what it is called here.
        self.names: dict[str, str] = {}
        others = dict(options.get("via_of") or {})
        first = parquet.First(on, options.get("key_of"), writes_all)
        # The files of tables are looked at where one is in memory: pyarrow is there then.
        has_tables = on is not None and any(map(parquet.is_table, sides))
        # A command of filters takes files in place of sides.
        option = [] if are_files else ["--side"]
        if are_files and sides:
            self.words.append("--")
        try:
            for number, side in enumerate(sides, 1):
                if options.get("via") and number not in others and not isinstance(side, Files):
                    self.words.append(f"--via-of={number}=none")
                # A result is run first, if it has not been.
                is_result = hasattr(side, "__outset_file__")
                is_named, decodes = has_header(on, options, number), options.get("decompress") != "none"
                if is_result and not side.is_file_of(is_named, terminator_of(options), decodes):
                    side, is_result = side.records(is_named), False
                paths = side.paths if isinstance(side, Files) else [side.__outset_file__()] if is_result else []
                if paths:
                    self.words += [*option, *(expanded(paths) if are_files else paths)]
                    if has_tables:
                        first.check(parquet.schema_of(paths), number)
                    continue
                name = f"side {number}"
                if on is not None and parquet.is_table(side):
                    path = f"{place}/side-{number}.parquet"
                    first.check(parquet.written(side, name, path, first.schema), number)
                elif spools or need_files(on, options):
                    path = spooled(side, name, options, f"{place}/side-{number}")
                else:
                    path = self.fed(name, stream(side, name, terminator_of(options)))
                self.words += [*option, path]
                self.names[path] = name
                if are_labelled and not options.get("names"):
                    self.words.append(f"--name={name}={path}")
        except BaseException:
            self.close()
            raise

    def fed(self, name: str, pieces: Iterator[Piece]) -> str:
        self.feeders.append(Feeder(name, pieces))
        return self.feeders[-1].path

    def inherited(self) -> list[int]:
        """The descriptors that the program needs."""
        return [feeder.reading for feeder in self.feeders]

    def start(self, stop: Any) -> None:
        """Starts to feed the program, which has its ends of the pipes; ``stop`` ends it, and returns when it has ended."""
        for feeder in self.feeders:
            feeder.release()
        for feeder in self.feeders:
            feeder.start(stop)

    def close(self) -> None:
        """Ends what the threads do, as far as they can be waited for: one may be in the middle of the caller's iterator."""
        for feeder in self.feeders:
            feeder.is_over = True
            feeder.release()
        last = time.monotonic() + PATIENCE
        for feeder in self.feeders:
            if feeder.thread.ident is None:
                feeder.close(feeder.writing)
            else:
                feeder.thread.join(max(0, last - time.monotonic()))

    def failure(self) -> BaseException | None:
        """Why a side could not be fed, if one could not."""
        return next((feeder.failure for feeder in self.feeders if feeder.failure), None)
