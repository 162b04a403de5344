"""Advice works as typed: every command that a verdict names is one that the command line takes."""

import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from iowhy import invocation
from iowhy.cli import experiment
from iowhy.commands.experiment import split
from iowhy.commands.overview import overview
from iowhy.options.parser import parse
from iowhy.recordings.manifest import Host, Manifest, Sensor
from iowhy.recordings.writer import write_recording
from iowhy.tables import sensors
from iowhy.whys.next_step import next_steps
from iowhy.whys.verdict import Verdict, judge
from tests.command_line import invoke

from .conftest import fixes_of
from .made import FILE, FS, GIB, KIB, MS, PAGE, START, Story

_QUOTED = re.compile(r"`([^`]+)`")
_PLAIN = re.compile(r"(?:[Pp]rove it:?|after a change:) (.*)$|  (iowhy report \S.*)$", re.MULTILINE)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("iowhy.whys.typed.as_root", lambda: "sudo iowhy")
    return tmp_path


def recorded(story: Story, name: str, **more: object) -> Verdict:
    """The verdict of a story that was recorded here, of a command unless another mode is given."""
    story.write(Path("thrown away"))
    ran = [Sensor(name, True, None) for name in sensors()]
    given: dict[str, object] = {
        "argv": ["./load rows", "it's"], "start_ns": START, "end_ns": START + story.elapsed, "sensors": ran,
        "host": Host(cpus=story.cpus, memory_bytes=8 * GIB, page_bytes=PAGE), **more,
    }  # fmt: skip
    cwd, groups = str(given.pop("cwd", Path.cwd())), given.pop("groups", ())
    manifest = Manifest.made(**given)  # type: ignore[arg-type]
    command = replace(manifest.command, cwd=cwd, groups=groups)  # type: ignore[arg-type]
    manifest = replace(manifest, command=command)
    return judge(write_recording(Path(name), manifest, story.tables))


def syncing() -> Story:
    story = Story(4.0, cpus=2)
    story.caller("fsync", 200, blocked=9 * MS, reason="device_flush", bytes_=None)
    return story.requests(200, op="write", bytes_=4 * KIB).flushes(200, 4 * MS)


def idle() -> Story:
    return Story(4.0).caller("ppoll", 4, sleeping=900 * MS, bytes_=None, ino=None, io=False, cpu=1)


def asked(verdict: Verdict, made: Path) -> list[str]:
    """Every command on the page of a verdict, as one types it."""
    from iowhy.recordings import open_recording

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        done = invoke(["why", str(made), "--all"])
    assert done.exit_code == 0, done.exception
    plain = [first or second for first, second in _PLAIN.findall(done.stdout)]
    page = " ".join(line.strip() for line in done.stdout.splitlines())
    # What a remedy types for other programs is theirs.
    ours = [one for one in _QUOTED.findall(page) if "iowhy" in one.split()[:4]]
    words = [*ours, *plain]
    assert overview(open_recording(made)).verdict.answer == verdict.answer
    return words


def taken(command: str) -> None:
    """Asserts that the command line takes it; what reads a recording that is here is run."""
    words = shlex.split(command)
    words = words[3:] if words[0] == "cd" else words
    words = words[1:] if words[0] == "sudo" else words
    assert words[0] == "iowhy" and not {"CMD", "PID", "NAME", "FILE", "REC"} & set(words), command
    module = importlib.import_module(f"iowhy.cli.{words[1].replace('-', '_')}")
    ours = experiment.is_ours if words[1] == "experiment" else lambda _: False
    options = parse(module.Options, words[2:], ours)
    if words[1] == "experiment":
        levers, argv = split(options.words)
        assert levers and argv[0] in ("./load rows", "/bin/true")
    if words[1] in ("report", "why") and "--list" not in words:
        assert invoke(words[1:]).exit_code == 0, command


