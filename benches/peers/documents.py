"""Deduplicates JSON documents in `.zst` files by text: outset beside DuckDB and Polars, by turns.

Makes the documents first: 0.4 to 40 KB each, log-normal, of words that come as often as words do. A
part of them have the text of one before. Every answer must have as many lines as there are texts.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
from pathlib import Path

import measure
from measure import Outcome, Step

# Words that the texts are cut from: some 190 MB, more than the window of zstd.
WORDS = 30_000_000
DUCKDB = """
import duckdb
settings = {"threads": %(threads)d, "memory_limit": "16GB", "temp_directory": "%(temp)s"}
connection = duckdb.connect(config=settings)
columns = "{'id': 'BIGINT', 'url': 'VARCHAR', 'text': 'VARCHAR'}"
read = f"read_json('%(data)s/*.zst', format = 'newline_delimited', columns = {columns})"
connection.execute(f"COPY (SELECT DISTINCT ON (text) * FROM {read}) TO '%(out)s' (FORMAT json)")
"""
POLARS = """
import glob
import polars
frame = polars.scan_ndjson(sorted(glob.glob("%(data)s/*.zst")))
frame.unique("text").sink_ndjson("%(out)s")
"""


def main() -> None:
    options = arguments()
    data = options.dir / f"documents-{options.documents}-{options.files}-{options.repeats}"
    if not (data / "texts").exists():
        shutil.rmtree(data, ignore_errors=True)
        make(data, options.documents, options.files, options.repeats)
    texts = int((data / "texts").read_text())
    out, errors, report = (options.dir / name for name in ("out.jsonl", "errors", "report"))
    files = sorted(data.glob("*.zst"))
    outcomes: dict[str, list[Outcome]] = {}
    for _ in range(options.runs):
        for name, step in jobs(options, data, files, out, report).items():
            out.unlink(missing_ok=True)
            report.unlink(missing_ok=True)
            measure.warm(files)
            outcome = measure.run([[step]], options.dir / "temp", errors, report, options.timeout)
            if outcome.is_ok and lines(out) != texts:
                outcome.status = f"{lines(out)} lines of {texts}"
            outcomes.setdefault(name, []).append(outcome)
    out.unlink(missing_ok=True)
    tell(outcomes, texts)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="where data and results lie")
    parser.add_argument("--documents", type=int, default=300_000)
    parser.add_argument("--files", type=int, default=12)
    parser.add_argument("--repeats", type=float, default=0.3, help="their share, 0..1")
    parser.add_argument("--outset", default="target/release/outset")
    parser.add_argument("--memory", default="256M,8G", help="limits of outset")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=600.0)
    options = parser.parse_args()
    (options.dir / "temp").mkdir(parents=True, exist_ok=True)
    return options


def make(data: Path, documents: int, files: int, repeats: float) -> None:
    """Writes the files, and how many different texts they have."""
    import numpy
    import pyarrow

    random = numpy.random.default_rng(7)
    letters = numpy.frombuffer(b"etaoinshrdlucmfwypvbgkjqxz", dtype=numpy.uint8)
    often = 1 / numpy.arange(1, 27) ** 0.7
    sizes = numpy.clip(random.lognormal(1.7, 0.45, 60_000), 2, 16).astype(int)
    words = [bytes(random.choice(letters, size=size, p=often / often.sum())) for size in sizes]
    often = 1 / numpy.arange(1, len(words) + 1)
    chosen = random.choice(len(words), size=WORDS, p=often / often.sum())
    between = [b" ", b", ", b". ", b"\\n", b'\\"']
    ends = random.choice(len(between), size=WORDS, p=[0.88, 0.06, 0.04, 0.015, 0.005])
    base = b"".join(words[word] + between[end] for word, end in zip(chosen, ends, strict=True))

    lengths = numpy.clip(random.lognormal(7.45, 0.8, documents), 400, 40_000).astype(int)
    starts = random.integers(0, len(base) - 40_000, documents)
    text_of = numpy.arange(documents)
    for again in numpy.flatnonzero(random.random(documents) < repeats)[1:]:
        text_of[again] = text_of[random.integers(0, again)]
    data.mkdir(parents=True)
    texts = set()
    for file in range(files):
        path = data / f"{file:03}.jsonl.zst"
        with pyarrow.CompressedOutputStream(pyarrow.OSFile(str(path), "wb"), "zstd") as stream:
            for number in range(documents * file // files, documents * (file + 1) // files):
                start, length = starts[text_of[number]], lengths[text_of[number]]
                # No half of an escape at either end.
                text = base[start : start + length].rstrip(b"\\").lstrip(b'"')
                texts.add(hash(text))
                record = b'{"id":%d,"url":"https://example.org/%d","text":"%s"}\n'
                stream.write(record % (number, number, text))
    (data / "texts").write_text(str(len(texts)))


def jobs(
    options: argparse.Namespace, data: Path, files: list[Path], out: Path, report: Path
) -> dict[str, Step]:
    """Says what each of them runs."""
    values = {"threads": options.threads, "data": data, "out": out, "temp": options.dir / "temp"}
    environment = {"POLARS_MAX_THREADS": str(options.threads)}
    command = [options.outset, "union", "--jsonl", "-k", "text", "-j", options.threads, "-q"]
    command += ["-o", out, "--stats", report, "--side", *files]
    found: dict[str, Step] = {}
    for memory in options.memory.split(","):
        found[f"outset {memory}"] = Step([*command, "--memory", memory])
    found["DuckDB"] = Step([sys.executable, "-c", DUCKDB % values])
    found["Polars"] = Step([sys.executable, "-c", POLARS % values], environment=environment)
    return found


def lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def tell(outcomes: dict[str, list[Outcome]], texts: int) -> None:
    """Prints a table: medians, from the fastest to the slowest run, and ratios to the first job."""
    print(f"{texts} different texts\n\n| job | seconds | range | x first | peak | temp | answer |")
    print("|---|---|---|---|---|---|---|")
    first = None
    for name, of_job in outcomes.items():
        seconds = sorted(outcome.seconds for outcome in of_job)
        median = statistics.median(seconds)
        first = first or median
        peak = max(outcome.peak_bytes for outcome in of_job) >> 20
        answer = " ".join(sorted({outcome.status for outcome in of_job}))
        times = f"{median:.2f} | {seconds[0]:.2f} to {seconds[-1]:.2f} | {median / first:.2f}"
        temp = max(outcome.temp_bytes for outcome in of_job) >> 20
        print(f"| {name} | {times} | {peak} MiB | {temp} MiB | {answer} |")


if __name__ == "__main__":
    main()
