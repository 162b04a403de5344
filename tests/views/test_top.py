"""The live view, driven as by a person: tables, what is opened in them, time, a recording that grows, goes, or is hostile."""

import asyncio
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

pytest.importorskip("textual")

from textual.pilot import Pilot

from iowhy.recordings import open_recording
from iowhy.recordings.manifest import Recorder
from iowhy.relations import Relations
from iowhy.reports import Filters, run
from iowhy.views.top import head
from iowhy.views.top.app import Shown, TopApp
from iowhy.views.top.levels import pages_of
from iowhy.watching.asked import Asked
from iowhy.watching.looking import Looking
from iowhy.watching.moment import device_name, look
from iowhy.whys.verdict import judge
from tests.whys.made import MS, START, Story

HOSTILE = "\x1b[2J[bold red]x[/]\n=cmd()\u202e</style>" + "é" * 60
PATIENCE_S = 120.0


def recorded(folder: Path) -> Path:
    story = Story(seconds=2.0).thread(blocked=0.5).file(77, HOSTILE)
    story.caller("fsync", 20, blocked=9 * MS, reason="device_flush", cpu=MS)
    story.requests(20, op="write", bytes_=4096)
    for thread in story.tables["threads"]:
        thread["comm"] = HOSTILE[:40]
    story.write(folder)
    return folder


@pytest.fixture(scope="module")
def rec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("top") / "made.iowhy")


def driven(
    shown: Shown,
    drive: Callable[[TopApp, "Pilot[bool]"], Awaitable[None]],
    size: tuple[int, int] = (100, 30),
) -> None:
    async def whole() -> None:
        app = TopApp(shown)
        async with app.run_test(size=size) as pilot:
            await drive(app, pilot)

    asyncio.run(whole())


async def until(pilot: "Pilot[bool]", holds: Callable[[], bool]) -> None:
    """Waits for what a thread finds out; on a busy machine that takes long."""
    waited = 0.0
    while not holds():
        await pilot.pause(0.05)
        waited += 0.05
        assert waited < PATIENCE_S, "it never held"


def lines(app: TopApp) -> list[str]:
    """What stands on the screen."""
    return [
        "".join(segment.text for segment in strip)
        for strip in app.screen._compositor.render_strips()
    ]


def test_the_first_frame_stands_before_anything_is_read(rec: Path) -> None:
    async def drive(app: TopApp, pilot: "Pilot[bool]") -> None:
        assert "reading" in lines(app)[0]
        await until(pilot, lambda: app.moment is not None)
        await pilot.pause()
        assert app.state == "finished" and "made.iowhy" in lines(app)[0]

    driven(Shown(rec), drive)


def test_what_is_shown_is_what_the_reports_say(rec: Path) -> None:
    async def drive(app: TopApp, pilot: "Pilot[bool]") -> None:
        await until(pilot, lambda: bool(app.findings))
        assert app.moment is not None
        assert list(app.moment.processes) == run(app.moment.of.recording, "processes").to_pylist()
        await pilot.press("5")
        shown = "\n".join(lines(app))
        assert str(app.findings[0]["cause"]) in shown
        await pilot.press("enter")
        assert any(line.startswith("→") for line in lines(app))
        await pilot.press("escape", "1", "enter")
        await until(pilot, lambda: bool(app.levels[-1].pages))
        await pilot.press("2")
        shown = "\n".join(lines(app))
        assert "device_flush" in shown and "fsync" in shown
        assert app.levels[-1].pages[1].rows[0]["waits"] == 20
        await pilot.press("1", "enter")
        await until(pilot, lambda: len(app.levels) == 3 and bool(app.levels[-1].pages))
        assert app.levels[-1].pages[0].rows[0]["waits"] == 20
        await pilot.press("escape", "escape")
        assert len(app.levels) == 1

    driven(Shown(rec), drive)


def test_back_in_time_and_forward_again(rec: Path) -> None:
    async def drive(app: TopApp, pilot: "Pilot[bool]") -> None:
        await until(pilot, lambda: app.moment is not None)
        await pilot.press("minus")  # one second of two: what is longer shows no more than all of it
        await until(pilot, lambda: app.moment is not None and app.moment.begin_ns > 0)
        await pilot.press("left")
        assert app.state == "looking back"
        await until(pilot, lambda: app.moment is not None and app.moment.end_ns == 1_500_000_000)
        assert app.moment is not None and app.moment.begin_ns == 500_000_000
        expected = run(app.moment.of.recording, "devices", Filters(since="0.5s", until="1.5s"))
        assert [row["writes"] for row in app.moment.devices] == expected.column("writes")
        await pilot.press("right")
        await until(pilot, lambda: app.moment is not None and app.moment.end_ns == 2_000_000_000)
        assert app.state == "finished"

    driven(Shown(rec), drive)


