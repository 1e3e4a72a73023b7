"""Jobs in one process of Spark: every operation through every exchange, and children that fail."""

import json
import os
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import pytest
from conftest import expected, lines_of, odd_lines, write_sides
from pyspark import Accumulator, accumulators

from pyoutset.spark import Failed, Job, run
from pyoutset.spark import job as module
from pyoutset.spark.children import Setting, workplace
from pyoutset.spark.filters import applied, build, choose
from pyoutset.spark.placing import partition_ids, spark_hash
from pyoutset.spark.running import Stop
from pyoutset.spark.sizes import size
from pyoutset.spark.splits import Split

SIDES = odd_lines()


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return write_sides(tmp_path_factory.mktemp("sides"), SIDES)


def job(operation, sides, out, outset, tmp_path, **more):
    settings = {
        "exchange": "blocks",
        "partitions": 3,
        "split_bytes": 3 << 20,
        "task_memory": "64M",
        "outset": outset,
    }
    if more.get("exchange") == "files":
        settings["work"] = str(tmp_path / "work")
    return Job(operation=operation, sides=sides, out=str(out), **{**settings, **more})


@pytest.mark.parametrize("exchange", ["blocks", "files", "native"])
@pytest.mark.parametrize(
    ("operation", "count"),
    [("intersect", 2), ("intersect", 3), ("diff", 2), ("diff", 3), ("union", 1), ("union", 3), ("symdiff", 2), ("symdiff", 3)],
)
def test_every_operation_through_every_exchange(spark, outset, paths, out, tmp_path, operation, count, exchange):
    summary = run(spark, job(operation, paths[:count], out, outset, tmp_path, exchange=exchange))
    assert lines_of(out) == expected(operation, SIDES[:count])
    assert summary["exchange"] == exchange
    success = json.loads((out / "_SUCCESS").read_text())
    if exchange != "native":
        assert success["output_lines"] == len(expected(operation, SIDES[:count]))
        assert success["buckets"] == 3
        work = tmp_path / "work"
        assert not work.exists() or not os.listdir(work), "shard files are left"


@pytest.mark.parametrize("operation", ["intersect", "diff"])
@pytest.mark.parametrize("prefilter", ["on", "off"])
def test_a_filter_changes_no_answer_and_spares_lines(spark, outset, paths, out, tmp_path, operation, prefilter):
    summary = run(spark, job(operation, paths, out, outset, tmp_path, prefilter=prefilter, compression="lz4"))
    assert lines_of(out) == expected(operation, SIDES)
    sent = sum(side["lines"] for side in summary["sides"])
    everything = sum(map(len, SIDES))
    assert sent == everything if prefilter == "off" else sent < everything


def test_a_small_side_is_filtered_by_itself(spark, outset, paths, out, tmp_path):
    small = tmp_path / "small"
    small.write_bytes(b"x\r\nnull\n\xff\nnothing\n")
    summary = run(spark, job("intersect", [*paths[:1], [str(small)]], out, outset, tmp_path))
    assert lines_of(out) == sorted(set(SIDES[0]) & {b"x\r", b"null", b"\xff", b"nothing"})
    assert summary["sides"][0]["lines"] < 500


@pytest.mark.parametrize(
    ("operation", "sizes", "processors", "remote", "chosen"),
    [
        ("intersect", [10, 10], 2, (), {1: 2, 2: 1}),
        ("intersect", [10, 10], 100, (), {}),
        ("intersect", [10, 1000], 2, (), {2: 1}),
        ("intersect", [1000, 10, 500], 100, (), {1: 2, 3: 2}),
        ("intersect", [1000, 10], 2, (2,), {}),
        ("intersect", [20 << 30, 10 << 30], 1, (), {}),
        ("diff", [10, 1000], 2, (), {2: 1}),
        ("diff", [1000, 10], 2, (), {}),
        ("union", [10, 10], 2, (), {}),
    ],
)
def test_a_filter_is_built_where_it_spares_more_than_it_costs(operation, sizes, processors, remote, chosen):
    todo = [Split(side, str(side), 0, size, side in remote, False, size) for side, size in enumerate(sizes, 1)]
    found = choose(operation, todo, len(sizes), "auto", processors)
    assert found == chosen
    assert choose(operation, todo, len(sizes), "off", processors) == {}


@pytest.mark.parametrize(
    ("text", "expected_bytes"),
    [("0", 0), ("17", 17), ("64K", 64 << 10), ("64k", 64 << 10), ("4GiB", 4 << 30), ("1.5GB", 1_500_000_000), ("2 MB", 2_000_000)]
    + [("1T", 1 << 40), ("1e3", 1000), ("0.5G", 512 << 20), ("8B", 8)]
    + [(text, None) for text in ("", "x", "12Q", "-1", "1..2", "nan", "1KiBB", "50%", "1iB")],
)
def test_sizes_are_those_of_the_commands(text, expected_bytes):
    if expected_bytes is None:
        with pytest.raises(ValueError, match="give a size"):
            size(text)
    else:
        assert size(text) == expected_bytes


