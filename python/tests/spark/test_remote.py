"""Inputs on object storage: a local server that speaks S3."""

import socket
import subprocess
import sys
import time

import pytest
from conftest import expected, lines_of, odd_lines, write_sides

from pyoutset.spark import Job, run


@pytest.fixture(scope="module")
def storage():
    pytest.importorskip("moto")
    from pyarrow import fs

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    options = f"scheme=http&endpoint_override=127.0.0.1:{port}&region=us-east-1&allow_bucket_creation=true"
    try:
        system, _ = fs.FileSystem.from_uri(f"s3://key:secret@data/?{options}")
        for _ in range(200):
            try:
                system.create_dir("data")
                break
            except OSError:
                time.sleep(0.1)
        yield system, options
    finally:
        server.terminate()
        server.wait()


@pytest.mark.parametrize("exchange", ["blocks", "files"])
def test_inputs_on_object_storage(spark, outset, storage, out, tmp_path, exchange):
    from pyarrow import fs

    system, options = storage
    sides = odd_lines()[:2]
    local = write_sides(tmp_path, sides)
    fs.copy_files(local[0][0], f"data/{exchange}/first.txt", fs.LocalFileSystem(), system)
    # Names that an address cannot have as they are.
    for old, name in (("part-0", "a b"), ("part-1.gz", "p%201"), ("part-3", "x#y+&")):
        (tmp_path / "side-2" / old).rename(tmp_path / "side-2" / name)
    fs.copy_files(local[1][0], f"data/{exchange}/second", fs.LocalFileSystem(), system)
    uri = f"s3://key:secret@data/{exchange}"
    paths = [[f"{uri}/first.txt?{options}"], [f"{uri}/second?{options}"]]
    job = Job("intersect", paths, str(out), exchange=exchange, partitions=3, split_bytes=1 << 20, task_memory="64M", outset=outset)
    if exchange == "files":
        job.work = str(tmp_path / "work")
    run(spark, job)
    assert lines_of(out) == expected("intersect", sides)
