"""The program under test, and a look at what a test leaves behind."""

import os
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session", autouse=True)
def outset():
    """The program: of the environment, else what the Rust tests have built."""
    path = os.environ.setdefault("OUTSET", str(ROOT / "target" / "debug" / "outset"))
    assert os.access(path, os.X_OK), f"{path}: build it first: cargo build"
    return path


@pytest.fixture(autouse=True)
def clean(tmp_path_factory, monkeypatch):
    """Temporary files go to a directory of the test, in which nothing may be left."""
    place = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield place
    import gc

    gc.collect()
    assert not list(place.glob("*outset*")), "something was left behind"


@pytest.fixture
def descriptors():
    """The open descriptors of this process."""
    return lambda: sorted(os.listdir("/proc/self/fd"))


@pytest.fixture
def write(tmp_path):
    """Writes a file of lines; returns its path."""

    def written(name, *lines):
        path = tmp_path / name
        path.write_bytes(b"".join(line.encode() + b"\n" for line in lines))
        return str(path)

    return written