@pytest.mark.parametrize(
    ("story", "more", "expected"),
    [
        (syncing, {}, "sudo iowhy experiment sync-free --allow-unsafe --data-directory /data --recording 'a b.iowhy' -- './load rows' 'it'\"'\"'s'"),
        (syncing, {"cwd": "/srv"}, "cd /srv && sudo iowhy experiment"),
        (idle, {}, "iowhy report files 'a b.iowhy'"),
        (syncing, {"mode": "attach", "argv": []}, "sudo iowhy run -o 'a b-after.iowhy' -p 10 --duration 10s"),
        (syncing, {"mode": "machine", "argv": []}, "sudo iowhy run -o 'a b-after.iowhy' -a --duration 10s"),
        (lambda: Story(0.04).thread(user=0.9), {}, "sudo iowhy run -- sh -c"),
        (lambda: Story(0.04).thread(user=0.9), {"mode": "machine", "argv": []}, "sudo iowhy run -a --duration 10s"),
    ],
)  # fmt: skip
def test_every_command_on_the_page_is_taken(
    story: object, more: dict[str, object], expected: str
) -> None:
    verdict = recorded(story(), "a b.iowhy", **more)  # type: ignore[operator]
    words = asked(verdict, Path("a b.iowhy"))
    assert any(one.startswith(expected) for one in words), words
    for command in words:
        taken(command)
    if more.get("mode") in ("attach", "machine"):
        assert not any("experiment" in one for one in words)


@pytest.mark.parametrize(
    ("groups", "again", "who"),
    [
        (("--container", "web 1"), "--container 'web 1' --duration 10s", "Container web 1"),
        (("--pod", "a/b", "--pod", "c"), "--pod a/b --pod c --duration 10s", "Pod a/b"),
        ((), "-p 10 --duration 10s", "worker10 (10)"),
    ],
)
def test_control_groups_are_recorded_again_by_what_they_were_named(
    groups: tuple[str, ...], again: str, who: str
) -> None:
    verdict = recorded(idle(), "x.iowhy", mode="attach", argv=[], groups=groups)
    commands = verdict.commands.compare_again()
    assert commands is not None and commands[0].endswith(f"-o x-after.iowhy {again}")
    taken(commands[0])
    assert f"{who.lower()} took " in verdict.headline.lower()


def test_what_it_read_on_standard_input_is_given_again() -> None:
    story = syncing()
    story.file(77, str(Path.cwd() / "load.sql"), 64 * KIB)
    story.add("syscalls", ts_ns=START, dur_ns=1000, cpu_ns=1000, tgid=10, tid=10, name="read", fd=0,
              dev=FS, ino=77, offset=0, bytes=4096)  # fmt: skip
    verdict = recorded(story, "x.iowhy", argv=["sqlite3", "a.db"])
    assert verdict.findings[0].proof is not None
    assert "--input load.sql --recording x.iowhy -- sqlite3 a.db" in verdict.findings[0].proof
    assert verdict.commands.record_again() == "sudo iowhy run -- sqlite3 a.db < load.sql"
    # A file that it opened itself is none that it was given.
    assert FILE != 77


@pytest.mark.parametrize(
    ("paths", "cwd", "expected"),
    [
        (["load.db"], None, ""),
        (["/data/a/x", "/data/a/y/z"], None, " --data-directory /data/a"),
        (["/data/a/x", "/srv/y"], None, None),  # a copy of everything
        (["/usr/lib/x.so"], None, ""),  # every program's
        (["/root/one"], "/root", None),
        (["/root/project/one"], "/root", " --data-directory /root/project"),
    ],
)
def test_an_experiment_is_about_where_the_data_lie(
    paths: list[str], cwd: str | None, expected: str | None
) -> None:
    story = Story(4.0, cpus=2)
    story.caller("fsync", 200, blocked=9 * MS, reason="device_flush", bytes_=None)
    story.flushes(200, 4 * MS)
    for ino, path in enumerate(paths, 300):
        story.file(ino, str(Path.cwd() / path), 64 * KIB)
        story.requests(100, op="write", bytes_=4 * KIB, ino=ino)
    verdict = recorded(story, "x.iowhy", **({} if cwd is None else {"cwd": cwd}))
    proof = verdict.findings[0].proof
    if expected is None:
        assert proof is None
        return
    assert proof is not None
    (given,) = re.findall(r"--allow-unsafe(.*?) --recording ", proof)
    assert given == expected
    taken(proof)


