"""What is done while a recorder starts, with a stand-in for the recorder that waits for us."""

from pathlib import Path

import pytest

from iowhy.sources import live

#: Makes the recording's directory when `begin` is there, and ends.
STAND_IN = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
while [ ! -e "{begin}" ]; do sleep 0.01; done
mkdir "$2"; echo '{{}}' > "$2/manifest.json"
"""


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    begin, recorder = tmp_path / "begin", tmp_path / live.RECORDER
    recorder.write_text(STAND_IN.format(begin=begin))
    recorder.chmod(0o755)
    monkeypatch.setenv("IOWHY_RECORD", str(recorder))
    return begin


def test_no_step_is_taken_after_the_recording_began(tmp_path: Path, begin: Path) -> None:
    out, taken = tmp_path / "out", []

    def last() -> None:
        taken.append("last")
        begin.touch()
        while not out.exists():
            pass

    steps = (lambda: taken.append("first"), last, lambda: taken.append("late"))
    assert live.record(["true"], out, ahead=steps) == 0
    assert taken == ["first", "last"]


def test_a_step_that_fails_is_left_to_who_needs_it(tmp_path: Path, begin: Path) -> None:
    def fail() -> None:
        begin.touch()
        raise ImportError("nothing of that name")

    assert live.record(["true"], tmp_path / "out", ahead=(fail,)) == 0
