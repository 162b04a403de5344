"""A cause owns all that is known of it, and is whole: one module, one test, one page."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from iowhy.experiments.levers import levers
from iowhy.whys import cause_pages, thresholds
from iowhy.whys import causes as package
from iowhy.whys.cause import Cause
from iowhy.whys.causes import causes
from iowhy.whys.next_step import next_steps
from iowhy.whys.typed import Commands

from .conftest import Judge, leads
from .made import Story

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "iowhy"
#: Names that stand for something else there: a lever is called like the cause that it makes.
LEVERS = frozenset(levers()) & {cause.name for cause in causes()}


def test_writing_the_pages_leaves_other_pages_alone(tmp_path: Path) -> None:
    folder = tmp_path / "causes"
    folder.mkdir()
    (folder / "using.md").write_text("# Mine\n")
    (folder / "gone.md").write_text(f"# gone\n\n{cause_pages.GENERATED}: …\n")
    (tmp_path / "recordings").mkdir()
    (tmp_path / "recordings" / "recordings.toml").write_text("[one]\ncause = 'not-io'\n[two]\n")
    cause_pages.write(folder)
    assert (folder / "using.md").exists() and not (folder / "gone.md").exists()
    assert "docs/recordings/one.iowhy.zip" in (folder / "not-io.md").read_text()


def test_pages_of_causes_are_current() -> None:
    folder = ROOT / "docs" / "causes"
    made = cause_pages.pages(cause_pages.recordings_in(ROOT / "docs" / "recordings"))
    assert {path.name for path in folder.glob("*.md")} == set(made)
    for name, text in made.items():
        assert (folder / name).read_text(encoding="utf-8") == text, (
            f"{name}: run python -m iowhy.whys.cause_pages"
        )


def test_every_cause_is_whole_and_tested() -> None:
    names = {cause.name for cause in causes()}
    tests = {
        path.stem[5:].replace("_", "-")
        for path in (Path(__file__).parent / "causes").glob("test_*.py")
    }
    assert tests == names
    for cause in causes():
        assert cause.remedies and cause.fooled_by and cause.thresholds and cause.meaning
        assert all(t.reason for t in cause.thresholds)
        assert set(cause.beats) <= names - {cause.name}


def strings(module: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every string that a module uses; what documents it is left out."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    documents = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documents:
            yield node.lineno, node.value


def named(text: str, names: Iterable[str]) -> list[str]:
    """Those of the names that are a text or stand in it; one that is a word of every day only where it is all of it."""
    words = set(re.findall(r"[a-z]+(?:-[a-z]+)+", text)) | {text}
    return sorted(words.intersection(names))


def test_no_other_module_names_a_cause() -> None:
    """Neither as a word nor in a sentence; but the lab, which holds the answers that are to be found."""
    names = {cause.name for cause in causes()}
    found = []
    for module in sorted(PACKAGE.rglob("*.py")):
        place = module.relative_to(PACKAGE)
        if place.parts[0] == "lab" or place.parts[:2] == ("whys", "causes"):
            continue
        own = names - LEVERS if "experiment" in str(place) else names
        found += [f"{place}:{line}: {text}" for line, text in strings(module) if named(text, own)]
    assert not found, found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("sync-storm", ["sync-storm"]),
        ("as `sync-storm` and cpu-serial do", ["cpu-serial", "sync-storm"]),
        ("not-sync-storm, sync-storms", []),
        ("healthy", ["healthy"]),
        ("a healthy disk", []),
    ],
)
def test_a_cause_is_found_in_a_sentence(text: str, found: list[str]) -> None:
    assert named(text, ("sync-storm", "cpu-serial", "healthy")) == found


def test_no_sql_and_no_script_names_a_cause() -> None:
    names = {cause.name for cause in causes()}
    for path in sorted({*PACKAGE.rglob("*.sql"), *PACKAGE.rglob("*.js")}):
        text = re.sub(r"--[^\n]*|//[^\n]*", "", path.read_text())
        quoted = re.findall(r"""'([^'\n]*)'|"([^"\n]*)\"""", text)
        assert not [one for pair in quoted for one in pair if named(one, names)], path


