"""Where the program is that the wheel carries.

pip puts it into a directory of scripts, of which a Python may have several.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig

from .errors import ProgramError

NAME = "outset"


def candidates() -> list[str]:
    """Where it may be: beside this Python, where pip puts scripts, or with ``pip install --target``."""
    here = os.path.dirname(os.path.abspath(__file__))
    directories = [os.path.dirname(sys.executable), sysconfig.get_path("scripts")]
    user = f"{os.name}_user"
    if user in sysconfig.get_scheme_names():
        directories.append(sysconfig.get_path("scripts", user))
    directories.append(os.path.join(os.path.dirname(here), "bin"))
    return [os.path.join(directory, NAME) for directory in directories]


@functools.cache
def searched(named: str | None) -> str:
    found = next((path for path in ([named] if named else candidates()) if os.access(path, os.X_OK)), None)
    if named and not found:
        raise ProgramError(f"OUTSET: {named}: there is no such program: name another one in OUTSET")
    if not found:
        import shutil

        found = shutil.which(NAME)
    if not found:
        raise ProgramError(f"{NAME}: there is no such program: install pyoutset with pip, or name it in OUTSET")
    return os.path.abspath(found)


def program() -> str:
    """The path of the program. Raises :class:`ProgramError` if there is none."""
    return searched(os.environ.get("OUTSET"))
