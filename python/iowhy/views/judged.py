"""What became of what was expected of a run: on the terminal, as JUnit, for GitHub."""

from collections.abc import Sequence
from contextlib import suppress

from iowhy.commands.judge import Expected, Judged
from iowhy.errors import Problem
from iowhy.messages import say
from iowhy.views import expected_page, github, junit
from iowhy.whys.verdict import Verdict


def publish(judged: Judged, asked: Expected, verdict: Verdict) -> None:
    """Says what was broken, wherever that was asked for."""
    for note in judged.notes:
        say(note)
    if asked.options.junit is not None:
        junit.save(
            asked.options.junit,
            judged.name,
            judged.outcomes,
            verdict.elapsed_s,
            errors=judged.errors,
            say=asked.say,
        )
    if judged.unknown is not None:
        say(judged.unknown)
        if github.wanted(asked.options.annotate):
            github.warn(judged.unknown, asked.say)
    if not judged.outcomes:
        return
    expected_page.show(judged.outcomes, partly=judged.unknown is not None)
    if github.wanted(asked.options.annotate):
        github.annotate(judged.outcomes, asked.say)
        github.summarise(judged.name, verdict, judged.outcomes, asked.say)


def save_error(asked: Expected, argv: Sequence[str], why: str) -> None:
    """Into the JUnit file that was asked for: why nothing could be judged. What it has already stays."""
    junit_file = asked.options.junit
    if junit_file is None or junit_file.exists():
        return
    with suppress(Problem):  # what kept the run from being judged is said already
        junit.save(junit_file, asked.name(argv), (), errors=[why], say=asked.say)
