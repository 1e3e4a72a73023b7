"""Takes the rows of one table whose URL is not in another: outset beside DuckDB and Polars, by turns.

Makes the tables first, each as Parquet and as CSV, by pyarrow: rows of an `id`, a `url` of up to 51 bytes, a
`score` and a `title`, half of the URLs in both, in random order. Every answer must have the other half.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import dataset
from measure import Step

ROWS = """
SELECT row AS id,
    'https://www.example' || (key %% 5000) || '.com/path/'
        || printf('%%08x', (key * 2654435761) %% 4294967296) || '/' || printf('%%09d', key) AS url,
    (hash(row) %% 1000000) / 1e6 AS score,
    'title of the page ' || (key %% 100000) AS title
FROM (SELECT row, (row * 2654435761) %% %(rows)d + %(first)d AS key FROM range(%(rows)d) AS rows(row))
"""
DUCKDB = """
import duckdb
connection = duckdb.connect(config={"threads": %(threads)d, "temp_directory": "%(temp)s"})
query = "SELECT * FROM '%(left)s' ANTI JOIN '%(right)s' USING (url)"
connection.execute(f"COPY ({query}) TO '%(out)s' (FORMAT %(format)s)")
"""
POLARS = """
import polars
left, right = (polars.scan_%(format)s(path) for path in ("%(left)s", "%(right)s"))
left.join(right.select("url"), on="url", how="anti").sink_%(format)s("%(out)s")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000, help="of a table")
    options = dataset.parse(parser, memory="1G")
    data = options.dir / f"tables-{options.rows}"
    if not (data / "made").exists():
        shutil.rmtree(data, ignore_errors=True)
        make(data, options.rows)
    for form in ("parquet", "csv"):
        files = [data / f"{side}.{form}" for side in ("left", "right")]
        out = options.dir / f"out.{form}"

        def fault_of(path: Path, right: Path = files[1]) -> str | None:
            found, wanted = counts(path, right), options.rows // 2
            return f"{found} of {wanted}" if found != (wanted, wanted, 0) else None

        print(f"\n{form}\n")
        dataset.by_turns(options, jobs(options, form, files, out), files, out, fault_of)


def make(data: Path, rows: int) -> None:
    """Writes both tables in both forms."""
    import duckdb
    import pyarrow.csv
    import pyarrow.parquet

    data.mkdir(parents=True)
    for side, first in (("left", 0), ("right", rows // 2)):
        table = duckdb.sql(ROWS % {"rows": rows, "first": first}).to_arrow_table()
        pyarrow.parquet.write_table(table, data / f"{side}.parquet")
        pyarrow.csv.write_csv(table, data / f"{side}.csv")
    (data / "made").touch()


def jobs(
    options: argparse.Namespace, form: str, files: list[Path], out: Path
) -> dict[str, Step]:
    """Says what each of them runs."""
    values = {"threads": options.threads, "temp": options.dir / "temp", "format": form}
    values |= {"left": files[0], "right": files[1], "out": out}
    environment = {"POLARS_MAX_THREADS": str(options.threads)}
    key = ["-k", "url"] if form == "parquet" else ["--csv", "-k", "url"]
    found = dataset.outset(options, "diff", key, files, out)
    found["DuckDB"] = Step([sys.executable, "-c", DUCKDB % values])
    found["Polars"] = Step([sys.executable, "-c", POLARS % values], environment=environment)
    return found


def counts(path: Path, right: Path) -> tuple[int, int, int]:
    """Counts the rows of an answer, its different URLs, and those that the right table has, too."""
    import duckdb

    of_all = duckdb.execute(f"SELECT count(*), count(DISTINCT url) FROM '{path}'").fetchone()
    both = f"SELECT count(*) FROM '{path}' SEMI JOIN '{right}' USING (url)"
    wrong = duckdb.execute(both).fetchone()
    return (*of_all, *wrong) if of_all and wrong else (0, 0, 0)


if __name__ == "__main__":
    main()