def test_names_are_proven_on_a_machine_without_them_in_memory() -> None:
    """Dropping the pages of files leaves names and inodes where they are: such a trial shows nothing."""
    made = recorded(syncing(), "x.iowhy").commands
    typed = made.prove("cache-warm", unsafe=False, cache="cold-machine")
    assert typed is not None and " --cache cold-machine " in typed
    taken(typed)
    everywhere = replace(made, directory=Path("/root"), data=None)
    assert everywhere.prove("cache-warm", unsafe=False, cache="cold-machine") is None
    assert everywhere.prove("cache-warm", unsafe=False) is not None


@pytest.mark.parametrize(
    ("word", "provable"),
    [
        ("of=/var/tmp/iowhy-lab-0123456789ab/fs0/x", False),
        ("/sys/fs/cgroup/cpu/iowhy-123-cpu-0a1b2c/cgroup.procs", False),
        ("/var/tmp/iowhy-lab-notes", True),
    ],
)
def test_what_the_lab_prepared_is_gone_and_nothing_is_proven_on_it(
    word: str, provable: bool
) -> None:
    verdict = recorded(syncing(), "x.iowhy", argv=["./load rows", word])
    assert (verdict.findings[0].proof is not None) is provable


def test_a_paste_is_settled_by_recording_what_can_be_named() -> None:
    verdict = judge(
        write_recording(Path("p.iowhy"), Manifest.made(source="diagnose", mode="paste"), {})
    )
    (*_, last) = next_steps(None, None, set(), set(), "Linux", (), verdict.commands)
    assert last.command == "sudo iowhy run -a --duration 30s"
    taken(last.command)
    steps = next_steps("sync-storm", None, set(), set(), "Linux", (), verdict.commands, pid=4711)
    assert steps[0].command.endswith("-p 4711")


def test_sudo_gets_a_path_that_it_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(
        "shutil.which", lambda name, path=None: None if path else f"/usr/bin/{name}"
    )
    monkeypatch.setattr("sys.prefix", sys.base_prefix)
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "my venv"))
    assert invocation.as_root() == "sudo iowhy"
    (tmp_path / "my venv").mkdir()
    (tmp_path / "my venv/iowhy").touch()
    assert invocation.as_root() == f"sudo '{tmp_path}/my venv/iowhy'"
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert invocation.as_root() == "iowhy"


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=())), max_size=8))
def test_a_shell_takes_words_as_they_were(words: list[str]) -> None:
    # Bytes that are no text are what surrogates stand for; others cannot be arguments.
    words = [word.encode("utf-8", "replace").decode() for word in words] + [os.fsdecode(b"\xff\n1")]
    line = invocation.joined(words)
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)
    assert done.stdout == b"".join(os.fsencode(word) + b"\0" for word in words)


def test_what_it_opened_itself_was_not_given_to_it() -> None:
    """dd if=FILE makes the file its standard input."""
    story = syncing()
    story.file(77, str(Path.cwd() / "load.sql"), 64 * KIB)
    for at, name in enumerate(("openat", "read")):
        story.add("syscalls", ts_ns=START + at, dur_ns=1, cpu_ns=1, tgid=10, tid=10, name=name, fd=0, dev=FS,
                  ino=77, offset=0, bytes=4096)  # fmt: skip
    verdict = recorded(story, "x.iowhy", argv=["dd", "if=load.sql"])
    assert verdict.commands.record_again() == "sudo iowhy run -- dd if=load.sql"


@pytest.mark.parametrize(("deleted", "again"), [(True, False), (False, True), (None, True)])
def test_what_takes_its_input_away_is_not_run_again(deleted: bool | None, again: bool) -> None:
    """mv to another filesystem."""
    story = Story(4.0).caller("copy_file_range", 400, blocked=9 * MS, bytes_=4 * KIB, ino=77)
    story.add("files", dev=FS, ino=77, path="/data/old", kind="file", deleted=deleted)
    story.cache(lookups=400, misses=400).requests(400, bytes_=4 * KIB, service=2 * MS)
    verdict = recorded(story, "x.iowhy", argv=["mv", "/data/old", "/mnt/new"])
    found = next(one for one in verdict.findings if one.cause == "cache-cold")
    assert ("shared.warm-cache" in fixes_of(found)) is again
    assert (found.proof is not None) is again
