"""What is read by which task: ranges of files, here and on remote storage.

A range is cut anywhere; the lines that begin in it belong to it. A compressed file is one range. Local and mounted paths are
read by ``outset shard`` itself; what has a scheme (s3, gs, abfs, hdfs) is opened with ``pyarrow.fs`` and piped to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Iterator

from ..frames import is_compressed
from .listing import File, first_bytes, open_file, side_files

PIECE = 1 << 20


@dataclass(frozen=True)
class Split:
    """The lines of one side that begin in ``length`` bytes of a file from ``offset`` on."""

    side: int
    path: str
    offset: int
    length: int
    is_remote: bool
    is_compressed: bool
    #: The size of the file when it was listed.
    file_bytes: int


def splits(sides: list[list[str]], split_bytes: int, check: Callable[[], None] = lambda: None) -> list[Split]:
    """All ranges of all sides, the largest first, so that no long task begins last. ``check`` is called for each file: it raises
    to end a listing that takes long."""
    found: list[Split] = []
    for side, paths in enumerate(sides, 1):
        for file in side_files(paths):
            check()
            found += ranges(side, file, split_bytes)
    return sorted(found, key=lambda split: -split.length)


def ranges(side: int, file: File, split_bytes: int) -> Iterator[Split]:
    path, size, is_remote = file
    if size == 0 or is_compressed(first_bytes(file)):
        yield Split(side, path, 0, size, is_remote, size > 0, size)
        return
    for offset in range(0, size, split_bytes):
        yield Split(side, path, offset, min(split_bytes, size - offset), is_remote, False, size)


class Listed:
    """A file that is read as it was listed: one that has another size by now, or ends early, is an error and no end."""

    def __init__(self, split: Split) -> None:
        self.path, self.size, self.at = split.path, split.file_bytes, 0
        self.file = open_file(split.path, split.is_remote)
        found = self.file.seek(0, 2)
        if found != self.size:
            self.file.close()
            raise changed(self.path, self.size, found)
        self.seek(0)

    def __enter__(self) -> Listed:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def seek(self, at: int) -> None:
        self.at = self.file.seek(at)

    def read(self, most: int = PIECE) -> bytes:
        """The next piece; empty only at the end."""
        piece = self.file.read(min(most, PIECE, self.size - self.at))
        if not piece and self.at < self.size:
            raise changed(self.path, self.size, self.at)
        self.at += len(piece)
        return piece


def changed(path: str, listed: int, found: int) -> OSError:
    """The error for a file that is no longer what was listed."""
    return OSError(f"{path}: has {found} bytes, but had {listed} when it was listed: run again when nothing writes to it")


def pieces(split: Split) -> Iterator[bytes]:
    """The lines of a split, in pieces of any size."""
    with Listed(split) as file:
        if split.is_compressed:
            while piece := file.read():
                yield piece
            return
        at, end = split.offset, split.offset + split.length
        if at > 0:
            # A line begins at the offset if the byte before it ends one.
            at -= 1
            file.seek(at)
            while at < end:
                piece = file.read()
                found = piece.find(b"\n")
                if found >= 0:
                    at += found + 1
                    break
                at += len(piece)
        file.seek(at)
        last = b"\n"
        while at < end:
            piece = file.read(end - at)
            at, last = at + len(piece), piece[-1:]
            yield piece
        while last != b"\n" and (piece := file.read()):
            found = piece.find(b"\n")
            last = b"\n" if found >= 0 else b""
            yield piece[: found + 1] if found >= 0 else piece
