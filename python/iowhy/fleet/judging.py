"""Judges recordings one after the other, in its own process: `python -m iowhy.fleet.judging`.

Each line of stdin is a path, as JSON; each line of stdout is what became of it. Who started it can end it when a recording
takes too long, and loses no other.
"""

import json
import sys

from iowhy.errors import Problem
from iowhy.recordings import box, open_recording
from iowhy.recordings.query_errors import is_query_error
from iowhy.whys.budget import Budget
from iowhy.whys.finding import Finding
from iowhy.whys.verdict import Verdict, judge


def judged(path: str) -> dict[str, object]:
    """The verdict of a recording as plain values, or why there is none (`problem`)."""
    try:
        recording = open_recording(path)
        with recording.damage_named():
            verdict = judge(recording)
    except Exception as error:
        if not isinstance(error, Problem | OSError) and not is_query_error(error):
            raise
        return {"problem": str(error).splitlines()[0][:500]}
    return {
        "answer": verdict.answer,
        "judged_s": verdict.shares_of_s,
        "lost": sum(verdict.lost.values()),
        "whole": not verdict.mismatches,
        "findings": [_finding(verdict, one) for one in verdict.findings if not one.healthy],
    }


def _finding(verdict: Verdict, one: Finding) -> dict[str, object]:
    seconds, thread_s = verdict.shares_of_s, _thread_seconds(verdict.budget, one)
    return {
        "cause": one.cause,
        "share": one.share,
        "gain": one.gain,
        "confidence": one.confidence,
        "seconds": None if seconds is None else one.share * seconds,
        "gain_seconds": None if seconds is None else one.gain * seconds,
        "thread_seconds": thread_s,
    }


def _thread_seconds(budget: Budget, one: Finding) -> float | None:
    """Of the threads' time in the classes that a finding is about, as much as it explains of their elapsed time."""
    elapsed = budget.elapsed(*one.classes) if budget.known else 0.0
    times = [budget.line(name).thread_s for name in one.classes] if elapsed else []
    known = [time for time in times if time is not None]
    if not known or len(known) < len(times):
        return None
    return sum(known) * min(1.0, one.share / elapsed)


def main() -> None:
    """Answers line by line until stdin ends."""
    box.own()
    for line in sys.stdin:
        box.enter()
        print(json.dumps(judged(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
