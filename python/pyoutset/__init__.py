"""Set operations on huge files of lines, exactly and within a memory limit.

Each operation runs ``outset`` as a child process: the limit holds for that process, whatever this one does. The operations that
give lines are lazy: see :class:`Result`.

>>> import pyoutset
>>> common = pyoutset.intersection(["a", "b", "c"], ["b", "c", "d"], memory="64M", order="sorted")
>>> list(common), common.lines, common.exact
(['b', 'c'], 2, True)
"""

from __future__ import annotations

from .errors import (
    ApproximationError,
    DamagedError,
    InputError,
    Interrupted,
    MemoryLimitError,
    OutputError,
    OutsetError,
    OutsetWarning,
    ProgramError,
    TemporarySpaceError,
    UsageError,
)
from .filters import Filter
from .operations import difference, intersection, symmetric_difference, union, unique
from .pairs import Pair, Pairs, pairs
from .plots import Plot
from .progress import Progress
from .results import Result
from .sides import Files
from .tables import (
    Combination,
    Comparison,
    Estimate,
    Estimated,
    Overlaps,
    Plan,
    compare,
    estimate,
    overlaps,
    plan,
)

__all__ = [
    "ApproximationError",
    "Combination",
    "Comparison",
    "DamagedError",
    "Estimate",
    "Estimated",
    "Files",
    "Filter",
    "InputError",
    "Interrupted",
    "MemoryLimitError",
    "OutputError",
    "OutsetError",
    "OutsetWarning",
    "Overlaps",
    "Pair",
    "Pairs",
    "Plan",
    "Plot",
    "ProgramError",
    "Progress",
    "Result",
    "TemporarySpaceError",
    "UsageError",
    "compare",
    "difference",
    "estimate",
    "intersection",
    "overlaps",
    "pairs",
    "plan",
    "symmetric_difference",
    "union",
    "unique",
]


def __getattr__(name: str) -> str:
    # Looking for it takes longer than all imports.
    if name == "__version__":
        from importlib.metadata import version

        return version("pyoutset")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
