"""What can go wrong has a type of its own, says where, and leaves nothing."""

import pickle
import random
import re
import resource

import pyarrow as pa
import pytest

import pyoutset
from pyoutset import (
    ApproximationError,
    DamagedError,
    Filter,
    InputError,
    MemoryLimitError,
    OutputError,
    OutsetWarning,
    TemporarySpaceError,
    UsageError,
    compare,
    difference,
    intersection,
    plan,
    union,
)


def test_a_memory_limit_that_cannot_be_kept_says_which_one_can():
    with pytest.raises(MemoryLimitError, match="at least 16 MiB") as raised:
        intersection(["a"], ["a"], memory="1M").run()
    assert (raised.value.status, raised.value.needed_bytes) == (6, 16 << 20)
    # What it takes to read the sides comes on top.
    # What comes through pipes takes a little more.
    assert intersection(["a"], ["a"], memory=2 * raised.value.needed_bytes).lines == 1


def test_an_input_error_says_file_and_line(write):
    with pytest.raises(InputError) as raised:
        union(write("a.csv", "id,x", "1,2", '"3"4,5'), on="id").run()
    assert raised.value.path.endswith("a.csv") and raised.value.line == 3
    assert str(raised.value).startswith(raised.value.path)
    with pytest.raises(InputError, match="No such file") as raised:
        union("/nowhere/a").run()
    assert (raised.value.path, raised.value.line) == ("/nowhere/a", None)
    with pytest.raises(InputError) as raised:
        union(["id,x", "1,2", "3"], on="x", csv=True).run()
    assert raised.value.path == "side 1"


def test_errors_of_each_kind(tmp_path):
    with pytest.raises(ApproximationError):
        intersection(["a"], ["a"], strategy="bloom", bits_per_key=1, max_fpr=1e-20).run()
    with pytest.raises(OutputError):
        union(["a"], out=tmp_path / "nowhere" / "x")
    with pytest.raises(TemporarySpaceError):
        union([f"{n:064}" for n in range(20_000)], strategy="partition", memory="32M", max_temp="1M").run()
    (tmp_path / "bad.osf").write_bytes(b"no filter")
    with pytest.raises(DamagedError):
        Filter.open(tmp_path / "bad.osf")
    with pytest.raises(UsageError, match=re.escape("at-least")):
        intersection(["a"], ["a"], at_least=3).run()
    with pytest.raises(UsageError, match="value"):
        union(["a"], buckets="many").run()


def test_a_temporary_disk_that_is_full_is_an_error_as_others(clean):
    chance = random.Random(1)
    lines = [chance.randbytes(32).hex() for _ in range(10_000)]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for run in (lambda: compare(lines, ["a"]), lambda: intersection(pa.table({"k": lines}), ["a"], on="k").run()):
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            with pytest.raises(TemporarySpaceError, match="too large") as raised:
                run()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert raised.value.path.startswith(str(clean))

    def fails():
        yield "a"
        raise OSError("of the caller")

    with pytest.raises(OSError, match="of the caller"):
        compare(fails(), ["a"])


@pytest.mark.parametrize(
    ("lines", "index", "said"),
    [
        (["a", "b\nc"], 1, "newline"),
        ([b"a"] * 10_000 + [b"b\n"], 10_000, "newline"),
        (["a", 1], 1, "int"),
        (["a", None], 1, "null"),
        (["a", "\ud800"], 1, "UTF-8"),
        (pa.array(["a", "b\nc"]), 1, "newline"),
        (pa.chunked_array([pa.array(["a"] * 9_000), pa.array(["a", None])]), 9_001, "null"),
        (pa.array(["x", *["a"] * 9_000, "\n"]).slice(1), 9_000, "newline"),
    ],
)
def test_an_item_that_is_no_line_is_named_by_its_index(lines, index, said):
    for make in (union, lambda lines: plan(lines, operation="union"), lambda lines: intersection(["a"], lines)):
        with pytest.raises(InputError, match=said) as raised:
            result = make(lines)
            result.run()
        side = "side 2" if "side 2" in str(raised.value) else "side 1"
        assert (raised.value.path, raised.value.line) == (side, index)
        assert f"item {index}" in str(raised.value)


def test_lines_that_begin_like_a_compressed_file_are_lines():
    for first in (b"\x1f\x8b\x08", b"BZh91AY&SY", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"\xfd7zXZ\x00"):
        assert list(union([first], decompress="auto").bytes()) == [first]
        assert list(union([first], decompress="none").bytes()) == [first]


def test_a_nul_is_an_error_where_it_ends_lines():
    with pytest.raises(InputError, match="NUL"):
        union(["a\0b"], zero_terminated=True).run()


@pytest.mark.parametrize("count", [0, 100_000])
def test_what_a_side_raises_comes_out_and_its_part_is_no_result(count, tmp_path):
    class Broken(Exception):
        pass

    def lines():
        yield from (f"{n:064}" for n in range(count))
        raise Broken("no more")

    out = tmp_path / "out"
    with pytest.raises(Broken, match="no more"):
        union(lines(), ["a"], out=out)
    with pytest.raises(Broken, match="no more"):
        difference(["a"], lines()).run()
    assert not list(tmp_path.iterdir())


def test_requests_that_make_no_sense_are_refused_at_once():
    for wrong in (
        lambda: union(["a"], nonsense=1),
        lambda: union(["a"], at_least=1),
        lambda: union(),
        lambda: union(b"a"),
        lambda: union({"a": 1}),
        lambda: union(["a"], out="-"),
        lambda: union(["a"], compress="gz"),
        lambda: union(""),
        lambda: pyoutset.Files(),
        lambda: pyoutset.overlaps(["a"], names=["x", "y"]),
    ):
        with pytest.raises(UsageError):
            wrong()
    for wrong in (
        lambda: union(5),
        lambda: union(pa.array([1, 2])),
        lambda: union(pa.table({"a": ["x"], "b": ["y"]})),
        lambda: union(["a"], on=[]),
        lambda: union(["a"], on=1.5),
        lambda: union(["a"], buckets={1}),
    ):
        with pytest.raises(UsageError):
            wrong().run()
    same = iter(["a"])
    with pytest.raises(UsageError, match="iterator"):
        intersection(same, same)
    with pytest.raises(UsageError, match=r"did you mean order|did you mean header"):
        union(["a"], headr=True)


def test_errors_go_through_pickle():
    with pytest.raises(MemoryLimitError) as raised:
        union(["a"], memory="1M").run()
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.needed_bytes, again.status) == (str(raised.value), 16 << 20, 6)


def test_an_approximate_result_is_labelled_and_warned_of():
    with pytest.warns(OutsetWarning, match="approximate"):
        result = intersection(["a"], ["a"], strategy="bloom").run()
    assert not result.exact and "approximate" in repr(result)


def test_a_failed_run_can_be_tried_again(tmp_path):
    path = tmp_path / "later"
    result = union(path)
    with pytest.raises(InputError):
        result.run()
    path.write_text("a\n")
    assert list(result) == ["a"]


def test_a_failed_run_that_has_read_an_iterator_cannot_be_tried_again():
    result = union(iter(["a", "b\nc"]))
    with pytest.raises(InputError):
        result.run()
    with pytest.raises(UsageError, match="iterator"):
        result.run()


def test_a_comparison_needs_no_pipes():
    assert compare(["a", "b"], iter(["b", "c"])).missing_lines == 0
