"""Records in results: which files have a header, where a record ends, and what its fields say."""

import lzma

import polars
import pyarrow as pa
import pytest
from pyarrow import parquet

from pyoutset import Files, InputError, UsageError, difference, intersection, overlaps, union
from pyoutset.records import Syntax

TABLE = pa.table({"k": ["a", "b"]})


def written(place, name, text):
    (place / name).write_bytes(text.encode())
    return place / name


def seen(result):
    """What a result says of itself in every way."""
    assert len(result) == len(list(result)) == result.to_arrow().num_rows
    return result.header, list(result)


def test_the_program_says_which_result_has_a_header(tmp_path):
    # A list is compared with a column: no line of it is a header.
    assert seen(difference(["x", "a", "y"], TABLE, on="k", order="input")) == (None, ["x", "y"])
    table = written(tmp_path, "t.csv", "k,w\na,5\n")
    assert seen(difference(TABLE, table, on="k", keys_only=True)) == ("k", ["b"])
    assert seen(difference(table, ["q"], csv=True, key_of={1: "k", 2: 1})) == ("k,w", ["a,5"])
    assert seen(union(table, on=1, header_of={1: True})) == ("k,w", ["a,5"])
    bare = written(tmp_path, "u.csv", "1,x\n2,y\n")
    other = written(tmp_path, "n.csv", "id,w\n2,z\n")
    assert seen(difference(bare, other, on="id", key_of={1: 1})) == (None, ["1,x"])
    for name in ("+1", "1", "name:1", "\u00b2", '"'):
        odd = written(tmp_path, "odd.csv", f"x,{name}\n5,a\n6,a\n" if name != '"' else 'x,""""\n5,a\n6,a\n')
        assert list(union(odd, on=name)) == ["5,a"], name


def test_a_result_is_a_side_as_the_lines_that_it_has(tmp_path):
    new, old = written(tmp_path, "new.csv", "id,url\n1,a\n2,b\n"), written(tmp_path, "old.csv", "id,url\n9,b\n")
    for name in (None, "x.csv", "x.csv.gz"):
        out = name and tmp_path / name
        result = difference(new, old, on="url", out=out)
        assert list(union(result)) == ["1,a"]
        assert list(union(result, on=2, csv=True)) == ["1,a"], "the header is no record"
        assert seen(union(result, on="url", csv=True)) == ("id,url", ["1,a"])
        assert seen(difference(result, ["id,url"], on=2, csv=True, key_of={2: "url"})) == (None, ["1,a"])
        # Also with other ends of lines, or where nothing is decoded.
        assert seen(union(result, on="url", csv=True, zero_terminated=True)) == ("id,url", ["1,a"])
        assert list(union(result, decompress="none")) == ["1,a"]
        nul = union(["a\nb", "c"], zero_terminated=True, order="input", out=out)
        assert list(union(nul, zero_terminated=True, order="input")) == ["a\nb", "c"]
        with pytest.raises(InputError, match="newline"):
            union(nul).run()
    keys = difference(TABLE, written(tmp_path, "t.csv", "k,w\na,5\n"), on="k", keys_only=True)
    assert list(union(TABLE, keys, on="k", keys_only=True, order="input")) == ["a", "b"]
    # What is not decoded here is the same file, or none.
    packed = difference(new, old, on="url", out=tmp_path / "x.csv.zst")
    assert seen(union(packed, on="url", csv=True)) == ("id,url", ["1,a"])
    for other in ({}, {"on": 2, "csv": True}, {"on": "url", "csv": True, "zero_terminated": True}, {"on": "url", "csv": True, "decompress": "none"}):
        with pytest.raises(UsageError, match=r"x\.csv\.zst"):
            union(packed, **other).run()


def test_a_directory_of_tables_gives_rows(tmp_path):
    (tmp_path / "d").mkdir()
    parquet.write_table(pa.table({"k": ["a", "b"], "v": [1, 2]}), tmp_path / "d" / "part-1")
    (tmp_path / "d" / "_SUCCESS").write_text("x")
    for side in (tmp_path / "d", f"{tmp_path}/d/part-*"):
        found = difference(side, ["a"], on="k")
        assert found.has_rows and found.to_arrow().to_pylist() == [{"k": "b", "v": 2}]


def test_a_record_goes_on_between_quotes(tmp_path):
    quoted = written(tmp_path, "c.csv", 'id,"t\nu"\n1,"a\n""b"\n2,3" disk\n3,x\n')
    result = union(quoted, on="id", order="input")
    assert seen(result) == ('id,"t\nu"', ['1,"a\n""b"', '2,3" disk', "3,x"])
    assert result.to_arrow().to_pydict() == {"id": ["1", "2", "3"], "t\nu": ['a\n"b', '3" disk', "x"]}
    whole = union(quoted, csv=True, order="input")
    assert whole.to_arrow()["line"].to_pylist() == list(whole)


@pytest.mark.parametrize("line", ["1\ta\rb", "1\ta\r", "\tx", "1\t", "7\t\"q"])
def test_fields_are_those_of_the_program_and_not_of_arrow(line, tmp_path):
    table = union(["id\tt", line], tsv=True, on="t", order="input").to_arrow()
    assert table.to_pydict() == dict(zip(("id", "t"), ([field] for field in line.split("\t"))))
    keys = union(["id\tt", "1\t", "2\tq"], tsv=True, on="t", keys_only=True, order="input")
    assert keys.to_arrow().to_pydict() == {"t": list(keys)} == {"t": ["", "q"]}


