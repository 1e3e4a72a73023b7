"""Set operations on lines of files larger than one server, as a Spark job.

Spark lists the work, moves blocks of lines, retries and commits; the two native steps are children of its tasks: ``outset
shard`` splits a range of a file by hash, ``outset join`` joins a bucket, exactly and within its memory limit. See
docs/clusters.md of outset, and ``python -m pyoutset.spark --help``.
"""

try:
    from .job import run
    from .request import Failed, Job
except ModuleNotFoundError as missing:
    if missing.name != "pyspark":
        raise
    message = "pyoutset.spark needs PySpark 3.5 or 4, pyarrow and pandas: install them, or pyoutset with its extra `spark`"
    raise ModuleNotFoundError(message, name=missing.name) from None

__all__ = ["Failed", "Job", "run"]