def test_a_filter_that_no_shard_can_hold_is_not_used(spark, outset, out, tmp_path):
    # Two sides of short lines, whose filters are larger than a third of the memory of a task.
    for number in (1, 2):
        (tmp_path / f"{number}").write_bytes(b"\n".join(b"%d" % line for line in range(number, 12_000_000, 2)) + b"\n")
    sides = [[str(tmp_path / "1")], [str(tmp_path / "2")]]
    for memory, is_filtered in (("16M", False), ("64M", True)):
        place = tmp_path / memory
        summary = run(spark, job("intersect", sides, place, outset, tmp_path, task_memory=memory, split_bytes=256 << 20))
        assert lines_of(place) == []
        sent = sum(side["lines"] for side in summary["sides"])
        assert (sent < 6_000_000) == is_filtered


def test_a_filter_that_cannot_be_built_leaves_nothing(spark, outset, paths, out, tmp_path):
    other = tmp_path / "outset"
    other.write_text(f'#!/bin/sh\nif [ "$1" = filter ]; then echo no filter today >&2; exit 4; fi\nexec {outset} "$@"\n')
    other.chmod(0o755)
    with pytest.raises(Failed, match="no filter today"):
        run(spark, job("intersect", paths[:2], out, str(other), tmp_path, exchange="files"))
    assert not out.exists()
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("fault", ["too many files", "too little memory"])
def test_a_filter_that_is_too_large_is_left_out(outset, tmp_path, fault):
    paths = [str(tmp_path / "x")]
    if fault == "too many files":
        paths = [f"{tmp_path}/{number:0200}" for number in range(60_000)]
    else:
        (tmp_path / "x").write_bytes(b"".join(b"%d\n" % number for number in range(4_000_000)))
    todo = [Split(side, path, 0, 10, False, False, 10) for side in (1, 2) for path in paths]
    setting = Setting(outset, "0" * 64, 1, 2, "intersect", "16M", "none", {}, None, 1.0, False)
    spark = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=1))
    for prefilter in ("auto", "on"):
        asked = Job("intersect", [["a"], ["b"]], "out", prefilter=prefilter)
        (tmp_path / prefilter).mkdir()
        refused = pytest.raises(Failed, match="prefilter: ") if prefilter == "on" else nullcontext()
        with refused, applied(spark, asked, setting, todo, str(tmp_path / prefilter), Stop()) as found:
            assert found == {}
        assert not os.listdir(tmp_path / prefilter)


def test_the_child_of_the_driver_is_limited_and_ends_with_it(tmp_path):
    said = tmp_path / "said"
    other = tmp_path / "outset"
    other.write_text(f'#!/bin/sh\necho "$@" > {said}\n')
    other.chmod(0o755)
    setting = Setting(str(other), "0" * 64, 1, 2, "intersect", "64M", "none", {}, None, 1.0, False)
    build(setting, [Split(1, "-x", 0, 1, False, False, 1)], 1, str(tmp_path), str(tmp_path), Stop())
    assert "--memory 64M --end-with-parent -- -x" in said.read_text()


def test_integers_are_placed_as_spark_places_them(spark):
    values = [0, 1, 2, 41, 42, 65535, 1 << 20, (1 << 31) - 1]
    rows = spark.sql(f"select hash(cast(v as int)) h from (select explode(array({', '.join(map(str, values))})) v)")
    assert [row.h for row in rows.collect()] == [spark_hash(value) for value in values]
    for partitions in (1, 2, 3, 100, 1000):
        ids = partition_ids(partitions)
        assert [spark_hash(value) % partitions for value in ids] == list(range(partitions))


def test_no_line_in_common_and_an_empty_side(spark, outset, out, tmp_path):
    for name, text in (("a", b"one\ntwo\n"), ("b", b"")):
        (tmp_path / name).write_bytes(text)
    sides = [[str(tmp_path / "a")], [str(tmp_path / "b")]]
    summary = run(spark, job("intersect", sides, out, outset, tmp_path, partitions=7))
    assert lines_of(out) == []
    assert (summary["output_lines"], summary["buckets"]) == (0, 7)


FAULTS = {
    "fails": "exit 3",
    "ends silently": '"$REAL" "$@" | head -c 1000; exit 0',
    "ends with a wrong status": '"$REAL" "$@"; exit 7',
    "hangs": "exec sleep 600",
}


