"""A cluster of a master and two workers on this machine, of which parts are killed while a job runs.

A program stands in for outset that says that it is there and waits for a gate in one of the steps; what is to die is killed
while it waits. The job must give the right answer, or none; nothing may go on or be left behind, and the event log must show
that the fault has happened.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import MappingProxyType

import pytest
from conftest import LOOPBACK, expected, lines_of

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
SIDES = [[b"line-%d" % n for n in range(40_000)], [b"line-%d" % n for n in range(30_000, 90_000)]]
SMALL = {**LOOPBACK, "spark.executor.memory": "512m", "spark.driver.memory": "512m"}
PATIENCE = 240
SPLIT = 300 << 10
SHARDS = sum(-(-sum(len(line) + 1 for line in side) // SPLIT) for side in SIDES)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def processes() -> dict[int, tuple[int, str]]:
    """Parent and command of each process."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                state = Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()
                command = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if state[0] != "Z":
                found[int(name)] = (int(state[1]), command)
    return found


def below(root: int, table: dict[int, tuple[int, str]] | None = None) -> list[int]:
    """The processes that descend from one, by a table of all of them or by what runs now."""
    table, found = table or processes(), []
    for pid in table:
        at = pid
        while at in table and at > 1:
            at = table[at][0]
            if at == root:
                found.append(pid)
                break
    return found


