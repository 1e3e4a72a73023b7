"""The command: ``python -m pyoutset intersect a b`` is ``outset intersect a b``."""

from __future__ import annotations

import os
import sys

from .errors import ProgramError
from .program import program


def main() -> int:
    """Becomes the program; returns a status only where there is none."""
    try:
        path = program()
        os.execv(path, [path, *sys.argv[1:]])
    except (ProgramError, OSError) as failure:
        print(f"pyoutset: {failure}", file=sys.stderr)
    return 127


if __name__ == "__main__":
    sys.exit(main())