@pytest.mark.parametrize("step", ["shard", "join"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("exchange", ["blocks", pytest.param("files", marks=pytest.mark.slow)])
def test_a_child_with_a_fault_leaves_no_success(spark, outset, paths, out, tmp_path, step, fault, exchange):
    said = tmp_path / "happened"
    other = tmp_path / "outset"
    does = FAULTS[fault]
    if (step, fault, exchange) == ("shard", "ends silently", "files"):
        # It writes to no pipe that could be cut: it does nothing at all.
        does = "exit 0"
    other.write_text(f'#!/bin/sh\nREAL={outset}\nif [ "$1" = {step} ]; then echo x >> {said}; {does}; fi\nexec "$REAL" "$@"\n')
    other.chmod(0o755)
    timeout = 2.0 if fault == "hangs" else 60.0
    wanted = job("intersect", paths[:2], out, str(other), tmp_path, exchange=exchange, timeout=timeout)
    with pytest.raises(Failed):
        run(spark, wanted)
    assert said.exists(), "the fault has not happened"
    assert not out.exists()


@pytest.mark.parametrize("work", ["shard 0", "join 1"])
def test_a_report_that_is_missing_leaves_no_success(spark, outset, paths, out, tmp_path, work, monkeypatch):
    real = module.finish
    short = lambda setting, reports, *rest: real(setting, {k: v for k, v in reports.items() if k != work}, *rest)  # noqa: E731
    monkeypatch.setattr(module, "finish", short)
    with pytest.raises(Failed, match="not complete"):
        run(spark, job("intersect", paths[:2], out, outset, tmp_path))
    assert not out.exists()


def test_requests_that_make_no_sense_are_refused(spark, outset, paths, out, tmp_path):
    for change, said in [
        ({"sides": paths[:1]}, "two or more"),
        ({"operation": "overlaps"}, "is none of"),
        ({"exchange": "files", "work": None}, "--work"),
        ({"outset": "/nowhere/outset"}, "no such program"),
        ({"task_memory": "half"}, "task memory: half: give a size"),
        ({"operation": "union", "prefilter": "on"}, "spares union nothing"),
        ({"exchange": "native", "prefilter": "on"}, "own plan has none"),
        ({"exchange": "zip"}, "exchange: zip is none of auto, blocks"),
        ({"prefilter": "maybe"}, "prefilter: maybe is none of auto, on"),
        ({"compression": "zip"}, "compression: zip is none of auto, lz4"),
        ({"sides": [paths[0], []]}, "side 2: has no paths"),
        ({"sides": [paths[0], [""]]}, "side 2: has no paths, or an empty one"),
        ({"sides": ["/a", "/b"]}, "side 1: /a is a text: give a list"),
        ({"out": ""}, "out: is empty"),
        ({"partitions": -1}, "partitions: -1: give 1 to 65536"),
        ({"partitions": 65537}, "partitions: 65537: give 1 to 65536"),
        ({"split_bytes": 0}, "split: 0: give a byte"),
        ({"timeout": 0}, "timeout: 0: give seconds"),
        ({"exchange": "blocks", "work": "w"}, "work: blocks writes no files there"),
        ({"exchange": "files", "work": "/proc/x"}, "/proc/x: No such file or directory: give a directory"),
    ]:
        wanted = job("intersect", paths[:2], out, outset, tmp_path)
        vars(wanted).update(change)
        with pytest.raises(Failed, match=said):
            run(spark, wanted)
    out.mkdir()
    with pytest.raises(Failed, match="exists already"):
        run(spark, job("intersect", paths[:2], out, outset, tmp_path))


class Conf(dict):
    """The settings of a session."""

    set, unset = dict.__setitem__, dict.__delitem__


def test_jobs_at_once_leave_the_settings_as_they_were():
    spark = SimpleNamespace(_jsparkSession="session", conf=Conf(a="1"))
    wanted = {"a": "2", "b": "3"}
    first, second = module.settings(spark, wanted), module.settings(spark, wanted)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert spark.conf == wanted, "the second job needs them"
    second.__exit__(None, None, None)
    assert spark.conf == {"a": "1"} and not module.held


def test_reports_go_with_their_job():
    spark = SimpleNamespace(sparkContext=SimpleNamespace(accumulator=partial(Accumulator, -1)))
    with module.collected(spark) as reports:
        reports.add({"shard 1": "report"})
        assert reports.value == {"shard 1": "report"}
    assert accumulators._accumulatorRegistry.pop(-1).value == {}


def test_tasks_write_to_all_local_disks(tmp_path, monkeypatch):
    disks = [tmp_path / str(number) for number in range(2)]
    for disk in disks:
        disk.mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", ",".join(map(str, disks)))
    setting = Setting("outset", "key", 1, 2, "diff", "32M", "none", {}, None, 1.0, False)
    used = set()
    for _ in range(64):
        with workplace(setting) as place:
            used.add(os.path.dirname(place))
    assert used == set(map(str, disks))
    assert not any(map(os.listdir, disks))
