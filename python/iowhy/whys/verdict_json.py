"""The verdict as the documented JSON object: see docs/verdict.md."""

from iowhy.sentences import described
from iowhy.whys.finding import Link
from iowhy.whys.verdict import Verdict

VERSION = 4


def as_json(verdict: Verdict) -> dict[str, object]:
    """The object of `--json`. Unknown numbers are null."""
    return {
        "version": VERSION,
        "headline": described(verdict.headline),
        "answer": verdict.answer,
        "elapsed_s": verdict.elapsed_s,
        "shares_of_s": verdict.shares_of_s,
        "exit_status": verdict.exit_status,
        "signal": verdict.signal,
        "failures": [described(one) for one in verdict.failures],
        "findings": [
            {
                "cause": finding.cause,
                "title": finding.title,
                "summary": described(finding.summary),
                "share": finding.share,
                "share_of": finding.share_of,
                "gain": finding.gain,
                "gain_condition": finding.gain_condition,
                "gain_with": [cause for cause, _ in finding.gain_with],
                "confidence": finding.confidence,
                "lowered_by": [described(one) for one in finding.lowered_by],
                "chain": [_link(link) for link in finding.chain],
                "against": [described(one) for one in finding.against],
                "also_fits": list(finding.also_fits),
                "behind": finding.behind,
                "fixes": [
                    {
                        "do": described(fix.do),
                        "gain": fix.gain,
                        "condition": fix.condition,
                        "risk": fix.risk or None,
                        "link": fix.link,
                        "looks": fix.looks,
                    }
                    for fix in finding.fixes
                ],
                "experiment": finding.experiment,
            }
            for finding in verdict.findings
        ],
        "doubt": _doubt(verdict),
        "phases": _phases(verdict),
        "budget": _budget(verdict),
        "statements": [_link(link) for link in verdict.statements],
        "unknown": [described(one) for one in verdict.unknowns],
        "notes": [described(one) for one in verdict.notes],
        "lost": dict(verdict.lost),
        "mismatches": [
            {"table": one.table, "counted": one.counted, "found": one.found}
            for one in verdict.mismatches
        ],
    }


def _phases(verdict: Verdict) -> list[dict[str, object]]:
    return [
        {
            "phase": one.number,
            "begin_s": one.begin_s,
            "end_s": one.end_s,
            "does": described(one.does),
            "class": one.cls,
            "class_share": one.share,
            "cause": one.cause,
            "waited_s": None if one.waited_ns is None else one.waited_ns / 1e9,
            "device": one.device,
            "silent_share": one.silent_share,
            "requests": one.requests,
            "bytes": one.bytes,
            "syncs": one.syncs,
            "file": one.work.path,
            "files": one.work.files,
            "program": one.work.program,
        }
        for one in verdict.phases
    ]


def _budget(verdict: Verdict) -> list[dict[str, object]]:
    return [
        {
            "class": line.cls,
            "thread_s": line.thread_s,
            "thread_ns": line.thread_ns,
            "share": line.share,
            "elapsed_ns": line.elapsed_ns,
            "elapsed_share": line.elapsed_share,
        }
        for line in (verdict.budget.lines if verdict.budget.known else ())
    ]


def _doubt(verdict: Verdict) -> dict[str, object] | None:
    if verdict.doubt is None:
        return None
    suspects = [
        {
            "could_be": one.could_be,
            "speaks_for": one.speaks_for or None,
            "against": one.against or None,
        }
        for one in verdict.doubt.suspects
    ]
    return {
        "suspects": suspects,
        "lacks": list(verdict.doubt.lacks),
        "decided_by": verdict.doubt.decided_by,
    }


def _link(link: Link) -> dict[str, object]:
    found: dict[str, object] = {
        **described(link.statement),
        "value": link.value,
        "unit": link.unit,
        "report": link.report,
    }
    if link.frames:
        found["frames"] = [
            {
                "function": frame.function,
                "name": frame.name,
                "module": frame.module,
                "file": frame.file,
                "line": frame.line,
            }
            for frame in link.frames
        ]
    return found
