"""What a type checker says to users: it is only checked, not run. An error that is expected and missing is one, too."""

from pathlib import Path
from typing import Optional

import pyoutset

result: pyoutset.Result = pyoutset.difference("a.csv", Path("b.csv"), ["c"], on=["url", 2], order="input", memory="4G", strip_cr=True)
lines: list[str] = list(result)
data: list[bytes] = list(result.bytes())
number: int = result.lines + pyoutset.overlaps("a", "b")["11"].lines
share: float = pyoutset.estimate("a", "b").jaccard.low
needed: Optional[int] = pyoutset.MemoryLimitError("").needed_bytes
pyoutset.intersection("a", "b", at_least=2, key_of={2: "url"}, progress=lambda far: print(far.seconds_left))

pyoutset.union("a", nonsense=True)  # type: ignore[call-arg]
pyoutset.union("a", at_least=2)  # type: ignore[call-arg]
pyoutset.union("a", order="random")  # type: ignore[arg-type]
pyoutset.union("a", strip_cr="yes")  # type: ignore[arg-type]
