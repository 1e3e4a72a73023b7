"""Filters in files: built, asked and changed by the program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from . import options, sides
from .errors import OutputError, UsageError
from .feeding import is_arrow, line
from .running import Run, Shown, Workplace, run
from .sides import Side

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Options that say what fields lines have.
FORMATS = ("csv", "tsv", "delimiter", "jsonl")
Kind = Literal["blocked", "classic", "counting", "spectral", "fingerprint"]


class Filter:
    """A filter of lines: it may take a line for one that it has, at the rate that it was built for, and never misses one.

    Each call runs the program, which takes some milliseconds: ask for many lines at once.

    >>> seen = Filter.build(["a", "b"], max_fpr=0.0001)
    >>> seen.contains(["a", "x", "b"])
    [True, False, True]
    >>> seen.update(["x"])
    >>> "x" in seen
    True
    """

    def __init__(self, path: str, place: Workplace | None, more: dict[str, Any]) -> None:
        #: The file.
        self.path = path
        self._place = place
        self._more = more

    @classmethod
    def build(
        cls,
        *given: Side,
        kind: Kind | None = None,
        max_fpr: float | str | None = None,
        lines: int | None = None,
        size: options.Size | None = None,
        bits_per_key: float | None = None,
        on: options.On | None = None,
        memory: options.Size | None = None,
        progress: Shown = False,
        out: options.Path | None = None,
        **more: Unpack[options.BuildOptions],
    ) -> Filter:
        """Builds a filter of the lines of all sides (without sides: an empty one, for ``lines`` lines).

        It is in the file ``out``, or in a temporary one that is removed with the filter.
        """
        options.check(more, options.BuildOptions)
        place = Workplace()
        path = options.text(out) if out is not None else place.file("filter.osf")
        asked = {"kind": kind, "max_fpr": max_fpr, "lines": None if lines is None else [lines], "size": size}
        settings = guessed(given, {"on": on, **asked, "bits_per_key": bits_per_key, **more})
        keys = lines_alone(settings)
        # The program sizes the filter by the files: lines in memory become one.
        is_sized = lines is not None or size is not None or more.get("like") is not None
        at(["filter", "build", f"--output={path}"], given, settings, memory, progress, spools=not is_sized)
        return cls(path, place if out is None else None, keys)

    @classmethod
    def open(cls, path: options.Path, *, on: options.On | None = None, **more: Unpack[options.FilterOptions]) -> Filter:
        """Opens a filter that is in a file; ``on`` and the other options say what the key of a line is, as when it was built."""
        options.check(more, options.FilterOptions)
        found = cls(options.text(path), None, {"on": on, **more})
        known = found.info  # raises for what is no filter
        # The program takes line ends from the file.
        found._more.update({name: known[name] for name in ("zero_terminated", "strip_cr")})
        return found

    def save(self, path: options.Path) -> None:
        """Copies the filter to a file, complete or not at all."""
        import os
        import shutil
        import tempfile

        target = options.path(path, "path")
        try:
            file, part = tempfile.mkstemp(prefix=".outset-", dir=os.path.dirname(target) or ".")
            os.close(file)
            try:
                shutil.copy(self.path, part)
                if os.path.exists(target):
                    shutil.copymode(target, part)
                os.replace(part, target)
            except BaseException:
                os.unlink(part)
                raise
        except OSError as failure:
            message = f"{target}: cannot be written: {failure.strerror}: choose another path"
            raise OutputError(message, path=target) from failure

    @property
    def info(self) -> dict[str, Any]:
        """Kind, size, number of lines and false-positive rate, as ``outset filter info --json`` says them."""
        import json
        import subprocess

        from . import errors
        from .program import program

        done = subprocess.run(
            [program(), "filter", "info", "--json", "--", self.path], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if done.returncode:
            raise errors.of_status(done.returncode, done.stderr.decode(errors="replace").strip().removeprefix("outset: "))
        try:
            found: dict[str, Any] = json.loads(done.stdout)
        except ValueError as failure:
            # A caller that ignores SIGCHLD hides the status of its children.
            said = done.stderr.decode(errors="replace").strip().removeprefix("outset: ")
            raise errors.DamagedError(said or f"{self.path}: the program has said nothing of it", path=self.path) from failure
        return found

    def contains(self, lines: Any, *, memory: options.Size | None = None) -> Any:
        """Tells of each line whether the filter may have it: a list of bool, or for Arrow a ``pyarrow.BooleanArray``.

        The lines are records as those that the filter was built of: where these began with a header, the first is one, too. For
        a filter of columns of tables, they are keys.
        """
        if is_arrow(lines):
            return self._arrow_mask(lines, memory)
        asked = as_list(lines)
        found = set(self._answer("query", asked, memory))
        return [self._as_written(each, index) in found for index, each in enumerate(asked)]

    def _as_written(self, one: Any, index: int) -> bytes:
        """A line as the program writes it."""
        text = line(one, index, "lines")
        return text.removesuffix(b"\r") if self._more.get("strip_cr") else text

    def _arrow_mask(self, lines: Any, memory: options.Size | None) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        from .feeding import arrays

        values = pa.chunked_array(list(arrays(lines, "lines")), type=pa.large_binary())
        found = pa.array(self._answer("query", values, memory), pa.large_binary())
        if self._more.get("strip_cr"):
            values = pc.replace_substring_regex(values, r"\r\z", "")
        mask = pc.is_in(values, value_set=found)
        return mask.combine_chunks() if isinstance(mask, pa.ChunkedArray) else mask

    def __contains__(self, one: object) -> bool:
        if options.has_header(self._more.get("on"), self._more):
            raise UsageError("in: the line would be taken for a header: give contains() a list that begins with the header")
        return bool(self.contains([one])[0])

    def count(self, lines: Iterable[str | bytes], *, memory: options.Size | None = None) -> list[int]:
        """How often each line was inserted, at most (of counting and spectral filters)."""
        asked = as_list(lines)
        answers = self._answer("count", asked, memory)
        counts = {text: int(number) for text, number in (answer.rsplit(b"\t", 1) for answer in answers)}
        return [counts.get(self._as_written(each, index), 0) for index, each in enumerate(asked)]

    def update(self, *given: Side, memory: options.Size | None = None, progress: Shown = False) -> None:
        """Inserts the lines of the sides, all or none."""
        self._change("insert", given, memory, progress)

    def remove(self, *given: Side, memory: options.Size | None = None, progress: Shown = False) -> None:
        """Removes lines that were inserted (of counting and fingerprint filters)."""
        self._change("remove", given, memory, progress)

    def merge(self, *others: Filter, out: options.Path | None = None, memory: options.Size | None = None) -> Filter:
        """A filter with the lines of this one and others, which were built alike (``like=``)."""
        place = Workplace()
        path = options.text(out) if out is not None else place.file("filter.osf")
        words = ["filter", "merge", f"--output={path}"]
        run([*words, *(named(each.path) for each in (self, *others))], [], {}, place=Workplace(), memory=memory)
        return Filter(path, place if out is None else None, self._more)

    def _change(self, command: str, given: tuple[Side, ...], memory: options.Size | None, progress: Shown) -> None:
        if not given:
            return
        keys = guessed(given, self._more)
        at(["filter", command, named(self.path)], given, keys, memory, progress)
        self._more = keys

    def _answer(self, command: str, lines: Any, memory: options.Size | None) -> list[bytes]:
        settings = dict(self._more)
        if not any(settings.get(name) for name in FORMATS):
            # The key was a column of tables: what is asked are keys.
            settings["on"] = None
        done = at(["filter", command, named(self.path)], (lines,), settings, memory, False)
        with open(done.place.file("answer"), "rb") as file:
            text = file.read()
        end = b"\0" if settings.get("zero_terminated") else b"\n"
        return text.split(end)[:-1]

    def __repr__(self) -> str:
        return f"Filter.open({self.path!r})"


def at(
    words: list[str],
    given: tuple[Side, ...],
    settings: dict[str, Any],
    memory: options.Size | None,
    progress: Shown,
    spools: bool = False,
) -> Run:
    """Runs a command of filters, which takes files and knows no sides."""
    how: dict[str, Any] = {"answer": "answer", "are_files": True, "spools": spools}
    on = settings.get("on")
    others = {name: value for name, value in settings.items() if name != "on"}
    return run(words, sides.checked(given), others, place=Workplace(), on=on, memory=memory, progress=progress, **how)


def guessed(given: tuple[Side, ...], settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, of which ``on`` is one, and the format that names of files say: later lines have it, too."""
    return {**settings, **sides.guessed_format([sides.of(side) for side in given], settings.get("on"), settings)}


def as_list(lines: Any) -> list[Any]:
    if isinstance(lines, (str, bytes)):
        raise UsageError("lines: give a list of lines, or use `in` for one")
    return list(lines)


def lines_alone(more: Any) -> dict[str, Any]:
    """The options that say what a line is."""
    return {name: value for name, value in more.items() if name == "on" or name in options.FilterOptions.__annotations__}


def named(path: str) -> str:
    return sides.named(path)
