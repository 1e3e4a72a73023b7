"""Sizes as the commands of outset take them: 64M, 0.5G, 64MiB, 5e9. Percentages are not among them: machines differ."""

from __future__ import annotations

import re
from decimal import Decimal

FORM = re.compile(r"(\d+\.?\d*(?:e\d+)?|\.\d+(?:e\d+)?)\s*(?:([KMGTP])(IB|B)?|B)?", re.IGNORECASE | re.ASCII)


def size(text: str) -> int:
    """The bytes of a size. Raises ``ValueError`` for what is none. K and KiB are powers of 1024, KB of 1000."""
    found = FORM.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text}: give a size such as 256M")
    number, letter, end = found.groups()
    base = 1000 if (end or "").upper() == "B" else 1024
    power = "KMGTP".index(letter.upper()) + 1 if letter else 0
    return int((Decimal(number) * base**power).to_integral_value())
