"""Which partition Spark moves a row to, computed here: a query that finds out takes Spark 1.5 s.

Spark's hash partitioning sends a row to ``pmod(hash(column), partitions)``, where ``hash`` is MurmurHash3 for x86, 32 bits, with
the seed 42 (Spark SQL's reference, ``hash``). Were that to change, no answer would be wrong: a join refuses blocks of another bucket.
"""

from __future__ import annotations

WORD = 0xFFFFFFFF


def spark_hash(value: int) -> int:
    """Spark's ``hash`` of an integer of 32 bits that is not negative."""
    mixed = value * 0xCC9E2D51 & WORD
    mixed = (mixed << 15 | mixed >> 17) & WORD
    h = 42 ^ (mixed * 0x1B873593 & WORD)
    h = (h << 13 | h >> 19) & WORD
    h = h * 5 + 0xE6546B64 & WORD
    h ^= 4  # the bytes of the value
    h = (h ^ h >> 16) * 0x85EBCA6B & WORD
    h = (h ^ h >> 13) * 0xC2B2AE35 & WORD
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def partition_ids(partitions: int) -> list[int]:
    """For each partition an integer that Spark moves there. About ``partitions * ln(partitions)`` are tried."""
    found: dict[int, int] = {}
    value = 0
    while len(found) < partitions:
        # Python's remainder has the sign of the divisor, as `pmod`.
        found.setdefault(spark_hash(value) % partitions, value)
        value += 1
    return [found[partition] for partition in range(partitions)]
