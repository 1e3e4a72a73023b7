"""What runs in Spark's tasks: a child for each range and each bucket, fed by Spark and read by it.

Everything here is pickled by value, so that workers need pyspark and pyarrow and nothing else.
"""

from __future__ import annotations

import json
import struct
import threading
from contextlib import contextmanager
from typing import Callable, Iterator

from .children import BATCH, HEADER, LINES, RECORDS, TRAILER, TRAILER_MAGIC, Rows, Setting, Step, located, workplace
from .splits import Split, changed, pieces


def shard_arguments(setting: Setting, split: Split, place: str) -> list[str]:
    arguments = ["shard", "--side", str(split.side), "--buckets", str(setting.buckets)]
    arguments += ["--hash-key-file", f"{place}/key", "--compress", setting.compression]
    if split.side in setting.filters:
        arguments += ["--filter", located(setting.filters[split.side], setting.ships)]
    if split.is_remote and not split.is_compressed:
        # A range may begin with bytes that look like a compressed file.
        arguments += ["--decompress", "none"]
    elif not split.is_compressed:
        arguments += ["--range", f"{split.offset}:{split.length}"]
    return [*arguments, "-" if split.is_remote else split.path]


@contextmanager
def fed(child: Step, split: Split) -> Iterator[None]:
    """Pipes a remote split to the child, on a thread of its own, while the body reads what the child makes of it."""
    failures: list[BaseException] = []

    def feed() -> None:
        try:
            for piece in pieces(split) if split.is_remote else ():
                child.write(piece)
            child.input.close()
        except BaseException as failure:  # the body sees a child that was killed
            failures.append(failure)
            child.process.kill()

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    try:
        yield
    except BaseException:
        if failures:
            raise failures[0] from None
        raise
    thread.join()
    if failures:
        raise failures[0]


def report_of(child: Step, split: Split) -> str:
    """The report of a shard, if its file is still the one that was listed: the child has opened a local file itself."""
    report = child.end()
    found = json.loads(report)["input"]["file_bytes"]
    if not split.is_remote and found is not None and found != split.file_bytes:
        raise changed(split.path, split.file_bytes, found)
    return report


def shard_blocks(setting: Setting, todo: list[Split], ids: list[int], note: Callable[[str, str], None]) -> Callable:
    """A task for each split: its blocks as rows, each with an integer that Spark moves to the partition of its bucket."""

    def task(batches: Iterator) -> Iterator:
        import pyarrow as pa

        def batch(partitions: list[int], blocks: pa.Array) -> pa.RecordBatch:
            return pa.RecordBatch.from_arrays([pa.array(partitions, pa.int32()), blocks], ["p", "k"])

        for number in numbers(batches):
            split = todo[number]
            if number == 0:
                # Spark leaves out a stage without rows; each bucket has one, so that each is joined.
                yield batch(ids, pa.array([b""] * len(ids), pa.binary()))
            with workplace(setting) as place, Step(setting, place, shard_arguments(setting, split, place)) as child:
                rows, partitions = Rows(), []
                with fed(child, split):
                    for bucket in child.frames(RECORDS, rows, 0):
                        partitions.append(ids[bucket])
                        if rows.size() >= BATCH:
                            yield batch(partitions, rows.column())
                            partitions = []
                note(f"shard {number}", report_of(child, split))
                yield batch(partitions, rows.column())

    return task


def shard_files(setting: Setting, todo: list[Split], note: Callable[[str, str], None]) -> Callable:
    """A task for each split: a shard file on the shared storage."""

    def task(batches: Iterator) -> Iterator:
        for number in numbers(batches):
            split = todo[number]
            with workplace(setting) as place:
                arguments = [*shard_arguments(setting, split, place), "-o", shard_name(setting, number)]
                with Step(setting, place, arguments) as child:
                    with fed(child, split):
                        child.process.wait()
                    note(f"shard {number}", report_of(child, split))
        return iter(())

    return task


def shard_name(setting: Setting, number: int) -> str:
    return f"{setting.shared}/{number}.shard"


def numbers(batches: Iterator) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def join_arguments(setting: Setting, bucket: int, place: str) -> list[str]:
    arguments = ["join", "--operation", setting.operation, "--sides", str(setting.sides)]
    return [*arguments, "--bucket", str(bucket), "--temp-dir", place]


def result(child: Step) -> Iterator:
    """The lines of a join as rows of many lines each, without the last line end: Spark's text writer adds it."""
    import pyarrow as pa

    rows = Rows()
    for _ in child.frames(LINES, rows, HEADER):
        # All lines so far are one row: its last line end is left out.
        rows.ends[1:] = [rows.size()]
        if rows.size() >= 1 << 20:
            rows.ends[1] -= 1
            yield pa.RecordBatch.from_arrays([rows.column()], ["value"])
    if rows.size():
        rows.ends[1] -= 1
        yield pa.RecordBatch.from_arrays([rows.column()], ["value"])


def join_blocks(setting: Setting, note: Callable[[str, str], None]) -> Callable:
    """A task for each bucket: feeds a join with the blocks that Spark has moved here."""

    def task(batches: Iterator) -> Iterator:
        from pyspark import TaskContext

        bucket = TaskContext.get().partitionId()
        with workplace(setting) as place, Step(setting, place, [*join_arguments(setting, bucket, place), "-"]) as child:
            frames = total = 0
            for batch in batches:
                for block in batch.column(0):
                    data = block.as_buffer()
                    if data.size:
                        child.write(data)
                        frames, total = frames + 1, total + data.size
            child.write(struct.pack(TRAILER, TRAILER_MAGIC, frames, total, (1 << 64) - 1))
            child.input.close()
            yield from result(child)
            note(f"join {bucket}", child.end())

    return task


def join_files(setting: Setting, shards: int, note: Callable[[str, str], None]) -> Callable:
    """A task for each bucket: joins it from the shard files."""

    def task(batches: Iterator) -> Iterator:
        for bucket in numbers(batches):
            with workplace(setting) as place:
                # A command line would not hold all names.
                names = f"{place}/shards"
                with open(names, "w") as file:
                    file.writelines(f"{shard_name(setting, number)}\n" for number in range(shards))
                with Step(setting, place, [*join_arguments(setting, bucket, place), "--shards-from", names]) as child:
                    yield from result(child)
                    note(f"join {bucket}", child.end())

    return task
