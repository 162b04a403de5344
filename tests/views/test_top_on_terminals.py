"""The live view on terminals: one that becomes small, one that shows a picture a second, and what is gone meanwhile."""

import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("textual")

from tests.terminals import SlowTerminal, Terminal
from tests.views.test_top import many, recorded


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("tmux is missing: CI has it by tools/setup test")
        pytest.skip("tmux is missing (tools/setup test)")
    made = Terminal(tmp_path)
    yield made
    made.close()


def test_a_terminal_that_becomes_small_and_a_recording_that_goes(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a shell exported of the terminal's size is wrong as soon as it changes."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "24")
    recorded(tmp_path / "made.iowhy")
    terminal.start("top", "made.iowhy")
    whole = terminal.until(lambda seen: "finished" in seen and "waiting for sync" in seen)
    terminal.resize(40, 12)
    terminal.until(lambda seen: "q leaves" not in seen and "process" in seen)
    # All pages can be seen, by their numbers and a part of their names: lines are laid out anew one after the other.
    pages = [re.compile(rf"(^| ){number} \w", flags=re.MULTILINE) for number in range(1, 6)]
    seen = terminal.until(
        lambda seen: (
            seen.splitlines()[-1].startswith(" ? keys") and all(page.search(seen) for page in pages)
        )
    )
    assert [len(line) <= 40 for line in seen.splitlines()] == [True] * 12
    (tmp_path / "made.iowhy").rename(tmp_path / "gone")
    seen = terminal.until(lambda seen: "not there" in seen)
    # What was seen last stays, and the last line says why nothing else comes.
    assert " process " in seen and "made.iowhy: no such" in seen.splitlines()[-1]
    (tmp_path / "gone").rename(tmp_path / "made.iowhy")
    terminal.until(lambda seen: "finished" in seen)
    terminal.resize(100, 24)
    assert terminal.until(lambda seen: "q leaves" in seen) == whole
    terminal.tmux("send-keys", "q")
    terminal.until(lambda seen: "status 0" in seen)


def test_a_file_that_is_no_recording_is_a_line_and_a_status(
    terminal: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("no recording")
    terminal.start("top", "notes.txt")
    seen = terminal.until(lambda seen: "status 2" in seen)
    assert seen.startswith("iowhy: notes.txt: not a recording")


def test_a_folder_of_other_things_is_a_line_and_a_status(
    terminal: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("no recording")
    terminal.start("top", "notes")
    seen = terminal.until(lambda seen: "status 2" in seen)
    assert "notes" in seen and "manifest.json" in seen


def test_ten_thousand_processes_where_a_picture_takes_a_second(tmp_path: Path) -> None:
    """Keys are answered with the next picture or the one after it, however many came; none of what is drawn piles up."""
    many(tmp_path / "many.iowhy")
    terminal = SlowTerminal("top", str(tmp_path / "many.iowhy"))
    try:
        terminal.frames_until(lambda seen: "worker-" in seen)
        terminal.frames_until(lambda seen: not seen)  # it has judged as well, and rests
        before = terminal.resident_kib()
        for _ in range(3):
            assert "worker-" in terminal.frame_while_typing(b"j" * 100)
        terminal.press(b"G")
        assert terminal.frames_until(lambda seen: "29999" in seen) <= 3
        assert terminal.resident_kib() - before < 32 << 10
        terminal.press(b"q")
        assert terminal.process.wait(timeout=60) == 0
    finally:
        terminal.close()


def test_a_process_that_is_not_there_is_one_line_and_no_view(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.start("top", "-p", str(2**22))
    seen = terminal.until(lambda seen: "status" in seen)
    assert "status 2" in seen and f"--pid {2**22}:" in seen
    assert "reading" not in seen and not list(tmp_path.glob("*.iowhy*"))


def test_what_it_says_goes_to_a_file(tmp_path: Path) -> None:
    """The view is drawn where messages go: in a file it would be seen by nobody."""
    recorded(tmp_path / "made.iowhy")
    main, terminal = pty.openpty()
    with os.fdopen(main), os.fdopen(terminal) as stream:
        done = subprocess.run(
            [sys.executable, "-m", "iowhy.cli.main", "top", str(tmp_path / "made.iowhy")],
            stdin=stream,
            stdout=stream,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "iowhy top" in done.stderr
