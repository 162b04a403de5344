"""Fixtures of the tests of whys: judge a story."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from iowhy.recordings import Recording
from iowhy.reports import run
from iowhy.whys.finding import Finding
from iowhy.whys.verdict import Verdict, judge

from . import advice
from .made import Story

Judge = Callable[[Story], Verdict]


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[Judge]:
    """Writes a story as a recording and judges it; every number must have its rows in a report."""
    number = iter(range(100))

    def judge_story(story: Story) -> Verdict:
        return judge_with_rows(story.write(tmp_path / f"{next(number)}.iowhy"))

    yield judge_story


_OPENED: set[tuple[str, str, str]] = set()


def judge_with_rows(recording: Recording) -> Verdict:
    """The verdict; asserts that each of its links names a report that runs on the recording and has rows.

    Once for each cause, unit and report: more would show the same again.
    """
    verdict = judge(recording)
    advice.holds(verdict)
    for one in verdict.findings:
        for link in one.chain:
            key = (one.cause, link.unit, link.report)
            if recording.manifest.source == "diagnose" or key not in _OPENED:
                _OPENED.add(key)
                assert run(recording, link.report).num_rows, f"{link.report}: {link.statement}"
    return verdict


def finding(verdict: Verdict, cause: str) -> Finding | None:
    """The finding of a cause, None when the verdict has none."""
    return next((f for f in verdict.findings if f.cause == cause), None)


def leads(verdict: Verdict, cause: str, low: float, high: float = 1.0) -> Finding:
    """Asserts that a cause comes first with a share between `low` and `high`."""
    assert verdict.findings, verdict.answer
    first = verdict.findings[0]
    assert first.cause == cause, verdict.answer
    assert low <= first.share <= high, (first.share, verdict.answer)
    assert cause in verdict.answer or cause == "healthy"
    return first


def absent(verdict: Verdict, cause: str) -> None:
    """Asserts that a cause is not found."""
    assert finding(verdict, cause) is None, verdict.answer


def chain(found: Finding) -> str:
    """The statements of a finding's chain, as one text."""
    return "\n".join(link.statement for link in found.chain)
