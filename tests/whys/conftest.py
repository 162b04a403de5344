"""Fixtures of the tests of whys: judge a story."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from iowhy.recordings import Recording
from iowhy.reports import run
from iowhy.sentences import Sentence
from iowhy.whys.answer import too_short
from iowhy.whys.causes import cause_named, causes
from iowhy.whys.facts import Facts
from iowhy.whys.finding import OF_TIME, Finding
from iowhy.whys.verdict import Verdict, judge, verdict_of

from . import advice
from .made import Story


class Judged:
    """The verdict on a recording, made when it is looked at: whether one cause is there can be asked of that cause alone."""

    def __init__(self, recording: Recording, facts: Facts) -> None:
        self._recording = recording
        self._facts = facts

    def finds(self, cause: str) -> bool:
        """Whether a cause is found, be it then another's time."""
        return not too_short(self._facts) and BY_NAME[cause].find(self._facts) is not None

    @cached_property
    def verdict(self) -> Verdict:
        return with_rows(self._recording, verdict_of(self._facts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.verdict, name)

    def __str__(self) -> str:
        return str(self.verdict)


Judge = Callable[[Story], Verdict]


@pytest.fixture
def judged(tmp_path: Path) -> Judge:
    """Makes a story a recording and judges it; every number must have its rows in a report."""
    number = iter(range(100))
    return lambda story: judge_with_rows(story.made(tmp_path / f"{next(number)}.iowhy"))


BY_NAME = {cause.name: cause for cause in causes()}
_OPENED: set[tuple[str, str, frozenset[str] | None]] = set()


def judge_with_rows(recording: Recording) -> Verdict:
    """The verdict on a recording, checked by `with_rows`."""
    return with_rows(recording, judge(recording))


def with_rows(recording: Recording, verdict: Verdict) -> Verdict:
    """The verdict; asserts that each of its links names a report that runs on the recording and has rows.

    Once for each cause and report: more would show the same again.
    """
    advice.holds(verdict)
    # Of other tools' texts, what a report has depends on what they tell.
    told = frozenset(recording.manifest.tables) if recording.manifest.source == "diagnose" else None
    for one in verdict.findings:
        # What it claims it says that it can: where it is not seen, others are as sure as that leaves them.
        if recording.manifest.source == "live" and one.share_of in OF_TIME:
            cause = cause_named(one.cause)
            assert cause is not None and cause.explains.issuperset(one.classes), one.cause
        for link in one.chain:
            if (one.cause, link.report, told) not in _OPENED:
                _OPENED.add((one.cause, link.report, told))
                assert run(recording, link.report).num_rows, f"{link.report}: {link.statement}"
    return verdict


def finding(verdict: Verdict | Judged, cause: str) -> Finding | None:
    """The finding of a cause, None when the verdict has none."""
    return next((f for f in verdict.findings if f.cause == cause), None)


def leads(verdict: Verdict | Judged, cause: str, low: float, high: float = 1.0) -> Finding:
    """Asserts that a cause comes first with a share between `low` and `high`."""
    assert verdict.findings, verdict.answer
    first = verdict.findings[0]
    assert first.cause == cause, verdict.answer
    assert low <= first.share <= high, (first.share, verdict.answer)
    return first


def absent(verdict: Verdict | Judged, cause: str) -> None:
    """Asserts that a cause is not found."""
    if not isinstance(verdict, Judged) or verdict.finds(cause):
        assert finding(verdict, cause) is None, verdict.answer


def chain(found: Finding) -> str:
    """The statements of a finding's chain, as one text."""
    return "\n".join(link.statement for link in found.chain)


def links_of(found: Finding) -> dict[str, str]:
    """The same by their ids."""
    return {sentence(link.statement).id: link.statement for link in found.chain}


def fixes_of(found: Finding) -> list[str]:
    """The ids of a finding's remedies, in their order."""
    return [one.do.id for one in found.fixes]


def sentence(text: str) -> Sentence:
    """A text that has an id, as all that is asked for by it."""
    assert isinstance(text, Sentence), text
    return text