class Cluster:
    """A master and two workers of one core each."""

    def __init__(self, place: Path) -> None:
        import pyspark

        self.place, self.home = place, os.path.dirname(pyspark.__file__)
        self.url = f"spark://127.0.0.1:{free_port()}"
        self.processes: list[subprocess.Popen] = []
        self.master = self.spawn("master", MASTER, "--host", "127.0.0.1", "--port", self.url.rsplit(":", 1)[1])
        self.wait_for(lambda: "I have been elected leader" in self.log("master"))
        self.workers = [self.spawn_worker(number) for number in (1, 2)]
        self.wait_for(lambda: self.log("master").count("Registering worker") >= 2)

    def spawn_worker(self, number: int) -> subprocess.Popen:
        local = {"SPARK_LOCAL_DIRS": str(self.place / f"local-{number}")}
        work = ["--cores", "1", "--memory", "1g", "--work-dir", str(self.place / f"work-{number}")]
        # Hosts of their own: Spark starts no second attempt on the host of the first.
        return self.spawn(f"worker-{number}", WORKER, "--host", f"127.0.0.{number}", *work, self.url, more=local)

    def spawn(self, name: str, main: str, *arguments: str, more: dict = MappingProxyType({})) -> subprocess.Popen:
        environment = {**os.environ, "SPARK_HOME": self.home, "PYSPARK_PYTHON": sys.executable, "SPARK_NO_DAEMONIZE": "1", **more}
        command = [f"{self.home}/bin/spark-class", main, *arguments]
        if main in (MASTER, WORKER):
            command[2:2] = ["--webui-port", "0"]
        with open(self.place / f"{name}.log", "w") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        self.processes.append(process)
        return process

    def log(self, name: str) -> str:
        return (self.place / f"{name}.log").read_text()

    def wait_for(self, is_true) -> None:
        start = time.time()
        while not is_true():
            assert time.time() - start < PATIENCE, "it takes too long"
            time.sleep(0.1)

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Running:
    """A job on a cluster, whose children wait for a gate in one step."""

    def __init__(self, cluster: Cluster, place: Path, outset: str, step: str, exchange: str, more: tuple[str, ...] = ()) -> None:
        self.cluster, self.place, self.out = cluster, place, place / "out"
        self.gate, self.events = place / "gate", place / "events"
        self.gate.mkdir()
        self.events.mkdir()
        stand_in = place / "outset"
        stand_in.write_text(
            f'#!/bin/sh\nif [ "$1" = {step} ]; then\n: > {self.gate}/marker-$$\n'
            f"while [ ! -e {self.gate}/open ]; do sleep 0.1; done\nfi\nexec {outset} \"$@\"\n"
        )
        stand_in.chmod(0o755)
        command = [sys.executable, "-m", "pyoutset.spark", "intersect", "--out", str(self.out), "--outset", str(stand_in)]
        for number, lines in enumerate(SIDES):
            path = place / f"side-{number}"
            path.write_bytes(b"\n".join(lines) + b"\n")
            command += ["--side", str(path)]
        command += ["--exchange", exchange, "--partitions", "4", "--split", "300K", "--task-memory", "32M", "--prefilter", "off"]
        command += ["--master", cluster.url]
        if exchange == "files":
            command += ["--work", str(place / "work")]
        settings = {
            **SMALL,
            "spark.shuffle.io.maxRetries": "1",
            "spark.shuffle.io.retryWait": "1s",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"file://{self.events}",
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
            "spark.worker.timeout": "5",
        }
        for key, value in settings.items():
            command += ["--conf", f"{key}={value}"]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYSPARK_PYTHON": sys.executable}
        environment["SPARK_LOCAL_DIRS"] = str(place / "driver")
        environment["TMPDIR"] = str(place / "tmp")
        (place / "tmp").mkdir()
        with open(place / "driver.log", "w") as log:
            self.driver = subprocess.Popen([*command, *more], env=environment, stdout=log, stderr=subprocess.STDOUT)
        cluster.wait_for(lambda: self.has_markers() or self.driver.poll() is not None)
        assert self.driver.poll() is None, (place / "driver.log").read_text()[-3000:]

    def has_markers(self) -> bool:
        return bool(list(self.gate.glob("marker-*")))

    def open_gate(self) -> None:
        (self.gate / "open").touch()

    def finish(self) -> int:
        status = self.driver.wait(PATIENCE)
        assert status in (0, 1), (self.place / "driver.log").read_text()[-3000:]
        return status

    def reasons(self) -> set[str]:
        """Why tasks failed, and what was lost, by the event log."""
        found = set()
        for path in glob.glob(f"{self.events}/*"):
            for line in open(path):
                event = json.loads(line)
                if event["Event"] == "SparkListenerExecutorRemoved":
                    found.add("executor removed")
                if event["Event"] == "SparkListenerTaskEnd":
                    found.add(event["Task End Reason"]["Reason"])
        return found

    def assert_right(self) -> None:
        assert lines_of(self.out) == expected("intersect", SIDES)
        assert json.loads((self.out / "_SUCCESS").read_text())["output_lines"] == 10_000

    def children(self) -> list[int]:
        """The processes of the steps, wherever they are."""
        return [pid for pid, (_, command) in processes().items() if str(self.place / "side-") in command or (f"{self.place}" in command and " join " in command)]

    def assert_nothing_is_left(self) -> None:
        self.cluster.wait_for(lambda: not self.children())
        left = [path for path in glob.glob(f"{self.cluster.place}/local-*/**/outset-*", recursive=True) if os.path.isdir(path)]
        assert not left
        assert not os.listdir(self.place / "work") if (self.place / "work").exists() else True


@pytest.fixture
def cluster(tmp_path):
    place = tmp_path / "cluster"
    place.mkdir()
    started = Cluster(place)
    yield started
    started.stop()


def executors(worker: subprocess.Popen) -> list[int]:
    table = processes()
    return [pid for pid in below(worker.pid, table) if "CoarseGrainedExecutorBackend" in table[pid][1]]


def busy_executor(running: Running, worker: subprocess.Popen) -> int:
    """The executor of a worker, as soon as it has a child that waits at the gate."""
    found = []

    def has_child() -> bool:
        table = processes()
        waiting = [int(marker.name.split("-")[1]) for marker in running.gate.glob("marker-*")]
        found[:] = [pid for pid in executors(worker) if set(waiting) & set(below(pid, table))]
        return bool(found)

    running.cluster.wait_for(has_child)
    return found[0]


SLOW = pytest.mark.slow
KILLED = [("join", "blocks"), *(pytest.param(*case, marks=SLOW) for case in [("shard", "blocks"), ("shard", "files"), ("join", "files")])]


