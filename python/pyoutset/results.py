"""The lines of a result.

Nothing runs until something of the result is asked for; then the run goes on until it is complete. Its lines are in a file: in a
temporary one, which is removed with the result, or in ``out``, which stays.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import arrow
from .errors import UsageError
from .frames import FIRST_BYTES, is_compressed
from .request import Request
from .running import Run

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

#: Bytes that are read at once.
BYTES = 1 << 20


class Result:
    """The lines that an operation finds.

    A result is an iterable of ``str``: lines are decoded as UTF-8, and bytes that are none are kept as :func:`os.fsdecode` does.
    :meth:`bytes` gives them as they are. What a header is, is in :attr:`header` and not among the lines.

    It is a context manager, which removes the temporary file at its end; so does the garbage collector.
    """

    def __init__(self, runs: Callable[[str | None], Run], request: Request, path: str | None, is_once: bool) -> None:
        # Until it has run: it holds the sides.
        self._runs: Callable[[str | None], Run] | None = runs
        #: True if its sides can be read only once, so that a run that failed cannot be tried again.
        self._is_once = is_once
        self._request = request
        self._path = path
        self._run: Run | None = None
        self._lock = threading.Lock()

    def run(self) -> Result:
        """Runs the operation, if it has not been run; returns the result itself."""
        self._complete()
        return self

    def _complete(self) -> Run:
        with self._lock:
            if self._run is None:
                if self._runs is None:
                    raise UsageError("the result is closed, or has failed after reading an iterator: make another one")
                try:
                    self._run = self._runs(self._path)
                except BaseException:
                    self._runs = None if self._is_once else self._runs
                    raise
                self._runs = None
            return self._run

    def close(self) -> None:
        """Removes the temporary files of the result; a file that was named with ``out`` stays."""
        with self._lock:
            if self._run:
                self._run.place.remove()
            self._run = self._runs = None

    def __enter__(self) -> Result:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def stats(self) -> dict[str, Any]:
        """The statistics of the run, as ``outset --stats`` writes them."""
        found: dict[str, Any] = self._complete().read("stats")
        return found

    @property
    def lines(self) -> int:
        """The number of lines, without a header."""
        return int(self.stats["output"]["lines"])

    def __len__(self) -> int:
        return self.lines

    def __bool__(self) -> bool:
        return self.lines > 0

    @property
    def exact(self) -> bool:
        """True if it is exactly the lines asked for; false only for what was asked to be approximate."""
        return bool(self.stats["exact"])

    @property
    def strategy(self) -> str:
        """The strategy that found them."""
        return str(self.stats["strategy"])

    @property
    def seconds(self) -> float:
        """Seconds that the program took."""
        return float(self.stats["seconds"])

    @property
    def peak_memory_bytes(self) -> int:
        """The most memory that the program had: what ``memory`` limits. That of this process is not in it."""
        return int(self.stats["memory"]["peak_rss_bytes"])

    @property
    def path(self) -> str:
        """The file with the lines."""
        place = self._complete().place
        return self._path or place.file(self._request.name)

    @property
    def command(self) -> str:
        """The command that was run, as a shell understands it."""
        import shlex

        return shlex.join(self._complete().command)

    def __outset_file__(self) -> str:
        """Lets a result be a side."""
        return self.path

    def is_file_of(self, has_header: bool, terminator: bytes, decodes: bool) -> bool:
        """Tells whether its file has the lines of the result and no others, read by a run with this terminator that takes
        the first line for a header or does not, and decodes files or does not. Raises :class:`UsageError` where it has
        not, and cannot be read here."""
        if self.has_rows or self._request.has_files:
            return True
        is_plain = not self._request.is_compressed(self._path)
        if terminator == self._request.terminator and (has_header or not self._header_bytes) and (is_plain or decodes):
            if not is_plain:
                return True
            with self._opened() as file:
                return not (decodes and is_compressed(file.read(FIRST_BYTES)))
        if self._request.is_hidden(self._path):
            raise UsageError(f"{self.path}: another header, line end or decompress= is asked for: name a .gz or plain file with out")
        return False

    def records(self, has_header: bool) -> Iterator[bytes]:
        """The lines for a run that takes the first one for a header, or does not."""
        if has_header and self._header_bytes:
            with self._opened() as file:
                yield file.read(self._header_bytes)[: -len(self._request.terminator)]
        yield from self.bytes()

    @property
    def has_rows(self) -> bool:
        """True if the result is rows of a table, in a Parquet file, and not lines."""
        return self._request.is_rows(self._path)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        """The file with the lines, decoded."""
        opener = self._request.opener(self._path)
        if self.has_rows:
            raise UsageError(f"{self._request.operation}: the result is rows: take to_arrow(), or give keys_only=True for keys alone")
        if self._request.is_hidden(self._path):
            raise UsageError(f"{self.path}: is read by other programs alone: leave out `out`, or name a file of lines")
        if opener:
            import importlib

            with importlib.import_module(opener).open(self.path, "rb") as file:
                yield file
        else:
            with open(self.path, "rb") as file:
                yield file

    @property
    def header(self) -> str | None:
        """The header of the result, if its lines are records that have one."""
        if not self._header_bytes:
            return None
        with self._opened() as file:
            return _text(file.read(self._header_bytes)[: -len(self._request.terminator)])

    @property
    def _header_bytes(self) -> int:
        """The bytes of the header, with its end: the program alone knows which file has one."""
        return 0 if self.has_rows or self._request.has_files else int(self.stats["output"]["header_bytes"])

    def bytes(self) -> Iterator[bytes]:
        """The lines as they are, without their ends. A record of CSV may have several lines."""
        # The file stays as long as its reader: this refers to the result.
        with self._opened() as file:
            file.read(self._header_bytes)
            yield from self._request.syntax.whole(_lines(file, self._request.terminator), self._request.terminator)

    def __iter__(self) -> Iterator[str]:
        return map(_text, self.bytes())

    def to_list(self) -> list[str]:
        """All lines."""
        return list(self)

    def to_arrow(self, *, binary: bool = False) -> pa.Table:
        """The lines as a table of Arrow, in a column ``line``: text, or bytes if ``binary``.

        Before it are the columns of ``which`` (``which``), ``count_files`` (``files``) and ``count`` (``count``), if these were
        asked for. Records of CSV with a header have a column for each field, and rows those of the first side. Raises
        :class:`UnicodeDecodeError` for a line that is no text, unless ``binary``.
        """
        return arrow.table(self._request, self, binary)

    def to_polars(self, *, binary: bool = False) -> polars.DataFrame:
        """The table of :meth:`to_arrow` as a data frame of Polars."""
        import polars

        frame = polars.from_arrow(self.to_arrow(binary=binary))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_pandas(self, *, binary: bool = False) -> pandas.DataFrame:
        """The table of :meth:`to_arrow` as a data frame of pandas."""
        frame: pandas.DataFrame = self.to_arrow(binary=binary).to_pandas()
        return frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Lets other libraries read the table."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def report(self) -> str:
        """The page of the run, as ``outset --report`` writes it. Raises :class:`UsageError` if none was made: it is in a notebook, or
        with ``report=``."""
        page = self._complete().text("report.html")
        if self._request.page:
            with open(self._request.page, encoding="utf-8") as file:
                page = file.read()
        if page is None:
            raise UsageError("the run has made no report: give report=True")
        return page

    def __repr__(self) -> str:
        name = self._request.operation
        if self._run is None:
            return f"<{name}: {'not run yet' if self._runs else 'closed'}>"
        exact = "exact" if self.exact else "approximate"
        return f"<{name}: {self.lines} lines ({exact}, {self.strategy}) in {self.seconds:.2f} s>"

    def _repr_html_(self) -> str:
        self._complete()
        first = [line for line, _ in zip(self, range(10))] if not self._request.is_hidden(self._path) else []
        rows = "".join(f"<tr><td><code>{escaped(shown(line))}</code></td></tr>" for line in first)
        return f"<p>{escaped(repr(self)[1:-1])}</p><table>{rows}</table>{framed(self._complete().text('report.html'))}"


def escaped(text: str) -> str:
    """A text within HTML, also within quotes."""
    import html  # takes as long as all else

    return html.escape(text)


def shown(line: str, most: int = 200) -> str:
    """A line as it is shown to people."""
    text = line.encode("utf-8", "replace").decode()
    return text if len(text) <= most else text[:most] + " ..."


def framed(page: str | None) -> str:
    """A page within a page. By its own policy it runs nothing and loads nothing."""
    if page is None:
        return ""
    style = "width:100%;height:32rem;border:1px solid #8884;resize:vertical"
    return f'<iframe style="{style}" title="report of outset" srcdoc="{escaped(page)}"></iframe>'


def _lines(file: Any, end: bytes) -> Iterator[bytes]:
    """The lines from here to the end of a file."""
    rest = b""
    while data := file.read(BYTES):
        *whole, rest = (rest + data).split(end)
        yield from whole
    if rest:
        yield rest


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
