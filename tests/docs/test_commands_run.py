"""What pages say to type of a recording is run, of recordings of docs/recordings: those of tutorials and causes have tests of their own.

What records, experiments or stages a scenario is typed as root on a machine of its own, and is for the live tests.
"""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.test_documented_commands import PAGES, ROOT, calls
from tests.command_line import invoke
from tests.docs.recordings import FOLDER

#: Commands that only read what was recorded. (`symbolize` needs user stacks, and has tests with them.)
READING = {"why", "report", "sql", "html", "export", "check", "pack", "compare"}
_RECORDING = re.compile(r"\S+\.iowhy|REC|RECORDING|BEFORE|AFTER|[\w-]+/")
#: What the reader puts in its place: a report; a process and a container that his recording has, which ours has not.
_OWN = {"NAME": "files"}
_NOT_OURS = {"--pid", "--container"}
_OTHERS = ("docs/tutorials", "docs/causes")


def typed() -> list[tuple[str, ...]]:
    """Each call once, however its recordings are named."""
    pages = [page for page in PAGES if not str(page.relative_to(ROOT)).startswith(_OTHERS)]
    found = dict.fromkeys(tuple(words) for page in pages for words in calls(page))
    once: dict[tuple[str, ...], tuple[str, ...]] = {}
    for words in found:
        read = words[0] in READING and not {"--", "--vs"} & set(words)
        if read and any(_RECORDING.fullmatch(word) for word in words[1:]):
            once.setdefault(tuple(_RECORDING.sub("R", word) for word in words), words)
    return list(once.values())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("typed")


def test_there_are_many() -> None:
    assert len(typed()) > 20


@pytest.mark.parametrize("words", typed(), ids=shlex.join)
def test_what_a_page_says_to_type_of_a_recording_works(
    words: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    line = [_OWN.get(word, word) if at == 1 else word for at, word in enumerate(words)]
    kept = iter(("one-row", "batched", "free", "in-order"))
    for word in (word for word in line[1:] if _RECORDING.fullmatch(word)):
        place(folder / word, next(kept))
    for word in (word for word in line if word.endswith(".iowhy.zip")):
        shutil.copy(FOLDER / "one-row.iowhy.zip", folder / word)
    at = next((line.index(word) for word in _NOT_OURS if word in line), None)
    if at is not None:
        del line[at : at + 2]
    if line[0] in ("html", "export", "pack"):
        line.append("--force")
    done = invoke(line)
    assert done.exception is None, done.exception
    # A comparison that is asked to fail on what grew may end with 1.
    fails = any(word.startswith("--fail-on") for word in line)
    assert done.exit_code in ((0, 1) if fails else (0,)), done.output


def place(at: Path, name: str) -> None:
    """Puts a recording there, or a directory of three."""
    if at.exists():
        return
    if at.suffix or at.name.isupper():
        shutil.unpack_archive(FOLDER / f"{name}.iowhy.zip", at.parent / f"{at.name}-unpacked")
        (at.parent / f"{at.name}-unpacked" / f"{name}.iowhy").rename(at)
    else:
        at.mkdir()
        for number in range(3):
            shutil.copy(FOLDER / f"{name}.iowhy.zip", at / f"{number}.iowhy.zip")
