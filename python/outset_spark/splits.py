"""What is read by which task: ranges of files, here and on remote storage.

A range is cut anywhere; the lines that begin in it belong to it. A compressed file is one range. Local and mounted paths are
read by ``outset shard`` itself; what has a scheme (s3, gs, abfs, hdfs) is opened with ``pyarrow.fs`` and piped to it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import BinaryIO, Iterator

COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"\x02\x21\x4c\x18")
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


def splits(sides: list[list[str]], split_bytes: int) -> list[Split]:
    """All ranges of all sides, the largest first, so that no long task begins last."""
    found = [
        split
        for side, paths in enumerate(sides, 1)
        for path in paths
        for name, size, is_remote in files(path)
        for split in ranges(side, name, size, is_remote, split_bytes)
    ]
    return sorted(found, key=lambda split: -split.length)


def files(path: str) -> list[tuple[str, int, bool]]:
    """The files at a path: itself, or all below a directory but those whose names begin with ``.`` or ``_``, as Spark reads
    them. Each with its size, and whether it is remote."""
    if "://" not in path:
        if os.path.isdir(path):
            names = [
                os.path.join(place, name)
                for place, below, all_names in os.walk(path)
                if below.sort() is None
                for name in sorted(all_names)
                if is_data(os.path.relpath(os.path.join(place, name), path))
            ]
            if not names:
                raise FileNotFoundError(f"{path}: has no files")
        else:
            names = [path]
        return [(os.path.abspath(name), os.path.getsize(name), False) for name in names]
    from pyarrow import fs

    system, place = fs.FileSystem.from_uri(path)
    info = system.get_file_info(place)
    if info.type == fs.FileType.File:
        return [(path, info.size, True)]
    infos = system.get_file_info(fs.FileSelector(place, recursive=True))
    # What is behind the question mark is how the storage is reached: it belongs to each file.
    directory, mark, options = path.partition("?")
    found = sorted(
        (directory.rstrip("/") + info.path[len(place.rstrip("/")) :] + mark + options, info.size, True)
        for info in infos
        if info.type == fs.FileType.File and is_data(os.path.relpath(info.path, place))
    )
    if not found:
        raise FileNotFoundError(f"{path}: has no files")
    return found


def is_data(name: str) -> bool:
    return not any(part.startswith((".", "_")) for part in name.split(os.sep))


def ranges(side: int, path: str, size: int, is_remote: bool, split_bytes: int) -> Iterator[Split]:
    with open_file(path, is_remote) as file:
        is_compressed = file.read(6).startswith(COMPRESSED)
    if is_compressed or size == 0:
        yield Split(side, path, 0, size, is_remote, is_compressed)
        return
    for offset in range(0, size, split_bytes):
        yield Split(side, path, offset, min(split_bytes, size - offset), is_remote, False)


def open_file(path: str, is_remote: bool) -> BinaryIO:
    if not is_remote:
        return open(path, "rb")
    from pyarrow import fs

    system, place = fs.FileSystem.from_uri(path)
    return system.open_input_file(place)


def pieces(split: Split) -> Iterator[bytes]:
    """The lines of a split, in pieces of any size."""
    with open_file(split.path, split.is_remote) as file:
        if split.is_compressed:
            while piece := file.read(PIECE):
                yield piece
            return
        at, end = split.offset, split.offset + split.length
        if at > 0:
            # A line begins at the offset if the byte before it ends one.
            at -= 1
            file.seek(at)
            while at < end:
                piece = file.read(PIECE)
                if not piece:
                    return
                found = piece.find(b"\n")
                if found >= 0:
                    at += found + 1
                    break
                at += len(piece)
        if at >= end:
            return
        file.seek(at)
        last = b"\n"
        while at < end:
            piece = file.read(min(PIECE, end - at))
            if not piece:
                return
            at, last = at + len(piece), piece[-1:]
            yield piece
        while last != b"\n":
            piece = file.read(PIECE)
            if not piece:
                return
            found = piece.find(b"\n")
            last = b"\n" if found >= 0 else b""
            yield piece[: found + 1] if found >= 0 else piece
