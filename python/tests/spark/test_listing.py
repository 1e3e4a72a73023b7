"""Which files and ranges a side has, and files that change behind the listing. No Spark is needed."""

import gzip
import os

import pytest

from pyoutset.frames import is_compressed
from pyoutset.spark import Failed, splits
from pyoutset.spark.listing import side_files
from pyoutset.spark.splits import Split, pieces


def names(path, root):
    return [file.path.rsplit(f"{root}/", 1)[1] for file in side_files([path])]


@pytest.fixture
def side(tmp_path):
    """Every kind of name: what Spark reads begins with ``read``."""
    root = tmp_path / "side"
    hidden = ("_hidden/x", ".hidden/x", "_SUCCESS", ".x.crc", "x._COPYING_", "_metadata")
    for name in ("read-1", "_d=1/read-2", "a/_x=/read-3", *hidden):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")
    return root


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_files_are_those_that_spark_reads(side, scheme):
    assert names(f"{scheme}{side}", side.name) == ["_d=1/read-2", "a/_x=/read-3", "read-1"]


def test_links_are_followed_and_cycles_end(side, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "part").write_text("x\n")
    (side / "more").symlink_to(tmp_path / "other")
    (side / "a" / "again").symlink_to(side)
    (tmp_path / "other" / "itself").symlink_to(tmp_path / "other")
    assert names(str(side), side.name) == ["_d=1/read-2", "a/_x=/read-3", "more/part", "read-1"]


def test_a_directory_that_cannot_be_read_fails(side, monkeypatch):
    real = os.scandir

    def scandir(path):
        if path.endswith("/a"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(Failed, match=f"^{side}/a: Permission denied: name files"):
        side_files([str(side)])


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nothing", "No such file or directory: name files"),
        ("empty", "has no files"),
        ("fifo", "is not a regular file"),
        ("dangling", "No such file or directory"),
        ("foo://x/y", "foo://x/y: Unrecognized filesystem type"),
        ("file:///nowhere/x", "nowhere/x: "),
        ("file://empty", "has no files"),
    ],
)
def test_paths_without_files_fail(tmp_path, path, said):
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "dangling").symlink_to("nowhere")
    named = path.replace("file://empty", f"file://{tmp_path}/empty")
    with pytest.raises(Failed, match=said) as failed:
        side_files([named if "://" in named else str(tmp_path / named)])
    assert "\n" not in str(failed.value)


def test_a_file_is_named_once(side, tmp_path):
    one = str(side / "read-1")
    (tmp_path / "link").symlink_to(one)
    for again in (one, str(tmp_path / "link"), f"{side}/../side/read-1"):
        with pytest.raises(Failed, match="is in its side twice: name it once"):
            side_files([str(side), again])
    with pytest.raises(Failed, match="twice"):
        side_files([f"file://{one}", f"file://{side}"])
    assert len(splits.splits([[one], [one]], 100)) == 2


def test_a_name_that_is_no_text_is_refused(side):
    with open(os.fsencode(side) + b"/x\xff", "w"), pytest.raises(Failed, match=r"x\\xff': its name is not valid UTF-8: rename it"):
        side_files([str(side)])


def test_remote_names_may_have_any_sign(tmp_path):
    odd = ["a b", "p%201", "a#b?c", "caf\u00e9+&=", "100%", "d e/x y"]
    for name in odd:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{name}\n")
    found = b"".join(b"".join(pieces(split)) for split in splits.splits([[f"file://{tmp_path}"]], 100))
    assert sorted(found.decode().splitlines()) == sorted(odd)


def test_first_bytes_of_compressed_files():
    for first in (b"\x1f\x8b\x08", b"BZh91AY&SY", b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18\x04", b"\x5f\x2a\x4d\x18"):
        assert is_compressed(first)
    for first in (b"", b"BZhello", b"\x60\x2a\x4d\x18", b"text", b"\x50"):
        assert not is_compressed(first)


def test_ranges_cut_anywhere_have_each_line_once(tmp_path):
    path = tmp_path / "text"
    for text in (b"one\ntwo\n\nfour", b"\n\n\n", b"x", b"a\nlonger than any range here\nb\n"):
        path.write_bytes(text)
        for length in range(1, len(text) + 1):
            all_splits = splits.splits([[str(path)]], length)
            found = b""
            for split in sorted(all_splits, key=lambda split: split.offset):
                piece = b"".join(pieces(split))
                assert not piece or piece.endswith(b"\n") or text.endswith(piece)
                found += piece
            assert found == text, (text, length)


@pytest.mark.parametrize("kind", ["plain", "gzip"])
@pytest.mark.parametrize("change", ["shorter", "longer", "gone", "ends early"])
def test_a_file_that_has_changed_is_an_error(tmp_path, monkeypatch, kind, change):
    path = tmp_path / "x"
    text = b"".join(b"line %d\n" % n for n in range(1000))
    path.write_bytes(gzip.compress(text) if kind == "gzip" else text)
    found = splits.splits([[f"file://{path}"]], 4000)
    assert len(found) == (1 if kind == "gzip" else 3)
    if change == "gone":
        path.unlink()
    elif change == "shorter":
        os.truncate(path, 20)
    elif change == "longer":
        path.write_bytes(path.read_bytes() * 2)
    else:
        # The size is right when it is opened; then the storage gives fewer bytes.
        monkeypatch.setattr(splits, "open_file", lambda path, _: Short(path[len("file://") :]))
        # A range before the end that the storage gives is whole.
        found = [split for split in found if split.offset + split.length > 4500]
    for split in found:
        with pytest.raises(OSError, match=f"{path}"):
            b"".join(pieces(split))


def test_every_range_of_an_object_that_ends_early_is_an_error(tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_bytes(b"a" * 1000)
    monkeypatch.setattr(splits, "open_file", lambda *_: Short(path))
    for offset in (0, 600, 900):
        with pytest.raises(OSError, match="had 1000 when it was listed"):
            b"".join(pieces(Split(1, str(path), offset, 100, True, False, 1000)))


class Short:
    """A file that has its size, and gives no byte from the middle on."""

    def __init__(self, path):
        self.file = open(path, "rb")
        self.middle = os.path.getsize(path) // 2

    def seek(self, *where):
        return self.file.seek(*where)

    def read(self, count):
        return self.file.read(max(0, min(count, self.middle - self.file.tell())))

    def close(self):
        self.file.close()
