"""Progress, and the bar that shows it: that of tqdm if it is installed, else a line of text.

The bar is drawn by the thread that waits for the program, a few times a second.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, NamedTuple


class Progress(NamedTuple):
    """How far a run is. What is not known is ``None``."""

    #: The name of the phase, such as ``build a.txt``.
    phase: str
    #: Bytes that the phase has gone through, and will go through.
    bytes: int
    total_bytes: int | None = None
    bytes_per_second: int | None = None
    #: Seconds until the end of the phase, and of the run.
    phase_seconds_left: float | None = None
    seconds_left: float | None = None
    #: The run of several that it belongs to, such as the exact one of a comparison.
    part: str | None = None

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Progress:
        """Reads an event of the program, which may say more than is known here."""
        known: dict[str, Any] = {name: event.get(name) for name in cls._fields}
        return cls(**known)

    @property
    def name(self) -> str:
        """Part and phase."""
        return f"{self.part}: {self.phase}" if self.part else self.phase


class Bar:
    """Shows progress in its block, or hands it to ``call``."""

    def __init__(self, call: Callable[[Progress], object] | None = None, is_drawn: bool = False) -> None:
        self.call = call
        self.is_drawn = is_drawn
        self.drawn: Any = None

    def __enter__(self) -> Bar:
        return self

    def __call__(self, progress: Progress) -> None:
        if self.call:
            self.call(progress)
        elif self.is_drawn:
            if self.drawn is None:
                self.drawn = drawing()
            self.drawn.show(progress)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.drawn is not None:
            self.drawn.close()


def drawing() -> Any:
    try:
        return TqdmBar(tqdm_class())
    except ImportError:
        return TextBar()


def is_notebook() -> bool:
    """Tells whether this is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def tqdm_class() -> Any:
    """The bar of a notebook if there is one, else that of a terminal."""
    if is_notebook():
        try:
            import ipywidgets  # type: ignore[import-not-found, unused-ignore]  # noqa: F401
            from tqdm.notebook import tqdm as notebook

            return notebook
        except ImportError:
            pass
    from tqdm import tqdm

    return tqdm


class TqdmBar:
    """A bar of tqdm, which begins anew with each phase."""

    def __init__(self, make: Any) -> None:
        self.bar = make(total=None, unit="B", unit_scale=True, leave=False)
        self.name: str | None = None

    def show(self, progress: Progress) -> None:
        if progress.name != self.name:
            self.name = progress.name
            self.bar.reset(total=progress.total_bytes)
            self.bar.set_description_str(self.name, refresh=False)
        self.bar.n = progress.bytes
        self.bar.refresh()

    def close(self) -> None:
        self.bar.close()


class TextBar:
    """A line that is drawn again and again."""

    WIDTH = 79

    def show(self, progress: Progress) -> None:
        far = f"{progress.bytes / 1e6:.0f} MB"
        if progress.total_bytes:
            far = f"{min(100, progress.bytes * 100 // progress.total_bytes)} %"
        left = "" if progress.seconds_left is None else f", {progress.seconds_left:.0f} s left"
        self.draw(f"{progress.name}: {far}{left}")

    def draw(self, text: str) -> None:
        sys.stderr.write("\r" + text[: self.WIDTH].ljust(self.WIDTH))
        sys.stderr.flush()

    def close(self) -> None:
        self.draw("")
        sys.stderr.write("\r")
        sys.stderr.flush()
