"""Results as tables of Arrow.

*Cost:* a copy of the lines, piece by piece; the file is mapped, not read.
"""

from __future__ import annotations

import io
import mmap
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from .request import Request

if TYPE_CHECKING:
    import pyarrow as pa

#: What opens the file of a result, behind its header.
Opened = Callable[[], AbstractContextManager[Any]]

#: Bytes that are split at once: more would not stay in the processor's cache.
BYTES = 4 << 20


def table(request: Request, path: str, opened: Opened, binary: bool) -> pa.Table:
    """The table of the result of a request, which is in the file ``path``."""
    import pyarrow as pa

    if request.is_rows(path):
        from pyarrow import parquet

        return parquet.read_table(path)
    if request.has_header and request.is_delimited and not binary:
        return records(request, path)
    chunks = [split(piece, request.terminator) for piece in mapped(request, opened)]
    column = pa.chunked_array(chunks, type=pa.large_binary())
    columns, names = labelled(column, request)
    if not binary:
        columns[-1] = text(columns[-1])
    return pa.table(columns, names=names)


def records(request: Request, path: str) -> pa.Table:
    """Records with a header: a column of text for each field."""
    import pyarrow as pa
    from pyarrow import csv

    parse = csv.ParseOptions(
        delimiter=request.delimiter, quote_char='"' if request.is_csv else False, newlines_in_values=request.is_csv
    )
    with csv.open_csv(path, parse_options=parse) as first:
        types = {name: pa.string() for name in first.schema.names}
    convert = csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    return csv.read_csv(path, parse_options=parse, convert_options=convert)


def mapped(request: Request, opened: Opened) -> Any:
    """The file in pieces of whole lines, without the last end of each."""
    with opened() as file:
        if isinstance(file, io.BufferedReader):
            if not file.seek(0, io.SEEK_END):
                return
            data: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        else:
            data = file.read()
    end = request.terminator
    start = data.find(end) + 1 if request.has_header else 0
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
