"""Deduplicates rows of Parquet files by a column: outset beside DuckDB, by turns.

Makes the files first, with DuckDB: rows of eight columns, of which `url` has about 54 bytes and
three in ten repeat that of a row before. Every answer must have each URL once.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import dataset
from measure import Step

ROWS = """
COPY (
    SELECT row AS id,
        'https://www.example' || (key %% 5000) || '.com/path/'
            || printf('%%08x', (key * 2654435761) %% 4294967296) || '/' || printf('%%012d', key) AS url,
        (hash(row) %% 1000000) / 1e6 AS score,
        'title of the page ' || (key %% 100000) AS title,
        ['en', 'de', 'fr', 'es', 'it'][1 + row %% 5] AS lang,
        TIMESTAMP '2026-01-01' + to_seconds(row %% 10000000) AS fetched,
        (hash(row + 7) %% 1000)::INT AS size,
        'example' || (key %% 5000) AS host
    FROM (
        SELECT row,
            CASE WHEN row > 0 AND hash(row) %% 10 < 3 THEN (hash(row * 31 + 5) %% row)::BIGINT
            ELSE row END AS key
        FROM range(%(first)d, %(last)d) AS rows(row)
    )
) TO '%(path)s' (FORMAT parquet)
"""
DUCKDB = """
import duckdb
settings = {"threads": %(threads)d, "memory_limit": "16GB", "temp_directory": "%(temp)s"}
connection = duckdb.connect(config=settings)
read = "'%(data)s/*.parquet'"
connection.execute(f"COPY (SELECT DISTINCT ON (url) * FROM {read}) TO '%(out)s' (FORMAT parquet)")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--files", type=int, default=4)
    options = dataset.parse(parser)
    data = options.dir / f"rows-{options.rows}-{options.files}"
    if not (data / "urls").exists():
        shutil.rmtree(data, ignore_errors=True)
        make(data, options.rows, options.files)
    urls = int((data / "urls").read_text())
    print(f"{urls} different URLs\n")
    out, files = options.dir / "out.parquet", sorted(data.glob("*.parquet"))

    def fault_of(path: Path) -> str | None:
        found = counts(path)
        return f"{found} rows and URLs of {urls}" if found != (urls, urls) else None

    dataset.by_turns(options, jobs(options, data, files, out), files, out, fault_of)


def make(data: Path, rows: int, files: int) -> None:
    """Writes the files, and how many different URLs they have."""
    import duckdb

    data.mkdir(parents=True)
    for file in range(files):
        first, last = rows * file // files, rows * (file + 1) // files
        path = data / f"{file}.parquet"
        duckdb.execute(ROWS % {"first": first, "last": last, "path": path})
    _, urls = counts(data / "*.parquet")
    (data / "urls").write_text(str(urls))


def jobs(
    options: argparse.Namespace, data: Path, files: list[Path], out: Path
) -> dict[str, Step]:
    """Says what each of them runs."""
    values = {"threads": options.threads, "data": data, "out": out, "temp": options.dir / "temp"}
    found = dataset.outset(options, "union", ["-k", "url"], ["--side", *files], out)
    found["DuckDB"] = Step([sys.executable, "-c", DUCKDB % values])
    return found


def counts(path: Path) -> tuple[int, int]:
    """Counts the rows and the different URLs of a file."""
    import duckdb

    counted = duckdb.execute(f"SELECT count(*), count(DISTINCT url) FROM '{path}'").fetchone()
    return counted or (0, 0)


if __name__ == "__main__":
    main()
