"""Deduplicates JSON documents in `.zst` files by text: outset beside DuckDB and Polars, by turns.

Makes the documents first: 0.4 to 40 KB each, log-normal, of words that come as often as words do. A
part of them have the text of one before. Every answer must have as many lines as there are texts.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import dataset
from measure import Step

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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=300_000)
    parser.add_argument("--files", type=int, default=12)
    parser.add_argument("--repeats", type=float, default=0.3, help="their share, 0..1")
    options = dataset.parse(parser)
    data = options.dir / f"documents-{options.documents}-{options.files}-{options.repeats}"
    if not (data / "texts").exists():
        shutil.rmtree(data, ignore_errors=True)
        make(data, options.documents, options.files, options.repeats)
    texts = int((data / "texts").read_text())
    print(f"{texts} different texts\n")
    out, files = options.dir / "out.jsonl", sorted(data.glob("*.zst"))

    def fault_of(path: Path) -> str | None:
        found = lines(path)
        return f"{found} lines of {texts}" if found != texts else None

    dataset.by_turns(options, jobs(options, data, files, out), files, out, fault_of)


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
    options: argparse.Namespace, data: Path, files: list[Path], out: Path
) -> dict[str, Step]:
    """Says what each of them runs."""
    values = {"threads": options.threads, "data": data, "out": out, "temp": options.dir / "temp"}
    environment = {"POLARS_MAX_THREADS": str(options.threads)}
    found = dataset.outset(options, "union", ["--jsonl", "-k", "text"], ["--side", *files], out)
    found["DuckDB"] = Step([sys.executable, "-c", DUCKDB % values])
    found["Polars"] = Step([sys.executable, "-c", POLARS % values], environment=environment)
    return found


def lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


if __name__ == "__main__":
    main()
