"""Sizes as the command line has them: 64M, 2G."""

from __future__ import annotations

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size(text: str) -> int:
    """The bytes of a size. Raises ``ValueError`` for what is none; K, M, G and T are powers of 1024."""
    number = text.rstrip("KMGT")
    unit = text[len(number) :]
    if not number.isdecimal() or unit not in UNITS:
        raise ValueError(f"{text}: give a size such as 256M")
    return int(number) * UNITS[unit]
