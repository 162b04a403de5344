"""What is under way is said after a while, and where nobody watches now and then."""

import io
import re
import sys
import time

import pytest

from iowhy.views import progress
from tests.numbers_told import tells


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "TERMINAL_AFTER_S", 0.001)
    monkeypatch.setattr(progress, "ELSEWHERE_AFTER_S", 0.0)
    monkeypatch.setattr(progress, "ELSEWHERE_EVERY_S", 3600.0)


def written(stream: io.StringIO) -> bool:
    """Waits until something is there; the test's own time limit ends it."""
    while not stream.getvalue():
        time.sleep(0.001)
    return True


@pytest.mark.usefixtures("soon")
def test_a_terminal_has_one_line_that_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.working("judging it"):
        assert written(stream)
    text = stream.getvalue()
    assert tells(text, "0 s", "Ctrl-C")
    assert text.endswith("\r\x1b[K") and "\n" not in text


@pytest.mark.usefixtures("soon")
def test_a_log_has_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    line = progress.TrialsLine(quiet=False)
    for done in range(5):
        line.trial("baseline", done, 9)
    line.end()
    assert re.fullmatch(r"iowhy: .*\b1\b.*\b9\b.*baseline.*\n", stream.getvalue())


@pytest.mark.usefixtures("soon")
def test_a_long_trial_is_said_again_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "ELSEWHERE_EVERY_S", 0.001)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    line = progress.TrialsLine(quiet=False)
    line.trial("baseline", 0, 9)
    while len(re.findall(r"iowhy: .*\b1\b.*\b9\b.*baseline.*\n", stream.getvalue())) < 3:
        time.sleep(0.001)
    line.end()
    before = stream.getvalue()
    time.sleep(0.05)
    assert stream.getvalue() == before


@pytest.mark.usefixtures("soon")
def test_a_long_trial_on_a_terminal_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    line = progress.TrialsLine(quiet=False)
    line.trial("baseline", 0, 9)
    time.sleep(0.05)
    line.end()
    assert stream.getvalue().count("trial 1") == 1


def test_what_is_quick_and_what_is_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.working("judging it"):
        pass
    with progress.working("judging it", quiet=True):
        pass
    line = progress.TrialsLine(quiet=True)
    line.step("x")
    line.end()
    assert capsys.readouterr().err == ""
