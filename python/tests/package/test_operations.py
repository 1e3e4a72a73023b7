"""Every operation, with every kind of side."""

import glob
import gzip
import io
import json
import random
from pathlib import Path

import pandas
import polars
import pyarrow as pa
import pytest

import pyoutset
from pyoutset import Files, UsageError, difference, intersection, symmetric_difference, union, unique

A = ["b", "a", "", "caf\u00e9", "a", "x\r", "\udcff", "only a"]
B = ["a", "\udcff", "caf\u00e9", "only b", "", "b"]
COMMON = {"a", "b", "", "caf\u00e9", "\udcff"}


def data(lines):
    return [line.encode("utf-8", "surrogateescape") for line in lines]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (intersection, COMMON),
        (difference, {"x\r", "only a"}),
        (union, set(A) | set(B)),
        (symmetric_difference, {"x\r", "only a", "only b"}),
    ],
)
def test_an_operation_gives_what_sets_give(operation, expected):
    result = operation(A, B)
    assert sorted(result) == sorted(expected)
    assert len(result) == result.lines == len(expected)
    assert result.exact and result.strategy == "memory" and result.peak_memory_bytes > 1 << 20
    assert sorted(result.bytes()) == sorted(data(expected))


def kinds(tmp_path):
    """One side in every form."""
    plain = tmp_path / "plain.txt"
    plain.write_bytes(b"\n".join(data(A)))
    (tmp_path / "packed.gz").write_bytes(gzip.compress(plain.read_bytes()))
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "1").write_bytes(b"\n".join(data(A[:3])) + b"\n")
    (tmp_path / "parts" / "2").write_bytes(b"\n".join(data(A[3:])))
    binary, text = pa.array(data(A), pa.binary()), [line for line in A if line != "\udcff"]
    return {
        "a path": str(plain),
        "a Path": plain,
        "a compressed file": tmp_path / "packed.gz",
        "a directory": tmp_path / "parts",
        "a pattern": str(tmp_path / "parts" / "*"),
        "Files": Files(tmp_path / "parts" / "1", tmp_path / "parts" / "2"),
        "a list of paths": [tmp_path / "parts" / "1", tmp_path / "parts" / "2"],
        "a list": A,
        "a tuple of bytes": tuple(data(A)),
        "a mixed list": [A[0], *data(A[1:])],
        "a set": set(A),
        "a generator": (line for line in A),
        "a dictionary's keys": dict.fromkeys(A).keys(),
        "an open file": io.BytesIO(plain.read_bytes()),
        "a text file": io.StringIO("\n".join(A) + "\n"),
        "binary": binary,
        "large binary": binary.cast(pa.large_binary()),
        "a slice": pa.array([b"no", *data(A), b"no"], pa.binary()).slice(1, len(A)),
        "chunks": pa.chunked_array([binary[:2], binary[2:2], binary[2:]]),
        "a dictionary": binary.dictionary_encode(),
        "a column of a table": pa.table({"x": binary})["x"],
        "a table with one column": pa.table({"x": binary}),
        "a stream": pa.RecordBatchReader.from_batches(pa.schema([("x", pa.binary())]), [pa.record_batch([binary], ["x"])]),
        "string views + \udcff": [*text, "\udcff"],
        "a result": union(A),
    }


def test_every_kind_of_side_has_the_same_lines(tmp_path, descriptors):
    before = descriptors()
    for name, side in kinds(tmp_path).items():
        assert set(intersection(side, B)) == COMMON, name
        if not isinstance(side, (type(x for x in ()), io.IOBase, pa.RecordBatchReader)):
            assert set(intersection(B, side)) == COMMON, name
    del side
    assert descriptors() == before


def test_a_compressed_file_that_is_read_byte_by_byte_is_decoded():
    class Slow(io.BytesIO):
        def read(self, size):
            return super().read(1)

    assert sorted(union(Slow(gzip.compress(b"a\nb\n")))) == ["a", "b"]
    assert list(union(Slow(b"a\n"))) == ["a"] and list(union(Slow(b""))) == []


