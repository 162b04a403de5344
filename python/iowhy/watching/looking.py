"""Looks at a recording again and again, at a pace that leaves the machine to what is recorded."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.units import percent
from iowhy.watching.asked import Asked

if (
    TYPE_CHECKING
):  # what reads recordings is slow to import, and the first frame does not wait for it
    from iowhy.reports.engine import Row
    from iowhy.watching.moment import Moment
    from iowhy.whys.verdict import Verdict

#: Of one CPU, what looking at what grows takes at most, and judging it besides: the recording is of this machine.
LOOK_SHARE, JUDGE_SHARE = 0.2, 0.05
#: Of a finding, how many fixes are listed.
FIXES = 4


class Looked(Struct, frozen=True):
    """What was found: a moment, pages of what was opened in it, findings; None is what was not asked. `problem`: why not."""

    moment: "Moment | None" = None
    pages: list[Any] | None = None
    findings: "Sequence[Row] | None" = None
    problem: str = ""


class Looking:
    """What is known of one recording, and when it is worth a look again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._next_s = 0.0
        self._judge_s = 0.0
        self._judged: tuple[int, bool] | None = None
        self._verdict: Verdict | None = None

    def due(self, now_s: float) -> bool:
        """Whether a recording that grew may be looked at again."""
        return now_s >= self._next_s

    def look(
        self, asked: Asked, deeper: "Callable[[Moment], list[Any]] | None"
    ) -> "Iterator[Looked]":
        """The moment, then what is opened in it, then the findings so far; a Problem ends it, and is one of them."""
        from iowhy.watching.moment import look

        _load()
        began = time.process_time()
        try:
            moment = look(self.path, asked)
            yield Looked(moment=moment)
            if deeper is not None:
                yield Looked(pages=deeper(moment))
            self._next_s = time.monotonic() + (time.process_time() - began) / LOOK_SHARE
            if self._to_be_judged(moment):
                yield Looked(findings=self._judge(moment))
        except Problem as problem:
            self._next_s = time.monotonic() + (time.process_time() - began) / LOOK_SHARE
            yield Looked(problem=str(problem))

    def _to_be_judged(self, moment: "Moment") -> bool:
        """Whether it is another one than was judged last; what grows waits for its turn, what has ended does not."""
        if moment.of.end_ns <= moment.of.start_ns or self._judged == _as_judged(moment):
            return False
        return not moment.of.grows or time.monotonic() >= self._judge_s

    def _judge(self, moment: "Moment") -> "Sequence[Row]":
        from iowhy.whys.verdict import judge

        began = time.process_time()
        self._verdict = judge(moment.of.recording, narrowed=moment.until_then)
        self._judge_s = time.monotonic() + (time.process_time() - began) / JUDGE_SHARE
        self._judged = _as_judged(moment)
        return [
            {
                "cause": one.cause,
                "gain_share": None if one.healthy else one.gain,
                "confidence_share": one.confidence,
                "time_share": one.share,
                "title": one.title,
            }
            for one in self._verdict.findings
        ]

    def finding_lines(self, row: "Row") -> list[tuple[str, str]]:
        """A finding as lines with their styles: the answer, the fixes, what it rests on."""
        verdict = self._verdict
        findings = () if verdict is None else verdict.findings
        found = next((one for one in findings if one.cause == row.get("cause")), None)
        if verdict is None or found is None:
            return []
        leads = found is findings[0]
        said = f"{found.title}: {percent(found.share)} of {found.share_of}"
        lines = [(f"{verdict.headline if leads else said} ({found.cause})", "bold"), ("", "")]
        for number, fix in enumerate(found.fixes[:FIXES]):
            lines.append(
                (f"{'or' if number else fix.label}: {fix.do}", "green" if number else "bold green")
            )
            lines.append(
                ("  " + " ".join(filter(None, verdict.worth(found, number, brief=True))), "")
            )
        lines += [("", ""), *((f"→ {link.statement}", "") for link in found.chain)]
        lines += [(f"But {text}.", "yellow") for text in found.against]
        lines.append((f"{percent(found.confidence)} sure.", "dim"))
        lines += [(f"Less certain because {text}.", "dim") for text in found.lowered_by]
        return lines


def _as_judged(moment: "Moment") -> tuple[int, bool]:
    return moment.of.end_ns, moment.of.grows


def _load() -> None:
    """What looking and judging import; it is paid once, and says nothing of what a look costs."""
    import iowhy.whys.verdict  # noqa: F401
    from iowhy.relations.relation import relations
    from iowhy.whys.causes import causes

    relations()
    causes()
