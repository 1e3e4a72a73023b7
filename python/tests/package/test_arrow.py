"""Results as tables of other libraries."""

import polars
import pyarrow as pa
import pytest

from pyoutset import arrow, difference, intersection, union, unique


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
    assert keys.header == "url" and list(keys) == ["", '"a,""b"']
    counted = unique(old, on="url", count=True).to_arrow()
    assert counted.column_names[1:] == ["id", "url"]


def test_html_has_lines_and_report(write):
    result = union(["<a>", "b"], report=True)
    page = result._repr_html_()
    assert "&lt;a&gt;" in page and "<iframe sandbox" in page and "srcdoc=" in page and "&lt;svg" in page
    assert "<svg" in result.report()
    assert "<iframe" not in union(["a"])._repr_html_()
    path = write("page.html")
    union(["a"], report=path).run()
    with open(path) as file:
        assert "<svg" in file.read()
