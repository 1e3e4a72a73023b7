"""The operations that give lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import options, sides
from .errors import UsageError
from .progress import is_notebook
from .request import Request
from .results import Result
from .running import Run, Shown, Workplace, run
from .sides import Side

if TYPE_CHECKING:
    from typing_extensions import Unpack


def intersection(
    *given: Side,
    on: options.On | None = None,
    order: options.Order | None = None,
    memory: options.Size | None = None,
    progress: Shown = False,
    out: options.Path | None = None,
    **more: Unpack[options.IntersectionOptions],
) -> Result:
    """The lines that every side has; with ``at_least=``, ``at_most=``, ``exactly=`` or ``only=``, those that so many sides have.

    >>> sorted(intersection(["a", "b", "c"], ["b", "c", "d"]))
    ['b', 'c']
    >>> list(intersection(["a", "b"], ["b"], ["b", "a"], at_least=2, order="sorted", count_files=True))
    ['2\\ta', '3\\tb']
    """
    return select("intersect", given, on, order, memory, progress, out, more, options.IntersectionOptions)


def difference(
    *given: Side,
    on: options.On | None = None,
    order: options.Order | None = None,
    memory: options.Size | None = None,
    progress: Shown = False,
    out: options.Path | None = None,
    **more: Unpack[options.DifferenceOptions],
) -> Result:
    """The lines of the first side that no other side has.

    >>> list(difference(["a", "b", "c"], ["b"], order="input"))
    ['a', 'c']
    """
    return select("diff", given, on, order, memory, progress, out, more, options.DifferenceOptions)


def union(
    *given: Side,
    on: options.On | None = None,
    order: options.Order | None = None,
    memory: options.Size | None = None,
    progress: Shown = False,
    out: options.Path | None = None,
    **more: Unpack[options.UnionOptions],
) -> Result:
    """Every distinct line of the sides once. With ``on``, the first record with each key.

    >>> list(union(["b", "a", "b"], ["c"], order="input"))
    ['b', 'a', 'c']
    >>> list(unique(["b", "a", "b"], count=True, top=1))
    ['2\\tb']
    """
    return select("union", given, on, order, memory, progress, out, more, options.UnionOptions)


#: Another name of :func:`union`, for one side.
unique = union


def symmetric_difference(
    *given: Side,
    on: options.On | None = None,
    order: options.Order | None = None,
    memory: options.Size | None = None,
    progress: Shown = False,
    out: options.Path | None = None,
    **more: Unpack[options.SymmetricDifferenceOptions],
) -> Result:
    """The lines that exactly one side has.

    >>> sorted(symmetric_difference(["a", "b"], ["b", "c"]))
    ['a', 'c']
    """
    return select("symdiff", given, on, order, memory, progress, out, more, options.SymmetricDifferenceOptions)


def select(
    operation: str,
    given: tuple[Side, ...],
    on: options.On | None,
    order: options.Order | None,
    memory: options.Size | None,
    progress: Shown,
    out: options.Path | None,
    more: Mapping[str, Any],
    known: type,
) -> Result:
    """The result of an operation, which has been run if it goes to ``out``."""
    options.check(more, known)
    settings = dict(more)
    if not given:
        raise UsageError(f"{operation}: no side given: give a path, or an iterable of lines")
    if on is not None:
        options.fields(on)
    found = sides.checked(given)
    settings.update(sides.guessed_format(found, on, settings))
    request = Request(operation, on, settings, [sides.is_table(side, on) for side in found])
    out_dir = settings.pop("out_dir", None)
    if out is not None and out_dir is not None:
        raise UsageError("out and out_dir: the result goes to one of them: leave out the other")
    request.has_files = out_dir is not None
    target = out_dir if out is None else out
    path = None if target is None else options.path(target, "out")
    if path is None and any(settings.get(name) for name in ("out_via", "compress")):
        raise UsageError("out_via and compress are for a file: name it with out")
    with_order = {"order": order, **settings}
    report = with_order.pop("report", None)
    if report is not None and not isinstance(report, bool):
        request.page = options.text(report)

    def runs(path: str | None) -> Run:
        place = Workplace(settings.get("temp_dir"))
        output = f"--out-dir={path}" if request.has_files else f"--output={path or place.file(request.name)}"
        words = [operation, output, f"--stats={place.file('stats')}"]
        words += reported(report, place)
        done = run(words, found, with_order, place=place, on=on, memory=memory, progress=progress)
        # A caller that ignores SIGCHLD hides the status of its children: only what is complete has statistics.
        done.read("stats")
        return done

    result = Result(runs, request, path, any(map(sides.is_spent, found)))
    return result if path is None else result.run()


def reported(report: bool | options.Path | None, place: Workplace) -> list[str]:
    """What makes the program write its page: in a notebook, it is shown with the result."""
    if report is None:
        report = is_notebook()
    if report is False:
        return []
    return [f"--report={place.file('report.html') if report is True else options.text(report)}"]