def test_names_of_anybody_are_only_shown(rec: Path) -> None:
    async def drive(app: TopApp, pilot: "Pilot[bool]") -> None:
        await until(pilot, lambda: app.moment is not None)
        for page in "123":
            await pilot.press(page)
            await pilot.pause()
            shown = "\n".join(lines(app))
            assert "\x1b" not in shown and "\u202e" not in shown
            assert len(lines(app)) == 30
        await pilot.press("1")
        await pilot.pause()
        assert "\\x1b[2J" in "\n".join(lines(app))

    driven(Shown(rec), drive, (160, 30))


@pytest.mark.parametrize("width", [100, 60, 40, 25])
@pytest.mark.parametrize("level", ["", "sqlite3 with a long name (4711)"])
def test_all_pages_have_a_place(width: int, level: str) -> None:
    titles = ["Processes", "Services", "Files", "Devices", "Findings", "Output"]
    for chosen in range(-1, len(titles)):
        text = head.pages(level, titles, chosen, width).plain
        assert len(text) <= width
        assert [str(at) in text for at in range(1, 7)] == [True] * 6
        assert chosen < 0 or titles[chosen] in text
    assert (titles[0] in head.pages("", titles, 3, 100).plain) and "1 Proc" in head.pages(
        "", titles, 3, 50
    ).plain


@pytest.mark.parametrize("size", [(40, 12), (20, 5), (300, 60)])
def test_any_size_will_do(rec: Path, size: tuple[int, int]) -> None:
    async def drive(app: TopApp, pilot: "Pilot[bool]") -> None:
        await until(pilot, lambda: app.moment is not None)
        await pilot.resize_terminal(*size)
        await pilot.pause()
        for key in ("1", "2", "3", "4", "5", "question_mark", "escape", "pagedown", "G", "home"):
            await pilot.press(key)
            assert len(lines(app)) == size[1]
            assert all(len(line) <= size[0] for line in lines(app))
        assert "█" in "".join(lines(app))

    driven(Shown(rec), drive)


def test_all_lines_are_of_the_new_size(rec: Path) -> None:
    async def drive(app: TopApp, pilot: "Pilot[bool]") -> None:
        await until(pilot, lambda: bool(app.findings))
        await pilot.pause()
        whole = lines(app)
        await pilot.resize_terminal(40, 12)
        await until(pilot, lambda: lines(app)[-1].endswith("…"))
        # Title, a bar of one line with two of its legend, pages, and the rest for rows.
        assert "█" in lines(app)[1] and "Processes" in lines(app)[4]
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: lines(app) == whole)

    driven(Shown(rec), drive)


def many(path: Path) -> None:
    """Ten thousand processes and one."""
    story = Story(seconds=1.0).thread(blocked=0.5)
    first = dict(story.tables["threads"][0])
    spent = dict(story.tables["thread_time"][0])
    for number in range(20_000, 30_000):
        more = {"tid": number, "tgid": number}
        story.tables["threads"].append(first | more | {"comm": f"worker-{number}"})
        story.tables["thread_time"].append(spent | more)
    story.write(path)


def test_ten_thousand_processes_are_sorted_and_found(tmp_path: Path) -> None:
    many(tmp_path / "many.iowhy")

    async def drive(app: TopApp, pilot: "Pilot[bool]") -> None:
        await until(pilot, lambda: app.moment is not None)
        await pilot.pause()
        assert len(app.table.rows) == 10_001
        await pilot.press("G")
        assert app.table.at == 10_000
        await pilot.press("s")
        assert app.table.sorted_by == "comm"
        named = [str(row["comm"]) for row in app.table.rows]
        assert named == sorted(named)
        await pilot.press("slash", *"-2777")
        assert [row["comm"] for row in app.table.rows] == [
            f"worker-{number}" for number in (*range(27_770, 27_780),)
        ]
        await pilot.press("enter", "escape")
        assert len(app.table.rows) == 10_001

    driven(Shown(tmp_path / "many.iowhy"), drive)


def test_a_recording_that_goes_and_comes_back(rec: Path, tmp_path: Path) -> None:
    shutil.copytree(rec, tmp_path / "a.iowhy")

    async def drive(app: TopApp, pilot: "Pilot[bool]") -> None:
        await until(pilot, lambda: app.moment is not None)
        (tmp_path / "a.iowhy").rename(tmp_path / "b.iowhy")
        await until(pilot, lambda: app.state == "not there")
        await until(pilot, lambda: any("no such recording" in line for line in lines(app)))
        assert app.table.rows  # what was seen last stays
        (tmp_path / "b.iowhy").rename(tmp_path / "a.iowhy")
        await until(pilot, lambda: app.state == "finished")

    driven(Shown(tmp_path / "a.iowhy"), drive)