@pytest.mark.parametrize(("step", "exchange"), KILLED)
def test_an_executor_is_killed(cluster, tmp_path, outset, step, exchange):
    running = Running(cluster, tmp_path, outset, step, exchange)
    executor = busy_executor(running, cluster.workers[0])
    kids = below(executor)
    os.kill(executor, signal.SIGKILL)
    cluster.wait_for(lambda: not set(kids) & set(processes()))
    running.open_gate()
    assert running.finish() == 0
    running.assert_right()
    assert "executor removed" in running.reasons()
    running.assert_nothing_is_left()


@SLOW
def test_a_worker_is_killed(cluster, tmp_path, outset):
    running = Running(cluster, tmp_path, outset, "join", "blocks")
    worker = cluster.workers[0]
    executor = busy_executor(running, worker)
    kids = below(worker.pid)
    for pid in [worker.pid, executor]:
        os.kill(pid, signal.SIGKILL)
    cluster.wait_for(lambda: not set(kids) & set(processes()))
    running.open_gate()
    assert running.finish() == 0
    running.assert_right()
    assert "executor removed" in running.reasons()
    # What the worker had is not cleaned by anybody: its directory is on the machine that is gone.
    shutil.rmtree(cluster.place / "local-1", ignore_errors=True)
    running.assert_nothing_is_left()


@SLOW
@pytest.mark.parametrize("step", ["shard", "join"])
def test_a_child_is_killed(cluster, tmp_path, outset, step):
    running = Running(cluster, tmp_path, outset, step, "blocks")
    time.sleep(0.5)
    marker = next(running.gate.glob("marker-*"))
    os.kill(int(marker.name.split("-")[1]), signal.SIGKILL)
    time.sleep(0.5)
    running.open_gate()
    assert running.finish() == 0
    running.assert_right()
    assert "ExceptionFailure" in running.reasons()
    running.assert_nothing_is_left()


@SLOW
def test_the_driver_is_killed(cluster, tmp_path, outset):
    running = Running(cluster, tmp_path, outset, "join", "blocks")
    jvms = below(running.driver.pid)
    for pid in [running.driver.pid, *jvms]:
        os.kill(pid, signal.SIGKILL)
    running.driver.wait()
    running.open_gate()
    cluster.wait_for(lambda: not running.children())
    cluster.wait_for(lambda: not executors(cluster.workers[0]) and not executors(cluster.workers[1]))
    assert not (running.out / "_SUCCESS").exists()


@SLOW
@pytest.mark.parametrize("exchange", ["files", "blocks"])
def test_the_driver_is_told_to_end(cluster, tmp_path, outset, exchange):
    # Not only is there no wrong answer: nothing is left that the next attempt would find.
    running = Running(cluster, tmp_path, outset, "join", exchange, ("--prefilter", "on"))
    running.driver.terminate()
    assert running.driver.wait(PATIENCE) == 128 + signal.SIGTERM
    cluster.wait_for(lambda: not executors(cluster.workers[0]) and not executors(cluster.workers[1]))
    running.assert_nothing_is_left()
    assert not running.out.exists()
    assert not list((tmp_path / "tmp").glob("outset-*"))
    assert "Traceback" not in (tmp_path / "driver.log").read_text()


AFTER_A_JOB = """
import glob, json, os, signal, sys, tempfile
from pyspark.sql import SparkSession
from pyoutset.spark import Job, run
master, outset, place, settings = sys.argv[1:]
builder = SparkSession.builder.master(master)
for key, value in json.loads(settings).items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
sides = [[f"{place}/side-0"], [f"{place}/side-1"]]
more = {"outset": outset, "partitions": 4, "task_memory": "32M"}
job = lambda number, how: Job("intersect", sides, f"{place}/out-{number}", prefilter=how, **more)
run(spark, job(0, "on"))
kept = glob.glob(f"{tempfile.gettempdir()}/outset-*/*")
assert kept and all(path.endswith(".osf") and os.path.getsize(path) == 0 for path in kept), kept
print("ready", flush=True)
sys.stdin.readline()
print(spark.range(100).repartition(2).count())
print(run(spark, job(1, "off"))["output_lines"])
"""


