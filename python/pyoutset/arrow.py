"""Results as tables of Arrow.

*Cost:* a copy of the lines, piece by piece; the file is mapped, not read.
"""

from __future__ import annotations

import io
import mmap
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from .errors import UsageError
from .request import Request

if TYPE_CHECKING:
    import pyarrow as pa


class Lines(Protocol):
    """What a table is made of: the lines of a result."""

    @property
    def path(self) -> str: ...

    @property
    def lines(self) -> int: ...

    @property
    def _header_bytes(self) -> int: ...

    def _opened(self) -> AbstractContextManager[Any]: ...

    def bytes(self) -> Iterator[bytes]: ...


#: Bytes that are split at once: more would not stay in the processor's cache.
BYTES = 4 << 20
#: A CR that ends a line for Arrow, and for the program does not.
LONE_CR = re.compile(rb"\r(?!\n)")


def table(request: Request, found: Lines, binary: bool) -> pa.Table:
    """The table of the result of a request."""
    import pyarrow as pa

    if request.is_rows(found.path):
        from pyarrow import parquet

        return parquet.read_table(found.path)
    data = mapped(found)
    if found._header_bytes and request.is_delimited and not binary:
        return records(request, found, data)
    if request.syntax.has_quotes and (request.syntax.escape or data.find(b'"') >= 0):
        # A record may have several lines.
        column = pa.chunked_array([pa.array(found.bytes(), pa.large_binary())])
    else:
        chunks = [split(piece, request.terminator) for piece in pieces(data, found._header_bytes, request.terminator)]
        column = pa.chunked_array(chunks, type=pa.large_binary())
    columns, names = labelled(column, request)
    if not binary:
        columns[-1] = text(columns[-1])
    return pa.table(columns, names=names)


def records(request: Request, found: Lines, data: Any) -> pa.Table:
    """Records with a header: a column of text for each field."""
    import pyarrow as pa

    # Arrow has other rules for lines and for what is odd in them. Where it may have applied one, the fields are taken one by one.
    has_quotes = request.syntax.has_quotes
    if not (request.syntax.escape or LONE_CR.search(data) or (not has_quotes and data.find(b"\r") >= 0)):
        try:
            read = parsed(request, data)
            if read.num_rows == found.lines:
                return read
        except pa.ArrowInvalid:
            pass
    header = bytes(data[: found._header_bytes]).removesuffix(request.terminator).removeprefix(b"\xef\xbb\xbf")
    names = request.syntax.fields(header)
    columns: list[list[str | None]] = [[] for _ in names]
    for number, record in enumerate(found.bytes()):
        fields = request.syntax.fields(record)
        if len(fields) > len(names):
            raise UsageError(f"record {number} has {len(fields)} fields, and the header {len(names)}: take bytes()")
        for index, column in enumerate(columns):
            column.append(fields[index].decode() if index < len(fields) else None)
    return pa.table([pa.array(column, pa.string()) for column in columns], names=[name.decode() for name in names])


def parsed(request: Request, data: Any) -> pa.Table:
    """The records as Arrow reads them."""
    import pyarrow as pa
    from pyarrow import csv

    has_quotes = request.syntax.has_quotes
    delimiter = request.syntax.delimiter.decode()
    parse = csv.ParseOptions(
        delimiter=delimiter, quote_char='"' if has_quotes else False, newlines_in_values=has_quotes, ignore_empty_lines=False
    )
    with csv.open_csv(pa.BufferReader(pa.py_buffer(data)), parse_options=parse) as first:
        types = {name: pa.string() for name in first.schema.names}
    convert = csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    return csv.read_csv(pa.BufferReader(pa.py_buffer(data)), parse_options=parse, convert_options=convert)


def mapped(found: Lines) -> Any:
    """The whole file, decoded."""
    with found._opened() as file:
        if isinstance(file, io.BufferedReader):
            if not file.seek(0, io.SEEK_END):
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return file.read()


def pieces(data: Any, start: int, end: bytes) -> Any:
    """Whole lines from ``start`` on, in pieces, without the last end of each."""
    while start < len(data):
        stop = data.rfind(end, start, start + BYTES)
        if stop < 0:
            stop = data.find(end, start)
        if stop < 0:
            stop = len(data)
        yield data, start, stop
        start = stop + 1


def split(piece: tuple[Any, int, int], end: bytes) -> pa.Array[Any]:
    """The lines of a piece."""
    import pyarrow as pa
    import pyarrow.compute as pc

    data, start, stop = piece
    offsets = pa.array([start, stop], pa.int64()).buffers()[1]
    whole = pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(data)])
    return pc.split_pattern(whole, end).values


def labelled(column: Any, request: Request) -> tuple[list[Any], list[str]]:
    """The columns before the tabs of each line, and the line."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns: list[Any] = []
    for name in request.labels:
        parts = pc.split_pattern(column, b"\t", max_splits=1)
        label = pc.list_element(parts, 0).cast(pa.large_string())
        columns.append(label if name == "which" else label.cast(pa.int64()))
        column = pc.list_element(parts, 1)
    return [*columns, column], [*request.labels, "line"]


def text(column: Any) -> Any:
    """Bytes as text."""
    import pyarrow as pa

    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid:
        for value in column:
            value.as_py().decode()  # raises the error that says where
        raise
