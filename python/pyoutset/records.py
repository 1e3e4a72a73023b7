"""Records in lines, as the program writes them: lines that go on between quotes, and the fields of a record.

*Cost:* a look at each line for a quote; only lines that have one are gone through. *Sources:* RFC 4180, and ``docs/inputs.md`` on
quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator


class Syntax:
    """Where fields begin and end."""

    def __init__(self, delimiter: str, has_quotes: bool, escape: str | None) -> None:
        self.delimiter = delimiter.encode()
        self.has_quotes = has_quotes
        self.escape = escape.encode() if escape else None
        between = re.escape(self.delimiter)
        text, odd = (re.escape(self.escape) + b".", re.escape(self.escape)) if self.escape else (b"(?!)", b"")
        #: A field that opens with a quote, up to the quote that closes it.
        self.quoted = re.compile(b'"(?:' + text + b'|""|[^"' + odd + b'])*"', re.DOTALL)
        #: All up to the next delimiter.
        self.rest = re.compile(b"(?:" + text + b"|[^" + between + odd + b"])*", re.DOTALL)
        #: What stands for another byte, within quotes.
        self.written = re.compile(b'""|' + re.escape(self.escape or b"") + b"(.)" if self.escape else b'""', re.DOTALL)

    def whole(self, lines: Iterable[bytes], end: bytes) -> Iterator[bytes]:
        """The records of these lines: one that goes on between quotes has several."""
        if not self.has_quotes:
            yield from lines
            return
        open_record: bytes | None = None
        for line in lines:
            record = line if open_record is None else open_record + end + line
            open_record = record if self._goes_on(record) else None
            if open_record is None:
                yield record
        if open_record is not None:
            yield open_record

    def _goes_on(self, record: bytes) -> bool:
        """Tells whether the record is not over: a quote is open, or its last character makes the line end text."""
        if not (b'"' in record or (self.escape and self.escape in record)):
            return False
        return any(end is None for _, end in self._found(record))

    def _found(self, record: bytes) -> Iterator[tuple[int, int | None]]:
        """The fields of a record as they stand: where each begins and ends; ``None`` for the end of one that goes on."""
        start = 0
        while True:
            behind = start
            if record.startswith(b'"', start):
                closed = self.quoted.match(record, start)
                if not closed:
                    yield start, None
                    return
                behind = closed.end()
            found = self.rest.match(record, behind)
            behind = found.end() if found else behind
            if self.escape and record[behind:] == self.escape:
                yield start, None
                return
            yield start, behind
            if behind >= len(record):
                return
            start = behind + len(self.delimiter)

    def fields(self, record: bytes) -> list[bytes]:
        """What the fields of a record say."""
        if not self.has_quotes:
            return record.split(self.delimiter)
        record = record[:-1] if record.endswith(b"\r") else record
        if not (b'"' in record or self.escape):
            return record.split(self.delimiter)
        return [self._text(record[start:end]) for start, end in self._found(record)]

    def _text(self, field: bytes) -> bytes:
        """What a field says."""
        if self.quoted.fullmatch(field):
            return self.written.sub(lambda found: (found.lastindex and found[1]) or b'"', field[1:-1])
        if self.escape:
            return re.sub(re.escape(self.escape) + b"(.)", rb"\1", field, flags=re.DOTALL)
        return field
