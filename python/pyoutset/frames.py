"""Lines in a frame of LZ4, of which the program notices the end.

A pipe also ends when who writes to it is killed: the program would take a part of the lines for all. In a frame, it finds that the
end mark is missing. The blocks are stored, not compressed. A frame also keeps lines that begin like a compressed file from being
decoded.

*Sources:* the LZ4 frame format 1.6.4.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from typing import Union

#: First bytes of gzip, bzip2, xz, zstd and lz4, the last two also behind a frame that decoders skip.
COMPRESSED = re.compile(
    rb"\x1f\x8b|BZh[1-9](?:1AY&SY|\x17rE8P\x90)|\xfd7zXZ\x00"
    rb"|\x28\xb5\x2f\xfd|\x04\x22\x4d\x18|\x02\x21\x4c\x18|[\x50-\x5f]\x2a\x4d\x18"
)
FIRST_BYTES = 10

Piece = Union[bytes, memoryview]

#: Magic number; version 1 with independent blocks; blocks of at most 64 KiB; the check of these two bytes. Larger blocks are no
#: faster, and the program has memory for two.
START = b"\x04\x22\x4d\x18\x60\x40\x82"
BLOCK_BYTES = 64 << 10
#: Of the size of a block: it is stored.
STORED = 1 << 31
END = b"\0\0\0\0"


def is_compressed(first: bytes) -> bool:
    """Tells whether a file that begins so is compressed."""
    return COMPRESSED.match(first) is not None


def framed(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """A frame of these pieces. Where they fail, the end mark is missing."""
    yield START
    for piece in pieces:
        view = memoryview(piece).cast("B")
        for start in range(0, len(view), BLOCK_BYTES):
            block = view[start : start + BLOCK_BYTES]
            yield struct.pack("<I", len(block) | STORED)
            yield block
    yield END