def test_a_growing_recording_is_looked_at_when_it_grew_and_not_while_it_pauses(
    tmp_path: Path,
) -> None:
    path = recorded(tmp_path / "a.iowhy")
    whole = look(path, Asked()).of.recording.manifest
    growing = replace(
        whole,
        complete=False,
        command=replace(whole.command, end_ns=None),
        recorder=Recorder(pid=None),
    )
    (path / "manifest.json").write_text(growing.as_json())
    moment = look(path, Asked(1_000_000_000))
    assert moment.of.end_ns > START and moment.end_ns - moment.begin_ns <= 1_000_000_000

    async def drive(app: TopApp, pilot: "Pilot[bool]") -> None:
        await until(pilot, lambda: app.moment is not None)
        assert app.state == "cut off"
        await pilot.press("space")
        (path / "manifest.json").write_text(whole.as_json())
        await pilot.pause(2.5)
        assert app.state == "paused" and app.moment is not None
        assert not app.moment.of.recording.manifest.complete
        await pilot.press("space")
        await until(pilot, lambda: app.state == "finished")

    driven(Shown(path), drive)


def test_of_what_grows_no_more_is_judged_than_there_was_time_for(tmp_path: Path) -> None:
    """Files that came after the end was read, or while others were: more time of threads than the time that passed."""
    path = recorded(tmp_path / "a.iowhy")
    whole = look(path, Asked()).of.recording.manifest
    half = START + ((whole.command.end_ns or 0) - START) // 2
    with subprocess.Popen(["iowhy-record", "60"], executable="/bin/sleep") as recorder:
        growing = replace(
            whole,
            complete=False,
            command=replace(whole.command, end_ns=half),
            recorder=Recorder(pid=recorder.pid),
        )
        (path / "manifest.json").write_text(growing.as_json())
        moment = look(path, Asked())
        found = judge(moment.of.recording, narrowed=moment.until_then)
        recorder.kill()
    with Relations(moment.of.recording, narrowed=moment.narrowed) as relations:
        assert relations.rows(f"SELECT count(*) FROM thread_time WHERE ts_ns >= {half}") == [(0,)]
    # It has ended since it was looked at.
    (path / "manifest.json").write_text(whole.as_json())
    later = judge(moment.of.recording, narrowed=moment.until_then)
    for one in (found, later):
        assert one.findings
        assert not any("cut off" in text for f in one.findings for text in f.lowered_by)


def test_what_the_command_prints_is_a_page_of_its_own(rec: Path, tmp_path: Path) -> None:
    printed = tmp_path / "made.output"
    printed.write_bytes(b"\x1b[31mone\n10 %\r20 %\r30 %\ntwo\xff")
    ended: list[bool] = []

    async def drive(app: TopApp, pilot: "Pilot[bool]") -> None:
        await until(pilot, lambda: app.moment is not None)
        await pilot.press("6")
        shown = [line.rstrip() for line in lines(app)]
        assert "\\x1b[31mone" in shown and "30 %" in shown
        assert not any("20 %" in line for line in shown)
        await pilot.press("x", "d")
        assert ended == [True] and app.return_value is True

    driven(Shown(rec, printed, lambda: ended.append(True)), drive)


def test_looking_takes_its_share_of_a_cpu_and_no_more(rec: Path) -> None:
    looking = Looking(rec)
    assert looking.due(0.0)
    found = list(looking.look(Asked(), None))
    assert [one.problem for one in found] == ["", ""] and found[1].findings
    assert not looking.due(0.0)  # not before five times what it cost
    # What did not grow is not judged again.
    assert len(list(looking.look(Asked(), None))) == 1


def test_what_has_ended_is_judged_at_once_whatever_judging_cost_before(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.iowhy")
    whole = open_recording(path).manifest
    # Its recorder runs: this process has its name for the time of the test.
    with subprocess.Popen(["iowhy-record", "60"], executable="/bin/sleep") as recorder:
        growing = replace(whole, complete=False, recorder=Recorder(pid=recorder.pid))
        (path / "manifest.json").write_text(growing.as_json())
        looking = Looking(path)
        found = list(looking.look(Asked(), None))
        assert found[0].moment is not None and found[0].moment.of.grows and found[-1].findings
        later = replace(growing.command, end_ns=(whole.command.end_ns or 0) + 1)
        (path / "manifest.json").write_text(replace(growing, command=later).as_json())
        assert len(list(looking.look(Asked(), None))) == 1  # not its turn yet
        recorder.kill()
    (path / "manifest.json").write_text(replace(growing, command=later, complete=True).as_json())
    ended = list(looking.look(Asked(), None))
    assert ended[-1].findings


def test_a_device_has_its_name_while_it_is_recorded() -> None:
    one = next(Path("/sys/dev/block").iterdir())
    assert device_name(one.name, True) == one.readlink().name
    assert device_name(one.name, False) == one.name and device_name("vda", True) == "vda"


def test_what_is_not_there_yet_is_not_told_as_nothing(rec: Path) -> None:
    async def drive(app: TopApp, pilot: "Pilot[bool]") -> None:
        await until(pilot, lambda: bool(app.findings))
        app.findings, app._judged = (), False
        app.levels[0].pages = pages_of(app.moment, ())
        await pilot.press("5")
        before = app.table.empty
        app._judged = True
        app._draw()
        assert app.table.empty != before

    driven(Shown(rec), drive)
