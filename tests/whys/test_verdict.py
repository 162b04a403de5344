"""The verdict: what leads, who gets the time, what lowers confidence, and the JSON form."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from iowhy.recordings.manifest import Kept, Manifest, Recorder
from iowhy.recordings.writer import write_recording
from iowhy.sentences import worded
from iowhy.whys import classes
from iowhy.whys.budget import Piece
from iowhy.whys.cause import Cause
from iowhy.whys.causes import causes
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim, Saving
from iowhy.whys.settle import computing_left, settle
from iowhy.whys.verdict import judge
from iowhy.whys.verdict_json import as_json
from tests.examples import costly
from tests.numbers_told import tells
from tests.problems import wrong

from .conftest import Judge, leads
from .made import KIB, MS, S, Story


def test_a_finding_of_a_quarter_leads_before_time_that_nothing_explains(judged: Judge) -> None:
    story = Story(2.0).caller("ioctl", 100, blocked=13 * MS, reason="other", io=False, cpu=7 * MS,
                              bytes_=None)  # fmt: skip
    verdict = judged(story)
    leads(verdict, "cpu-serial", 0.3, 0.4)
    assert verdict.budget.line(classes.UNEXPLAINED).elapsed_share == pytest.approx(0.65, abs=0.01)


def test_waits_that_belong_to_no_cause_are_said_first_when_they_are_more(judged: Judge) -> None:
    """Five syncs of 60 ms that nothing explains, in a run that else computes."""
    story = Story(0.5).caller("fsync", 5, blocked=60 * MS, bytes_=None, reason="journal_commit")
    verdict = judged(story)
    assert [f.cause for f in verdict.findings] == ["cpu-serial"]
    assert tells(verdict.headline, "60 %", "500 ms", "cpu-serial", "40 %")
    largest = max(verdict.budget.lines, key=lambda line: line.elapsed_share)
    assert largest.cls == classes.SYNC


def test_causes_do_not_claim_the_same_time_twice(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 180, blocked=10 * MS, jump=True)
    story.requests(180, service=10 * MS, jump=True)
    story.requests(400, op="write", bytes_=64 * KIB, service=10 * MS, depth=4, own=False, tgid=9)
    story.cache(lookups=4000, misses=4000)
    verdict = judged(story)
    assert sum(f.share for f in verdict.findings) <= 1.0 + 1e-6
    reading = verdict.budget.elapsed(classes.READ)
    claimed = [f for f in verdict.findings if f.cause not in ("cpu-serial", "not-io")]
    assert sum(f.share for f in claimed) <= reading + 1e-6


PIECES = st.lists(
    st.builds(
        Piece,
        st.sampled_from(classes.ALL),
        st.sampled_from(["read", "fsync", None]),
        st.none(),
        st.none(),
        st.none(),
        st.just(0),
        elapsed=st.floats(0, 0.2),
    ),
    max_size=12,
)
CLAIMS = st.lists(
    st.builds(
        Claim,
        st.frozensets(st.sampled_from(classes.ALL), min_size=1),
        st.one_of(st.none(), st.just(frozenset({"read"}))),
        fraction=st.floats(0, 1),
    ),
    min_size=1,
    max_size=3,
)


@given(PIECES, st.lists(st.tuples(CLAIMS, st.sets(st.integers(0, 4))), max_size=5))
@costly(30)
def test_shares_never_exceed_the_time(
    pieces: list[Piece], wanted: list[tuple[list[Claim], set[int]]]
) -> None:
    found = [
        (
            Cause(
                f"c{at}", "", "", "", (), (), (), None, lambda _: None,
                tuple(f"c{other}" for other in sorted(beats) if other != at),
            ),
            Candidate(tuple(claims), (), "", Saving(1.0, "")),
        )
        for at, (claims, beats) in enumerate(wanted)
    ]  # fmt: skip
    shares, *_ = settle(tuple(pieces), found)
    listed = [share for share in shares if share >= 0.05]
    assert sum(listed) <= sum(piece.elapsed for piece in pieces) + 1e-9
    assert all(share >= 0 for share in shares)


def test_what_leaves_computing_out_ends_the_computing_that_nothing_explains() -> None:
    """It belongs to the largest finding that is about computing; none of it to one that waits as well, or that is not listed."""
    pieces = tuple(
        Piece(cls, None, None, mode, None, 0, elapsed=elapsed)
        for cls, mode, elapsed in (
            (classes.USER, "saturated", 0.5), (classes.USER, "serial", 0.1), (classes.RUNNABLE, None, 0.05),
            (classes.KERNEL, None, 0.15), (classes.READ, None, 0.2),
        )
    )  # fmt: skip

    def about(*claims: Claim) -> tuple[Cause, Candidate]:
        return causes()[0], Candidate(claims, (), worded("made", "made"), Saving(1.0, ""))

    user, kernel, reads = (frozenset({cls}) for cls in (classes.USER, classes.KERNEL, classes.READ))
    found = [about(Claim(user, modes=frozenset({"saturated"}))), about(Claim(kernel)), about(Claim(reads))]  # fmt: skip
    shares, _, left = settle(pieces, found)
    assert computing_left(pieces, found, shares, left) == pytest.approx([0.15, 0.0, 0.0])
    assert computing_left(pieces, found, [0.04, 0.15, 0.2], left) == pytest.approx([0.0, 0.15, 0.0])
    assert computing_left(pieces, found[2:], shares[2:], left) == [0.0]


def test_what_lowers_confidence_is_said(tmp_path: Path) -> None:
    whole = judge(Story(2.0).thread(user=0.9).made(tmp_path / "whole")).findings[0]
    story = Story(0.25).thread(user=0.9)
    story.missing.add("thread_time")
    base = story.write(tmp_path / "base").manifest
    manifest = Manifest(
        host=base.host,
        command=base.command,
        sensors=base.sensors,
        complete=False,
        tables={"thread_time": Kept(0, 7)},
        recorder=Recorder(cpu_ns=S),
    )
    found = judge(write_recording(tmp_path / "cut", manifest, story.tables)).findings[0]
    text = " ".join(found.lowered_by)
    for words in ("lost", "thread_time did not run: not permitted", "short", "recorder", "cut off"):
        assert words in text, text
    assert found.confidence < 0.5 * whole.confidence
    assert whole.lowered_by == ()


def test_json_form(judged: Judge) -> None:
    verdict = judged(Story(2.0).caller("pread64", 180, blocked=10 * MS, jump=True).requests(
        180, service=10 * MS, jump=True))  # fmt: skip
    made = json.loads(json.dumps(as_json(verdict)))
    assert made["version"] == 4 and made["elapsed_s"] == 2.0
    assert made["answer"] == verdict.answer
    first = made["findings"][0]
    assert set(first) == {
        "cause", "title", "summary", "share", "share_of", "gain", "gain_condition", "gain_with", "confidence", "lowered_by", "chain", "against", "also_fits", "behind",
        "fixes", "experiment",
    }  # fmt: skip
    assert {"do", "gain", "risk"} <= set(first["fixes"][0])
    assert set(first["chain"][0]) == {"id", "values", "sentence", "value", "unit", "report"}
    assert [line["class"] for line in made["budget"]] == list(classes.ALL)
    assert made["unknown"] == [] and made["lost"] == {}


def test_an_empty_recording_is_unknown(tmp_path: Path) -> None:
    verdict = judge(write_recording(tmp_path / "x", Manifest.made(), {}))
    assert verdict.answer.startswith("Unknown")
    assert as_json(verdict)["budget"] == []


def test_impossible_values_are_a_problem_not_a_traceback(tmp_path: Path) -> None:
    story = Story(1.0).caller("pread64", 20, blocked=10 * MS).requests(20, service=10 * MS)
    story.tables["block_requests"][3]["sector"] = 2**62
    with wrong("recording-damaged", path=tmp_path / "hostile"):
        judge(story.made(tmp_path / "hostile"))


def test_a_file_that_is_named_twice_counts_once(tmp_path: Path) -> None:
    story = Story(1.0).caller("pread64", 50, blocked=10 * MS, jump=True)
    story.file(101, "/data/again").file(101, "/data/once-more")
    with Facts(story.made(tmp_path / "x")) as facts:
        assert facts.calls.reads.calls == 50


def test_a_run_of_milliseconds_is_not_judged(judged: Judge) -> None:
    verdict = judged(Story(0.04).thread(user=0.9))
    assert verdict.too_short and tells(verdict.answer, "40 ms") and not verdict.findings
    assert "for i in" in verdict.answer
    assert judged(Story(0.06).thread(user=0.9)).findings


@pytest.mark.parametrize("ended", [{"exit_status": 1}, {"signal": 11}])
def test_what_failed_at_once_is_not_told_to_be_done_a_hundred_times(
    ended: dict[str, int], tmp_path: Path
) -> None:
    recording = Story(0.04).thread(user=0.9).write(tmp_path / "x")
    command = replace(recording.manifest.command, **{"exit_status": None, **ended})
    manifest = replace(recording.manifest, command=command)
    verdict = judge(replace(recording, manifest=manifest))
    assert verdict.too_short and "for i in" not in verdict.answer


def test_who_did_not_write_the_program_is_told_something_all_the_same(judged: Judge) -> None:
    """cp has no remedy of its own for syncs, and no change of it is its user's: also where it is too little to lead."""
    for count, length in ((200, 15 * MS), (40, 15 * MS)):
        story = Story(4.0).caller(
            "fsync", count, blocked=length, bytes_=None, reason="journal_commit"
        )
        story.file(201, "/usr/bin/cp").tables["threads"][0]["comm"] = "cp"
        verdict = judged(story)
        found = next(one for one in verdict.findings if one.cause == "sync-storm")
        assert found.remedies and not any("transaction" in one for one in found.remedies)


_TWO_WAYS = re.compile(r", or |\(also|/proc/PID")
#: What is work is no risk.
_EFFORT = re.compile(r"program must|change of the program|^needs root")


def test_each_cause_has_a_remedy_for_those_who_only_run_the_program() -> None:
    for cause in causes():
        assert [one for one in cause.remedies if not one.for_authors], cause.name
        for one in cause.remedies:
            assert bool(one.risk) != one.looks and not _TWO_WAYS.search(one.do), one.do
            assert not _EFFORT.search(one.risk), one.risk


def test_an_answer_ends_in_what_to_do_and_not_in_where_that_is_documented(judged: Judge) -> None:
    story = Story(4.0).caller("fsync", 40, blocked=15 * MS, bytes_=None, reason="journal_commit")
    story.file(201, "/usr/bin/sqlite3").file(202, "/srv/a.db-journal")
    story.tables["threads"][0]["comm"] = "sqlite3"
    verdict = judged(story.idle_call("epoll_wait", 0.3))
    assert "https:" not in verdict.answer and "risk:" not in verdict.answer, verdict.answer
