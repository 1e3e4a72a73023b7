"""Filters in files."""

import gzip
import os

import polars
import pyarrow as pa
import pytest

from pyoutset import Filter, InputError, OutputError, UsageError


def test_a_filter_is_built_asked_changed_and_kept(tmp_path, write):
    seen = Filter.build(["a", "b"], write("c.txt", "c"), max_fpr=1e-6, kind="fingerprint")
    assert seen.contains(["a", b"c", "x"]) == [True, True, False]
    assert "a" in seen and b"a" in seen and "x" not in seen
    seen.update(["x", "y"], pa.array(["z"]))
    assert seen.contains(pa.array(["x", "z", "no"])).to_pylist() == [True, True, False]
    assert seen.contains(polars.Series(["y", "no"])).to_pylist() == [True, False]
    seen.remove(["x"])
    assert "x" not in seen and "y" in seen
    seen.save(tmp_path / "kept.osf")
    del seen
    again = Filter.open(tmp_path / "kept.osf")
    assert "y" in again and again.info["kind"] == "fingerprint"
    assert repr(again) == f"Filter.open({str(tmp_path / 'kept.osf')!r})"
    again.update()


def test_a_filter_is_saved_as_a_whole_or_not_at_all(tmp_path):
    seen = Filter.build(["a"], max_fpr=1e-6)
    kept, other = tmp_path / "kept.osf", tmp_path / "kept.osf.part"
    other.write_text("of the user")
    seen.save(kept)
    assert "a" in Filter.open(kept) and other.read_text() == "of the user"
    assert kept.stat().st_mode == os.stat(seen.path).st_mode
    (tmp_path / "directory").mkdir()
    for wrong in (tmp_path / "directory", tmp_path / "nowhere" / "x"):
        with pytest.raises(OutputError, match=str(wrong)):
            seen.save(wrong)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["directory", "kept.osf", "kept.osf.part"]


def test_counts_and_merges(tmp_path):
    counted = Filter.build(["a", "a", "b"], kind="spectral", lines=100, max_fpr=1e-6)
    assert counted.count(["a", "b", "x"]) == [2, 1, 0]
    first = Filter.build(["a"], lines=1000, max_fpr=1e-6, out=tmp_path / "first.osf")
    other = Filter.build(["b"], like=first.path)
    both = first.merge(other)
    assert both.contains(["a", "b", "c"]) == [True, True, False] and "b" not in first
    first.merge(other, out=tmp_path / "both.osf")
    assert "b" in Filter.open(tmp_path / "both.osf")


def test_keys_and_rules_for_lines_are_those_that_it_was_built_with():
    seen = Filter.build(["id,url", "1,A"], on="url", csv=True, ignore_case=True, lines=10, max_fpr=1e-6)
    # The header belongs to every answer.
    assert seen.contains(["id,url", "7,a", "7,b"]) == [True, True, False]
    with pytest.raises(UsageError, match="header"):
        "7,a" in seen  # noqa: B015
    by_number = Filter.build(["id,url", "1,a"], on=2, csv=True, header=True, lines=10, max_fpr=1e-6)
    with pytest.raises(UsageError, match="header"):
        "7,b" in by_number  # noqa: B015
    assert "7,a" in Filter.build(["1,a"], on=2, csv=True, max_fpr=1e-6)
    nul = Filter.build(["a\nb"], zero_terminated=True, max_fpr=1e-6)
    assert nul.contains(["a\nb", "a"]) == [True, False]


def test_a_format_that_names_say_stays_that_of_the_filter(write):
    table, objects = write("new.csv", "id,url", "1,a"), write("new.jsonl", '{"u": "a"}')
    asked = ["id,url", "7,a", "7,b"]
    assert Filter.build(table, on="url", max_fpr=1e-6).contains(asked) == [True, True, False]
    kept = Filter.build(table, on="url", lines=10, max_fpr=1e-6)
    later = Filter.open(kept.path, on="url")
    later.update(table)
    assert later.contains(asked) == [True, True, False]
    assert Filter.build(objects, on="u", max_fpr=1e-6).contains(['{"u":"a"}', '{"u":"b"}']) == [True, False]


def test_lines_that_are_written_otherwise_are_found():
    assert Filter.build(["A\r"], strip_cr=True, max_fpr=1e-6).contains(["A\r", "A", "B\r"]) == [True, True, False]
    ends = Filter.build(["A\r", "b\nc"], strip_cr=True, zero_terminated=True, max_fpr=1e-6)
    assert Filter.open(ends.path).contains(["A\r", "A", "b\nc"]) == [True] * 3
    lines = pa.array([b"A\r", b"A", b"B\r", b"\xff\r", b"A\r\r"])
    assert Filter.build(lines, strip_cr=True, max_fpr=1e-6).contains(lines).to_pylist() == [True] * 5
    few = Filter.build(["A\r"], strip_cr=True, max_fpr=1e-6)
    assert few.contains(lines).to_pylist() == [True, True, False, False, False]
    assert Filter.build(["A\r"], strip_cr=True, kind="counting", lines=9, max_fpr=1e-6).count(["A\r"]) == [1]
    # A compressed file in memory is a line as any other.
    line = gzip.compress(b"hello\nworld", mtime=0).replace(b"\n", b"")
    assert Filter.build([line], max_fpr=1e-6).contains([line, b"hello"]) == [True, False]
    columns = Filter.build(pa.table({"k": ["a"]}), on="k", max_fpr=1e-6)
    assert columns.contains(["a", "b"]) == [True, False]


def test_an_empty_filter_and_wrong_requests():
    empty = Filter.build(lines=1000, max_fpr=1e-6)
    assert empty.contains([]) == [] and "a" not in empty
    for wrong in (lambda: empty.contains("a"), lambda: Filter.build(["a"], nonsense=1), lambda: Filter.open("x", nonsense=1)):
        with pytest.raises(UsageError):
            wrong()
    with pytest.raises(InputError):
        empty.contains(["a\nb"])
    with pytest.raises(UsageError):
        Filter.build(["a"], kind="nonsense")
