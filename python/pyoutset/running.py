"""One run of the program: a child process in a directory of its own, fed and watched until it ends.

The directory has the result, the statistics and the page of the run. It is removed with the last thing that needs it, and never by
a process that was forked off.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from . import errors, options, parquet, sides
from .children import LEASH, Child
from .program import program
from .progress import Bar, Progress

#: Whether progress is shown: ``True`` for a bar, or a function that gets each :class:`Progress`.
Shown = Union[bool, Callable[[Progress], object]]
#: Milliseconds from one look whether the program still runs to the next; it matters only where something else holds its pipe.
LOOK = 500
#: Commands that call sides by names.
LABELLED = ("intersect", "diff", "union", "symdiff", "overlaps", "estimate")


class Workplace:
    """A directory of a run."""

    def __init__(self, temp_dir: Any = None) -> None:
        # Here, because importing it takes a while.
        import tempfile

        parents = [temp_dir] if isinstance(temp_dir, (str, os.PathLike)) else list(temp_dir or [])
        try:
            self.path = tempfile.mkdtemp(prefix="pyoutset-", dir=os.fspath(parents[0]) if parents else None)
        except OSError as failure:
            where = parents[0] if parents else tempfile.gettempdir()
            message = f"{where}: cannot make a directory: {failure.strerror}: choose another temp_dir"
            raise errors.TemporarySpaceError(message, path=str(where)) from failure
        self.remove = weakref.finalize(self, remove, self.path, os.getpid())

    def file(self, name: str) -> str:
        return f"{self.path}/{name}"


def remove(path: str, process: int) -> None:
    if os.getpid() == process:
        import shutil

        shutil.rmtree(path, ignore_errors=True)


class Run:
    """A run that is complete."""

    def __init__(self, place: Workplace, names: dict[str, str], command: list[str]) -> None:
        self.place = place
        # Not the sides: what they have in memory can go.
        self.names = names
        self.command = command
        self.known: dict[str, Any] = {}

    def read(self, name: str) -> Any:
        """A JSON file that the program has written, in which sides have the names that they have here."""
        try:
            if name not in self.known:
                with open(self.place.file(name), encoding="utf-8") as file:
                    self.known[name] = json.loads(sides.renamed(file.read(), self.names))
            return self.known[name]
        except (OSError, ValueError) as failure:
            raise errors.ProgramError(f"outset: has ended without its report ({failure}): run it again") from failure

    def text(self, name: str) -> str | None:
        """A text that the program has written; ``None`` if it has not."""
        try:
            with open(self.place.file(name), encoding="utf-8", errors="surrogateescape") as file:
                return sides.renamed(file.read(), self.names)
        except FileNotFoundError:
            return None


def run(
    words: Sequence[str],
    given: Sequence[Any],
    settings: Mapping[str, Any],
    *,
    place: Workplace,
    on: options.On | None = None,
    memory: options.Size | None = None,
    progress: Shown = False,
    answer: str | None = None,
    spools: bool = False,
    are_files: bool = False,
) -> Run:
    """Runs a command on these sides; its standard output goes to the file ``answer``. Raises an :class:`OutsetError` if the run
    fails, and what a side has raised."""
    settings = {**settings, **sides.guessed_format(given, on, settings)}
    try:
        writes_all = parquet.writes_all(words[0], settings)
        fed = sides.Sides(given, on, settings, place.path, spools, are_files, words[0] in LABELLED, writes_all)
        try:
            asked = [*keyed(on), *limited(memory), *options.words(secret(settings, place))]
            command = [program(), *words, *asked, "--progress=json", "-q", LEASH, *fed.words]
            with open(place.file(answer) if answer else os.devnull, "wb") as stdout:
                watch(command, fed, stdout, progress)
        finally:
            fed.close()
    except BaseException:
        # Who holds the error, such as a notebook, holds the directory.
        place.remove()
        raise
    return Run(place, fed.names, command)


def keyed(on: options.On | None) -> list[str]:
    return [] if on is None else [f"--key={options.fields(on)}"]


def limited(memory: options.Size | None) -> list[str]:
    return [] if memory is None else [f"--memory={options.text(memory)}"]


def secret(settings: Mapping[str, Any], place: Workplace) -> dict[str, Any]:
    """The settings with the hash key in a file that only this user can read."""
    known = dict(settings)
    key = known.pop("hash_key", None)
    if key is not None:
        path = place.file("key")
        with errors.storing(path), open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(key)
        known["hash_key_file"] = path
    return known


def watch(command: list[str], fed: sides.Sides, stdout: Any, progress: Shown) -> None:
    """Runs the program and reads what it says until it has ended; ends it on whatever breaks in."""
    said = Said(fed.names)
    with bar(progress) as shown, start(command, fed, stdout) as child:
        fed.start(child.stop)
        for line in lines(child):
            if event := said.hear(line):
                shown(event)
        status = child.process.wait()
    if failure := fed.failure():
        raise failure
    if status == -signal.SIGINT:
        # Ctrl-C on a terminal reaches both: where this thread hears of it, that comes now.
        time.sleep(0.05)
    if status or said.error:
        raise said.failure(status)
    for text in said.messages:
        warnings.warn(text, errors.OutsetWarning, stacklevel=outside())


def outside() -> int:
    """How many callers above its own the first is that does not belong to the package."""
    here = os.path.dirname(__file__)
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(here):
        level, frame = level + 1, frame.f_back
    return level


def start(command: list[str], fed: sides.Sides, stdout: Any) -> Child:
    try:
        return Child(command, stdout=stdout, stderr=subprocess.PIPE, keeps=fed.inherited())
    except OSError as failure:
        if failure.errno == 7:  # E2BIG
            raise errors.UsageError("the names of all files do not fit a command line: name directories or patterns") from failure
        raise errors.ProgramError(f"{command[0]}: cannot be started: {failure.strerror}: check the installation") from failure


def lines(child: Child) -> Any:
    """What the child says, line by line, until it has ended."""
    pipe = child.process.stderr
    assert pipe is not None
    poll = select.poll()
    poll.register(pipe.fileno(), select.POLLIN)
    rest = b""
    with pipe:
        while True:
            # Looked at before the pipe is: what it says last is read.
            has_ended = child.process.poll() is not None
            if not poll.poll(0 if has_ended else LOOK):
                if has_ended:
                    break
                continue
            data = pipe.read(1 << 16)
            if not data:
                break
            *whole, rest = (rest + data).split(b"\n")
            yield from whole
    if rest:
        yield rest


class Said:
    """What the program has said."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self.messages: list[str] = []
        #: Lines that are no events: its arguments were not understood, or it has a bug.
        self.words: list[str] = []
        self.error: dict[str, Any] | None = None

    def hear(self, line: bytes) -> Progress | None:
        """Takes a line; returns what it says about progress."""
        text = sides.renamed(line.decode("utf-8", "replace"), self.names)
        if not text.startswith("{"):
            self.words.append(text[len("outset: ") :] if text.startswith("outset: ") else text)
            return None
        event = json.loads(text)
        if event["event"] == "progress":
            return Progress.of(event)
        if event["event"] == "error":
            self.error = event
        elif event["event"] == "message":
            self.messages.append(event["text"])
        return None

    def failure(self, status: int) -> errors.OutsetError:
        if self.error:
            return errors.of_event(self.error)
        return errors.of_status(status, "\n".join(self.words))


def bar(progress: Shown) -> Bar:
    """What shows progress."""
    return Bar(progress if callable(progress) else None, is_drawn=progress is True)
