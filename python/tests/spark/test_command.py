"""The command: what it says to requests that make no sense, and what it leaves when it is stopped."""

import glob
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import LOOPBACK, expected, lines_of, write_sides

from pyoutset.spark import __main__ as command
from pyoutset.spark.__main__ import arguments

SIDES = [[b"line-%d" % n for n in range(3000)], [b"line-%d" % n for n in range(2000, 9000)]]


@pytest.fixture
def paths(tmp_path):
    return write_sides(tmp_path, SIDES)


def words(operation, paths, out, outset):
    found = [operation, "--out", str(out), "--outset", str(outset), "--master", "local[2]", "--task-memory", "32M"]
    for side in paths:
        found += ["--side", *side]
    for key, value in LOOPBACK.items():
        found += ["--conf", f"{key}={value}"]
    return found


def start(given, **more):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **more}
    # It finds its own Python, wherever that is.
    environment.pop("PYSPARK_PYTHON", None)
    return subprocess.Popen(
        [sys.executable, "-m", "pyoutset.spark", *given], env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_the_command_says_what_it_found(outset, paths, out, tmp_path):
    given = [*words("union", paths, out, outset), "--stats", str(tmp_path / "stats")]
    first = start(given)
    _, said = first.communicate()
    assert first.returncode == 0, said
    count = len(expected("union", SIDES))
    assert f"pyoutset.spark: {count} lines · blocks · " in said
    assert json.loads((tmp_path / "stats").read_text())["output_lines"] == count
    assert lines_of(out) == expected("union", SIDES)
    again = start(given)
    _, said = again.communicate()
    assert again.returncode == 1
    assert said.splitlines()[-1] == f"pyoutset.spark: {out}: exists already: remove it, or name another directory"
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--split", "half"], "--split: half: give a size such as 256M"),
        (["--conf", "foo"], "--conf: foo: give KEY=VALUE"),
        (["--exchange", "zip"], "--exchange: invalid choice: 'zip'"),
    ],
)
def test_the_command_says_what_an_option_takes(capsys, wrong, said):
    with pytest.raises(SystemExit) as ended:
        arguments().parse_args(["union", "--side", "a", "--out", "b", *wrong])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--stats", "/nowhere/stats"], "/nowhere/stats: No such file or directory: name a file"),
        (["--split", "0"], "split: 0: give a byte or more"),
        (["--partitions", "-3"], "partitions: -3: give 1 to 65536"),
        (["--partitions", "65537"], "partitions: 65537: give 1 to 65536"),
        (["--timeout", "0"], "timeout: 0.0: give seconds"),
        (["--timeout", "nan"], "timeout: nan: give seconds"),
        (["--work", "w", "--exchange", "blocks"], "work: blocks writes no files there"),
        (["--side", ""], "side 2: has no paths, or an empty one"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_before_spark_starts(monkeypatch, capsys, wrong, said):
    monkeypatch.setattr(command, "session", lambda _: pytest.fail("Spark has started"))
    monkeypatch.setattr(command, "heed_signals", lambda: None)
    monkeypatch.setattr(sys, "argv", ["pyoutset.spark", "union", "--side", "a", "--out", "b", *wrong])
    assert command.main() == 1
    printed = capsys.readouterr().err
    assert printed.startswith(f"pyoutset.spark: {said}")
    assert printed.count("\n") == 1


@pytest.mark.parametrize(
    ("number", "step", "exchange"),
    [
        (signal.SIGTERM, "join", "files"),
        pytest.param(signal.SIGINT, "join", "blocks", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, "filter", "files", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, "join", "files", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, "shard", "blocks", marks=pytest.mark.slow),
    ],
)
def test_a_signal_leaves_nothing(outset, paths, out, tmp_path, number, step, exchange):
    waiting = tmp_path / "outset"
    waiting.write_text(f'#!/bin/sh\nif [ "$1" = {step} ]; then : > {tmp_path}/here; exec sleep 300; fi\nexec {outset} "$@"\n')
    waiting.chmod(0o755)
    places = {name: tmp_path / name for name in ("tmp", "work", "local")}
    for place in places.values():
        place.mkdir()
    given = [*words("intersect", paths, out, waiting), "--exchange", exchange, "--prefilter", "on", "--partitions", "2"]
    if exchange == "files":
        given += ["--work", str(places["work"])]
    process = start(given, TMPDIR=str(places["tmp"]), SPARK_LOCAL_DIRS=str(places["local"]))
    last = time.time() + 120
    while not (tmp_path / "here").exists() and process.poll() is None and time.time() < last:
        time.sleep(0.1)
    assert process.poll() is None, process.communicate()
    time.sleep(0.5)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "Traceback" not in said
    assert [line for line in said.splitlines() if "pyoutset.spark" in line][-1].startswith(f"pyoutset.spark: {number.name}: stopped")
    assert not out.exists(), (list(out.rglob("*")), said)
    assert not os.listdir(places["work"])
    for place in ("tmp", "local"):
        assert not glob.glob(f"{places[place]}/outset-*")
