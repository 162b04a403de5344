"""`iowhy run` in CI: the command runs whatever is missing, JUnit is written, and no folder is left where all holds."""

import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from iowhy.cli import run
from iowhy.commands.record import Planned
from iowhy.errors import Problem
from iowhy.recordings import open_recording
from tests.command_line import Done, invoke

from .test_expectations import syncing

SECRET = "hunter2andmore"


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What was recorded: a command of three syncs that ends as its last word says."""
    recorded: list[Path] = []

    def record(plan: Planned) -> int:
        argv, out = plan.request.argv, plan.out
        recorded.append(out)
        if argv[0] == "missing":
            raise SystemExit(127)
        path = syncing(3).write(out).path / "manifest.json"
        if argv[0] == "damaged":
            next(out.glob("syscalls/*")).write_bytes(b"PAR1 no more")
        status = int(argv[-1])
        manifest = json.loads(path.read_text())
        manifest["command"] |= {"argv": list(argv), "exit_status": status}
        path.write_text(json.dumps(manifest))
        return status

    monkeypatch.chdir(tmp_path)
    for variable in ("GITHUB_ACTIONS", "SUDO_USER"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(run, "record", record)
    return recorded


def iowhy(*words: str, command: Sequence[str] = ("load", "0"), env: dict[str, str] | None = None) -> Done:  # fmt: skip
    return invoke(["run", "-q", *words, "--", *command], env=env)


def cases(path: str = "io.xml") -> dict[str, list[str]]:
    """The kinds of elements in each test case, by its name."""
    suite = ElementTree.parse(path).getroot()[0]
    found = {str(case.get("name")): [one.tag for one in case] for case in suite}
    assert int(suite.get("errors", "")) == sum("error" in kinds for kinds in found.values())
    return found


@pytest.mark.parametrize("text", [None, "no JSON"])
@pytest.mark.parametrize(("status", "code"), [("0", 2), ("7", 7)])
def test_a_baseline_that_cannot_be_read_does_not_keep_the_command_from_running(
    ran: list[Path], text: str | None, status: str, code: int
) -> None:
    if text is not None:
        Path("io.json").write_text(text)
    words = ("--baseline", "io.json", "--junit", "io.xml", "--expect", "sync_calls <= 3")
    done = iowhy(*words, command=("load", status))
    assert (len(ran), done.exit_code) == (1, code) and done.exception is None
    assert cases() == {"sync_calls <= 3": [], "judged": ["error"]}


@pytest.mark.parametrize(("command", "code"), [("missing", 127), ("damaged", 9)])
def test_junit_is_written_where_nothing_could_be_judged(
    ran: list[Path], command: str, code: int
) -> None:
    done = iowhy("--junit", "io.xml", "--expect", "sync_calls <= 3", command=(command, "9"))
    assert (len(ran), done.exit_code) == (1, code)
    assert cases() == {"judged": ["error"]}


def test_what_is_typed_wrongly_ends_before_the_command_runs(ran: list[Path]) -> None:
    assert isinstance(iowhy("--expect", "sync_call <= 3").exception, Problem)
    assert not ran


def test_a_run_that_was_only_held_against_something_leaves_nothing_if_all_holds(
    ran: list[Path],
) -> None:
    holds, breaks = ("--expect", "sync_calls <= 3"), ("--expect", "sync_calls <= 2")
    kept = [
        (holds, ("load", "0"), False),
        (("--baseline", "io.json", "--update"), ("load", "0"), False),
        (("--baseline", "io.json"), ("load", "0"), False),
        (breaks, ("load", "0"), True),
        (holds, ("load", "7"), True),
        ((), ("load", "0"), True),
        ((*holds, "-o", "mine.iowhy"), ("load", "0"), True),
    ]
    for words, command, stays in kept:
        assert iowhy(*words, command=command).exception is None
        assert ran[-1].exists() == stays, words


def test_secrets_of_the_command_reach_neither_junit_nor_the_summary_nor_the_baseline(
    ran: list[Path],
) -> None:
    command = ("load", f"--password={SECRET}", "--token", SECRET, "0")
    env = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "summary.md"}
    words = ("--expect", "sync_calls <= 2", "--baseline", "b.json", "--update", "--junit")
    for name, more in (("io.xml", ()), ("kept.xml", ("--keep-secrets",))):
        done = iowhy(*words, name, *more, command=command, env=env)
        assert done.exit_code == 3
        texts = [done.output, *(Path(one).read_text() for one in (name, "summary.md", "b.json"))]
        assert [SECRET in text for text in texts[1:]] == [bool(more)] * 3
    assert SECRET in json.dumps(open_recording(ran[-1]).manifest.command.argv)
