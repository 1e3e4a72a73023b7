"""Set operations on lines of files larger than one server, as a Spark job.

Spark lists the work, moves blocks of lines, retries and commits; the two native steps are children of its tasks: ``outset
shard`` splits a range of a file by hash, ``outset join`` joins a bucket, exactly and within its memory limit. See
docs/clusters.md of outset, and ``python -m pyoutset.spark --help``.
"""

from .job import run
from .request import Failed, Job

__all__ = ["Failed", "Job", "run"]
