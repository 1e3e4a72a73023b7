"""Progress of a run: to a function, and as a bar."""

import sys
import time

import pytest

from pyoutset import Progress, progress, union

SLOW = 0.7


def slowly():
    """A side that takes long enough to be seen."""
    yield "a"
    time.sleep(SLOW)
    yield "b"


def test_a_function_hears_of_progress():
    heard = []
    assert union(["a"], slowly(), progress=heard.append).lines == 2
    assert heard and all(isinstance(each, Progress) for each in heard)
    last = heard[-1]
    assert last.phase == "build side 2" and last.total_bytes is None and last.part is None


def test_what_a_function_raises_ends_the_run():
    class Enough(Exception):
        pass

    def hear(_):
        raise Enough

    with pytest.raises(Enough):
        union(["a"], slowly(), progress=hear).run()


@pytest.mark.parametrize("has_tqdm", [True, False])
def test_a_bar_is_drawn_and_taken_away(has_tqdm, monkeypatch, capsys):
    if not has_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    assert union(["a"], slowly(), progress=True).lines == 2
    drawn = capsys.readouterr().err
    assert "build side 2" in drawn and drawn.endswith("\r")


def test_without_progress_nothing_is_said(capfd):
    assert union(["a"], slowly()).lines == 2
    assert capfd.readouterr() == ("", "")


def test_the_line_of_text_has_share_and_time():
    shown = []
    bar = progress.TextBar()
    bar.draw = shown.append
    bar.show(Progress("spill a", 50, 200, 10, 15.0, 30.2))
    bar.show(Progress("spill a", 3_000_000, part="exact"))
    assert shown == ["spill a: 25 %, 30 s left", "exact: spill a: 3 MB"]
