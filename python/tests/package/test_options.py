"""Every option of the program is an argument here, and every argument is an option."""

import inspect
import re
import subprocess

import pytest

import pyoutset
from pyoutset import options

#: Options that are something else here, by what they are.
ELSEWHERE = {
    "output": "out", "side": "sides", "files-from": "Files", "null": "Files", "stats": "Result.stats", "key": "on",
    "count-only": "len()", "json": "the typed result", "progress": "progress", "verbose": "no use", "quiet": "no use",
    "end-with-parent": "always", "help": "help()", "operation": "operation", "machines": "the command", "tasks": "the command",
    "network": "the command", "disk": "the command", "invert": "not contains()", "print-new": "contains() before update()",
    "save": "update()", "sweep": "a loop", "name": "names", "pairs": "pairs()",
}  # fmt: skip


def program_options(outset, command):
    said = subprocess.run([outset, *command.split(), "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return set(re.findall(r"^ {2}(?:-., | {4})--([a-z-]+)", said, re.MULTILINE))


def given(function, known):
    explicit = {name for name, each in inspect.signature(function).parameters.items() if each.kind is each.KEYWORD_ONLY}
    return {name.replace("_", "-") for name in explicit | set(known.__annotations__)}


@pytest.mark.parametrize(
    ("command", "function", "known", "left_out"),
    [
        ("intersect", pyoutset.intersection, options.IntersectionOptions, set()),
        ("diff", pyoutset.difference, options.DifferenceOptions, set()),
        ("union", pyoutset.union, options.UnionOptions, set()),
        ("symdiff", pyoutset.symmetric_difference, options.SymmetricDifferenceOptions, set()),
        ("overlaps", pyoutset.overlaps, options.OverlapsOptions, {"compress", "out-via"}),
        ("overlaps", pyoutset.pairs, options.OverlapsOptions, {"compress", "out-via"}),
        ("estimate", pyoutset.estimate, options.EstimateOptions, set()),
        ("compare", pyoutset.compare, options.CompareOptions, set()),
        ("plan", pyoutset.plan, options.PlanOptions, set()),
        ("filter build", pyoutset.Filter.build, options.BuildOptions, set()),
    ],
)
def test_options_are_those_of_the_program(outset, command, function, known, left_out):
    of_program = program_options(outset, command) - set(ELSEWHERE) - left_out
    here = given(function, known) - {"out", "on", "progress", "names", "operation", "report"}
    assert here - {"temp-dir"} == of_program - {"report", "temp-dir"}


def test_values_become_words():
    words = options.words(
        {"csv": True, "header": False, "comment": None, "buckets": 4, "temp_dir": ["a", "b"], "key_of": {2: ["x", 3]}, "header_of": {1: False}}
    )
    assert words == ["--csv", "--buckets=4", "--temp-dir=a", "--temp-dir=b", "--key-of=2=x,3", "--header-of=1=no"]


def test_names_of_fields_are_nothing_else():
    assert options.fields(["url", "2021", 'last, "first"', " x", 2]) == 'url,name:2021,"last, ""first""\"," x",2'
