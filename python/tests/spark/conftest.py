"""One session for all tests that need no cluster, the program under test, and inputs that are hard to get right."""

import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
}


def program() -> str:
    """The program: of the environment, else what the Rust tests have built."""
    named = os.environ.get("OUTSET")
    return named or str(ROOT / "target" / "debug" / "outset")


@pytest.fixture(scope="session")
def outset() -> str:
    path = program()
    assert os.access(path, os.X_OK), f"{path}: build it first: cargo build"
    return path


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("tests")
    for key, value in LOOPBACK.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.local.dir", str(tmp_path_factory.mktemp("local")))
    builder = builder.config("spark.shuffle.compress", "false").config("spark.task.maxFailures", "1")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def odd_lines() -> list[list[bytes]]:
    """Lines of three sides: invalid UTF-8, lone surrogates, NUL, CR, empty ones, a line of 1 MB, and many repeats."""
    chance = random.Random(7)
    common = [b"", b"\r", b"a\rb", b"x\r", b"\xff\xfe\x80", "caf\u00e9".encode(), b"cafe\xcc\x81", b"\xc3", b"\x00nul\x00"]
    common += [b" lead", b"trail ", b"\t", b"null", b"NULL", b"\\N", b'"quo,ted"', b"\xef\xbb\xbfbom", b"L" * 1_000_000]
    common += [b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"last-without-newline"]
    common += [bytes(chance.choice(b"abc\r\xff\x00 \xc3") for _ in range(chance.randrange(1, 9))) for _ in range(3000)]
    sides = [
        common + [b"x", b"caf", b"\xef\xbf\xbd", b"L" * 999_999] + [b"A%d\r" % n for n in range(3000)] + common[:50] * 20,
        common + [b"x\r\r", b"trail", b"lead", b"L" * 1_000_001] + [b"A%d" % n for n in range(3000)] + common[:50] * 7,
        common[::3] + [b"A%d" % n for n in range(0, 6000, 2)],
    ]
    for side in sides:
        chance.shuffle(side)
        side.append(b"last-without-newline")
    return sides


def expected(operation: str, sides: list[list[bytes]]) -> list[bytes]:
    """The answer, sorted."""
    sets = [set(side) for side in sides]
    if operation == "intersect":
        found = set.intersection(*sets)
    elif operation == "diff":
        found = sets[0].difference(*sets[1:])
    elif operation == "union":
        found = set.union(*sets)
    else:
        counts = Counter(line for side in sets for line in side)
        found = {line for line, count in counts.items() if count == 1}
    return sorted(found)


def write_sides(place: Path, sides: list[list[bytes]]) -> list[list[str]]:
    """The first as a file, the others as directories of part files, one of them compressed and one empty; the last line of
    each file has no line end."""
    import gzip

    first = place / "first.txt"
    first.write_bytes(b"\n".join(sides[0]))
    paths = [[str(first)]]
    for number, side in enumerate(sides[1:], 2):
        directory = place / f"side-{number}"
        (directory / "deep").mkdir(parents=True)
        cut, later = len(side) // 3, len(side) // 2
        (directory / "part-0").write_bytes(b"\n".join(side[:cut]) + b"\n")
        (directory / "part-1.gz").write_bytes(gzip.compress(b"\n".join(side[cut:later]) + b"\n"))
        (directory / "deep" / "part-2").write_bytes(b"\n".join(side[later:]))
        (directory / "part-3").write_bytes(b"")
        (directory / "_ignored").write_bytes(b"not a line of the side\n")
        paths.append([str(directory)])
    return paths


def lines_of(out: Path) -> list[bytes]:
    """The lines of all parts, sorted."""
    parts = sorted(out.glob("part-*"))
    text = b"".join(part.read_bytes() for part in parts)
    assert not text or text.endswith(b"\n")
    return sorted(text.split(b"\n")[:-1])


@pytest.fixture
def out(tmp_path):
    yield tmp_path / "out"
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
