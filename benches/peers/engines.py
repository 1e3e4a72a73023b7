"""One engine, one run, in a process of its own: `engines.py ENGINE FORM A B RESULT REPORT`.

Owns how the peers that are Python packages are asked for the common lines of two files. Run by
the interpreter that has the package; imports nothing of the other files here. Writes the distinct
common lines to RESULT and the seconds without start-up to REPORT. `--limit` is in bytes.

CSV readers are told of one column, a delimiter that does not occur, and no quotes: the nearest
they have to plain lines. Every form of an engine gives the same answer; run.py takes the fastest.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

# Bytes that stand in no line of the workloads.
DELIMITER, QUOTE = "\x01", "\x02"
SEMI_JOIN = "SELECT DISTINCT a.line FROM {a} AS a LEFT SEMI JOIN {b} AS b ON a.line = b.line"
INTERSECT = "SELECT line FROM {a} INTERSECT SELECT line FROM {b}"
IN_SET = "SELECT DISTINCT line FROM {a} WHERE line IN (SELECT line FROM {b})"


def duckdb(options: argparse.Namespace) -> Callable[[], object]:
    import duckdb as engine

    connection = engine.connect()
    connection.execute("SET preserve_insertion_order = false")
    connection.execute(f"SET threads = {options.threads}")
    connection.execute(f"SET temp_directory = '{options.temp}'")
    if options.limit:
        connection.execute(f"SET memory_limit = '{options.limit // 1024} KiB'")

    def lines(path: Path) -> str:
        # A NULL would be lost by a join: no text is taken for one.
        return (
            f"read_csv('{path}', columns = {{'line': 'VARCHAR'}}, auto_detect = false, "
            f"header = false, delim = '{DELIMITER}', quote = '', escape = '', "
            f"nullstr = '{QUOTE}', new_line = '\\n', strict_mode = false)"
        )

    form = {
        "semi": SEMI_JOIN.replace("LEFT SEMI", "SEMI"),
        "intersect": INTERSECT,
    }[options.form]
    query = form.format(a=lines(options.a), b=lines(options.b))
    target = f"'{options.result}' (FORMAT csv, HEADER false, DELIM '{DELIMITER}', QUOTE '')"
    return lambda: connection.execute(f"COPY ({query}) TO {target}")


def clickhouse(options: argparse.Namespace) -> Callable[[], object]:
    import chdb as engine

    def lines(path: Path) -> str:
        return f"file('{path}', 'LineAsString', 'line String')"

    form = {
        "in": IN_SET,
        "semi": SEMI_JOIN,
        "intersect": INTERSECT.replace("INTERSECT", "INTERSECT DISTINCT"),
        "group": "SELECT line FROM (SELECT line, 1 AS side FROM {a} UNION ALL "
        "SELECT line, 2 AS side FROM {b}) GROUP BY line HAVING groupBitOr(side) = 3",
    }[options.form]
    settings = [f"max_threads = {options.threads}", "engine_file_truncate_on_insert = 1"]
    if options.limit:
        settings += _clickhouse_limit(options)
    query = form.format(a=lines(options.a), b=lines(options.b))
    statement = (
        f"INSERT INTO FUNCTION {lines(options.result)} {query} SETTINGS {', '.join(settings)}"
    )
    # The path is where it spills; without one that is a place of its own choice.
    return lambda: engine.query(statement, path=str(options.temp))


def _clickhouse_limit(options: argparse.Namespace) -> list[str]:
    """What it takes to spill below a limit rather than to end with an error."""
    settings = [
        f"max_memory_usage = {options.limit}",
        "join_algorithm = 'grace_hash'",
        # From one bucket on it runs into the limit before it has split.
        "grace_hash_join_initial_buckets = 16",
        f"max_bytes_before_external_group_by = {options.limit // 4}",
        f"max_bytes_before_external_distinct = {options.limit // 4}",
    ]
    if options.form == "semi":
        settings.append("max_threads = 1")  # Each thread has buffers; two do not fit.
    return settings


def polars(options: argparse.Namespace) -> Callable[[], object]:
    import polars as engine

    def lines(path: Path) -> engine.LazyFrame:
        schema = {"line": engine.String}
        return engine.scan_csv(
            path, has_header=False, separator=DELIMITER, quote_char=None, schema=schema
        )

    a, b = lines(options.a), lines(options.b)
    if options.form == "semi":
        common = a.join(b, on="line", how="semi").unique(maintain_order=False)
    else:
        common = a.unique(maintain_order=False).join(b, on="line", how="semi")
    return lambda: common.sink_csv(
        options.result,
        include_header=False,
        quote_style="never",
        maintain_order=False,
        engine="streaming",
    )


def datafusion(options: argparse.Namespace) -> Callable[[], object]:
    import datafusion as engine

    config = engine.SessionConfig().with_target_partitions(options.threads)
    runtime = engine.RuntimeEnvBuilder()
    if options.limit:
        # Its hash join cannot spill; the sort-merge join can.
        config = config.set("datafusion.optimizer.prefer_hash_join", "false")
        runtime = runtime.with_fair_spill_pool(options.limit)
        runtime = runtime.with_disk_manager_specified(str(options.temp))
    context = engine.SessionContext(config, runtime)
    csv = (
        f"OPTIONS ('format.has_header' 'false', 'format.delimiter' '{DELIMITER}', "
        f"'format.quote' '{QUOTE}')"
    )
    for name, path in (("a", options.a), ("b", options.b)):
        table = f"CREATE EXTERNAL TABLE {name} (line VARCHAR NOT NULL)"
        context.sql(f"{table} STORED AS CSV LOCATION '{path}' {csv}").collect()
    form = {"in": IN_SET, "semi": SEMI_JOIN, "intersect": INTERSECT}[options.form]
    # One file instead of a directory of them: by the ending .csv of the result's name.
    statement = f"COPY ({form.format(a='a', b='b')}) TO '{options.result}' STORED AS CSV {csv}"
    return lambda: context.sql(statement).collect()


def sqlite(options: argparse.Namespace) -> Callable[[], object]:
    connection = sqlite3.connect(options.temp / "lines.db", isolation_level=None)
    for pragma in (
        "journal_mode = OFF",
        "synchronous = OFF",
        "locking_mode = EXCLUSIVE",
        "temp_store = FILE",
        f"threads = {options.threads}",
        # Negative: in KiB. The sorter takes as much again, hence a half.
        f"cache_size = -{options.limit // 2048}",
    ):
        connection.execute(f"PRAGMA {pragma}")

    def work() -> None:
        connection.execute("BEGIN")
        for name, path in (("a", options.a), ("b", options.b)):
            _sqlite_load(connection, name, path, is_sorted=options.form == "sorted")
        rows = connection.execute(
            "SELECT line FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.line = a.line)"
        )
        with options.result.open("wb", buffering=1 << 20) as result:
            result.writelines(line + b"\n" for (line,) in rows)
        connection.execute("COMMIT")

    return work


def _sqlite_load(connection: sqlite3.Connection, name: str, path: Path, *, is_sorted: bool) -> None:
    """Fills a table whose key is the line.

    Insertion in random order moves through the whole tree; `sorted` goes by a plain table and the
    engine's own external sort, which writes more and is quicker once the tree outgrows the cache.
    """
    connection.execute(f"CREATE TABLE {name} (line BLOB PRIMARY KEY) WITHOUT ROWID")
    if not is_sorted:
        connection.executemany(f"INSERT OR IGNORE INTO {name} VALUES (?)", _rows(path))
        return
    connection.execute(f"CREATE TABLE plain_{name} (line BLOB)")
    connection.executemany(f"INSERT INTO plain_{name} VALUES (?)", _rows(path))
    connection.execute(f"INSERT OR IGNORE INTO {name} SELECT line FROM plain_{name} ORDER BY line")
    connection.execute(f"DROP TABLE plain_{name}")


def _rows(path: Path) -> Iterator[tuple[bytes]]:
    with path.open("rb", buffering=1 << 20) as file:
        for line in file:
            yield (line.removesuffix(b"\n"),)


def main() -> None:
    engines = {each.__name__: each for each in (duckdb, clickhouse, polars, datafusion, sqlite)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=engines)
    parser.add_argument("form")
    for name in ("a", "b", "result", "report"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--temp", type=Path, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--limit", type=int, default=0)
    options = parser.parse_args()
    work = engines[options.engine](options)
    start = time.monotonic()
    work()
    options.report.write_text(json.dumps({"seconds": time.monotonic() - start}))


if __name__ == "__main__":
    main()
