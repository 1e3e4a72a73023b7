"""Tables: Parquet files, and what is in memory and becomes one so that the program finds its columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import InputError, UsageError, storing
from .options import Field, On

if TYPE_CHECKING:
    import pyarrow as pa

END = ".parquet"
#: The bytes that a Parquet file begins with.
MAGIC = b"PAR1"
#: Options with which the program writes more, or something else, than rows.
OTHERS = ("keys_only", "rows", "which", "count_files", "count", "all", "top", "filter")
#: Options with which an intersection writes records of all sides.
OF_SIDES = ("at_least", "at_most", "exactly", "only")


def is_table(side: Any) -> bool:
    """Tells whether it is a table in memory: of Arrow, Polars, pandas, DuckDB."""
    if isinstance(side, (str, bytes)) or not (hasattr(side, "columns") or hasattr(side, "read_next_batch")):
        return False
    return hasattr(side, "__arrow_c_stream__") or hasattr(side, "__arrow_c_array__") or is_pandas(side)


def is_pandas(side: Any) -> bool:
    return type(side).__module__.partition(".")[0] == "pandas"


def is_polars(side: Any) -> bool:
    """Tells whether it is of Polars. By itself, it would hand over categories of a kind that few functions of Arrow take."""
    return type(side).__module__.partition(".")[0] == "polars" and hasattr(side, "to_arrow")


def reader(side: Any, name: str) -> pa.RecordBatchReader:
    """The rows of a table, batch by batch."""
    try:
        import pyarrow as pa
    except ImportError as missing:
        raise UsageError(f"{name}: a table needs pyarrow: install it, or give one column as a list") from missing
    if is_pandas(side):
        # By itself, it would bring its index along.
        return pa.Table.from_pandas(side, preserve_index=False).to_reader()
    if isinstance(side, pa.RecordBatch):
        return pa.Table.from_batches([side]).to_reader()
    if is_polars(side):
        return side.to_arrow().to_reader()
    return pa.RecordBatchReader.from_stream(side)


def written(side: Any, name: str, path: str, like: pa.Schema | None) -> pa.Schema:
    """Writes a table to a Parquet file. With the columns of ``like``, the schema of a table before it, it gets all of that: what
    pandas says of the values of one table would keep the program from keeping the types of both. Returns the schema."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        batches = reader(side, name)
        schema = like if like is not None and batches.schema.equals(like) else batches.schema
        with storing(path):
            file = parquet.ParquetWriter(path, schema)
        try:
            for batch in batches:
                with storing(path):
                    file.write_batch(batch)
        finally:
            with storing(path):
                file.close()
    except pa.ArrowException as failure:
        raise InputError(f"{name}: cannot be written as a table ({failure}): cast or leave out such columns", path=name) from failure
    return schema


def schema_of(paths: Sequence[str]) -> pa.Schema | None:
    """The schema of the first file of a side, if it is Parquet; what cannot be read is for the program to tell."""
    import pyarrow as pa
    from pyarrow import parquet

    found = first_file(paths[0])
    try:
        return parquet.read_schema(found) if found and is_parquet(found) else None
    except (pa.ArrowException, OSError):
        return None


class First:
    """The first table of a run, which others are compared with."""

    def __init__(self, on: On | None, key_of: Mapping[int, On] | None, writes_all: bool) -> None:
        self.on, self.key_of, self.writes_all = on, key_of or {}, writes_all
        self.schema: pa.Schema | None = None
        self.key: list[Field] = []

    def check(self, schema: pa.Schema | None, number: int) -> None:
        """Raises :class:`UsageError` for durations of other units than in the first: in Parquet they are numbers."""
        if schema is None:
            return
        on = self.key_of.get(number, self.on)
        key: list[Any] = list(on) if isinstance(on, (list, tuple)) else [on]
        if self.schema is None:
            self.schema, self.key = schema, key
        every = [(name, name) for name in schema.names] if self.writes_all else []
        for here, there in [*zip(key, self.key), *every]:
            found, known = type_of(schema, here), type_of(self.schema, there)
            if found and known and found != known and "duration" in f"{found} {known}":
                raise UsageError(f"side {number}: {here} is {found}, and in a side before {known}: cast one of them")


def type_of(schema: pa.Schema, field: Field) -> pa.DataType | None:
    """The type of a column."""
    if isinstance(field, int):
        return schema.field(field - 1).type if 0 < field <= len(schema) else None
    return schema.field(field).type if schema.names.count(field) == 1 else None


def is_name(path: str) -> bool:
    """Tells whether a name is that of a table."""
    return path.lower().endswith(END)


def are_parquet(paths: Sequence[str]) -> bool:
    """Tells whether these are tables: by their names, or by the first file with bytes of each, as the program does."""
    return all(is_name(path) or begins_as_table(path) for path in paths)


def begins_as_table(path: str) -> bool:
    """Tells whether a file, or the first of a directory or pattern that is not empty, is a table."""
    found = first_file(path)
    return found is not None and is_parquet(found)


def is_parquet(name: str) -> bool:
    """Tells whether a file that can be read is a table."""
    with open(name, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def first_file(path: str) -> str | None:
    """A file, or the first of a directory or pattern that is not empty."""
    import glob

    for found in [path] if os.path.lexists(path) else sorted(glob.glob(path)):
        for name in files_below(found) if os.path.isdir(found) else [found]:
            # A FIFO would be waited for. What cannot be read is for the program to tell.
            if os.path.isfile(name) and os.path.getsize(name) and os.access(name, os.R_OK):
                return name
    return None


def files_below(directory: str) -> Iterator[str]:
    """The files that the program reads of a directory."""
    for place, directories, names in os.walk(directory):
        directories[:] = sorted(name for name in directories if not name.startswith((".", "_")))
        yield from (os.path.join(place, name) for name in sorted(names) if not name.startswith((".", "_")))


def gives_rows(operation: str, settings: dict[str, Any], tables: Sequence[bool]) -> bool:
    """Tells whether the program can write rows: all sides whose records are written are tables, as `tables` says."""
    if any(settings.get(name) for name in OTHERS):
        return False
    return all(tables) if writes_all(operation, settings) else tables[0]


def writes_all(operation: str, settings: Mapping[str, Any]) -> bool:
    """Tells whether records of every side may be written, and not of the first alone."""
    return operation in ("union", "symdiff") or (operation == "intersect" and any(settings.get(name) for name in OF_SIDES))
