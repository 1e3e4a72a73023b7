"""Pictures of overlaps: those of the page of a run, each by itself."""

from __future__ import annotations

import re

from . import options
from .errors import UsageError

#: What the pictures of the page are called.
TITLES = {"upset": "Distinct lines of each combination of files", "venn": "as circles of files"}
HEAT_MAP = "Shares of the lines of each file that each other file has"


class Plot:
    """A picture as SVG, which a notebook shows."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: options.Path) -> None:
        """Writes the picture to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


def plot_of(page: str, kind: str) -> Plot:
    """A picture of the page."""
    if kind not in TITLES:
        raise UsageError(f"plot: {kind!r} is none of {', '.join(TITLES)}")
    return Plot(picture(page, TITLES[kind]))


def picture(page: str, title: str) -> str:
    """The picture of a page with this title, with the colours of the page. Raises :class:`UsageError` if there is none."""
    found = re.search(rf'<svg [^>]*aria-label="[^"]*{title}".*?</svg>', page, re.DOTALL)
    if not found:
        raise UsageError("plot: there is no such picture of these sides: circles are for two or three, with lines")
    colours = re.search(r"<style>(.*?)\n\*", page, re.DOTALL)
    style = f"<style>{colours.group(1) if colours else ''} svg{{font-family:sans-serif}}</style>"
    head, rest = found.group().split(">", 1)
    return f"{head}>{style}{rest}"
