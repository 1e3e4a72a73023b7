"""The numbers of lines that each two sides have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import options
from .errors import UsageError
from .plots import HEAT_MAP, Plot, picture
from .running import Shown
from .sides import Side
from .tables import CountTable, at_once, number

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack


class Pair(NamedTuple):
    """What two sides have in common."""

    #: The name of the first side.
    first: str
    #: The name of the second side.
    second: str
    #: Distinct lines that both have.
    common_lines: int
    #: The share of these among the distinct lines of both, 0 to 1.
    jaccard: float
    #: The share of the first side's lines that the second has, 0 to 1; NaN if it has none.
    of_first: float
    #: The share of the second side's lines that the first has, 0 to 1.
    of_second: float


class Pairs(CountTable):
    """How many distinct lines each two sides have in common.

    >>> found = pairs(["a", "b"], ["b", "c"], ["b"], names=["old", "new", "one"])
    >>> found.distinct_lines["old"], found["old", "new"].common_lines, found["one", "old"].of_first
    (2, 1, 1.0)
    """

    #: The names of the sides.
    names: list[str]
    #: The number of distinct lines of each.
    distinct_lines: dict[str, int]
    #: All pairs, those with most common lines first.
    pairs: list[Pair]

    def __init__(self, found: dict[str, Any], page: str | None) -> None:
        super().__init__(found["stats"], page)
        self._found = found
        self.names = found["labels"]
        self.distinct_lines = dict(zip(self.names, found["distinct_lines"]))
        count = len(self.names)
        all_pairs = [self._pair(first, second) for first in range(count) for second in range(first + 1, count)]
        self.pairs = sorted(all_pairs, key=lambda pair: -pair.common_lines)

    def _pair(self, first: int, second: int) -> Pair:
        found = self._found
        common, jaccard = found["common_lines"][first][second], number(found["jaccard"][first][second])
        of_first, of_second = number(found["containment"][first][second]), number(found["containment"][second][first])
        return Pair(self.names[first], self.names[second], common, jaccard, of_first, of_second)

    def __getitem__(self, names: tuple[str, str]) -> Pair:
        """The pair of the sides with these names."""
        first, second = names
        if first == second or first not in self.names or second not in self.names:
            raise KeyError(names)
        return self._pair(self.names.index(first), self.names.index(second))

    def to_arrow(self) -> pa.Table:
        """The pairs as a table of Arrow."""
        import pyarrow as pa

        columns = list(zip(*self.pairs)) or [()] * len(Pair._fields)
        kinds = [pa.string(), pa.string(), pa.int64(), pa.float64(), pa.float64(), pa.float64()]
        return pa.table([pa.array(column, kind) for column, kind in zip(columns, kinds)], names=list(Pair._fields))

    def plot(self) -> Plot:
        """The pairs as a heat map."""
        return Plot(picture(self._page or "", HEAT_MAP))

    def _rows(self) -> list[tuple[str, str]]:
        return [(f"{each.first} & {each.second}", f"{each.common_lines:,}") for each in self.pairs]


def pairs(
    *given: Side,
    names: Sequence[str] | None = None,
    on: options.On | None = None,
    memory: options.Size | None = None,
    progress: Shown = False,
    **more: Unpack[options.OverlapsOptions],
) -> Pairs:
    """Counts the distinct lines that each two sides have in common; ``names`` are those of the sides in tables."""
    options.check(more, options.OverlapsOptions)
    if names is not None and len(names) != len(given):
        raise UsageError(f"names: {len(names)} given for {len(given)} sides: give one for each")
    # The picture is that of the page.
    settings: dict[str, Any] = {"report": True, "names": names, **more}
    done = at_once(["overlaps", "--pairs", "--json"], given, on, memory, progress, settings)
    return Pairs(done.read("answer"), done.text("report.html"))
