"""The verdict on a terminal: fits, leads with the answer, plain in a pipe, harmless whatever it names."""

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import force_setattr
from rich.cells import cell_len
from rich.console import Console

from iowhy import units
from iowhy.commands.overview import overview
from iowhy.invocation import typed
from iowhy.recordings import open_recording
from iowhy.recordings.manifest import Kept, Manifest, Sensor
from iowhy.recordings.writer import write_recording
from iowhy.sentences import Sentence
from iowhy.views import class_marks, evidence_page, limits, verdict_page, verdict_tables
from iowhy.views.terminal import Field, console, printable, rows, shorten
from tests.numbers_told import tells

S = 1_000_000_000
NASTY = "\x1b[31mred\x1b[0m\nname" + "x" * 300


def shown(
    path: Path, *, colour: bool = False, width: int = 100, lost: int = 0, status: int | None = None
) -> str:
    manifest = Manifest.made(
        argv=["cmd"],
        exit_status=status,
        start_ns=0,
        end_ns=2 * S,
        sensors=["syscalls", "thread_time", Sensor("waits", False, "no tracepoint")],
    )
    force_setattr(manifest, "tables", {"syscalls": Kept(0, lost)})
    thread = {"tgid": 1, "tid": 1, "interval_ns": S, "runnable_ns": 0, "cpu_kernel_ns": 0}
    recording = write_recording(
        path,
        manifest,
        {
            "thread_time": [
                {**thread, "ts_ns": 0, "cpu_user_ns": S, "blocked_ns": 0, "sleeping_ns": 0},
                {**thread, "ts_ns": S, "cpu_user_ns": 0, "blocked_ns": 0, "sleeping_ns": S},
            ],
            "syscalls": [
                {"ts_ns": S, "dur_ns": 5_000_000, "tgid": 1, "tid": 1, "name": "read",
                 "dev": 1, "ino": 2, "bytes": 10, "ret": 10}
            ],
            "files": [{"dev": 1, "ino": 2, "path": NASTY, "kind": "file"}],
        },
    )  # fmt: skip
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colour, highlight=False)
    found = overview(recording, evidence=True)
    verdict_page.show(found, console)
    evidence_page.show(found, console, every=True)
    return out.getvalue()


def test_alike_files_are_one_row_and_what_was_not_used_is_left_out() -> None:
    out = io.StringIO()
    use = {"files": 1, "requests": 1, "request_bytes": 4096, "time_ns": 5}
    verdict_tables.show_files(
        Console(file=out, width=100),
        [
            {**use, "pattern": "out/*.json", "files": 4000, "time_ns": 12 * S},
            {**use, "pattern": None, "files": 22},
            {**use, "pattern": None, "files": 33, "time_ns": 0, "requests": 0},
            {**use, "pattern": "/gone", "deleted": 1},
            {**use, "pattern": "/proc/7/stat", "deleted": 1},
        ],
    )
    printed = out.getvalue()
    assert printed.count("(deleted)") == 1 and "/gone (deleted)" in printed
    assert tells(printed, "4,000", "12 s") and "None" not in printed and "33" not in printed


def test_calls_that_only_sleep_are_left_out_unless_sleep_is_what_is_found() -> None:
    calls = [{"name": name, "calls": 7, "total_ns": ns} for name, ns in (("poll", S), ("fsync", 5))]
    for sleeps in (False, True):
        out = io.StringIO()
        verdict_tables.show_calls(Console(file=out, width=100), calls, sleeps=sleeps)
        assert ("poll" in out.getvalue()) is sleeps and "fsync" in out.getvalue()


def test_a_recording_is_named_as_one_types_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = " ".join(shown(tmp_path / "my run.iowhy").split())
    assert f"iowhy report files '{tmp_path}/my run.iowhy'" in printed
    monkeypatch.chdir(tmp_path)
    assert typed(tmp_path / "my run.iowhy") == "'my run.iowhy'"


@pytest.mark.parametrize("width", [100, 80, 60])
def test_it_leads_with_the_answer_and_fits(tmp_path: Path, width: int) -> None:
    printed = shown(tmp_path / "a.iowhy", width=width)
    assert printed.startswith(overview(open_recording(tmp_path / "a.iowhy")).verdict.headline[:20])
    # A command, or a path, is there to be pasted: it stays on one line.
    lines = [
        line
        for line in printed.splitlines()
        if not re.search(r"[Pp]rove it:? |after a change: |More |`|iowhy report |/a\.iowhy", line)
    ]
    assert max(len(line) for line in lines) <= width


def test_a_pipe_gets_no_escapes_and_a_name_cannot_bring_any(tmp_path: Path) -> None:
    printed = shown(tmp_path / "a.iowhy")
    assert "\x1b" not in printed and "\\x1b[31mred" in printed
    assert "\x1b[31mred" not in shown(tmp_path / "b.iowhy", colour=True)


def test_the_bar_is_of_the_elapsed_time(tmp_path: Path) -> None:
    """Its shares are: the thread-seconds of a whole machine would be many times that."""
    assert " of 2 s)" in shown(tmp_path / "a.iowhy")


