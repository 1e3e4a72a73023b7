"""Pictures of overlaps: those of the page of a run, each by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping

from . import options
from .errors import UsageError
from .results import escaped

#: What the pictures of the page are called.
TITLES = {"upset": "Distinct lines of each combination of files", "venn": "as circles of files"}


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


def plot_of(page: str, kind: str, names: Mapping[str, str]) -> Plot:
    """A picture of the page, with names in place of paths."""
    if kind not in TITLES:
        raise UsageError(f"plot: {kind!r} is none of {', '.join(TITLES)}")
    svg = picture(page, TITLES[kind])
    for path, name in names.items():
        svg = relabelled(svg, escaped(path), escaped(name))
    return Plot(widened(svg))


def relabelled(svg: str, path: str, name: str) -> str:
    """The picture with another label for a side. A label has the path in a title."""
    title = f"<title>{path}</title>"
    return re.sub(rf"{re.escape(title)}[^<]*</text>", lambda _: f"{title}{name}</text>", svg)


#: Columns that a character of a label takes, at most.
CHARACTER = 10


def widened(svg: str) -> str:
    """The picture with room for its labels, which end at a column that was chosen for shorter ones."""
    from html import unescape

    labels = re.findall(r'<text x="([0-9.]+)"[^>]*text-anchor="end"[^>]*><title>[^<]*</title>([^<]*)</text>', svg)
    more = max((len(unescape(label)) * CHARACTER - float(end) for end, label in labels), default=0)
    if more <= 0:
        return svg
    head, rest = svg.split(">", 1)
    width = float((re.search(r' width="([0-9.]+)"', head) or [0, 0])[1])
    head = re.sub(r'viewBox="0 0 [0-9.]+', f'viewBox="{-more:g} 0 {width + more:g}', head)
    head = re.sub(r' width="[0-9.]+"', f' width="{width + more:g}"', head)
    return f"{re.sub('width:[0-9.]+px', f'width:{width + more:g}px', head)}>{rest}"


def picture(page: str, title: str) -> str:
    """The picture of a page with this title, with the colours of the page. Raises :class:`UsageError` if there is none."""
    found = re.search(rf'<svg [^>]*aria-label="[^"]*{title}".*?</svg>', page, re.DOTALL)
    if not found:
        raise UsageError("plot: there is no such picture of these sides: circles are for two or three, with lines")
    colours = re.search(r"<style>(.*?)\n\*", page, re.DOTALL)
    style = f"<style>{colours.group(1) if colours else ''} svg{{font-family:sans-serif}}</style>"
    head, rest = found.group().split(">", 1)
    return f"{head}>{style}{rest}"
