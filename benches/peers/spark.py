"""outset on Spark beside Spark's own plans, in the same minutes, every answer checked.

    spark.py --python VENV/bin/python --outset target/release/outset --dir DIR A B [C] [--plans ...] [--rounds 3]

Each run is a process of its own; seconds are those of the job, without the start of the session. The parts of each answer are
counted and hashed in any order. The table gives medians and ratios to the best native plan. `blocks` and `files` move every line;
with `+filter` the driver decides whether to filter (`--prefilter auto`).
"""

import argparse
import glob
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NATIVE = ("default", "hash")


def one(options: argparse.Namespace) -> None:
    """Runs one plan and prints what it took."""
    sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))
    from functools import reduce

    from pyspark.sql import SparkSession

    from pyoutset.spark import Job, job, native, run

    conf = {
        "spark.driver.memory": options.heap,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.local.dir": f"{options.dir}/local",
        "spark.sql.shuffle.partitions": options.partitions,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{options.dir}/events",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.shuffle.compress": str(options.plan in NATIVE).lower(),
    }
    conf.update(option.split("=", 1) for option in options.conf)
    builder = SparkSession.builder.master(options.master)
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    out, start = f"{options.dir}/out", time.time()
    if options.plan in NATIVE:
        frames = [native.lines(spark, [path]) for path in options.sides]
        hint = (lambda frame: frame.hint("SHUFFLE_HASH")) if options.plan == "hash" else (lambda frame: frame)
        job.write(reduce(lambda left, right: left.join(hint(right), "value", "left_semi"), frames).distinct(), out)
    else:
        wanted = Job(
            "intersect",
            [[path] for path in options.sides],
            out,
            exchange=options.plan.removesuffix("+filter"),
            prefilter="auto" if options.plan.endswith("+filter") else "off",
            partitions=options.partitions,
            task_memory=options.task_memory,
            work=f"{options.dir}/work" if options.plan.startswith("files") else None,
            outset=options.outset,
            compression=options.compress,
        )
        run(spark, wanted)
    seconds = time.time() - start
    spark.stop()
    print(json.dumps({"seconds": round(seconds, 2), **shuffled(f"{options.dir}/events")}))


def shuffled(events: str) -> dict:
    """What the event log says of the shuffle and of spills."""
    written = spilled = 0
    for path in glob.glob(f"{events}/*"):
        for line in open(path):
            event = json.loads(line)
            metrics = event.get("Task Metrics") if event["Event"] == "SparkListenerTaskEnd" else None
            if metrics:
                written += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                spilled += metrics["Disk Bytes Spilled"]
    return {"shuffle_mb": round(written / 1e6), "spilled_mb": round(spilled / 1e6)}


def answer(out: str) -> tuple[int, str]:
    """Lines of all parts, and a sum that does not depend on their order."""
    count = total = 0
    for path in glob.glob(f"{out}/part-*"):
        with open(path, "rb") as part:
            for line in part:
                count += 1
                total += int.from_bytes(hashlib.blake2b(line, digest_size=8).digest(), "little")
    return count, f"{total % 2**64:016x}"


def children_peak(stop: threading.Event, found: dict) -> None:
    """The largest resident size of a child `outset`, by looking often."""
    while not stop.is_set():
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                command = open(f"/proc/{name}/cmdline", "rb").read().split(b"\0")
                if os.path.basename(command[0]) == b"outset":
                    for line in open(f"/proc/{name}/status"):
                        if line.startswith("VmHWM:"):
                            found["mb"] = max(found["mb"], int(line.split()[1]) / 1024)
            except (OSError, IndexError):
                continue
        stop.wait(0.05)


def rounds(options: argparse.Namespace) -> None:
    results: dict[str, list[dict]] = {plan: [] for plan in options.plans}
    answers = set()
    for number in range(options.rounds):
        for plan in options.plans:
            for name in ("out", "local", "events", "work"):
                shutil.rmtree(f"{options.dir}/{name}", ignore_errors=True)
            os.makedirs(f"{options.dir}/events")
            command = [options.python, __file__, *options.sides, "--one", "--plan", plan, "--dir", options.dir]
            for name in ("outset", "partitions", "heap", "task_memory", "master", "compress"):
                command += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
            for option in options.conf:
                command += ["--conf", option]
            stop, peak = threading.Event(), {"mb": 0.0}
            watch = threading.Thread(target=children_peak, args=(stop, peak))
            watch.start()
            environment = {**os.environ, "PYSPARK_PYTHON": options.python}
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            stop.set()
            watch.join()
            said = [line for line in done.stdout.splitlines() if line.startswith("{")]
            if done.returncode or not said:
                reasons = [line for line in done.stderr.splitlines() if "Error" in line or "Failed" in line or "memory" in line]
                print(f"round {number + 1} {plan:<10} FAILED: {(reasons or ['?'])[0][:200]}", flush=True)
                continue
            result = {**json.loads(said[-1]), "child_mb": round(peak["mb"])}
            count, total = answer(f"{options.dir}/out")
            answers.add((count, total))
            results[plan].append(result)
            print(f"round {number + 1} {plan:<10} {json.dumps(result)} {count} lines {total}", flush=True)
    assert len(answers) <= 1, f"the answers differ: {answers}"
    median = {plan: statistics.median(run["seconds"] for run in runs) for plan, runs in results.items() if runs}
    best = min((median[plan] for plan in NATIVE if plan in median), default=None)
    print("\n| plan | seconds, median | times as fast as the best native plan | shuffle MB | spilled MB | peak of a child, MB |")
    print("|---|---|---|---|---|---|")
    for plan, seconds in median.items():
        ratio = f"{best / seconds:.2f}" if best else "-"
        most = {key: max(run[key] for run in results[plan]) for key in ("shuffle_mb", "spilled_mb", "child_mb")}
        print(f"| {plan} | {seconds} | {ratio} | {most['shuffle_mb']} | {most['spilled_mb']} | {most['child_mb']} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("sides", nargs="+")
    add("--python", default=sys.executable)
    add("--outset", required=True)
    add("--dir", required=True)
    add("--plans", nargs="+", default=["default", "hash", "blocks", "blocks+filter", "files", "files+filter"])
    add("--rounds", type=int, default=3)
    add("--partitions", type=int, default=32)
    add("--heap", default="2g")
    add("--task-memory", default="256M")
    add("--master", default="local[2]")
    add("--compress", default="auto")
    add("--conf", action="append", default=[], help="an option of Spark for all plans")
    add("--one", action="store_true", help=argparse.SUPPRESS)
    add("--plan", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.outset, options.dir = map(os.path.abspath, (options.outset, options.dir))
    options.sides = [os.path.abspath(side) for side in options.sides]
    (one if options.one else rounds)(options)


main()
