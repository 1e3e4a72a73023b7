"""Operations that give numbers."""

import pytest

import pyoutset
from pyoutset import UsageError, compare, estimate, overlaps, pairs, plan

A, B, C = ["a", "b", "c", "d"], ["b", "c", "d", "e"], ["c", "x"]


def test_overlaps_have_counts_names_and_tables():
    found = overlaps(A, B, C, names=["one", "two", "three"])
    counted = {each.which: (each.lines, each.common_lines) for each in found.combinations}
    assert counted == {"111": (1, 1), "110": (2, 3), "100": (1, 4), "010": (1, 4), "001": (1, 2)}
    assert found["110"].lines == 2 and found["101"] == pyoutset.Combination("101", 0, 1)
    assert found.exact and found.lines == 6 and found.peak_memory_bytes > 0
    for wrong in ("11", "112", "000", ""):
        with pytest.raises(KeyError):
            found[wrong]
    assert found.to_arrow().column_names == ["which", "lines", "common_lines"]
    assert found.to_polars()["lines"].sum() == found.to_pandas()["lines"].sum() == 6
    assert "one &amp; two" in found._repr_html_() and "one & two" in repr(found)
    assert overlaps([], []).to_arrow().num_rows == 0


def test_pairs_have_counts_shares_and_tables():
    found = pairs(A, B, C, names=["one", "two", "three"])
    assert found.distinct_lines == {"one": 4, "two": 4, "three": 2}
    assert [each.common_lines for each in found.pairs] == [3, 1, 1]
    assert found["three", "one"] == pyoutset.Pair("three", "one", 1, 0.2, 0.5, 0.25)
    assert found.pairs[0] == found["one", "two"] and found.pairs[0].jaccard == 0.6
    for wrong in (("one", "one"), ("one", "four")):
        with pytest.raises(KeyError):
            found[wrong]
    assert found.exact and found.peak_memory_bytes > 0
    assert found.to_arrow().column_names == list(pyoutset.Pair._fields)
    assert found.to_polars()["common_lines"].sum() == found.to_pandas()["common_lines"].sum() == 5
    assert "one &amp; two" in found._repr_html_() and "one & two" in repr(found)
    svg = found.plot().svg
    assert "three</text>" in svg and "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert len(pairs(*([str(number)] for number in range(40))).pairs) == 780
    assert pairs(A).pairs == []
    with pytest.raises(UsageError, match="names: 1 given for 2 sides"):
        pairs(A, B, names=["one"])


def test_plots_stand_alone(tmp_path):
    from xml.etree import ElementTree

    found = overlaps(A, B)
    for kind in ("upset", "venn"):
        plot = found.plot(kind)
        root = ElementTree.fromstring(plot._repr_svg_())
        assert root.tag == "{http://www.w3.org/2000/svg}svg" and float(root.get("width")) > 100
        assert "--first" in plot.svg and "http" not in plot.svg.replace("http://www.w3.org/2000/svg", "")
        named = overlaps(A, B, names=["<one>", "two"]).plot(kind).svg
        assert "&lt;one&gt;</text>" in named and "two</text>" in named and "side 2</text>" not in named
        plot.save(tmp_path / "x.svg")
        assert (tmp_path / "x.svg").read_text() == plot.svg
    with pytest.raises(UsageError, match="none of upset, venn"):
        found.plot("pie")
    with pytest.raises(UsageError, match="picture"):
        overlaps(A, B, C, ["y"]).plot("venn")


def test_estimates():
    found = estimate(A, B)
    assert (found.common.estimate, found.any.estimate, found.jaccard.estimate) == (3, 5, 0.6)
    assert [each.estimate for each in found.distinct] == [4, 4] and found.exact
    assert "side 1" in repr(found) and "<table>" in found._repr_html_()


def test_comparisons():
    found = compare(A, B, operation="difference", max_fpr=0.01)
    assert (found.missing_lines, found.recall) == (0, 1.0) and 0 <= found.predicted_fpr < 1 and found.measured_fpr == 0
    assert "missing lines" in found._repr_html_()


def test_plans_with_and_without_files():
    found = plan(A, B, operation="union", order="sorted", memory="64M")
    assert found.strategy == "memory" and found.exact and found.steps and found.bytes_read and not found.bytes_written
    large = plan(lines=[5e9, 5e9], line_bytes=64, memory="4G")
    assert large.temp_peak_bytes > 1 << 30 and large.memory_bytes <= 4 << 30 and large.strategy in repr(large)
