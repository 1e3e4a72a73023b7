"""The directory of the result, and what a job leaves that fails."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import expected, lines_of

from pyoutset.spark import Failed, Job, filters, run, shards, splits
from pyoutset.spark import job as module
from pyoutset.spark.storage import reason

LINES = [[b"line-%d" % n for n in range(5000)], [b"line-%d" % n for n in range(4000, 9000)]]


@pytest.fixture
def sides(tmp_path):
    for number, lines in enumerate(LINES):
        (tmp_path / f"side-{number}").write_bytes(b"\n".join(lines) + b"\n")
    return [[str(tmp_path / "side-0")], [str(tmp_path / "side-1")]]


def job(sides, out, outset, **more):
    settings = {"outset": outset, "partitions": 2, "task_memory": "32M", "prefilter": "off", **more}
    return Job("intersect", sides, str(out), **settings)


@pytest.mark.parametrize("exchange", ["blocks", "native"])
def test_a_path_without_a_scheme_is_local(spark, outset, sides, out, tmp_path, exchange):
    hadoop = spark._jsc.hadoopConfiguration()
    default = hadoop.get("fs.defaultFS")
    (tmp_path / "default").mkdir()
    hadoop.set("fs.viewfs.mounttable.c.link./tmp", f"file://{tmp_path}/default")
    hadoop.set("fs.defaultFS", "viewfs://c/")
    try:
        run(spark, job(sides, out, outset, exchange=exchange))
        with pytest.raises(Failed, match="exists already"):
            run(spark, job(sides, out, outset, exchange=exchange))
    finally:
        hadoop.set("fs.defaultFS", default)
    assert lines_of(out) == expected("intersect", LINES)
    assert not os.listdir(tmp_path / "default")


@pytest.mark.parametrize(
    ("out", "said"),
    [("foo://x/y", 'No FileSystem for scheme "foo"'), ("s3a://x/y", "Class org.apache.hadoop.fs.s3a.S3AFileSystem not found")],
)
def test_storage_that_spark_does_not_know(spark, outset, sides, out, said):
    with pytest.raises(Failed, match=f"^{out}: {said}: name storage"):
        run(spark, job(sides, out, outset))


def test_a_job_that_is_not_complete_can_be_repeated(spark, outset, sides, out, monkeypatch):
    with monkeypatch.context() as patched:
        real = module.finish
        patched.setattr(module, "finish", lambda setting, reports, *rest: real(setting, {}, *rest))
        with pytest.raises(Failed, match="not complete"):
            run(spark, job(sides, out, outset))
    assert not out.exists()
    run(spark, job(sides, out, outset))
    assert lines_of(out) == expected("intersect", LINES)


def test_what_another_job_has_written_stays(spark, outset, sides, out, monkeypatch):
    real = module.through_blocks

    def late(*given):
        out.mkdir()
        (out / "part-0").write_text("of another job\n")
        return real(*given)

    monkeypatch.setattr(module, "through_blocks", late)
    with pytest.raises(Failed, match="exists already"):
        run(spark, job(sides, out, outset))
    assert lines_of(out) == [b"of another job"]


@pytest.mark.parametrize("exchange", ["blocks", "files"])
@pytest.mark.parametrize("change", ["shorter", "longer", "remote"])
def test_a_file_that_changes_behind_the_listing_fails_the_job(spark, outset, sides, out, tmp_path, monkeypatch, exchange, change):
    path = Path(sides[0][0])
    real = splits.splits

    def then_changed(*given):
        found = real(*given)
        if change == "longer":
            path.write_bytes(path.read_bytes() + b"line-9999\n")
        else:
            os.truncate(path, 2000)
        return found

    monkeypatch.setattr(splits, "splits", then_changed)
    if change == "remote":
        sides = [[f"file://{path}"], sides[1]]
    more = {"work": str(tmp_path / "work")} if exchange == "files" else {}
    with pytest.raises(Failed, match=f"{path}.*: has .* bytes, but had .* when it was listed: run again"):
        run(spark, job(sides, out, outset, exchange=exchange, **more))
    assert not out.exists()


def test_the_key_of_a_filter_is_removed_with_its_building(spark, outset, sides, out, tmp_path, monkeypatch):
    seen = []
    real = filters.build

    def build(*given):
        path = real(*given)
        seen.extend(os.listdir(os.path.dirname(path)))
        return path

    monkeypatch.setattr(filters, "build", build)
    run(spark, job(sides, out, outset, prefilter="on"))
    assert seen
    assert not [name for name in seen if not name.endswith(".osf")]


def test_directories_of_drivers_that_are_gone_are_swept(tmp_path):
    program = "import sys, time; from pyoutset.spark import shards\n"
    program += "with shards.directory(sys.argv[1]): print(1, flush=True); time.sleep(99)"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    other = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], env=environment, stdout=subprocess.PIPE)
    other.stdout.readline()
    (tmp_path / "outset-shards-without-owner").mkdir()
    of_another_machine = tmp_path / "outset-shards-elsewhere"
    of_another_machine.mkdir()
    (of_another_machine / "owner").write_text("another machine")
    with shards.directory(str(tmp_path)) as place:
        assert os.path.isdir(place)
        assert len(os.listdir(tmp_path)) == 4, "the other driver is alive"
    other.send_signal(signal.SIGKILL)
    other.wait()
    other.stdout.close()
    with shards.directory(str(tmp_path)):
        assert len(os.listdir(tmp_path)) == 3
    assert len(os.listdir(tmp_path)) == 2, "of these nobody knows"
    shutil.rmtree(tmp_path)


PYTHON = """An error occurred while calling o240.text.
: org.apache.spark.SparkException: Job aborted.
\tat x.y.Z
Caused by: x.SparkException: Job aborted: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
RuntimeError: outset shard (status 3): outset: x: is gone

\tat org.apache.spark
Driver stacktrace:
"""
JAVA = """An error occurred while calling o240.text.
: org.apache.spark.SparkException: Job aborted.
\tat x.y.Z
Caused by: java.io.IOException: java.nio.NoSpace: No space left on device
\tat x.y.Z
Caused by: java.io.EOFException
\tat x.y.Z
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PYTHON, "outset shard (status 3): outset: x: is gone"),
        (PYTHON.replace("RuntimeError: outset shard (status 3)", "KeyError: 'x'"), "KeyError: 'x': outset: x: is gone"),
        (JAVA, "No space left on device"),
        (JAVA.split("Caused")[0], "Job aborted."),
        ("An error occurred while calling o1.x.\n: java.lang.NullPointerException\n\tat x", "java.lang.NullPointerException"),
        ("[PATH_NOT_FOUND] Path does not exist: x", "[PATH_NOT_FOUND] Path does not exist: x"),
        ("", "Exception"),
    ],
)
def test_the_reason_is_the_cause(text, said):
    assert reason(Exception(text)) == said