def test_escapes_long_records_and_odd_ones(tmp_path):
    escaped = written(tmp_path, "e.csv", 'id,t\n1,"a\\"b"\n2,a\\\\b\n3,c\\\nd\n')
    result = union(escaped, on="id", escape="\\", order="input")
    assert result.to_arrow()["t"].to_pylist() == ['a"b', "a\\b", "c\nd"]
    long = written(tmp_path, "l.csv", f"id,t\n1,{'x' * (3 << 20)}\n2,y\n")
    assert [len(text) for text in union(long, on="id", order="input").to_arrow()["t"].to_pylist()] == [3 << 20, 1]
    ragged = written(tmp_path, "r.csv", "id,t\n1\n2,y\n")
    assert union(ragged, on="id", order="input").to_arrow()["t"].to_pylist() == [None, "y"]
    with pytest.raises(UsageError, match="3 fields"):
        union(written(tmp_path, "w.csv", "id,t\n1,2,3\n"), on="id").to_arrow()
    (tmp_path / "b.csv").write_bytes(b"id,t\n1,\xff\n")
    with pytest.raises(UnicodeDecodeError):
        union(tmp_path / "b.csv", on="id").to_arrow()


def test_a_compressed_file_of_records_is_a_table_too(tmp_path):
    data = ["id,t", "1,a"]
    for out, compress in (("o.csv.xz", None), ("o.gz", "none"), ("o.bz2", "gz:1")):
        result = union(data, on="id", csv=True, out=tmp_path / out, compress=compress)
        assert seen(result) == ("id,t", ["1,a"])
    assert lzma.decompress((tmp_path / "o.csv.xz").read_bytes()) == b"id,t\n1,a\n"


@pytest.mark.parametrize("escape", [None, "\\"])
def test_fields_of_records(escape):
    syntax = Syntax(";", True, escape)
    for record, fields in (
        ("", [""]),
        (";", ["", ""]),
        ('"a;b";c', ["a;b", "c"]),
        ('"a""b";"";x\r', ['a"b', "", "x"]),
        ('a"b;c', ['a"b', "c"]),
    ):
        assert syntax.fields(record.encode()) == [field.encode() for field in fields], record
    whole = list(syntax.whole([b'1;"a', b"b", b'c";2', b"3"], b"\n"))
    assert whole == [b'1;"a\nb\nc";2', b"3"]
    # Two quotes at the end of a line are one in the text.
    assert list(syntax.whole([b'1;"a""', b'b"', b'2;"""', b'"""'], b"\n")) == [b'1;"a""\nb"', b'2;"""\n"""']
    assert syntax.fields(b'1;"a""\nb"') == [b"1", b'a"\nb']
    # Not in time that grows with the square of the lines.
    long = [b'1;"a', *[b"x" * 100] * 20_000, b'b";2']
    assert len(list(syntax.whole([*long, b"3"], b"\n"))) == 2


def test_a_result_is_a_side_with_its_lines_alone(tmp_path):
    nul = union(["a\n", "b"], zero_terminated=True, order="input")
    assert list(intersection(nul, ["a\n"], zero_terminated=True)) == ["a\n"]
    assert list(intersection(union(["a", "b"]), ["b"], zero_terminated=True)) == ["b"]
    table = written(tmp_path, "t.csv", "k,w\na,5\n")
    records = union(table, on="k")
    assert list(union(records)) == ["a,5"]
    assert seen(difference(records, ["q"], on="k", csv=True, key_of={2: 1})) == ("k,w", ["a,5"])


def test_tables_with_the_same_columns_keep_their_types():
    import pandas

    def table(key, unit):
        return pa.table({"k": [key], "d": pa.array([1], pa.duration(unit))})

    both = union(table("a", "s"), table("b", "s").replace_schema_metadata({"note": "other"}), on="k", order="input").to_arrow()
    assert both.schema.field("d").type == pa.duration("s") and both.num_rows == 2
    with pytest.raises(UsageError, match="side 2: d is duration"):
        union(table("a", "s"), table("b", "ms"), on="k").run()
    assert len(intersection(table("a", "s"), table("a", "ms"), on="k")) == 1
    frames = [pandas.DataFrame({"k": [key], "c": pandas.Categorical([key])}) for key in "ab"]
    assert str(union(*frames, on="k").to_pandas()["c"].dtype) == "category"
    with pytest.raises(InputError, match="side 1: cannot be written as a table"):
        union(pandas.DataFrame({"k": ["a"], "o": [{1: object()}]}), on="k").run()


@pytest.mark.parametrize("operation", [intersection, difference, union, overlaps])
def test_durations_of_other_units_are_no_numbers(tmp_path, operation):
    seconds, millis = (pa.table({"d": pa.array([1], pa.duration(unit))}) for unit in ("s", "ms"))
    path = tmp_path / "seconds.parquet"
    parquet.write_table(seconds, path)
    rows = union(seconds, on="d")
    renamed = millis.rename_columns(["e"])
    pairs = [(seconds, millis), (path, millis), (millis, path), (rows, millis), (seconds, renamed), (Files(path), renamed)]
    for first, second in pairs:
        key = {2: "e"} if second is renamed else {}
        with pytest.raises(UsageError, match=r"side 2: [de] is duration"):
            operation(first, second, on="d", key_of=key).run()
    assert intersection(path, seconds, rows, on="d").lines == 1
    assert intersection(path, ["1"], on="d").lines == 1


def test_frames_of_categories_are_tables():
    frame = polars.DataFrame({"k": ["a", "b", "a"]}, schema={"k": polars.Categorical})
    assert union(frame, on="k", order="input").to_arrow()["k"].cast(pa.string()).to_pylist() == ["a", "b"]
    assert sorted(union(frame["k"])) == ["a", "b"]
