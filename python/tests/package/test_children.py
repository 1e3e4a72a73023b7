"""The child process: interrupts, threads, forks, descriptors, and what is left when this process is killed."""

import asyncio
import contextlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import pyoutset
from pyoutset import Interrupted, intersection, union

PYTHON = Path(__file__).parents[2]
PATIENCE = 30


def children(process="self"):
    """The processes that a process has started."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (place / "stat").read_text().rsplit(")", 1)[1].split()
            if int(words[1]) == (os.getpid() if process == "self" else process) and words[0] != "Z":
                found.append(int(place.name))
    return found


def wait_until(condition):
    last = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < last
        time.sleep(0.01)


class Endless:
    """A side that gives a line and then waits, which says when it is read."""

    def __init__(self):
        self.is_read = threading.Event()
        self.goes_on = threading.Event()

    def __iter__(self):
        yield "a"
        # The program is there: it has been started before anything is read.
        self.is_read.set()
        self.goes_on.wait()


def interrupted(side):
    """SIGINT to this process alone, as a notebook sends it, when the program runs."""

    def send():
        side.is_read.wait()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def test_an_interrupt_ends_the_program_and_leaves_nothing(clean, tmp_path, descriptors):
    before = descriptors()
    side = Endless()
    sender = interrupted(side)
    with pytest.raises(KeyboardInterrupt):
        union(side, out=tmp_path / "out")
    sender.join()
    side.goes_on.set()
    assert not children() and not list(tmp_path.iterdir())
    wait_until(lambda: descriptors() == before)
    # As if nothing had been.
    assert list(union(["a"])) == ["a"]


def test_an_interrupt_of_the_program_alone_is_an_error(clean):
    side = Endless()

    def send():
        side.is_read.wait()
        for child in children():
            os.kill(child, signal.SIGINT)

    threading.Thread(target=send).start()
    with pytest.raises(Interrupted, match="signal 2"):
        union(side).run()
    side.goes_on.set()


def test_a_program_that_is_killed_is_an_error(clean):
    side = Endless()

    def send():
        side.is_read.wait()
        for child in children():
            os.kill(child, signal.SIGKILL)

    threading.Thread(target=send).start()
    with pytest.raises(Interrupted) as raised:
        union(side).run()
    assert raised.value.status == -9
    side.goes_on.set()
    # Its next run removes what the program has left.
    for left in clean.glob("outset-*"):
        shutil.rmtree(left)


def script(text, **more):
    environment = {**os.environ, "PYTHONPATH": str(PYTHON)}
    return subprocess.Popen([sys.executable, "-c", text], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


RUNS = """
import sys, threading, time
import pyoutset
class Endless:
    def __iter__(self):
        yield "a"
        print("runs", flush=True)
        time.sleep(100)
def work():
    pyoutset.union(Endless(), out=sys.argv[1] if len(sys.argv) > 1 else None).run()
"""


@pytest.mark.parametrize("closed", ["0", "1", "2", "0 1 2"])
def test_a_side_is_fed_where_standard_streams_are_closed(closed, tmp_path):
    work = f"""
import os
for stream in map(int, "{closed}".split()):
    os.close(stream)
