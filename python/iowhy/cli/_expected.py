"""--expect of `run` and `why`: what is loaded only where something is expected."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iowhy.cli._statuses import BROKEN, DONE, PROBLEM

if TYPE_CHECKING:  # slow to import
    from iowhy.expect import Expectation, Outcome
    from iowhy.recording import Recording
    from iowhy.whys.verdict import Verdict


def read_expected(texts: Sequence[str]) -> "list[Expectation]":
    """The expectations that were given. Raises Problem for one that makes no sense."""
    if not texts:
        return []
    from iowhy.expect import read_expectation

    return [read_expectation("--expect", text) for text in texts]


def list_expected() -> None:
    """Prints the names that an expectation may have."""
    from iowhy.measures import measures
    from iowhy.views import expected_page
    from iowhy.views.terminal import console

    expected_page.show_measures(measures().values(), console())


def judge_expected(
    recording: "Recording", verdict: "Verdict", expected: "Sequence[Expectation]"
) -> "list[Outcome]":
    """What became of them in a recording."""
    if not expected:
        return []
    from iowhy.expect import outcomes

    return outcomes(recording, verdict, expected)


def status_of(outcomes: "Sequence[Outcome]") -> int:
    """Says what was broken; the exit status for it."""
    if not outcomes:
        return DONE
    from iowhy.views import expected_page

    expected_page.show(outcomes)
    if any(one.held is False for one in outcomes):
        return BROKEN
    return DONE if all(one.held for one in outcomes) else PROBLEM
