"""What was asked for, as far as its result has to know.

*Invariants:* it refers to no side: those are gone when the result is there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import options, parquet

#: What opens a compressed file, by the end of its name.
OPENERS = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}


class Request:
    """What a result has to know of what was asked for."""

    def __init__(self, operation: str, on: options.On | None, settings: dict[str, Any], tables: Sequence[bool]) -> None:
        self.operation = operation
        #: True if the result is rows of tables, in a Parquet file.
        self.has_rows = parquet.gives_rows(operation, settings, tables)
        self.terminator = b"\0" if settings.get("zero_terminated") else b"\n"
        self.is_csv = bool(settings.get("csv"))
        self.is_tsv = bool(settings.get("tsv"))
        self.delimiter = "\t" if self.is_tsv else settings.get("delimiter", ",")
        self.is_delimited = self.is_csv or self.is_tsv or "delimiter" in settings
        self.has_header = options.has_header(on, settings) and not tables[0]
        #: The columns before a tab in each line. Records have them as fields.
        labels = () if self.is_delimited else (("which", "which"), ("count_files", "files"), ("count", "count"))
        self.labels = [name for option, name in labels if settings.get(option)]
        self.compress = settings.get("compress")
        #: True if the result is a directory with many files.
        self.has_files = False
        self.name = "rows.parquet" if self.has_rows else "lines"

    def is_rows(self, out: str | None) -> bool:
        """Tells whether the file has rows of Parquet."""
        return parquet.are_parquet([out or self.name])

    def is_hidden(self, out: str | None) -> bool:
        """Tells whether the file has no lines that can be read here."""
        if self.has_files or not out:
            return self.has_files or self.has_rows
        end = os.path.splitext(out)[1].lower()
        return end in (".parquet", ".zst", ".lz4") or (self.compress not in (None, "none") and end not in OPENERS)
