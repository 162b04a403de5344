"""Stacks add up to the time budget, to the nanosecond, and hold no frame that would be taken for two."""

import io
import json
from pathlib import Path

import pytest

from benchmarks.generated import generate
from iowhy.exports.stacks import stacks_of, write_folded, write_speedscope
from iowhy.recordings import Recording, open_recording
from iowhy.reports import run
from tests.command_line import invoke
from tests.problems import asks
from tests.reports.conftest import Make
from tests.stacks.conftest import MODULES, file, frames, make, sample, spent, wait, with_tables
from tests.whys.made import MS, Story, pasted

__all__ = ["make"]


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    path = tmp_path_factory.mktemp("stacks") / "generated.iowhy"
    generate(path, 3_000)
    return open_recording(path)


def test_weights_are_the_time_of_all_threads_by_class(generated: Recording) -> None:
    expected = {
        row["class"]: row["thread_ns"]
        for row in run(generated, "budget").to_pylist()
        if row["thread_ns"]
    }
    found = dict.fromkeys(expected, 0)
    stacks = stacks_of(generated)
    for stack in stacks:
        found[stack.frames[1]] += stack.weight_ns
    assert sum(found.values()) == sum(expected.values())
    # Each stack is rounded to a nanosecond, and the largest has what that leaves.
    assert all(abs(found[one] - expected[one]) <= 2 * len(stacks) for one in expected)
    assert len({stack.frames for stack in stacks}) == len(stacks)


def test_a_thread_its_call_and_what_it_waits_for(tmp_path: Path) -> None:
    story = Story(seconds=1.0).caller("fsync", 10, blocked=9 * MS, reason="device_flush", cpu=MS)
    story.tables["threads"][0]["comm"] = "a;b\n\x1b[2J 1"
    recording = story.write(tmp_path / "a.iowhy")
    assert ("waiting for sync", "fsync", "device_flush") in {
        stack.frames[1:] for stack in stacks_of(recording)
    }
    folded, speedscope = io.BytesIO(), io.BytesIO()
    write_folded(stacks_of(recording), recording, folded)
    write_speedscope(stacks_of(recording), recording, speedscope)
    lines = folded.getvalue().decode().splitlines()
    assert lines and all(line.rpartition(" ")[2].isdecimal() for line in lines)
    assert {line.split(";")[0] for line in lines} == {"a,b\\x0a\\x1b[2J 1 (10)"}
    whole = json.loads(speedscope.getvalue())
    (profile,) = whole["profiles"]
    names = [frame["name"] for frame in whole["shared"]["frames"]]
    told = {
        tuple(names[at] for at in sample): weight
        for sample, weight in zip(profile["samples"], profile["weights"], strict=True)
    }
    assert told == {stack.frames: stack.weight_ns for stack in stacks_of(recording)}
    assert profile["endValue"] == sum(profile["weights"]) and profile["unit"] == "nanoseconds"


def test_without_threads_the_pieces_of_the_budget_stand_for_them(tmp_path: Path) -> None:
    rows = [{"ts_ns": 0, "dur_ns": 5 * MS, "tgid": 1, "tid": 1, "name": "read", "ret": 1}]
    recording = pasted(tmp_path / "a.iowhy", {"syscalls": rows})
    stacks = stacks_of(recording)
    assert stacks and all(stack.weight_ns > 0 for stack in stacks)


def test_the_command_writes_stacks_to_stdout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Story(seconds=0.2).thread(user=0.5).write(Path("a.iowhy"))
    done = invoke(["export", "a.iowhy", "--to", "folded", "-o", "-"])
    assert done.exception is None
    assert done.stdout == "worker10 (10);on-CPU user 100000000\nworker10 (10);idle 100000000\n"
    done = invoke(["export", "a.iowhy", "--to", "speedscope"])
    assert done.exception is None and json.loads(Path("a.speedscope.json").read_text())["profiles"]