import pyoutset
found = sorted(pyoutset.union(["a"], iter("b"))), list(pyoutset.difference(["a", "b"], ["a"])), pyoutset.overlaps(["a"], ["a"])["11"].lines
open({str(tmp_path / "found")!r}, "w").write(repr(found))
"""
    script(work).communicate(timeout=PATIENCE)
    assert (tmp_path / "found").read_text() == "(['a', 'b'], ['b'], 1)"


def test_a_slow_iterator_is_left_alone_when_the_call_has_failed():
    def slow():
        while True:
            time.sleep(0.01)
            yield "x"

    def broken():
        yield "a"
        raise BrokenPipeError("of the caller")

    with pytest.raises(BrokenPipeError, match="of the caller"):
        union(slow(), broken()).run()
    wait_until(lambda: not any(thread.name.startswith("outset side") for thread in threading.enumerate()))


def test_iterators_that_wait_do_not_delay_an_error_one_after_another():
    sides = [Endless() for _ in range(8)]

    def broken():
        for side in sides:
            side.is_read.wait()
        raise ValueError("of the caller")
        yield

    began = time.monotonic()
    with pytest.raises(ValueError, match="of the caller"):
        union(*sides, broken()).run()
    assert time.monotonic() - began < 4
    for side in sides:
        side.goes_on.set()


def test_ctrl_c_on_a_terminal_ends_a_call_from_a_thread_too():
    runs = script(RUNS + "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\n", start_new_session=True)
    assert runs.stdout.readline() == "runs\n"
    os.killpg(runs.pid, signal.SIGINT)
    _, said = runs.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in said or "Interrupted" in said
    assert runs.returncode != 0


def test_nothing_is_left_when_this_process_is_killed(clean, tmp_path):
    out = tmp_path / "out"
    runs = script(RUNS + f"sys.argv[1:] = [{str(out)!r}]\nwork()\n")
    assert runs.stdout.readline() == "runs\n"
    (program,) = children(runs.pid)
    runs.kill()
    runs.communicate()
    wait_until(lambda: not Path(f"/proc/{program}").exists() or "Z" in Path(f"/proc/{program}/stat").read_text())
    assert not list(tmp_path.iterdir()), "a part of the lines was taken for all"
    # The directory of a process that was killed is all that stays: its files were the program's.
    for place in clean.iterdir():
        assert not list(place.iterdir())
        place.rmdir()


def found(_):
    return sorted(intersection(["a", "b"], ["b", "c"]))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_of_every_kind(method, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(PYTHON))
    kept = union(["kept"]).run()
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(found, range(4)) == [["b"]] * 4
    # A process that was forked off has not removed what is not its own.
    assert list(kept) == ["kept"]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_that_is_forked_off_in_the_middle_does_not_hold_a_pipe_open():
    side = Endless()
    results = []
    worker = threading.Thread(target=lambda: results.extend(union(side, ["b"], order="sorted")))
    worker.start()
    side.is_read.wait()
    forked = os.fork()
    if not forked:
        time.sleep(PATIENCE)
        os._exit(0)
    side.goes_on.set()
    worker.join(PATIENCE / 2)
    ended = not worker.is_alive()
    os.kill(forked, signal.SIGKILL)
    os.waitpid(forked, 0)
    assert ended and results == ["a", "b"]


def test_threads_at_once():
    with ThreadPoolExecutor(8) as pool:
        lines = [[f"{n}", "common"] for n in range(16)]
        assert list(pool.map(lambda side: list(intersection(side, ["common"])), lines)) == [["common"]] * 16
    shared = union(["a", "b"])
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: shared.path, range(4))) == {shared.path}


def test_event_loops_open_and_closed():
    result = union(["a"])
    assert asyncio.run(asyncio.to_thread(lambda: list(result))) == ["a"]

    async def inside():
        return list(union(["b"]))

    assert asyncio.run(inside()) == ["b"]
    assert list(union(["c"])) == ["c"]


def test_a_caller_that_ignores_its_children_gets_no_wrong_result():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert list(union(["a"])) == ["a"]
        with pytest.raises(pyoutset.OutsetError):
            union("/nowhere").run()
    finally:
        signal.signal(signal.SIGCHLD, before)


@pytest.mark.parametrize("calls", [20, pytest.param(10_000, marks=pytest.mark.slow)])
def test_no_call_leaks_a_descriptor_or_a_thread(calls, descriptors, write):
    path = write("a.txt", "a")
    list(union(path, ["b"]))
    before, threads = descriptors(), threading.active_count()
    for number in range(calls):
        if number % 5 == 4:
            with pytest.raises(pyoutset.OutsetError):
                union(path, ["b\n"] if number % 2 else "/nowhere").run()
        else:
            assert union(path, ["b"]).lines == 2
    wait_until(lambda: descriptors() == before and threading.active_count() == threads)


def test_the_import_brings_no_library_along():
    heavy = ("pyspark", "pyarrow", "pandas", "polars", "numpy", "tqdm", "IPython", "asyncio", "importlib.metadata")
    runs = script(f"import sys, pyoutset; print([name for name in {heavy} if name in sys.modules])")
    assert runs.communicate(timeout=PATIENCE)[0] == "[]\n"


def test_the_module_is_the_program(outset):
    environment = {**os.environ, "PYTHONPATH": str(PYTHON)}
    run = lambda *words: subprocess.run([sys.executable, "-m", "pyoutset", *words], env=environment, capture_output=True, text=True)  # noqa: E731
    assert run("--version").stdout == subprocess.run([outset, "--version"], capture_output=True, text=True).stdout
    assert run("union", "/nowhere").returncode == 3


def test_a_program_that_is_not_there(monkeypatch):
    from pyoutset import program

    monkeypatch.setenv("OUTSET", "/nowhere")
    with pytest.raises(pyoutset.ProgramError, match="OUTSET: /nowhere: there is no such program"):
        union(["a"]).run()
    monkeypatch.delenv("OUTSET")
    monkeypatch.setattr(program, "candidates", lambda: ["/nowhere"])
    monkeypatch.setenv("PATH", "")
    program.searched.cache_clear()
    with pytest.raises(pyoutset.ProgramError, match="pip"):
        union(["a"]).run()
    program.searched.cache_clear()
