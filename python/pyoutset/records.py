"""Records in lines, as the program writes them: lines that go on between quotes, and the fields of a record.

*Cost:* a look at each line for a quote; only lines that have one are gone through. *Sources:* RFC 4180, and ``docs/inputs.md`` on
quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

#: The end of a field that is open between quotes, and of one whose last character makes the end of the line text.
QUOTED, ESCAPED = -1, -2


class Syntax:
    """Where fields begin and end."""

    def __init__(self, delimiter: str, has_quotes: bool, escape: str | None) -> None:
        self.delimiter = delimiter.encode()
        self.has_quotes = has_quotes
        self.escape = escape.encode() if escape else None
        between = re.escape(self.delimiter)
        text, odd = (re.escape(self.escape) + b".", re.escape(self.escape)) if self.escape else (b"(?!)", b"")
        #: A field that opens with a quote, up to the quote that closes it, which is none of two that stand for one.
        self.quoted = re.compile(b'"(?:' + text + b'|""|[^"' + odd + b'])*"(?!")', re.DOTALL)
        #: All up to the next delimiter.
        self.rest = re.compile(b"(?:" + text + b"|[^" + between + odd + b"])*", re.DOTALL)
        #: What stands for another byte, within quotes.
        self.written = re.compile(b'""|' + re.escape(self.escape or b"") + b"(.)" if self.escape else b'""', re.DOTALL)

    def whole(self, lines: Iterable[bytes], end: bytes) -> Iterator[bytes]:
        """The records of these lines: one that goes on between quotes has several."""
        if not self.has_quotes:
            yield from lines
            return
        parts: list[bytes] = []
        is_quoted = False
        for line in lines:
            parts.append(line)
            # What is open between quotes goes on to the next quote: a record of many lines is not gone through for each.
            if is_quoted and b'"' not in line:
                continue
            record = end.join(parts)
            last = self._end(record)
            is_quoted = last == QUOTED
            if last >= 0:
                yield record
                parts = []
        if parts:
            yield end.join(parts)

    def _end(self, record: bytes) -> int:
        """Where the last field ends, as :meth:`_found` says it."""
        if not (b'"' in record or (self.escape and self.escape in record)):
            return len(record)
        return [end for _, end in self._found(record)][-1]

    def _found(self, record: bytes) -> Iterator[tuple[int, int]]:
        """The fields of a record as they stand: where each begins and ends; :data:`QUOTED` or :data:`ESCAPED` for the end of the last
        one if it goes on in the next line."""
        start = 0
        while True:
            behind = start
            if record.startswith(b'"', start):
                closed = self.quoted.match(record, start)
                if not closed:
                    yield start, QUOTED
                    return
                behind = closed.end()
            found = self.rest.match(record, behind)
            behind = found.end() if found else behind
            if self.escape and record[behind:] == self.escape:
                yield start, ESCAPED
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
        return [self._text(record[start : end if end >= 0 else None]) for start, end in self._found(record)]

    def _text(self, field: bytes) -> bytes:
        """What a field says."""
        if self.quoted.fullmatch(field):
            return self.written.sub(lambda found: (found.lastindex and found[1]) or b'"', field[1:-1])
        if self.escape:
            return re.sub(re.escape(self.escape) + b"(.)", rb"\1", field, flags=re.DOTALL)
        return field