def test_every_cause_stands_in_a_module_of_its_name() -> None:
    for cause in causes():
        assert sys.modules[cause.find.__module__].__name__ == (
            "iowhy.whys.causes." + cause.name.replace("-", "_")
        )


MADE_UP = """
from iowhy.sentences import worded
from iowhy.whys import classes, next_command
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim, Saving
from iowhy.whys.remedy import Remedy


def find(facts: Facts) -> Candidate | None:
    return Candidate((Claim(frozenset({classes.USER})),), (), worded("made-up.is", "is made up"), Saving(1.0, ""))


CAUSE = Cause(
    "made-up", "Made up", "Nothing.", "Not.", (Threshold("x", 1, "times", "one"),), ("all",),
    (Remedy(worded("made-up.wait", "wait")),), find, explains=frozenset({classes.USER}), beats=("cpu-serial",), settled_by=next_command.SYNC,
)
"""


@pytest.fixture
def one_more(tmp_path: Path) -> Iterator[None]:
    """A cause more, by its module alone."""
    (tmp_path / "made_up.py").write_text(MADE_UP)
    places = list(package.__path__)
    package.__path__.append(str(tmp_path))
    causes.cache_clear()
    yield
    package.__path__[:] = places
    sys.modules.pop("iowhy.whys.causes.made_up", None)
    causes.cache_clear()


@pytest.mark.usefixtures("one_more")
def test_a_cause_is_added_by_its_module_alone(judged: Judge) -> None:
    leads(judged(Story(2.0).thread(user=0.9)), "made-up", 0.85)
    assert "made-up.md" in cause_pages.pages({})
    made = Commands(Path("x"), "paste")
    steps = next_steps("made-up", None, set(), set(), "Linux", (), made, pid=4711)
    assert steps[0].command.startswith("strace")


def test_every_cause_but_none_at_all_is_settled_by_a_command() -> None:
    for cause in causes():
        assert cause.settled_by or cause.only_if is not None, cause.name
        assert all(step.command and step.shows for step in cause.settled_by)


def test_a_proof_is_a_lever_and_carries_the_option_that_it_needs() -> None:
    for cause in causes():
        if cause.experiment is not None:
            lever = levers()[cause.experiment]
            assert cause.unsafe_proof == lever.unsafe, cause.name
            # It is typed without a level, which such a lever cannot do without.
            assert not lever.explicit, cause.name
    proofs = {cause.name: cause.proof for cause in causes()}
    assert proofs["sync-storm"] == "iowhy experiment sync-free --allow-unsafe -- CMD"
    assert proofs["cpu-serial"] == "iowhy experiment cpu-quota -- CMD"
    assert proofs["healthy"] is None


@pytest.mark.parametrize("cause", causes(), ids=lambda cause: cause.name)
def test_every_number_that_decides_carries_its_reason(cause: Cause) -> None:
    """As a threshold on the cause's page or among the shared ones, or in a comment above it."""
    module = sys.modules[cause.find.__module__]
    source = Path(str(module.__file__)).read_text().splitlines()
    tree = ast.parse("\n".join(source))
    listed = {threshold.value for threshold in (*cause.thresholds, *thresholds.SHARED)}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = getattr(module, node.targets[0].id)
            number = isinstance(value, (int, float))
            commented = source[node.lineno - 2].startswith("#")
            assert not number or value in listed or commented, node.targets[0].id
    for compare in (node for node in ast.walk(tree) if isinstance(node, ast.Compare)):
        for node in (one for side in compare.comparators for one in ast.walk(side)):
            if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
                # Counting, and the nanoseconds of a second.
                assert node.value in (0, 1, 2, 1e9), source[node.lineno - 1]
