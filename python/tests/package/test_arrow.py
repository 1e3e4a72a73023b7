"""Results as tables of other libraries."""

import polars
import pyarrow as pa
import pytest

from pyoutset import UsageError, arrow, difference, intersection, symmetric_difference, union, unique


def test_lines_are_a_column_of_text_or_bytes():
    result = union(["b", "", "caf\u00e9"], order="input")
    assert result.to_arrow().to_pydict() == {"line": ["b", "", "caf\u00e9"]}
    assert result.to_arrow().schema.field("line").type == pa.large_string()
    assert result.to_arrow(binary=True)["line"].to_pylist() == [b"b", b"", "caf\u00e9".encode()]
    assert result.to_polars()["line"].to_list() == result.to_pandas()["line"].to_list() == ["b", "", "caf\u00e9"]
    assert polars.from_arrow(pa.table(result)).height == 3
    odd = union([b"\xff"])
    with pytest.raises(UnicodeDecodeError):
        odd.to_arrow()
    assert odd.to_arrow(binary=True)["line"].to_pylist() == [b"\xff"] and list(odd) == ["\udcff"]


def test_an_empty_result_is_an_empty_table():
    table = intersection(["a"], ["b"]).to_arrow()
    assert (table.num_rows, table.schema.names) == (0, ["line"])
    assert list(intersection(["a"], ["b"])) == []


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_pieces_of_any_size_give_the_same_lines(size, monkeypatch):
    lines = [*(f"{n}x" * (n % 9 + 1) for n in range(1000)), "", "y" * 5000]
    monkeypatch.setattr(arrow, "BYTES", size)
    assert union(lines, order="input").to_arrow()["line"].to_pylist() == lines


def test_labels_are_columns():
    table = intersection(["a", "b\tc"], ["b\tc"], at_least=1, which=True, order="sorted").to_arrow()
    assert table.to_pydict() == {"which": ["10", "11"], "line": ["a", "b\tc"]}
    assert unique(["a", "a"], count=True).to_arrow().to_pydict() == {"count": [2], "line": ["a"]}
    files = intersection(["a"], ["a"], count_files=True).to_arrow(binary=True)
    assert files.to_pydict() == {"files": [2], "line": [b"a"]}


def test_records_with_a_header_have_their_columns(write):
    new = write("new.csv", "id,url", '007,"a,""b"', "8,", "9,c")
    old = write("old.csv", "id,url", "1,c")
    table = difference(new, old, on="url", order="input").to_arrow()
    assert table.to_pydict() == {"id": ["007", "8"], "url": ['a,"b', ""]}
    tabs = difference(write("new.tsv", "id\turl", "1\t2"), write("old.tsv", "id\turl"), on="url")
    assert tabs.to_arrow().to_pydict() == {"id": ["1"], "url": ["2"]}
    nothing = difference(new, new, on="url")
    assert nothing.to_arrow().schema.names == ["id", "url"] and nothing.header == "id,url" and len(nothing) == 0
    keys = difference(new, old, on="url", keys_only=True, order="sorted")
    assert keys.header == "url" and list(keys) == ['""', '"a,""b"']
    counted = unique(old, on="url", count=True).to_arrow()
    assert counted.column_names[1:] == ["id", "url"]


def test_html_has_lines_and_report(write):
    result = union(["<a>", "b"], report=True)
    page = result._repr_html_()
    assert "&lt;a&gt;" in page and "<iframe" in page and "srcdoc=" in page and "&lt;svg" in page
    assert "<svg" in result.report()
    assert "<iframe" not in union(["a"])._repr_html_()
    path = write("page.html")
    union(["a"], report=path).run()
    with open(path) as file:
        assert "<svg" in file.read()


def test_tables_are_compared_by_columns_and_give_rows(tmp_path):
    import pandas
    from pyarrow import parquet

    old = {"url": ["b", "x"], "n": [9, 9]}
    new = {"url": ["a", "b", "c"], "n": [1, 2, 3]}
    for number, make in enumerate((pa.table, polars.DataFrame, lambda data: pandas.DataFrame(data, index=list(data["url"])))):
        result = difference(make(new), make(old), on="url", order="input")
        assert result.to_arrow().to_pydict() == {"url": ["a", "c"], "n": [1, 3]} and result.lines == 2
        assert difference(make(new), ["a"], on="url").to_polars()["n"].to_list() == [2, 3]
        path = tmp_path / f"{number}.parquet"
        parquet.write_table(pa.table(old), path)
        kept = intersection(make(new), path, on="url", out=tmp_path / f"out-{number}.parquet")
        assert kept.to_arrow().to_pydict() == {"url": ["b"], "n": [2]}
        assert union(make(new), path, on="url").to_arrow().to_pydict() == {"url": ["a", "b", "c", "x"], "n": [1, 2, 3, 9]}
        assert sorted(union(make(new), ["d"], on="url")) == ["a", "b", "c", "d"]
        renamed = union(make(new), path, on="url", key_of={2: "url"})
        assert renamed.to_arrow().to_pydict() == {"url": ["a", "b", "c", "x"], "n": [1, 2, 3, 9]}
        changed = symmetric_difference(make(new), path, on="url")
        assert changed.to_arrow().to_pydict() == {"url": ["a", "c", "x"], "n": [1, 3, 9]}
        common = intersection(make(new), path, make(new), on="url", at_least=2)
        assert common.to_arrow().to_pydict() == {"url": ["a", "b", "c"], "n": [1, 2, 3]}
    assert list(intersection(path, path, on="url", keys_only=True, order="sorted")) == ["b", "x"]
    with pytest.raises(UsageError, match="rows"):
        list(result)
    assert "<table>" in result._repr_html_()
    with pytest.raises(UsageError, match="on='url'"):
        union(pa.table(new)).run()
    again = pa.table({"url": ["a", "a"], "n": [1, 2]})
    assert union(again, on="url").to_arrow().to_pydict() == {"url": ["a"], "n": [1]}
    assert union(again, on="url", keep="last").to_arrow().to_pydict() == {"url": ["a"], "n": [2]}
    assert list(union(again, on="url", keys_only=True)) == ["a"]
    with pytest.raises(UsageError, match="column n"):
        union(again, pa.table({"url": ["a"]}), on="url").run()
    nothing = difference(pa.table(old), pa.table(old), on="url")
    assert nothing.to_arrow().schema.names == ["url", "n"] and not nothing


def test_a_result_of_rows_is_a_side():
    first = pa.table({"url": ["a", "b", "c"], "n": [1, 2, 3]})
    rows = difference(first, ["a"], on="url")
    assert difference(rows, ["b"], on="url", keys_only=True).to_list() == ["c"]