def test_columns_of_text_from_every_library():
    lines = ["a", "", "caf\u00e9", "x" * 40]
    columns = [
        pa.array(lines),
        pa.array(lines, pa.large_string()),
        pa.array(lines, pa.string_view()),
        polars.Series("x", lines),
        polars.DataFrame({"x": lines}),
        pandas.Series(lines),
        pandas.Series(lines, dtype="string"),
        pandas.DataFrame({"x": lines}),
    ]
    for column in columns:
        assert list(union(column, order="input")) == lines, type(column)
        assert set(intersection(column, column)) == set(lines), type(column)


def test_many_large_sides_in_memory_at_once_do_not_wait_for_each_other():
    chance = random.Random(1)
    sides = [[f"{chance.randrange(200_000):064}" for _ in range(20_000)] for _ in range(12)]
    for memory in ("24M", "1G"):
        assert set(union(*sides, memory=memory)) == set().union(*sides)
        assert set(intersection(*sides[:2], memory=memory)) == set(sides[0]) & set(sides[1])


def test_lines_longer_than_a_pipe():
    lines = ["x" * 3_000_000, "y"]
    assert sorted(intersection(lines, pa.array(lines), memory="256M")) == lines


def test_orders_counts_and_labels():
    assert list(union(["b", "a", "b"], ["c", "a"], order="input")) == ["b", "a", "c"]
    assert list(union(["b", "a", "b"], keep_order=True)) == ["b", "a"]
    assert list(unique(["b", "a", "b"], order="count", count=True)) == ["2\tb", "1\ta"]
    assert list(unique(["b", "a", "b"], min_count=2)) == ["b"]
    assert list(unique(["b", "a", "b"], max_count=1)) == ["a"]
    assert list(unique(["b", "a", "b", "c"], top=1)) == ["b"]
    assert list(intersection(["a", "b"], ["b"], ["b"], only="111", which=True)) == ["111\tb"]
    assert list(intersection(["a"], ["b"], at_most=1, order="sorted")) == ["a", "b"]
    assert list(difference(["a", "a", "b"], ["b"], repeats=True)) == ["a", "a"]


def test_keys_of_records(write):
    old = write("old.csv", "id,url", '1,"a,b"', "2,c")
    new = write("new.csv", "id,url", '7,"a,b"', "8,d")
    result = difference(new, old, on="url")
    assert result.header == "id,url" and list(result) == ["8,d"]
    assert list(difference(new, old, on=2, header=True)) == ["8,d"]
    assert list(difference(new, old, on=["id"], key_of={2: "id"}, order="input")) == ['7,"a,b"', "8,d"]
    lines = write("x.jsonl", '{"u": "a", "n": 1}', '{"u": "b"}')
    assert list(unique(lines, lines, on="u", order="input")) == ['{"u": "a", "n": 1}', '{"u": "b"}']
    years = write("y.tsv", "id\t2021", "x\t5")
    assert list(intersection(years, years, on="2021")) == ["x\t5"]
    assert list(intersection(["A ", "b"], ["a"], ignore_case=True, trim=True)) == ["A "]
    # What is in memory has a header, too.
    assert list(intersection(["id,url", "9,c"], old, on="url", csv=True)) == ["9,c"]


def test_a_format_that_is_not_the_same_for_all_is_not_guessed(write):
    with pytest.raises(UsageError):
        intersection(write("a.csv", "x"), write("b.jsonl", "{}"), on="x").run()


def test_a_line_may_have_newlines_if_it_ends_in_nul():
    assert list(intersection(["a\nb", "c"], ["a\nb"], zero_terminated=True)) == ["a\nb"]
    assert intersection(["a\nb"], pa.array(["a\nb"]), zero_terminated=True).to_arrow()["line"].to_pylist() == ["a\nb"]


def test_via_is_for_paths_alone(write):
    path = write("a.txt", "x", "y")
    for other in (["y", "z"], union(["y", "z"])):
        assert list(intersection(path, other, via="sed s/^/_/ {}")) == []
        assert list(intersection(path, other, via="cat {}")) == ["y"]
    assert list(intersection(path, ["y", "z"], via_of={1: "cat"})) == ["y"]


