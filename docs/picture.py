#!/usr/bin/env python3
"""Draws docs/run.svg, the picture in the README, from a real run.

    cargo build --release --workspace
    python3 docs/picture.py

Makes two files with data-gen, runs outset over them with --report, and puts what the terminal showed above the
chart of memory that the report has. Needs Python 3.9 or later and some disk.
"""

import argparse
import html
import re
import subprocess
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHART = "Resident memory over time, and the limit"
# The command is shown as it is run, in a terminal of this width.
COLUMNS = 80
WIDTH, MARGIN, LINE, FONT = 680, 20, 19, 13


def session(bin_dir: Path, work: Path, lines: str, memory: str) -> list[str]:
    """Runs the commands in `work`; returns what a terminal would show."""
    make = ["--dir", str(work), "--fixed", "64", "--lines", lines, "--common", "10%"]
    subprocess.run([bin_dir / "data-gen", *make], check=True, stderr=subprocess.DEVNULL)
    shown = []
    for name, arguments in [
        ("wc", ["-c", "a.txt", "b.txt"]),
        ("outset", ["intersect", "a.txt", "b.txt", "--memory", memory, "-o", "common.txt", "--report", "run.html"]),
        ("wc", ["-l", "common.txt"]),
    ]:
        program = str(bin_dir / name) if name == "outset" else name
        run = subprocess.run([program, *arguments], cwd=work, check=True, capture_output=True, text=True)
        shown.append(" ".join(["$", name, *arguments]))
        shown.extend((run.stdout + run.stderr).splitlines())
    return shown


def chart_of(page: str) -> tuple[str, str]:
    """The style of the report's colours, light and dark, and the chart."""
    style = re.search(r"<style>(.*?)\*\{", page, re.S).group(1)
    chart = re.search(rf'<svg role="img" aria-label="{CHART}".*?</svg>', page, re.S).group(0)
    return style.strip(), chart


def picture(shown: list[str], style: str, chart: str) -> str:
    rows = [row for line in shown for row in textwrap.wrap(line, COLUMNS, drop_whitespace=False) or [""]]
    top = MARGIN + LINE * len(rows) + 12
    # Colours are those of the report's light mode; its style exchanges them in dark mode.
    texts = [
        f'<text class="terminal" x="{MARGIN}" y="{MARGIN + LINE * number + FONT}" xml:space="preserve" '
        f'fill="{"#0550AE" if row.startswith("$") else "#1F2328"}">{html.escape(row)}</text>'
        for number, row in enumerate(rows)
    ]
    height = int(re.search(r'height="(\d+)"', chart).group(1))
    chart = chart.replace("<svg ", f'<svg x="{MARGIN}" y="{top}" ', 1)
    total = top + height + 8
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH}" height="{total}" '
        f'viewBox="0 0 {WIDTH} {total}">',
        f"<title>{html.escape(' '.join(shown))}</title>",
        f"<style>{style}",
        f".terminal{{font:{FONT}px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace}}</style>",
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{total - 1}" rx="8" fill="#FFFFFF" stroke="#D1D9E0"/>',
        *texts,
        chart,
        "</svg>",
        "",
    ])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin-dir", type=Path, default=ROOT / "target/release", help="has outset and data-gen")
    parser.add_argument("--dir", type=Path, help="where to make the files (on a disk) [default: $TMPDIR]")
    parser.add_argument("--lines", default="10M", help="lines of each file")
    parser.add_argument("--memory", default="32M", help="the memory limit")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.dir) as work:
        shown = session(given.bin_dir.resolve(), Path(work), given.lines, given.memory)
        style, chart = chart_of((Path(work) / "run.html").read_text(encoding="utf-8"))
    (ROOT / "docs/run.svg").write_text(picture(shown, style, chart), encoding="utf-8")
    print("\n".join(shown))


if __name__ == "__main__":
    main()
