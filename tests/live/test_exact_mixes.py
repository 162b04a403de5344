"""Forty small mixes of calls that keep their own log: the recording and strace have the same counts.

One recording holds all of them, `IOWHY_MIXES` times (more than the few by default: `make torture`).
"""

import os
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from iowhy.recordings import Recording
from machine import Filesystem, ask, filesystem, record, run

pytestmark = pytest.mark.usefixtures("live")

TIMES = int(os.environ.get("IOWHY_MIXES", "2"))
SOURCES = Path(__file__).parent / "mixes"
#: How often a thread waits for another depends on when it comes, and time is asked without a call.
NOT_REPEATED = {"futex", "clock_gettime", "restart_syscall"}

#: Mix → call → (calls, errors).
Counts = dict[str, dict[str, tuple[int, int]]]


@dataclass
class Log:
    """What the mixes themselves counted, and which processes each of them had."""

    calls: Counts = field(default_factory=lambda: defaultdict(dict))
    bytes_: dict[tuple[str, str], int] = field(default_factory=dict)
    mixes: dict[int, str] = field(default_factory=dict)
    not_here: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Recorded:
    recording: Recording
    log: Log
    scratch: Filesystem


def _program(folder: Path) -> Path:
    program = folder / "mixes"
    sources = sorted(str(path) for path in SOURCES.glob("*.c"))
    run("gcc", "-D_GNU_SOURCE", "-O1", "-w", "-o", str(program), *sources, "-lpthread")
    return program


def _log(path: Path) -> Log:
    log = Log()
    for line in path.read_text().splitlines():
        kind, mix, *rest = line.split("\t")
        if kind == "call":
            name, calls, errors, moved = rest[0], *map(int, rest[1:])
            log.calls[mix][name] = (calls, errors)
            log.bytes_[mix, name] = moved
        elif rest[1]:
            assert not rest[1].startswith("not so"), line
            log.not_here.append(f"{mix}: {rest[1]}")
        else:
            log.mixes[int(rest[0])] = mix
    return log


@pytest.fixture(scope="module")
def recorded(
    tmp_path_factory: pytest.TempPathFactory, why_no_recording: str | None
) -> Iterator[Recorded]:
    if why_no_recording is not None:
        pytest.skip(why_no_recording)
    folder = tmp_path_factory.mktemp("mixes")
    program = _program(folder)
    with filesystem("ext4", folder) as scratch:
        recording = record([program, scratch.mount, folder / "log", str(TIMES)], folder / "r.iowhy")
        yield Recorded(recording, _log(folder / "log"), scratch)


def _summed(rows: list[tuple[int, str, int, int]], mixes: dict[int, str]) -> Counts:
    counts: Counts = defaultdict(dict)
    for tgid, name, calls, errors in rows:
        if tgid in mixes:
            before = counts[mixes[tgid]].get(name, (0, 0))
            counts[mixes[tgid]][name] = (before[0] + calls, before[1] + errors)
    return counts


def _in_recording(recorded: Recorded) -> Counts:
    rows = ask(
        recorded.recording,
        "SELECT tgid, name, sum(calls)::BIGINT, sum(errors)::BIGINT"
        " FROM syscall_totals GROUP BY tgid, name",
    )
    return _summed(rows, recorded.log.mixes)  # type: ignore[arg-type]


def test_every_mix_has_the_calls_and_errors_that_it_counted_itself(recorded: Recorded) -> None:
    found = _in_recording(recorded)
    wrong = {
        (mix, name): (found[mix].get(name), counted)
        for mix, calls in recorded.log.calls.items()
        for name, counted in calls.items()
        if found[mix].get(name) != counted
    }
    assert not wrong  # found, counted
    assert len(recorded.log.calls) >= 30, recorded.log.not_here


def test_every_mix_moved_the_bytes_that_it_counted_itself(recorded: Recorded) -> None:
    rows = ask(
        recorded.recording,
        "SELECT tgid, name, sum(ret) FILTER (WHERE ret > 0)::BIGINT FROM syscalls GROUP BY tgid, name",
    )
    found: Counter[tuple[str, str]] = Counter()
    for tgid, name, moved in rows:
        mix = recorded.log.mixes.get(tgid)  # type: ignore[call-overload]
        if mix is not None:
            found[mix, str(name)] += moved or 0  # type: ignore[operator]
    wrong = {
        key: (found[key], moved)
        for key, moved in recorded.log.bytes_.items()
        if moved and found[key] != moved
    }
    assert not wrong  # found, counted


_CALL = re.compile(
    r"(\d+) +(?:<\.\.\. )?(\w+)(?: resumed>|\().*\) += (-?\d+|0x[0-9a-f]+|\?)(?: (E\w+))?"
)


def test_what_the_libc_adds_to_the_mixes_is_what_strace_has(
    recorded: Recorded, tmp_path: Path
) -> None:
    text = tmp_path / "strace"
    with filesystem("ext4", tmp_path) as scratch:
        argv = [_program(tmp_path), scratch.mount, tmp_path / "log", str(TIMES)]
        subprocess.run(["strace", "-f", "-o", text, *argv], check=True, timeout=240)
    log = _log(tmp_path / "log")
    rows = []
    for line in text.read_text(errors="replace").splitlines():
        call = _CALL.match(line)
        if call is not None and not (call[3] == "?" and call[4] is None):
            rows.append((int(call[1]), call[2], 1, int(call[4] is not None)))
    expected, found = _summed(rows, log.mixes), _in_recording(recorded)
    wrong = {
        (mix, name): (found[mix].get(name), expected[mix].get(name))
        for mix in set(found) & set(expected) - {"narrow", "threads"}
        for name in (set(found[mix]) | set(expected[mix])) - set(log.calls[mix]) - NOT_REPEATED
        if found[mix].get(name) != expected[mix].get(name)
    }
    assert not wrong  # recorded, traced


def _written(recorded: Recorded, end: str) -> list[int]:
    rows = ask(
        recorded.recording,
        "SELECT sum(s.ret)::BIGINT FROM syscalls s JOIN files f USING (dev, ino)"
        " WHERE f.path LIKE ? AND s.ret > 0 AND s.name IN ('write', 'pwrite64')"
        " GROUP BY f.dev, f.ino ORDER BY 1",
        f"{recorded.scratch.mount}/1/{end}",
    )
    return [row[0] for row in rows]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("end", "bytes_"),
    [
        ("renamed/a", [2 * 4096 + 111]),
        ("renamed/c", [4096 + 222]),
        ("reused/%", [100, 200, 300, 400, 500]),
        ("unlinked/f", [4 * 4096]),
        ("mounts/%/f", [50]),
        ("duplicates/f", [3 * 4096 + 10]),
        ("nameless/named", [1300]),
        ("nameless/empty", [77]),
        ("nameless/#%", [88]),
    ],
)
def test_bytes_go_to_the_file_that_they_were_written_to(
    recorded: Recorded, end: str, bytes_: list[int]
) -> None:
    assert _written(recorded, end) == bytes_


def test_nothing_was_lost_and_nothing_is_a_mix_that_does_not_run_here(recorded: Recorded) -> None:
    lost = {name: table.lost for name, table in recorded.recording.manifest.tables.items()}
    assert not {name: count for name, count in lost.items() if count}
    for why in recorded.log.not_here:
        assert " cannot " in f" {why}", why
