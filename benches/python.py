#!/usr/bin/env python3
"""What the Python package costs beside the program: import, a small call, a column through a pipe, a result as a table.

python3 benches/python.py A B    # two large files of lines, such as those of `data-gen`; needs pyarrow; OUTSET names the program
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "python"))
os.environ.setdefault("OUTSET", os.path.join(ROOT, "target", "release", "outset"))
OUTSET = os.environ["OUTSET"]


def seconds(work, rounds):
    """Seconds of each round."""
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return found


def by_turns(rounds, **works):
    """The seconds of each, one after the other, so that a busy moment meets all."""
    found = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            found[name] += seconds(work, 1)
    for name, values in found.items():
        print(f"{name:24} median {statistics.median(values):8.4f}  least {min(values):8.4f}")


def imports():
    def python(text):
        return lambda: subprocess.run([sys.executable, "-c", text], check=True, env={**os.environ, "PYTHONPATH": f"{ROOT}/python"})

    by_turns(15, empty=python(""), import_pyoutset=python("import pyoutset"))


def small(place):
    import pyoutset

    files = [f"{place}/five-{name}" for name in "ab"]
    for name, path in zip("ab", files):
        with open(path, "w") as file:
            file.writelines(f"{name if line % 2 else ''}{line}\n" for line in range(5))
    program = [OUTSET, "intersect", *files, "-o", f"{place}/five", "-q"]
    by_turns(
        51,
        program=lambda: subprocess.run(program, check=True),
        call=lambda: pyoutset.intersection(*files).run(),
        call_with_lists=lambda: pyoutset.intersection(["a", "b"], ["b", "c"]).run(),
    )


def large(first, second, place):
    import pyarrow as pa

    import pyoutset

    column = pyoutset.intersection(first, first, all=True).to_arrow(binary=True)["line"]
    result = pyoutset.intersection(first, second, memory="4G").run()
    program = [OUTSET, "intersect", first, second, "-m", "4G", "-q", "-o", f"{place}/common"]
    print(f"{len(column)} lines as {column.type}; {result.lines} common")
    by_turns(
        5,
        program=lambda: subprocess.run(program, check=True),
        files=lambda: pyoutset.intersection(first, second, memory="4G").run(),
        files_to_arrow=lambda: pyoutset.intersection(first, second, memory="4G").to_arrow(),
        column_and_file=lambda: pyoutset.intersection(column, second, memory="4G").run(),
        to_arrow_alone=lambda: result.to_arrow(),
    )
    assert isinstance(column, pa.ChunkedArray)


def main():
    first, second = sys.argv[1:]
    with tempfile.TemporaryDirectory() as place:
        imports()
        small(place)
        large(first, second, place)


if __name__ == "__main__":
    main()
