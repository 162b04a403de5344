"""What a verdict prints is typed by a test, or stands on the list of what none can type (every verdict of a test is held to that: advice.py)."""

import re
from pathlib import Path

import pytest

from iowhy.experiments.levers import levers
from iowhy.whys import causes as modules
from iowhy.whys.causes import causes

from .typed_advice import NOT_TYPED, TYPED, kind

ROOT = Path(__file__).parents[2]
_LEVER = re.compile(r'experiment=[^,]*"([a-z-]+)"')


def test_each_lever_that_a_cause_prints_is_on_one_list() -> None:
    printed = set()
    for cause in causes():
        allow = " --allow-unsafe" if cause.unsafe_proof else ""
        cache = f" --cache {cause.proof_cache}" if cause.proof_cache else ""
        printed |= {f"experiment {cause.experiment}{allow}{cache}"} if cause.experiment else set()
    # Those that one finding prints in the place of its cause's.
    (folder,) = modules.__path__
    own = {name for path in Path(folder).glob("*.py") for name in _LEVER.findall(path.read_text())}
    printed |= {f"experiment {name}" for name in own - {word.split()[1] for word in printed}}
    listed = {one for one in (*TYPED, *NOT_TYPED) if one.startswith("experiment ")}
    assert printed == listed
    assert {one.split()[1] for one in listed} <= set(levers())
    assert not set(TYPED) & set(NOT_TYPED)


@pytest.mark.parametrize(("path", "words"), TYPED.values(), ids=TYPED)
def test_the_test_that_types_it_is_there(path: str, words: str) -> None:
    assert words in (ROOT / path).read_text()


def test_a_reason_names_tests_that_are_there() -> None:
    for reason in NOT_TYPED.values():
        for path in re.findall(r"tests/[a-z_/]+(?:\.py)?", reason):
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize(
    ("line", "of"),
    [
        ("experiment sync-free --allow-unsafe --data-directory /d --recording r -- dd", "experiment sync-free --allow-unsafe"),
        ("experiment cache-warm --cache cold-machine --recording r -- sh -c --cache", "experiment cache-warm --cache cold-machine"),
        ("run -o x.iowhy -p 12 --duration 10s", "run -p"),
        ("run -a --duration 10s", "run -a"),
        ("run -- ls -a", "run"),
        ("report files x.iowhy", "report"),
    ],
)  # fmt: skip
def test_what_decides_the_kind(line: str, of: str) -> None:
    assert kind(line.split()) == of
