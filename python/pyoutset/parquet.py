"""Tables: Parquet files, and what is in memory and becomes one so that the program finds its columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

END = ".parquet"
#: Options with which the program writes more, or something else, than rows.
OTHERS = ("keys_only", "rows", "at_least", "at_most", "exactly", "only", "which", "count_files", "count", "all", "top", "filter")


def is_table(side: Any) -> bool:
    """Tells whether it is a table in memory: of Arrow, Polars, pandas, DuckDB."""
    if isinstance(side, (str, bytes)) or not (hasattr(side, "columns") or hasattr(side, "read_next_batch")):
        return False
    return hasattr(side, "__arrow_c_stream__") or hasattr(side, "__arrow_c_array__") or is_pandas(side)


def is_pandas(side: Any) -> bool:
    return type(side).__module__.partition(".")[0] == "pandas"


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
    return pa.RecordBatchReader.from_stream(side)


def written(side: Any, name: str, path: str) -> str:
    """Writes a table to a Parquet file; returns its path."""
    from pyarrow import parquet

    batches = reader(side, name)
    with parquet.ParquetWriter(path, batches.schema) as file:
        for batch in batches:
            file.write_batch(batch)
    return path


def are_parquet(paths: Sequence[str]) -> bool:
    """Tells whether all these files are tables, by their names."""
    return all(path.lower().endswith(END) for path in paths)


def gives_rows(operation: str, settings: dict[str, Any], tables: Sequence[bool]) -> bool:
    """Tells whether the program can write rows: of the first side, or of all sides of a union; `tables` says which are tables."""
    if any(settings.get(name) for name in OTHERS):
        return False
    if operation == "union":
        return all(tables) and not settings.get("key_of")
    return operation in ("intersect", "diff") and tables[0]