@SLOW
def test_a_session_goes_on_with_new_executors_after_a_job(cluster, tmp_path, outset):
    for number, lines in enumerate(SIDES):
        (tmp_path / f"side-{number}").write_bytes(b"\n".join(lines) + b"\n")
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-c", AFTER_A_JOB, cluster.url, outset, str(tmp_path), json.dumps(SMALL)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYSPARK_PYTHON": sys.executable}
    environment["TMPDIR"] = str(tmp_path / "tmp")
    with open(tmp_path / "said", "w") as said:
        driver = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True)
    assert driver.stdout.readline() == "ready\n", (tmp_path / "said").read_text()[-3000:]
    for worker in cluster.workers:
        for pid in executors(worker):
            os.kill(pid, signal.SIGKILL)
    try:
        printed, _ = driver.communicate("go on\n", timeout=PATIENCE)
    finally:
        driver.kill()
    assert driver.returncode == 0, (tmp_path / "said").read_text()[-3000:]
    assert printed.splitlines() == ["100", "10000"]
    assert not list((tmp_path / "tmp").glob("outset-*"))


TWO_JOBS = """
import json, sys
from pyspark.sql import SparkSession
from pyoutset.spark import Job, run
master, outset, place, settings = sys.argv[1:]
builder = SparkSession.builder.master(master)
for key, value in json.loads(settings).items():
    builder = builder.config(key, value)
for number, sides in enumerate(([0, 1], [1, 0])):
    paths = [[f"{place}/side-{side}"] for side in sides]
    job = Job("diff", paths, f"{place}/out-{number}", outset=outset, partitions=4, task_memory="32M")
    print(json.dumps(run(builder.getOrCreate(), job)["sides"]))
"""


@SLOW
def test_filters_reach_the_executors_in_each_job_of_a_session(cluster, tmp_path, outset):
    for number, lines in enumerate(SIDES):
        (tmp_path / f"side-{number}").write_bytes(b"\n".join(lines) + b"\n")
    command = [sys.executable, "-c", TWO_JOBS, cluster.url, outset, str(tmp_path), json.dumps(SMALL)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr[-3000:]
    for number, sides in enumerate(([0, 1], [1, 0])):
        chosen = [SIDES[side] for side in sides]
        assert lines_of(tmp_path / f"out-{number}") == expected("diff", chosen)
        first, second = (side["lines"] for side in json.loads(done.stdout.splitlines()[number]))
        # Of the second side, the common lines have passed the filter of the first, and few others.
        assert first == len(chosen[0])
        assert 10_000 <= second < 12_000


@SLOW
def test_two_attempts_at_once(cluster, tmp_path, outset):
    # One shard takes long the first time, so that Spark starts it a second time beside the first.
    slow = tmp_path / "slow"
    slow.write_text(
        f'#!/bin/sh\nif [ "$1" = shard ]; then echo x >> {tmp_path}/attempts\n'
        f'if mkdir {tmp_path}/first 2>/dev/null; then sleep 20; fi\nfi\nexec {outset} "$@"\n'
    )
    slow.chmod(0o755)
    more = ["spark.speculation=true", "spark.speculation.multiplier=1.01", "spark.speculation.quantile=0.1"]
    more += ["spark.speculation.minTaskRuntime=10ms", "spark.speculation.interval=100ms", "spark.speculation.efficiency.enabled=false"]
    options = tuple(word for option in more for word in ("--conf", option))
    running = Running(cluster, tmp_path, str(slow), "join", "files", options)
    running.open_gate()
    assert running.finish() == 0
    running.assert_right()
    attempts = (tmp_path / "attempts").read_text().splitlines()
    assert len(attempts) > SHARDS, "no shard was tried twice"
    running.assert_nothing_is_left()
