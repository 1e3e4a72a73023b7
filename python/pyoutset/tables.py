"""The operations that give numbers: they run at once, and what they find is small."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import options, sides
from .errors import UsageError
from .operations import reported
from .plots import Plot, plot_of
from .results import escaped, framed
from .running import Run, Shown, Workplace, run
from .sides import Side

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa
    from typing_extensions import Unpack

#: Sides of which all combinations are counted.
MOST_SIDES = 16
Operation = Literal["intersect", "diff", "union", "symdiff", "overlaps"]
#: The names of operations here, and those of the program.
NAMES = {
    "intersection": "intersect",
    "difference": "diff",
    "unique": "union",
    "symmetric_difference": "symdiff",
}


class Estimated(NamedTuple):
    """A number with its bounds, which hold with 99% confidence. All are equal for a number that is exact."""

    estimate: float
    low: float
    high: float

    @classmethod
    def of(cls, found: Mapping[str, float]) -> Estimated:
        return cls(found["estimate"], found["low"], found["high"])


def number(found: float | None) -> float:
    """A share or a rate; NaN where there is nothing that it would be of."""
    return math.nan if found is None else float(found)


class Combination(NamedTuple):
    """The lines that some sides have, and no other side."""

    #: A digit for each side: 101 are sides 1 and 3.
    which: str
    #: Distinct lines that exactly these sides have.
    lines: int
    #: Distinct lines that these sides have, whether others have them or not.
    common_lines: int


class Table:
    """What a command has found, and the statistics of its run."""

    def __init__(self, found: dict[str, Any], page: str | None = None) -> None:
        #: Everything that the program says, as its ``--json`` or ``--stats`` has it.
        self.stats = found
        self._page = page

    def _rows(self) -> list[tuple[str, str]]:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{escaped(name)}</th><td>{escaped(value)}</td></tr>" for name, value in self._rows())
        return f"<table>{rows}</table>{framed(self._page)}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(f'{name}: {value}' for name, value in self._rows())}>"


class CountTable(Table):
    """Numbers of lines in rows, which become tables of other libraries."""

    @property
    def exact(self) -> bool:
        """True if the numbers are exact."""
        return bool(self.stats["exact"])

    @property
    def peak_memory_bytes(self) -> int:
        """The most memory that the program had."""
        return int(self.stats["memory"]["peak_rss_bytes"])

    def to_arrow(self) -> pa.Table:
        """The rows as a table of Arrow."""
        raise NotImplementedError

    def to_polars(self) -> polars.DataFrame:
        """The rows as a data frame of Polars."""
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of pandas."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame


class Overlaps(CountTable):
    """How many distinct lines each combination of sides has.

    >>> found = overlaps(["a", "b"], ["b", "c"], names=["old", "new"])
    >>> found["11"].lines, found["10"].common_lines
    (1, 2)
    """

    #: The names of the sides.
    names: list[str]

    def __init__(self, found: dict[str, Any], page: str | None) -> None:
        super().__init__(found["stats"], page)
        self.names = found["labels"]
        self.combinations = [Combination(each["which"], each["lines"], each["common_lines"]) for each in found["combinations"]]

    def __getitem__(self, which: str) -> Combination:
        """The combination with these digits; one without lines is not among those of the program."""
        if not re.fullmatch(rf"[01]{{{len(self.names)}}}", which) or "1" not in which:
            raise KeyError(which)
        common = sum(each.lines for each in self.combinations if all(b >= a for a, b in zip(which, each.which)))
        return next((each for each in self.combinations if each.which == which), Combination(which, 0, common))

    @property
    def lines(self) -> int:
        """The number of distinct lines of all sides together."""
        return int(self.stats["output"]["lines"])

    def to_arrow(self) -> pa.Table:
        """The combinations as a table of Arrow."""
        import pyarrow as pa

        columns = list(zip(*self.combinations)) or [(), (), ()]
        kinds = [pa.string(), pa.int64(), pa.int64()]
        return pa.table([pa.array(column, kind) for column, kind in zip(columns, kinds)], names=list(Combination._fields))

    def plot(self, kind: Literal["upset", "venn"] = "upset") -> Plot:
        """The combinations as a picture: an UpSet plot, or (of two or three sides) circles."""
        return plot_of(self._page or "", kind)

    def _rows(self) -> list[tuple[str, str]]:
        def named(which: str) -> str:
            return " & ".join(name for name, digit in zip(self.names, which) if digit == "1")

        return [(named(each.which), f"{each.lines:,}") for each in self.combinations]


class Estimate(Table):
    """How many lines the sides have, and have in common, estimated.

    >>> estimate(["a", "b", "c"], ["b", "c", "d"]).jaccard.estimate
    0.5
    """

    @property
    def common(self) -> Estimated:
        """Distinct lines that all sides have."""
        return Estimated.of(self.stats["common"])

    @property
    def any(self) -> Estimated:
        """Distinct lines of all sides together."""
        return Estimated.of(self.stats["any"])

    @property
    def jaccard(self) -> Estimated:
        """The share of those that are common, 0 to 1."""
        return Estimated.of(self.stats["jaccard"])

    @property
    def distinct(self) -> list[Estimated]:
        """Distinct lines of each side."""
        return [Estimated.of(side["distinct"]) for side in self.stats["inputs"]]

    @property
    def exact(self) -> bool:
        """True if the sides were small enough to be counted."""
        return bool(self.stats["exact"])

    def _rows(self) -> list[tuple[str, str]]:
        def worded(number: Estimated) -> str:
            return f"{number.estimate:,.0f}" if number.low == number.high else f"{number.low:,.0f} to {number.high:,.0f}"

        sides = [(f"distinct lines of {side['label']}", worded(Estimated.of(side["distinct"]))) for side in self.stats["inputs"]]
        return [*sides, ("common", worded(self.common)), ("Jaccard", f"{self.jaccard.estimate:.4f}")]


class Comparison(Table):
    """An exact and an approximate run, and how their results differ.

    >>> found = compare(["a", "b", "c"], ["b", "c", "d"])
    >>> found.false_lines, found.missing_lines, found.precision
    (0, 0, 1.0)
    """

    @property
    def false_lines(self) -> int:
        """Lines of the approximate result that are wrong."""
        return int(self.stats["false_lines"])

    @property
    def missing_lines(self) -> int:
        """Lines of the exact result that the approximate one has not."""
        return int(self.stats["missing_lines"])

    @property
    def precision(self) -> float:
        """The share of the approximate result that is right, 0 to 1."""
        return number(self.stats["precision"])

    @property
    def recall(self) -> float:
        """The share of the exact result that was found, 0 to 1."""
        return number(self.stats["recall"])

    @property
    def measured_fpr(self) -> float:
        """The false-positive rate as it was, 0 to 1; NaN if no line could be false."""
        return number(self.stats["measured_fpr"])

    @property
    def predicted_fpr(self) -> float:
        """The false-positive rate as it was predicted, 0 to 1."""
        return number(self.stats["predicted_fpr"])

    def _rows(self) -> list[tuple[str, str]]:
        exact, other = self.stats["exact"], self.stats["approximate"]
        return [
            ("lines", f"{exact['output']['lines']:,} exact, {other['output']['lines']:,} approximate"),
            ("false lines", f"{self.false_lines:,}"),
            ("missing lines", f"{self.missing_lines:,}"),
            ("seconds", f"{exact['seconds']:.2f} exact, {other['seconds']:.2f} approximate"),
            ("false-positive rate", f"{self.measured_fpr:.3g} measured, {self.predicted_fpr:.3g} predicted"),
        ]


class Plan(Table):
    """What an operation would do and cost.

    >>> plan(["a", "b"], ["b"], memory="64M").strategy
    'memory'
    """

    @property
    def strategy(self) -> str:
        """The strategy that would run."""
        return str(self.stats["strategy"])

    @property
    def exact(self) -> bool:
        """True if its result would be exact."""
        return bool(self.stats["exact"])

    @property
    def steps(self) -> list[str]:
        """What it would do, in order."""
        return list(self.stats["steps"])

    @property
    def bytes_read(self) -> int:
        """Bytes that it would read, temporary ones too."""
        return int(self.stats["bytes_read"])

    @property
    def bytes_written(self) -> int:
        """Bytes that it would write to temporary disk."""
        return int(self.stats["bytes_written"])

    @property
    def temp_peak_bytes(self) -> int:
        """The most temporary disk that it would need at once."""
        return int(self.stats["temp_peak_bytes"])

    @property
    def memory_bytes(self) -> int:
        """The memory that it would use."""
        return int(self.stats["memory_bytes"])

    def _rows(self) -> list[tuple[str, str]]:
        known = [("strategy", self.strategy), ("read", f"{self.bytes_read:,} bytes"), ("write", f"{self.bytes_written:,} bytes")]
        return [*known, *((f"step {number}", step) for number, step in enumerate(self.steps, 1))]


def overlaps(
    *given: Side,
    names: Sequence[str] | None = None,
    on: options.On | None = None,
    memory: options.Size | None = None,
    progress: Shown = False,
    **more: Unpack[options.OverlapsOptions],
) -> Overlaps:
    """Counts the distinct lines of each combination of sides; ``names`` are those of the sides in tables."""
    options.check(more, options.OverlapsOptions)
    if names is not None and len(names) != len(given):
        raise UsageError(f"names: {len(names)} given for {len(given)} sides: give one for each")
    if len(given) > MOST_SIDES:
        raise UsageError(f"overlaps: {len(given)} sides: give {MOST_SIDES} at most, or use pairs()")
    # The picture is that of the page.
    settings: dict[str, Any] = {"report": True, "names": names, **more}
    done = at_once(["overlaps", "--json"], given, on, memory, progress, settings)
    page = done.text("report.html")
    return Overlaps(done.read("answer"), page)


def estimate(
    *given: Side,
    on: options.On | None = None,
    memory: options.Size | None = None,
    progress: Shown = False,
    **more: Unpack[options.EstimateOptions],
) -> Estimate:
    """Estimates how many distinct lines the sides have, and how many are common, from one reading of them."""
    options.check(more, options.EstimateOptions)
    return Estimate(at_once(["estimate", "--json"], given, on, memory, progress, dict(more)).read("answer"))


def compare(
    *given: Side,
    operation: Literal["intersection", "difference", "union", "unique", "intersect", "diff"] = "intersection",
    on: options.On | None = None,
    memory: options.Size | None = None,
    progress: Shown = False,
    **more: Unpack[options.CompareOptions],
) -> Comparison:
    """Runs an operation exactly and approximately, and compares the results. Sides in memory are written to temporary files."""
    options.check(more, options.CompareOptions)
    words = ["compare", f"--operation={NAMES.get(operation, operation)}"]
    with_stats: Callable[[Workplace], list[str]] = lambda place: [f"--stats={place.file('stats')}"]  # noqa: E731
    done = at_once(words, given, on, memory, progress, dict(more), spools=True, with_place=with_stats)
    return Comparison(done.read("stats"), done.text("report.html"))


def plan(
    *given: Side,
    operation: str = "intersection",
    on: options.On | None = None,
    order: options.Order | None = None,
    memory: options.Size | None = None,
    progress: Shown = False,
    **more: Unpack[options.PlanOptions],
) -> Plan:
    """Plans an operation without doing it; instead of sides, ``lines=[5e9, 5e9]`` says how many lines they would have."""
    options.check(more, options.PlanOptions)
    words = ["plan", "--json", f"--operation={NAMES.get(operation, operation)}"]
    done = at_once(words, given, on, memory, progress, {"order": order, **more}, spools=True)
    return Plan(done.read("answer"))


def at_once(
    words: list[str],
    given: tuple[Side, ...],
    on: options.On | None,
    memory: options.Size | None,
    progress: Shown,
    settings: dict[str, Any],
    *,
    spools: bool = False,
    with_place: Callable[[Workplace], list[str]] = lambda place: [],
) -> Run:
    """Runs a command whose answer is on its standard output."""
    place = Workplace(settings.get("temp_dir"))
    has_report = words[0] in ("overlaps", "compare")
    more = reported(settings.pop("report", None), place) if has_report else []
    words = [*words, *with_place(place), *more]
    found = sides.checked(given)
    return run(words, found, settings, place=place, on=on, memory=memory, progress=progress, answer="answer", spools=spools)
