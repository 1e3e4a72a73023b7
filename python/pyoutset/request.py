"""What was asked for, as far as its result has to know.

*Invariants:* it refers to no side: those are gone when the result is there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import options, parquet
from .records import Syntax

#: What opens a compressed file, by the end of its name.
OPENERS = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}


class Request:
    """What a result has to know of what was asked for."""

    def __init__(self, operation: str, on: options.On | None, settings: dict[str, Any], tables: Sequence[bool]) -> None:
        self.operation = operation
        #: True if the result is rows of tables, in a Parquet file.
        self.has_rows = parquet.gives_rows(operation, settings, tables)
        self.terminator = b"\0" if settings.get("zero_terminated") else b"\n"
        is_csv, is_tsv = bool(settings.get("csv")), bool(settings.get("tsv"))
        delimiter = "\t" if is_tsv else settings.get("delimiter") or ","
        #: The fields of the lines, if they have any.
        self.is_delimited = is_csv or is_tsv or bool(settings.get("delimiter"))
        self.syntax = Syntax("\t" if delimiter == r"\t" else delimiter, is_csv, settings.get("escape"))
        #: The columns before a tab in each line. Records have them as fields.
        labels = () if self.is_delimited else (("which", "which"), ("count_files", "files"), ("count", "count"))
        self.labels = [name for option, name in labels if settings.get(option)]
        self.compress = settings.get("compress")
        #: The file with the page of the run, if it was named.
        self.page: str | None = None
        #: True if the result is a directory with many files.
        self.has_files = False
        self.name = "rows.parquet" if self.has_rows else "lines"

    def is_rows(self, out: str | None) -> bool:
        """Tells whether the file has rows of Parquet."""
        return parquet.is_name(out or self.name)

    def is_hidden(self, out: str | None) -> bool:
        """Tells whether the file has no lines that can be read here."""
        if self.has_files or not out:
            return self.has_files or self.has_rows
        return self._end(out) not in ("", *OPENERS)

    def is_compressed(self, out: str | None) -> bool:
        """Tells whether the file is compressed."""
        return bool(out and self._end(out))

    def opener(self, out: str | None) -> str | None:
        """The module that opens the file, if it is compressed."""
        return OPENERS.get(self._end(out)) if out else None

    def _end(self, out: str) -> str:
        """How the file is stored, as the end of a name; nothing for plain lines."""
        end = os.path.splitext(out)[1].lower()
        if end == ".parquet":
            return end
        if self.compress is None:
            return end if end in (*OPENERS, ".zst", ".lz4") else ""
        format = str(self.compress).partition(":")[0]
        return "" if format == "none" else {"gzip": ".gz", "zstd": ".zst"}.get(format, f".{format}")