def test_where_stacks_were_sampled_they_are_the_programs_functions(generated: Recording) -> None:
    taken = {1: ("fsync", "a;b", "main"), 2: ("fsync", None, "main")}
    rows = [
        sample(at * MS, 2 * MS, 1 + at % 2, tid=1000 + at % 5, syscall="fsync") for at in range(60)
    ]
    rec = with_tables(
        generated, {"stack_samples": rows, "user_stacks": frames(taken), "modules": MODULES}
    )
    expected = {
        row["class"]: row["thread_ns"] for row in run(rec, "budget").to_pylist() if row["thread_ns"]
    }
    stacks = stacks_of(rec)
    # The class stands behind the functions, before the call.
    found = dict.fromkeys(expected, 0)
    for stack in stacks:
        (name,) = set(stack.frames) & set(expected)
        found[name] += stack.weight_ns
    assert found == expected
    assert any(one.frames[1:4] == ("main", "a;b", "fsync") for one in stacks)
    assert any(one.frames[1:4] == ("main", "app+0x1010", "fsync") for one in stacks)
    assert any(one.frames[1] == "not sampled" for one in stacks)
    out = io.BytesIO()
    write_folded(stacks, rec, out)
    assert ";main;a,b;fsync;waiting for sync;fsync " in out.getvalue().decode()


def _sampled(make: Make) -> Recording:
    taken = {1: ("save", "commit", "main"), 2: ("save", "log", "main"), 3: ("work", "main")}
    return make(
        {
            "thread_time": [spent(0, 1000 * MS, user=200 * MS, blocked=600 * MS)],
            "waits": [wait(100 * MS, 500 * MS, "journal_commit", syscall="fsync")],
            "files": [file(2, "/data/a.db"), file(3, "/data/b.log")],
            "modules": MODULES,
            "user_stacks": frames(taken),
            "stack_samples": [
                sample(200 * MS, 200 * MS, 1),
                sample(600 * MS, 100 * MS, 2, ino=3),
                sample(50 * MS, 150 * MS, 3, "cpu"),
            ],
        }
    )


@pytest.mark.parametrize("chosen", [[], ["--file", "*.db"], ["--until", "0.4"], ["--pid", "10"]])
def test_callers_as_stacks_are_the_rows_of_the_report(make: Make, chosen: list[str]) -> None:
    recording = _sampled(make)
    asked = ["report", "callers", str(recording.path), *chosen]
    table = json.loads(invoke([*asked, "--json"]).stdout)["rows"]
    expected = {
        " ← ".join(reversed(str(row["path"]).split(" ← "))): row["time_ns"] + row["idle_ns"]
        for row in table
        if row["time_ns"] + row["idle_ns"]
    }
    found: dict[str, int] = {}
    for line in invoke([*asked, "--format", "folded"]).stdout.splitlines():
        told, _, weight = line.rpartition(" ")
        names = [one for one in told.split(";")[1:] if one in _NAMES]
        path = " ← ".join(names)
        found[path] = found.get(path, 0) + int(weight)
    assert found == expected and expected
    speedscope = json.loads(invoke([*asked, "--format", "speedscope"]).stdout)
    assert sum(speedscope["profiles"][0]["weights"]) == sum(expected.values())


_NAMES = {"save", "commit", "log", "work", "main", "not sampled", "stack not read"}


def test_only_callers_are_stacks(make: Make, tmp_path: Path) -> None:
    recording = str(_sampled(make).path)
    to = tmp_path / "a.folded"
    assert invoke(["report", "callers", recording, "-f", "folded", "-o", str(to)]).exception is None
    assert to.read_text().startswith(
        "thread (10);main;commit;save;waiting for sync;fsync 200000000"
    )
    for words, id_ in (
        (["report", "files", recording, "-f", "folded"], "format-of-stacks"),
        (["report", "-f", "speedscope"], "format-of-callers"),
        (
            ["report", "callers", recording, "-f", "folded", "--limit", "3"],
            "stacks-are-all",
        ),
        (["report", "callers", recording, "-f", "folded", "-o", str(to)], "file-exists"),
        (
            ["report", "callers", recording, "-f", "folded", "--file", "*.no"],
            "file-not-in-recording",
        ),
    ):
        asks(invoke(words).exception, id_)
