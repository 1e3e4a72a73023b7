"""Which files a side has: those that Spark would read below the same paths.

What has a scheme (s3, gs, abfs, hdfs) is listed with ``pyarrow.fs``; all other paths are local or mounted.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import contextmanager
from typing import BinaryIO, Callable, Iterator, NamedTuple
from urllib.parse import quote

from ..frames import FIRST_BYTES
from .request import Failed

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


class File(NamedTuple):
    path: str
    size: int
    is_remote: bool


def has_scheme(path: str) -> bool:
    return SCHEME.match(path) is not None


def is_data(name: str) -> bool:
    """Does Spark read a file or directory of this name? It leaves out what is hidden, and what is still being copied; a
    directory such as ``_day=1`` is a partition. Spark lists Parquet's ``_metadata`` too, and reads no lines from it."""
    is_hidden = name.startswith("_") and "=" not in name
    return not (is_hidden or name.startswith(".") or name.endswith("._COPYING_"))


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Makes one line of what Python and pyarrow say about a path that cannot be read."""
    try:
        yield
    except (OSError, ValueError) as wrong:  # pyarrow says ValueError to schemes that it does not know
        said = getattr(wrong, "strerror", None) or str(wrong)
        name = getattr(wrong, "filename", None) or path
        raise Failed(f"{name}: {' '.join(said.split())}: name files and directories that can be read") from wrong


def local_files(path: str) -> list[File]:
    whole = os.path.abspath(path)
    found = []
    for name in below(whole) if os.path.isdir(whole) else [whole]:
        status = os.stat(name)
        if not is_unicode(name):
            # Reports have their names as text, in which two such names may look the same.
            raise Failed(f"{os.fsencode(name)!r}: its name is not valid UTF-8: rename it")
        if not stat.S_ISREG(status.st_mode):
            raise Failed(f"{name}: is not a regular file: name files and directories")
        found.append(File(name, status.st_size, False))
    return found


def is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def below(directory: str, above: tuple[tuple[int, int], ...] = ()) -> Iterator[str]:
    """The data files below a directory, also behind links. A link to a directory above it leads to nothing new. A directory
    that cannot be read fails the listing."""
    status = os.stat(directory)
    here = (status.st_dev, status.st_ino)
    if here in above:
        return
    with os.scandir(directory) as entries:
        known = sorted((entry.name, entry.is_dir()) for entry in entries if is_data(entry.name))
    for name, is_dir in known:
        path = os.path.join(directory, name)
        if is_dir:
            yield from below(path, (*above, here))
        else:
            yield path


def remote_files(path: str) -> list[File]:
    from pyarrow import fs

    system, place = fs.FileSystem.from_uri(path)
    info = system.get_file_info(place)
    if info.type == fs.FileType.File:
        return [File(path, info.size, True)]
    # What is behind the question mark is how the storage is reached: it belongs to each file.
    directory, mark, options = path.partition("?")
    directory, start = directory.rstrip("/"), len(place.rstrip("/"))
    return sorted(
        # Names are as they are; in the address of a file a space, % and # need other signs.
        File(directory + quote(info.path[start:], safe="/=") + mark + options, info.size, True)
        for info in system.get_file_info(fs.FileSelector(place, recursive=True))
        if info.type == fs.FileType.File and all(map(is_data, info.path[start:].strip("/").split("/")))
    )


def side_files(paths: list[str], list_remote: Callable[[str], list[File]] = remote_files) -> list[File]:
    """The files of one side: those at its paths, or all that are data below a directory. Each once: a file that is named twice
    is a mistake."""
    found: list[File] = []
    seen: set[str] = set()
    for path in paths:
        with readable(path):
            files = list_remote(path) if has_scheme(path) else local_files(path)
        if not files:
            raise Failed(f"{path}: has no files: name another directory, or a file without lines")
        for file in files:
            real = file.path if file.is_remote else os.path.realpath(file.path)
            if real in seen:
                raise Failed(f"{file.path}: is in its side twice: name it once")
            seen.add(real)
        found += files
    return found


def open_file(path: str, is_remote: bool) -> BinaryIO:
    if not is_remote:
        return open(path, "rb")
    from pyarrow import fs

    system, place = fs.FileSystem.from_uri(path)
    return system.open_input_file(place)


def first_bytes(file: File) -> bytes:
    with readable(file.path), open_file(file.path, file.is_remote) as opened:
        return opened.read(FIRST_BYTES)
