"""The house rules that a machine can look after; what breaks one for a reason stands in house.toml."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests import house

#: What each room may import: the arrow of docs/architecture.md, from the recording to the command line.
#: `sources` make recordings, so they know how one is written; nobody but the command line and what
#: runs commands (lab, experiment, compare) knows of them.
BASE = {
    "errors",
    "free_name",
    "hung_filesystem",
    "invocation",
    "masking",
    "messages",
    "quantities",
    "sentences",
    "units",
    "tables",
    "users",
    "mounts",
    "proc_stat",
    "project_file",
    "version",
    "package_files",
    "written_files",
}
MAY_IMPORT = {
    "": {"api", "errors", "version"},
    "errors": {"package_files", "sentences"},
    "free_name": set(),
    "hung_filesystem": {"errors"},
    "masking": set(),
    "project_file": set(),
    "messages": set(),
    "quantities": BASE,
    "sentences": BASE,
    "units": BASE,
    "tables": BASE,
    "users": set(),
    "mounts": set(),
    "proc_stat": set(),
    "invocation": set(),
    "version": set(),
    "package_files": set(),
    "written_files": {"errors", "users"},
    "undo": BASE,
    "recordings": BASE,
    "sources": BASE | {"recordings"},
    "relations": BASE | {"recordings"},
    "measures": BASE | {"recordings", "relations"},
    "reports": BASE | {"recordings", "relations"},
    "charts": BASE | {"recordings", "relations"},
    "whys": BASE | {"recordings", "relations"},
    "model": BASE | {"recordings", "relations"},
    "exports": BASE | {"recordings", "relations", "reports", "whys"},
    "experiments": BASE | {"recordings", "relations", "undo", "whys"},
    "tuning": BASE | {"undo", "whys", "experiments"},
    "comparisons": BASE | {"recordings", "relations", "measures", "undo", "whys", "experiments"},
    "lab": BASE | {"recordings", "relations", "undo", "whys", "sources", "experiments"},
    "expect": BASE | {"recordings", "relations", "measures", "whys"},
    "fleet": BASE | {"recordings", "relations", "reports", "whys"},
    "watching": BASE | {"recordings", "relations", "reports", "whys"},
    "options": BASE,
    "commands": BASE | {
        "recordings", "relations", "measures", "reports", "whys", "experiments", "comparisons", "sources", "options", "expect",
        "model", "tuning",
    },
    "views": BASE | {
        "watching", "recordings", "relations", "reports", "whys", "experiments", "comparisons", "lab", "sources",
        "options", "doctor", "expect", "measures", "charts", "commands", "model", "tuning",
    },
    "doctor": BASE | {"recordings"},
    "agent": BASE | {"recordings", "sources", "relations", "whys", "commands", "views"},
    "pytest_plugin": BASE | {"recordings", "relations", "measures", "expect", "sources", "whys"},
    "cli": BASE | {
        "watching", "commands",
        "recordings", "relations", "reports", "whys", "experiments", "comparisons", "lab", "views", "sources",
        "undo", "options", "doctor", "expect", "measures", "charts", "exports", "fleet", "agent", "mcp", "model",
        "tuning",
    },
    "api": BASE | {
        "recordings", "relations", "reports", "whys", "views", "sources", "options", "expect", "measures",
        "charts", "commands", "experiments", "comparisons",
    },
    "mcp": BASE | {"recordings", "reports", "views", "comparisons", "options", "commands"},
    "__main__": {"cli"},
}  # fmt: skip

LISTED = tomllib.loads(Path(__file__).with_name("house.toml").read_text())


def unlisted_or_stale(rule: str, found: dict[str, str]) -> list[str]:
    """What breaks a rule and is not listed with a reason, and what is listed and breaks it no more."""
    listed = LISTED[rule]
    assert all(listed.values()), "each entry of house.toml has a reason"
    stale = [f"house.toml lists {key}, which breaks no rule" for key in listed if key not in found]
    return [text for key, text in found.items() if key not in listed] + stale


def test_no_analysis_is_imported_before_the_command_runs() -> None:
    asked = "import sys, iowhy.cli.run; print(*sys.modules)"
    words = [sys.executable, "-c", asked]
    done = subprocess.run(words, cwd=house.ROOT, capture_output=True, text=True, check=True)
    slow = {"duckdb", "iowhy.recordings", "iowhy.relations", "iowhy.whys", "iowhy.expect"}
    assert slow & set(done.stdout.split()) == set()


def test_plain_pytest_collects_modules_of_one_name() -> None:
    paths = [
        str(one.relative_to(house.ROOT)) for one in sorted(house.ROOT.glob("tests/*/test_top.py"))
    ]
    words = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", *paths]
    done = subprocess.run(words, cwd=house.ROOT, capture_output=True, text=True)
    assert len(paths) == 2 and done.returncode == 0, done.stdout


def test_no_file_and_no_function_is_long_without_a_reason() -> None:
    found = {
        one.key: f"{one.key} has {one.lines} lines: divide it by topic, or say why beside it (`# long: …`)"
        for one in house.long_parts()
    }
    assert unlisted_or_stale("long", found) == []


def test_imports_follow_the_arrow() -> None:
    found = {}
    for module, imported in house.imports().items():
        for other in imported:
            here, there = house.room(module), house.room(other)
            if here != there and there not in MAY_IMPORT[here]:
                key = f"{module} -> {other}"
                found[key] = f"{key}: `{here}` may not import `{there}`"
    assert unlisted_or_stale("against-the-arrow", found) == []


def test_no_circle_of_imports_has_more_than_three_files() -> None:
    circles = [one for one in house.cycles(house.imports()) if len(one) > 3]
    found = {" ".join(one): " and ".join(one) for one in circles}
    assert unlisted_or_stale("cycles", found) == []


def test_no_neighbours_have_modules_of_one_name() -> None:
    found = {name: f"{name} in {', '.join(places)}" for name, places in house.same_names().items()}
    assert unlisted_or_stale("same-names", found) == []


def test_no_public_function_is_unused() -> None:
    found = {one: f"{one} is named nowhere" for one in house.unused_functions()}
    assert unlisted_or_stale("unused", found) == []


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}, "c": {"a"}}, [["a", "b"]]),
        (
            {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"e"}, "e": {"d"}},
            [["a", "b", "c"], ["d", "e"]],
        ),
    ],
)
def test_cycles_are_found(graph: dict[str, set[str]], expected: list[list[str]]) -> None:
    assert house.cycles(graph) == expected
