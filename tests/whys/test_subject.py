"""Who a verdict is about, by what was typed."""

from pathlib import Path

import pytest

from iowhy.recordings.manifest import Command
from iowhy.relations import Relations
from iowhy.whys.facts.subject import subject
from tests.whys.made.story import Story


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (("/usr/bin/sqlite3", "a.db"), "sqlite3"),
        (("python3", "/srv/load.py", "--all"), "python3 load.py"),
        (("python3", "-c", "pass"), "python3"),
        (("sh", "-c", "sqlite3 a.db"), "sqlite3"),
        (("bash", "-ec", "/usr/bin/dd if=a of=b"), "dd"),
        (("sh", "-c", "exec sqlite3 a.db"), "sqlite3"),
        (("sh", "-c", "cd /srv && make"), "worker10"),
        (("sh", "-c", "A=1 make"), "worker10"),
    ],
)
def test_the_program_is_named(tmp_path: Path, argv: tuple[str, ...], named: str) -> None:
    assert _subject(tmp_path, Command(argv=argv)) == named


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (Command(mode="machine"), "the machine"),
        (Command(mode="block"), "the block"),
        (Command(mode="paste"), "the command"),
        (Command(mode="attach", groups=("--container", "web")), "container web"),
        (Command(mode="attach", groups=("--pod", "prod/db")), "pod prod/db"),
    ],
)
def test_what_is_no_program_is_called_what_it_is(
    tmp_path: Path, command: Command, named: str
) -> None:
    assert _subject(tmp_path, command) == named


@pytest.mark.parametrize(
    ("blocked", "named"), [(0.8, "reader"), (0.3, "worker10"), (0.0, "worker10")]
)
def test_of_several_programs_it_is_the_one_at_work_which_waiting_for_a_disk_is(
    tmp_path: Path, blocked: float, named: str
) -> None:
    story = Story(1.0).thread(10, user=0.5).thread(11, 11, user=0.05, blocked=blocked)
    for row in story.tables["threads"]:
        row["comm"] = "reader" if row["tid"] == 11 else "worker10"
    assert _named(tmp_path, story) == named


def test_who_computes_a_moment_is_not_what_sleeps(tmp_path: Path) -> None:
    story = Story(1.0).thread(10, user=0.02)
    assert _named(tmp_path, story) == "worker10"
    story.thread(11, 11, user=0.01)
    assert _named(tmp_path, story) == "the command"


def _named(folder: Path, story: Story) -> str:
    with Relations(story.made(folder / "made.iowhy")) as relations:
        return subject(Command(argv=("sh", "-c", "a; b")), relations)


def _subject(folder: Path, command: Command) -> str:
    story = Story(1.0).thread(10, user=0.9)
    with Relations(story.write(folder / "made.iowhy")) as relations:
        return subject(command, relations)