def test_a_result_is_lazy_and_leaves_nothing(clean):
    left = []

    def lines():
        left.append("read")
        yield "a"

    result = intersection(lines(), ["a"])
    assert repr(result) == "<intersect: not run yet>" and not left
    assert result.run() is result and left == ["read"]
    assert list(result) == list(result) == ["a"]
    assert repr(result).startswith("<intersect: 1 lines (exact, memory) in ")
    path = Path(result.path)
    assert path.read_bytes() == b"a\n" and len(list(clean.iterdir())) == 1
    iterator = iter(result)
    del result
    assert list(iterator) == ["a"], "the file stays as long as its reader"
    del iterator
    assert not path.exists()
    with union(["a"]) as result:
        assert result.lines == 1 and result
    assert not list(clean.iterdir())
    with pytest.raises(UsageError, match="closed"):
        list(result)
    assert not union([])


def test_a_result_is_a_side_and_stays_for_it():
    result = difference(intersection(["a", "b", "c"], ["a", "b"]), union(["b"]))
    assert list(result) == ["a"]


def test_out_is_written_at_once_and_stays(tmp_path):
    for name, opened in (("x.txt", open), ("x.gz", gzip.open)):
        out = tmp_path / name
        result = union(["b", "a"], order="sorted", out=out)
        with opened(out) as file:
            assert file.read() in (b"a\nb\n", "a\nb\n")
        assert list(result) == ["a", "b"] and result.to_arrow()["line"].to_pylist() == ["a", "b"]
        result.close()
        assert out.exists()
    result = union(["b"], out=tmp_path / "x.zst")
    assert result.lines == 1
    with pytest.raises(UsageError, match="read by other programs"):
        list(result)
    dropped = tmp_path / "dropped"
    assert list(union(["b", "b"], duplicates=dropped)) == ["b"] and dropped.read_text() == "b\n"
    (tmp_path / "shard").write_text("a\nb\na\n")
    assert sorted(union(tmp_path / "shard", duplicates=dropped, duplicates_format="map")) == ["a", "b"]
    shard = str(tmp_path / "shard")
    assert json.loads(dropped.read_text()) == {"file": shard, "line": 3, "kept": {"file": shard, "line": 1}}


def test_the_hash_key_is_not_among_the_arguments():
    key = "0f" * 32
    result = intersection(["a"], ["a"], hash_key=key).run()
    assert key not in result.command and "--hash-key-file" in result.command


def test_names_of_sides_are_those_that_people_know():
    result = intersection(["a"], pa.array(["a"]))
    assert [side["path"] for side in result.stats["inputs"]] == ["side 1", "side 2"]
    assert [side["label"] for side in result.stats["inputs"]] == ["side 1", "side 2"]
    assert "/dev/fd" not in str(result.stats["phases"])
    named = intersection(["a"], ["a"], names=["new", "old"])
    assert [side["label"] for side in named.stats["inputs"]] == ["new", "old"]


def test_temporary_files_go_where_they_should(tmp_path):
    place = tmp_path / "here"
    place.mkdir()
    result = union(["a"], temp_dir=place).run()
    assert result.path.startswith(str(place)) and glob.glob(f"{place}/*")
    result.close()
    assert not list(place.iterdir())
    with pytest.raises(pyoutset.TemporarySpaceError):
        union(["a"], temp_dir=tmp_path / "nowhere").run()


def test_a_file_for_each_file(tmp_path):
    for name, text in (("1.txt", "a\nb\na\n"), ("2.txt", "b\nc\n")):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text(text)
    result = unique(tmp_path / "in", out_dir=tmp_path / "out")
    assert result.lines == 3
    assert [path.read_text() for path in sorted((tmp_path / "out").rglob("*.txt"))] == ["a\nb\n", "c\n"]
    with pytest.raises(UsageError):
        list(result)
    with pytest.raises(UsageError, match="out_dir"):
        union(["a"], out=tmp_path / "x", out_dir=tmp_path / "y")
    assert list(union(["k1", "x"], ["k1"], keep="none")) == ["x"]


def test_a_path_that_looks_like_an_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("-q").write_text("a\n")
    Path("-").write_text("b\n")
    assert sorted(union("-q", "-")) == ["a", "b"]
