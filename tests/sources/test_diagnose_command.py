"""`iowhy diagnose` on the command line, up to the verdicts of the cases."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from iowhy.errors import Problem
from iowhy.whys import classes
from iowhy.whys.causes import causes
from iowhy.whys.next_step import next_steps
from iowhy.whys.typed import Commands
from tests.command_line import invoke
from tests.numbers_told import tells

from .reading import FIXTURES


def verdict(folder: Path, *arguments: str) -> dict[str, Any]:
    found = invoke(["diagnose", "--json", "-o", str(folder / "out.iowhy"), *arguments])
    assert found.exception is None, found.exception
    loaded: dict[str, Any] = json.loads(found.stdout)
    return loaded


def files(pattern: str) -> list[str]:
    found = sorted(str(path) for path in FIXTURES.glob(pattern))
    assert found
    return found


def said(found: dict[str, Any]) -> str:
    return " ".join(link["sentence"] for link in found["findings"][0]["chain"])


def test_case_4_is_cache_thrash_with_the_size_that_fits(tmp_path: Path) -> None:
    found = verdict(tmp_path, *files("pagecache-large.*"))
    assert found["findings"][0]["cause"] == "cache-thrash"
    # 48,643 MiB of page cache are 47.5 GiB.
    assert "47.5 GiB" in said(found) + found["answer"]
    causes = [finding["cause"] for finding in found["findings"]]
    assert "device-slow" not in causes, "a loaded device is not an odd one"
    assert found["next"][-1]["command"].endswith("iowhy run -a --duration 30s")
    assert found["not_understood"] == []
    assert {part["format"] for part in found["inputs"]} >= {"iostat", "cachestat", "bitesize"}


def test_case_4_small_files_are_cpu_not_io(tmp_path: Path) -> None:
    found = verdict(tmp_path, *files("pagecache-small.*"))
    assert found["findings"][0]["cause"].startswith("cpu-")
    assert all(not f["cause"].startswith(("cache", "device")) for f in found["findings"])


def test_a_recording_is_named_like_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = Path(files("build-j1*")[0]).read_text()
    for name in ("run-1.2.txt", "run-1.3.txt"):
        Path(name).write_text(text)
        assert invoke(["diagnose", name]).exception is None
    assert Path("run-1.2.iowhy").is_dir()
    assert Path("run-1.3.iowhy").is_dir()


def test_case_2_one_cpu_of_two(tmp_path: Path) -> None:
    found = verdict(tmp_path, *files("build-j1*"))
    assert found["findings"][0]["cause"] == "cpu-serial"
    assert re.search(r"1\.0 of 2 CPUs", said(found))


def test_case_2_with_two_jobs_the_disk_is_the_limit(tmp_path: Path) -> None:
    found = verdict(tmp_path, *files("build-j2*"))
    assert found["findings"][0]["cause"].startswith("device-")


def test_case_5_small_synced_files(tmp_path: Path) -> None:
    found = verdict(tmp_path, str(FIXTURES / "case5-new-kernel.iozone.txt"))
    assert found["findings"][0]["cause"] == "sync-storm"
    assert "2.0 times" in said(found)
    assert found["findings"][0]["confidence"] < 0.6
    # With the list of waits, and with the run on the old kernel, it is certain.
    (tmp_path / "all").mkdir()
    whole = verdict(tmp_path / "all", *files("case5-*"))
    first = whole["findings"][0]
    assert first["cause"] == "sync-storm" and first["share"] > 0.9 and first["confidence"] > 0.6
    assert tells(said(whole), "fsync") and tells(said(whole), "2.0")
    assert tells(said(whole), "case5-old-kernel.iozone.txt", "1.0")


def test_case_2_the_output_on_a_second_disk(tmp_path: Path) -> None:
    found = verdict(tmp_path, *files("build-scsi*"))
    assert found["findings"][0]["cause"] == "device-saturated"
    assert "da0 (30 operations/s), ad4 (4 operations/s)" in said(found)


def test_case_1_file_fragmented(tmp_path: Path) -> None:
    found = verdict(tmp_path, *files("case1-sparse.*"))
    assert found["findings"][0]["cause"] == "file-fragmented"
    assert "7.9 %" in said(found)
    (tmp_path / "after").mkdir()
    after = verdict(tmp_path / "after", *files("case1-written.*"))
    assert [finding["cause"] for finding in after["findings"]] == ["device-saturated"]
    assert after["not_understood"] == [] == found["not_understood"]


def test_the_screen_lists_what_was_read_and_what_was_not(tmp_path: Path) -> None:
    paste = tmp_path / "incident.txt"
    text = "It is slow!\n" + (FIXTURES / "pagecache-large.iostat.txt").read_text()
    paste.write_text(text)
    found = invoke(["diagnose", "--evidence", "-o", str(tmp_path / "o.iowhy"), str(paste)])
    assert found.exit_code == 0, found.output
    assert "2–33  iostat" in found.stdout
    assert "Not understood  1 line," in found.stdout
    assert "incident.txt:1: It is slow!" in found.stdout
    assert "To settle it" in found.stdout
    assert "cachestat 1 10" in found.stdout
    assert (tmp_path / "o.iowhy" / "manifest.json").exists()


def test_standard_input(tmp_path: Path) -> None:
    text = (FIXTURES / "build-j1.freebsd-vmstat.txt").read_bytes()
    found = invoke(["diagnose", "--json", "-o", str(tmp_path / "o.iowhy"), "-"], input=text)
    assert found.exception is None, found.exception
    assert json.loads(found.stdout)["inputs"][0]["file"] == "-"


def test_one_message_instead_of_a_traceback(tmp_path: Path) -> None:
    prose = tmp_path / "x.txt"
    prose.write_text("nothing here\n")
    for arguments in ([], [str(tmp_path / "absent")], [str(prose)], ["-", "-"]):
        found = invoke(["diagnose", "-o", str(tmp_path / "o.iowhy"), *arguments], input="")
        assert isinstance(found.exception, Problem), arguments
    taken = tmp_path / "taken.iowhy"
    taken.mkdir()
    found = invoke(["diagnose", "-o", str(taken), str(prose)])
    assert isinstance(found.exception, Problem)


@pytest.mark.parametrize(
    ("cause", "largest", "filled", "tools", "system", "expected"),
    [
        ("cache-thrash", None, {"disk_samples"}, {"iostat"}, "Linux", "sudo cachestat 1 10"),
        ("cpu-serial", None, {"cpu_samples"}, {"vmstat"}, "Linux", "pidstat -u -t 1 10"),
        ("file-fragmented", None, set(), {"curt"}, "AIX", "fileplace -pv '/a b'"),
        (
            "file-fragmented",
            None,
            set(),
            {"curt", "fileplace", "filemon"},
            "AIX",
            "cp '/a b' '/a b'.copy",
        ),
        (None, None, set(), set(), None, "vmstat 1 10"),
        (
            None,
            "waiting for sync",
            set(),
            {"latencytop"},
            None,
            "strace -f -ttt -T -e trace=fsync,fdatasync,msync -p 4711",
        ),
        (None, None, {"cpu_samples", "disk_samples"}, set(), "Linux", "sudo iowhy run -a"),
    ],
)
def test_the_command_that_would_settle_it(
    cause: str | None,
    largest: str | None,
    filled: set[str],
    tools: set[str],
    system: str | None,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("iowhy.whys.typed.as_root", lambda: "sudo iowhy")
    monkeypatch.setattr("iowhy.whys.next_step.by_root", lambda command: f"sudo {command}")
    made = Commands(Path("x"), "paste")
    steps = next_steps(cause, largest, filled, tools, system, (), made, pid=4711, file="/a b")
    assert steps[0].command.startswith(expected)
    runs_here = any(step.command.startswith("sudo iowhy run") for step in steps)
    assert runs_here == (system != "AIX")


def test_the_busiest_processes_are_listed(tmp_path: Path) -> None:
    found = verdict(tmp_path, str(FIXTURES / "pidstat-12-d-u.txt"))
    listed = found["processes"]
    assert listed and all({"process", "pid", "cpu"} <= row.keys() for row in listed)
    assert any(row["written_bytes_per_s"] for row in listed) and any(row["cpu"] for row in listed)
    (tmp_path / "screen").mkdir()
    out = tmp_path / "screen" / "o.iowhy"
    file = str(FIXTURES / "pidstat-12-d-u.txt")
    screen = invoke(["diagnose", "--evidence", "-o", str(out), file])
    assert "Processes  the busiest that the inputs list" in screen.stdout
    assert str(listed[0]["process"]) in screen.stdout


@pytest.mark.parametrize("system", [None, "AIX", "FreeBSD"])
@pytest.mark.parametrize("cause", [None, *(one.name for one in causes())])
def test_what_cannot_be_typed_is_not_named(cause: str | None, system: str | None) -> None:
    """Where a text names no process and no file, a command that needs one is none."""
    for largest in (None, *classes.ALL):
        for tools in (set[str](), {"iostat", "vmstat"}):
            steps = next_steps(
                cause, largest, set(), tools, system, (), Commands(Path("x"), "paste")
            )
            for step in steps:
                assert not re.search(r"\{|\b(PID|FILE|TRACE|COPY|CMD)\b", step.command), (
                    step.command
                )


def test_sudo_stands_where_it_is_needed_and_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for euid, found, expected in ((0, True, ""), (1000, True, "sudo "), (1000, False, "")):
        monkeypatch.setattr("os.geteuid", lambda euid=euid: euid)
        monkeypatch.setattr(
            "shutil.which", lambda *_, found=found, **__: "/usr/bin/x" if found else None
        )
        (step, *_) = next_steps(
            "cache-thrash", None, set(), set(), "Linux", (), Commands(Path("x"), "paste")
        )
        assert step.command == f"{expected}cachestat 1 10"