@pytest.mark.parametrize(
    ("status", "why"),
    [(None, None), (0, None), (2, ""), (127, "found"), (137, "SIGKILL"), (250, "")],
)
def test_a_command_that_failed_is_told(tmp_path: Path, status: int | None, why: str | None) -> None:
    recording = write_recording(tmp_path / "a.iowhy", Manifest.made(start_ns=0, end_ns=S), {})
    force_setattr(recording.manifest.command, "exit_status", status)
    told = limits.ending(recording)
    assert (told is None) == (why is None)
    if isinstance(told, Sentence):
        assert told.id == "ended-with-status" and told.values["status"] == status
        assert (why or "") in str(told.values["why"]) and bool(told.values["why"]) == bool(why)


def test_a_signal_is_told_by_its_name(tmp_path: Path) -> None:
    recording = write_recording(tmp_path / "a.iowhy", Manifest.made(start_ns=0, end_ns=S), {})
    force_setattr(recording.manifest.command, "signal", 15)
    told = limits.ending(recording)
    assert isinstance(told, Sentence) and "SIGTERM" in str(told.values["signal"])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("asked", "plain"), [(None, False), ("", False), ("1", True)])
def test_no_color_is_no_escapes_at_all(
    asked: str | None, plain: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also no bold and no dim, and a bar that needs no colours."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    if asked is not None:
        monkeypatch.setenv("NO_COLOR", asked)
    shown(tmp_path / "a.iowhy")
    recording = open_recording(tmp_path / "a.iowhy")
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    verdict_page.show(overview(recording), console())
    printed = terminal.getvalue()
    assert ("\x1b" not in printed) == plain
    assert ("uuuu...." in printed.replace(" ", "")) == plain or "█" in printed


@pytest.mark.parametrize(
    ("columns", "width"),
    [(None, 100), ("80", 80), ("10", 60), ("160", 160), ("300", 200), ("wide", 100), ("0", 60)],
)
def test_a_pipe_is_as_wide_as_columns_says(
    columns: str | None, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert console().width == width


def test_losses_are_told(tmp_path: Path) -> None:
    assert tells(shown(tmp_path / "a.iowhy", lost=17), "17", "syscalls")


@given(st.floats(-1e18, 1e18))
def test_every_number_has_at_most_four_digits_before_its_unit(value: float) -> None:
    for write in (units.duration, units.size):
        assert len(write(abs(value)).split()[0].replace(",", "").replace(".", "")) <= 9


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (units.duration(0), "0 s"),
        (units.duration(999), "999 ns"),
        (units.duration(1_234_567), "1.23 ms"),
        (units.duration(130 * S), "2 min 10 s"),
        (units.duration(None), "unknown"),
        (units.size(4096), "4 KiB"),
        (units.size(1023), "1023 B"),
        (units.percent(0.031), "3.1 %"),
        (units.percent(0.31), "31 %"),
        (units.percent(None), "unknown"),
        (units.rate(94_100_000), "94.1 MB/s"),
        (units.count(1_234), "1,234"),
    ],
)
def test_numbers_read_as_people_write_them(written: str, expected: str) -> None:
    assert written == expected


@given(st.lists(st.tuples(st.text(max_size=40), st.integers()), max_size=5))
def test_tables_fit_whatever_they_hold(values: list[tuple[str, int]]) -> None:
    fields = [Field("name", str, left=True), Field("number", str)]
    for line in rows(fields, values, 60).lines:
        assert line.cell_len <= 60
        assert "\n" not in line.plain and "\x1b" not in line.plain


@given(st.text(max_size=50), st.integers(4, 40))
def test_shortened_text_fits(text: str, width: int) -> None:
    assert cell_len(shorten(printable(text), width)) <= width


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=11), st.integers(20, 98))
def test_the_bar_is_full_and_shows_every_class(shares: list[float], width: int) -> None:
    total = sum(shares)
    cells = class_marks.cells_of([share / total for share in shares], width)
    assert sum(cells) == width and min(cells) >= 1


def test_what_an_experiment_proved_is_shown(tmp_path: Path) -> None:
    printed = shown(tmp_path / "a.iowhy")
    recording = open_recording(tmp_path / "a.iowhy")
    first = overview(recording).verdict.findings[0]
    assert "97 %" not in printed
    folder = recording.path / "experiments"
    folder.mkdir()
    finding = {
        "cause": first.cause,
        "outcome": "confirmed",
        "confidence_after": 0.97,
        "because": "cpu-quota: bound by it",
    }
    (folder / "000001.json").write_text(json.dumps({"iowhy": {"findings": [finding]}}))
    (folder / "000002.json").write_text("{ not json")
    (folder / "000003.json").write_text(json.dumps({"iowhy": {"findings": [{"cause": 1}]}}))
    out = io.StringIO()
    verdict_page.show(overview(recording), Console(file=out, width=100))
    assert tells(out.getvalue(), "cpu-quota")
    assert "97 %" in out.getvalue()
