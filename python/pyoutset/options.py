"""The options of the program as keyword arguments.

Each option ``--like-this`` of the program is a keyword ``like_this`` here, and ``outset COMMAND --help`` explains it. A flag takes
``True``, an option for one side takes a dictionary by the number of the side (from 1), and one that may be repeated a list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Union

from .errors import UsageError

#: A name of a field or a column, or the number of a field, from 1.
Field = Union[str, int]
#: One field, or several that must all be equal.
On = Union[Field, Sequence[Field]]
Order = Literal["any", "input", "sorted", "count"]
#: Bytes, or a size as the program takes it: ``"64M"``, ``"4GiB"``, ``"50%"``.
Size = Union[int, str]
Path = Union[str, "os.PathLike[str]"]


class LineOptions(TypedDict, total=False):
    """Options of everything that reads lines."""

    zero_terminated: bool
    strip_cr: bool
    decompress: Literal["auto", "none"]
    delimiter: str
    tsv: bool
    csv: bool
    escape: str
    comment: str
    jsonl: bool
    header: bool
    ignore_case: bool
    trim: bool
    squeeze: bool
    bad_records: Literal["fail", "skip"]
    threads: int


class SideOptions(LineOptions, total=False):
    """Options of everything that reads several sides."""

    via: str
    via_of: Mapping[int, str]
    key_of: Mapping[int, On]
    header_of: Mapping[int, bool]
    hash_key: str
    hash_key_file: Path
    temp_dir: Path | Sequence[Path]


class RunOptions(SideOptions, total=False):
    """Options of everything that has a plan."""

    max_temp: Size
    strategy: Literal["auto", "memory", "partition", "sieve", "bloom"]
    max_fpr: float | str
    buckets: int
    bits_per_key: float
    key_type: Literal["ipv4"]


class SelectionOptions(RunOptions, total=False):
    """Options of everything that selects lines."""

    which: bool
    count_files: bool
    count: bool
    min_count: int
    max_count: int
    top: int
    #: ``"first"``, ``"last"``, ``"none"``, ``"min:FIELD"`` or ``"max:FIELD"``.
    keep: str
    all: bool
    distinct: bool
    keys_only: bool
    rows: bool
    keep_order: bool


class LinesOptions(SelectionOptions, total=False):
    """Options of everything that gives lines."""

    names: Sequence[str]
    out_dir: Path
    compress: str
    out_via: str
    force: bool
    report: bool | Path


class IntersectionOptions(LinesOptions, total=False):
    """Options of :func:`pyoutset.intersection`."""

    at_least: int
    at_most: int
    exactly: int
    only: str
    repeats: bool
    filter: Path
    save_filter: Path


class DifferenceOptions(LinesOptions, total=False):
    """Options of :func:`pyoutset.difference`."""

    repeats: bool


class UnionOptions(LinesOptions, total=False):
    """Options of :func:`pyoutset.union`."""

    duplicates: Path
    duplicates_format: Literal["records", "map"]


class SymmetricDifferenceOptions(LinesOptions, total=False):
    """Options of :func:`pyoutset.symmetric_difference`."""


class OverlapsOptions(RunOptions, total=False):
    """Options of :func:`pyoutset.overlaps`."""

    force: bool
    report: bool | Path


class EstimateOptions(SideOptions, total=False):
    """Options of :func:`pyoutset.estimate`."""

    names: Sequence[str]


class CompareOptions(RunOptions, total=False):
    """Options of :func:`pyoutset.compare`."""

    list_false: Path
    list_missing: Path
    compress: str
    force: bool
    report: bool | Path


class PlanOptions(SelectionOptions, total=False):
    """Options of :func:`pyoutset.plan`."""

    at_least: int
    at_most: int
    exactly: int
    only: str
    repeats: bool
    estimate: bool
    lines: Sequence[int | float]
    line_bytes: float
    compress: str
    save_filter: Path
    filter: Path


class FilterOptions(LineOptions, total=False):
    """Options of everything that reads lines for a filter."""

    key_of: Mapping[int, On]
    header_of: Mapping[int, bool]


class BuildOptions(FilterOptions, total=False):
    """Options of :meth:`pyoutset.Filter.build`."""

    count_lines: bool
    hashes: int
    like: Path
    hash_key: str
    hash_key_file: Path


def check(given: Mapping[str, Any], known: type) -> None:
    """Raises :class:`UsageError` for an option that a function does not have."""
    unknown = [name for name in given if name not in known.__annotations__]
    if unknown:
        import difflib

        close = difflib.get_close_matches(unknown[0], known.__annotations__, 1)
        meant = f" (did you mean {close[0]}?)" if close else ""
        raise UsageError(f"{unknown[0]}: there is no such option{meant}: see help() of the function")


def words(options: Mapping[str, Any]) -> list[str]:
    """What the program is told for these options. The hash key is not among them: other users can see the arguments of a
    command."""
    found = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if value is None or value is False:
            continue
        if value is True:
            found.append(flag)
        elif isinstance(value, Mapping):
            found += [f"{flag}={number}={of_side(name, each)}" for number, each in value.items()]
        elif name == "names":
            found += [f"--name={label(each)}={number}" for number, each in enumerate(value, 1)]
        elif name == "lines":
            found.append(f"{flag}={','.join(map(str, value))}")
        elif isinstance(value, (list, tuple)):
            found += [f"{flag}={text(each)}" for each in value]
        else:
            found.append(f"{flag}={text(value)}")
    return found


def path(value: object, name: str) -> str:
    """The path of a file that is written."""
    found = os.fsdecode(value) if isinstance(value, (str, os.PathLike)) else ""
    if found in ("", "-"):
        raise UsageError(f"{name}: {value!r} is no name: name a file")
    return found


def text(value: object) -> str:
    """A value as a word. Raises :class:`UsageError` for what can be none."""
    if isinstance(value, (str, os.PathLike)):
        return os.fsdecode(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise UsageError(f"{value!r}: is no value of an option: give a text, a number or a path")


def label(name: str) -> str:
    """The name of a side in tables, charts and statistics."""
    if not isinstance(name, str) or not name or "=" in name:
        raise UsageError(f"names: {name!r} is no name of a side: give texts without =")
    return name


def of_side(name: str, value: Any) -> str:
    """The value of an option for one side."""
    if name == "key_of":
        return fields(value)
    if name == "header_of":
        return "yes" if value else "no"
    return text(value)


def fields(on: On) -> str:
    """Fields as the program takes them: numbers as they are, and names as nothing but names."""
    every: list[Any] = list(on) if isinstance(on, (list, tuple)) else [on]
    if not every:
        raise UsageError("on: has no fields: give a name or a number, or leave it out")
    return ",".join(map(field, every))


def field(one: Field) -> str:
    if isinstance(one, bool) or not isinstance(one, (str, int)):
        raise UsageError(f"on: {one!r} is no field: give a name or a number, the first field is 1")
    if isinstance(one, int):
        return str(one)
    if re.fullmatch("[0-9]+", one):
        return f"name:{one}"
    if set(one) & set(',"') or one != one.strip() or one.startswith("name:"):
        doubled = one.replace('"', '""')
        return f'"{doubled}"'
    return one


def has_header(on: On | None, options: Mapping[str, Any], number: int = 1) -> bool:
    """Tells whether the first line of the side with this number names its fields."""
    said: bool | None = dict(options.get("header_of") or {}).get(number)
    if said is not None:
        return said
    if options.get("jsonl"):
        return False
    # Without a format, names are those of columns of tables.
    has_fields = any(options.get(name) for name in ("csv", "tsv", "delimiter"))
    key: On | None = dict(options.get("key_of") or {}).get(number, on)
    return bool(options.get("header")) or (has_fields and has_names(key))


def has_names(key: On | None) -> bool:
    """Tells whether a field of a key is a name."""
    names: Iterable[Field] = () if key is None else [key] if isinstance(key, (str, int)) else key
    return any(isinstance(name, str) for name in names)
