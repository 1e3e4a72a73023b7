"""What is in memory as lines for a pipe, piece by piece: text, bytes, Arrow columns, open files.

A line ends with the terminator, a newline or a NUL: an item that contains it, or a null, is an error with its index. A piece has at
most some thousand items, so that nothing is held twice.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from .errors import InputError, UsageError
from .frames import FIRST_BYTES, Piece, framed, is_compressed
from .parquet import is_polars, is_table, reader

if TYPE_CHECKING:
    import pyarrow as pa

#: Items of a piece: joining them costs more for more, which then leave the processor's cache.
ITEMS = 8192
#: Seconds in which a piece should be there.
QUICK = 0.05
#: The types of Arrow whose values can be lines.
TEXTS = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
#: Bytes of a piece of a file.
BYTES = 1 << 20


def stream(side: Any, name: str, terminator: bytes) -> Iterator[Piece]:
    """What goes through a pipe for a side: a frame, or a file that is compressed and so has an end mark of its own."""
    lines = pieces(side, name, terminator)
    if not hasattr(side, "read"):
        return framed(lines)
    first = b""
    while len(first) < FIRST_BYTES and (piece := next(lines, b"")):
        first += piece
    whole = chain([first], lines)
    return whole if is_compressed(first[:FIRST_BYTES]) else framed(whole)


def pieces(side: Any, name: str, terminator: bytes) -> Iterator[Piece]:
    """The lines of anything that is in memory; ``name`` is that of the side in errors."""
    if hasattr(side, "read"):
        return of_file(side)
    if is_table(side):
        return of_arrow(reader(side, name), name, terminator)
    if is_arrow(side):
        return of_arrow(side, name, terminator)
    if isinstance(side, Iterable):
        return of_items(side, name, terminator)
    raise UsageError(f"{name}: {type(side).__name__} is no input: give a path, or an iterable of str or bytes")


def of_file(file: Any) -> Iterator[Piece]:
    """The bytes of an open file, as they are."""
    while data := file.read(BYTES):
        yield data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data


def of_items(items: Iterable[Any], name: str, terminator: bytes) -> Iterator[Piece]:
    """The lines of str (as UTF-8) and bytes."""
    rest, start, count = iter(items), 0, 1
    while True:
        began = time.monotonic()
        batch = list(islice(rest, count))
        if not batch:
            return
        # A slow iterator gives small pieces: whoever feeds them looks after each whether it still has to.
        is_quick = time.monotonic() - began < QUICK
        count = min(2 * count, ITEMS) if is_quick else max(count // 2, 1)
        yield joined(batch, start, name, terminator)
        start += len(batch)


def joined(batch: list[Any], start: int, name: str, terminator: bytes) -> bytes:
    """The lines of a batch, of which the first is item ``start``."""
    try:
        text = terminator.decode()
        data = text.join(batch).encode("utf-8", "surrogateescape")
    except (TypeError, UnicodeEncodeError):
        data = terminator.join(line(item, start + number, name) for number, item in enumerate(batch))
    if data.count(terminator) != len(batch) - 1:
        index = next(number for number, item in enumerate(batch) if terminator in line(item, start + number, name))
        raise has_terminator(name, start + index, terminator)
    return data + terminator


def line(item: Any, index: int, name: str) -> bytes:
    """One item as bytes."""
    if isinstance(item, str):
        try:
            return item.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as wrong:
            raise InputError(f"{name}: item {index} cannot be written as UTF-8: give bytes", path=name, line=index) from wrong
    if isinstance(item, (bytes, bytearray, memoryview)):
        return bytes(item)
    what = "null" if item is None else type(item).__name__
    raise InputError(f"{name}: item {index} is {what}: give str or bytes", path=name, line=index)


def has_terminator(name: str, index: int, terminator: bytes) -> InputError:
    if terminator == b"\0":
        message = f"{name}: item {index} contains a NUL, which ends a line: remove it"
    else:
        message = f"{name}: item {index} contains a newline, which ends a line: give zero_terminated=True, or remove it"
    return InputError(message, path=name, line=index)


def is_arrow(side: Any) -> bool:
    """Tells whether it can be handed over as Arrow. Without pyarrow, a column is an iterable as any other."""
    if not (hasattr(side, "__arrow_c_stream__") or hasattr(side, "__arrow_c_array__")):
        return False
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def of_arrow(side: Any, name: str, terminator: bytes) -> Iterator[Piece]:
    """The lines of a column of text or binary values."""
    start = 0
    for values in arrays(side, name):
        # In the next piece the offsets begin anew: each has a list that spans it.
        for part in (values.slice(first, ITEMS) for first in range(0, len(values), ITEMS)):
            yield of_array(part, start, name, terminator)
            start += len(part)


def of_array(values: pa.Array[Any], start: int, name: str, terminator: bytes) -> memoryview:
    import pyarrow as pa
    import pyarrow.compute as pc

    if values.null_count:
        index = values.is_null().index(True).as_py()
        raise InputError(f"{name}: item {start + index} is null: leave out nulls", path=name, line=start + index)
    _, offsets, data = values.buffers()
    if data is not None:
        ends = memoryview(offsets).cast("q")[values.offset :]
        # The search goes through the values at once, at the speed of memchr.
        if re.compile(re.escape(terminator)).search(memoryview(data)[ends[0] : ends[len(values)]]):
            index = next(number for number, value in enumerate(values) if terminator in value.as_py())
            raise has_terminator(name, start + index, terminator)
    # An empty value at the end: each line ends with a terminator.
    whole = pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values)
    lines = pc.binary_join(whole, pa.scalar(terminator, pa.large_binary()))
    end = pa.array([terminator], pa.large_binary())
    text = pc.binary_join_element_wise(lines, end, pa.scalar(b"", pa.large_binary()))
    return memoryview(text[0].as_buffer())


def arrays(side: Any, name: str) -> Iterator[pa.Array[Any]]:
    """The chunks of a column, or of the only column of a table, as large binary values."""
    import pyarrow as pa

    for chunk in chunks(side, name):
        if pa.types.is_dictionary(chunk.type):
            chunk = chunk.cast(chunk.type.value_type)
        kind = chunk.type
        if pa.types.is_null(kind) and not len(chunk):
            continue
        if str(kind) not in TEXTS:
            raise UsageError(f"{name}: has values of type {kind}: cast them to text first")
        yield chunk.cast(pa.large_binary())


def chunks(side: Any, name: str) -> Iterator[pa.Array[Any]]:
    import pyarrow as pa

    if isinstance(side, pa.Array):
        yield side
    elif isinstance(side, pa.ChunkedArray):
        yield from side.chunks
    elif is_polars(side):
        yield from chunks(side.to_arrow(), name)
    elif hasattr(side, "__arrow_c_stream__"):
        try:
            batches = pa.RecordBatchReader.from_stream(side)
        except (pa.ArrowInvalid, TypeError):
            # A stream of values, not of rows.
            yield from pa.chunked_array(side).chunks
            return
        for batch in batches:
            yield only_column(batch, name)
    else:
        values = pa.array(side)
        yield only_column(pa.RecordBatch.from_struct_array(values), name) if pa.types.is_struct(values.type) else values


def only_column(batch: pa.RecordBatch, name: str) -> pa.Array[Any]:
    if batch.num_columns != 1:
        first = batch.schema.names[0]
        raise UsageError(f"{name}: has {batch.num_columns} columns: say which are compared, with on={first!r}, or give table[{first!r}]")
    return batch.column(0)
