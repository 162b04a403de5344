"""The recordings of docs/recordings: each opens and shows the cause that it is kept for, and pages show what is printed of them."""

import os
import re
import shlex
import shutil
import zipfile
from pathlib import Path

import pytest

from iowhy.commands.overview import overview
from iowhy.recordings import open_recording
from iowhy.reports import reports
from iowhy.reports.document import pictures_in
from iowhy.reports.engine import query
from iowhy.views import verdict_page
from iowhy.whys.causes import causes
from tests.command_line import invoke
from tests.docs.pages import Screen, missing, printed, renewed, rewrite, screens
from tests.docs.recordings import FOLDER, OWN, SERVICE, kept
from tests.docs.report_pictures import WITHOUT
from tests.one_screen import fits
from tests.whys import advice

TUTORIALS = sorted((FOLDER.parent / "tutorials").glob("*.md"))
#: Of these the tutorial of continuous integration speaks by other names.
ALSO_CALLED = {"batched": "main", "one-row": "branch"}
#: All together: they are fetched with the repository.
MOST_BYTES = 12 << 20


@pytest.mark.parametrize("one", kept(), ids=lambda one: one.name)
def test_each_shows_what_it_is_kept_for_and_what_is_printed_can_be_typed(
    one, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    """The lab's recordings: each command is one that the command line takes; what reads the recording is run."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(one.path, f"{one.name}.zip")
    found = overview(open_recording(Path(f"{one.name}.zip")))
    monkeypatch.setattr("iowhy.commands.overview.overview", lambda *_, **__: found)
    verdict = found.verdict
    assert found.recording.manifest.complete
    assert one.cause is None or verdict.findings[0].cause == one.cause
    advice.holds(verdict)
    page = invoke(["why", "--all", f"{one.name}.zip"], env={"COLUMNS": "1000"})
    assert page.exception is None and page.exit_code == 0
    fits(lambda out: verdict_page.show(found, out))
    printed = {*advice.commands_of(verdict), *_READS.findall(page.output)}
    for command in sorted(printed):
        words = shlex.split(command)
        if words[:2] != ["iowhy", "report"]:
            continue
        done = invoke(words[1:])
        assert done.exception is None and done.exit_code == 0, (command, done.output)


#: Beside what findings say: `Devices  iowhy report devices x.zip`.
_READS = re.compile(r"(?:^|[\s`])(iowhy report [a-z-]+(?: \S+\.zip)?)(?=`|$)", re.MULTILINE)


#: Only logs of Darshan show them, which are of somebody's jobs; `tests/whys/made/jobs.py` makes such.
_OF_JOBS = {
    "io-not-overlapped",
    "metadata-storm",
    "mpi-io-exchange",
    "ranks-uneven",
    "read-again",
    "stripes-few",
}


def test_every_cause_has_one() -> None:
    shown = [one.cause for one in kept() if one.cause]
    assert len(shown) == len(set(shown)), "a cause has one recording"
    assert set(shown) == {cause.name for cause in causes()} - _OF_JOBS


def test_they_are_small_and_none_is_left_over() -> None:
    files = list(FOLDER.glob("*.zip"))
    assert {one.path for one in kept()} == set(files)
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES


#: What every machine has, and the scratch disks of the lab.
_EVERYWHERE = ("/", "/dev", "/proc", "/sys", "/run", "/tmp", "/boot")
_OUR_OWN = ("/dev/", "/sys/", "/run/", "/var/tmp/iowhy-lab-")
#: What guests mount (tests/kernels).
_GUESTS = ("/nfs", "/srv", "/mnt", "/out", "/proc/fs/nfsd")


@pytest.mark.parametrize("one", kept(), ids=lambda one: one.name)
def test_none_tells_of_the_machine_that_it_was_made_on(one) -> None:  # type: ignore[no-untyped-def]
    recording = open_recording(one.path)
    mounts = query(recording, "SELECT mount FROM filesystems").to_pylist()
    foreign = [row["mount"] for row in mounts if not row["mount"].startswith(_OUR_OWN)]
    assert set(foreign) <= {*_EVERYWHERE, *_GUESTS}
    counted = query(
        recording, "SELECT path FROM agent_latencies UNION SELECT path FROM agent_counts"
    )
    services = {row["path"] for row in counted.to_pylist()}
    assert services <= {None, "/", f"/{OWN}", f"/{SERVICE}"}


def test_each_report_has_a_picture() -> None:
    assert pictures_in(FOLDER.parent) == set(reports()) - WITHOUT, "make pictures"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all of them, by the names that the tutorials use."""
    folder = tmp_path_factory.mktemp("tutorials")
    for one in kept():
        with zipfile.ZipFile(one.path) as packed:
            packed.extractall(folder)
        if one.name in ALSO_CALLED:
            (folder / f"{ALSO_CALLED[one.name]}.iowhy").symlink_to(folder / f"{one.name}.iowhy")
    return folder


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_shows_what_is_printed(
    page: Path, opened: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(opened)
    monkeypatch.setattr("iowhy.whys.typed.as_root", lambda: "sudo iowhy")
    assert screens(page)
    for screen in screens(page):
        lines = printed(shlex.split(screen.typed)[1:])
        if os.environ.get("UPDATE_SNAPSHOTS") and missing(screen, lines):
            rewrite(page, screen, lines)
        else:
            assert missing(screen, lines) == [], f"{screen.typed}: `make snapshots` if it is meant"


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_what_a_tutorial_says_to_type_works(
    page: Path, opened: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What only reads recordings, and has no screen, which is typed above; what records is typed as root, and the live tests do that."""
    monkeypatch.chdir(opened)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    names = {path.name for path in opened.iterdir()}
    shown = {screen.typed for screen in screens(page)}
    typed = [
        words
        for line in re.findall(r"^    (iowhy [^\n]*)$", page.read_text(), re.MULTILINE)
        for words in [shlex.split(line)]
        if names & set(words) and line not in shown
    ]
    for words in typed:
        done = invoke(words[1:])
        assert done.exception is None, (words, done.exception)
        # A comparison that is asked to fail on what grew ends with 1.
        assert done.exit_code == (1 if "--fail-on" in words else 0), (words, done.output)


@pytest.mark.parametrize(
    ("shown", "lacks"),
    [
        (("a", "b", "c"), []),
        (("a", "…"), []),
        (("…", "c"), []),
        (("a", "…", "c"), []),
        (("…", "b", "…"), []),
        (("b", "…"), ["b"]),
        (("a", "c"), ["a", "c"]),
        (("a", "b"), ["a", "b", "(more is printed, and no … says so)"]),
        (("…", "c", "…", "b", "…"), ["b"]),
    ],
)
def test_what_is_not_printed_is_found(shown: tuple[str, ...], lacks: list[str]) -> None:
    assert missing(Screen("iowhy why x", shown), ["a", "b", "c"]) == lacks


def test_a_screen_is_renewed_part_by_part() -> None:
    screen = Screen("iowhy why x", ("old 1", "…", "Devices old", "row", "…"))
    lines = ["new 1", "new 2", "Files", "Devices new", "row new", "end"]
    assert renewed(screen, lines) == ["new 1", "…", "Devices new", "row new", "…"]
    assert renewed(Screen("iowhy why x", ("one",)), ["a", "b"]) == ["a", "b"]
