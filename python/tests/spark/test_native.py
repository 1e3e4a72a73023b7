"""Spark's own plan reads what outset reads, or says that it does not."""

import bz2
import gzip
import lzma

import pytest
from conftest import expected, lines_of

from pyoutset.spark import Failed, Job, run

LINES = [[b"line-%d" % n for n in range(1000)], [b"line-%d" % n for n in range(900, 2000)]]


def text(number):
    return b"\n".join(LINES[number]) + b"\n"


@pytest.fixture
def other(tmp_path):
    (tmp_path / "other").write_bytes(text(1))
    return [str(tmp_path / "other")]


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_it_reads_the_same_files(spark, outset, out, tmp_path, other, scheme):
    side, linked = tmp_path / "side [1] {a,b}*?", tmp_path / "linked"
    for directory in (side / "_d=1", side / "_hidden", linked):
        directory.mkdir(parents=True)
    lines = LINES[0]
    (side / "_d=1" / "p a%20[2]").write_bytes(b"\n".join(lines[:925]))
    (side / "x.gz").write_bytes(gzip.compress(b"\n".join(lines[925:950])))
    (side / "y.bz2").write_bytes(bz2.compress(b"\n".join(lines[950:975])))
    (side / "empty.gz").write_bytes(b"")
    (linked / "z\\{1}#?").write_bytes(b"\n".join(lines[975:]))
    (side / "more").symlink_to(linked)
    (side / "_hidden" / "x").write_bytes(b"line-1500\n")
    (side / "x._COPYING_").write_bytes(b"line-1500\n")
    sides = [[f"{scheme}{side}"], other]
    for exchange in ("native", "blocks"):
        if scheme and exchange == "blocks":
            break
        place = tmp_path / exchange
        run(spark, Job("intersect", sides, str(place), exchange=exchange, outset=outset, partitions=2, task_memory="32M"))
        assert lines_of(place) == expected("intersect", LINES)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.xz", lzma.compress(text(0)), "is compressed, and Spark does not know that by its name"),
        ("x", gzip.compress(text(0)), "is compressed, and Spark does not know that by its name"),
        ("x.gz", text(0), "Spark takes it for .gz by its name"),
        ("x.gz", bz2.compress(text(0)), "Spark takes it for .gz by its name"),
        ("x.zst", text(0), "Spark takes it for .zst by its name"),
        ("x.deflate", text(0), "Spark takes it for .deflate by its name"),
        ("_x", text(0), "Spark leaves out files with such names"),
    ],
)
def test_it_refuses_what_spark_would_decode_otherwise(spark, out, tmp_path, other, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Failed, match=f"{name}: {said}.*: rename it, or use --exchange blocks"):
        run(spark, Job("intersect", [[str(tmp_path / name)], other], str(out), exchange="native"))
    assert not out.exists()


@pytest.mark.parametrize(("name", "pack"), [("x", bytes), ("x.gz", gzip.compress), ("x.bz2", bz2.compress)])
def test_it_refuses_what_spark_would_leave_out(spark, out, tmp_path, other, name, pack):
    (tmp_path / name).write_bytes(pack(b"\xef\xbb\xbf" + text(0)))
    with pytest.raises(Failed, match=f"{name}: begins with a byte order mark, .*: remove it, or use --exchange blocks"):
        run(spark, Job("intersect", [[str(tmp_path / name)], other], str(out), exchange="native"))
    assert not out.exists()


@pytest.mark.parametrize("path", ["/nowhere/x", "file:///nowhere/x", "foo://x/y"])
def test_it_says_what_is_missing(spark, out, other, path):
    with pytest.raises(Failed, match=f"^{path}: .*: name ") as failed:
        run(spark, Job("intersect", [[path], other], str(out), exchange="native"))
    assert "\n" not in str(failed.value)
