"""What the recorder took of the CPU itself is a line of its own, and no cause's."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.units import percent
from iowhy.whys import classes
from iowhy.whys.causes import causes
from iowhy.whys.facts import Facts
from iowhy.whys.settle import matches
from iowhy.whys.verdict import judge
from tests.examples import costly
from tests.numbers_told import tells

from .made import FILE, START, Story
from .test_budget import SHARE, budget


def test_it_is_taken_out_of_kernel_time_and_stands_by_itself() -> None:
    made = budget(Story(1.0).thread(10, user=0.2, kernel=0.6, recorder=0.35))
    assert made.line(classes.USER).elapsed_share == pytest.approx(0.2)
    assert made.line(classes.KERNEL).elapsed_share == pytest.approx(0.25)
    assert made.line(classes.RECORDER).elapsed_share == pytest.approx(0.35)
    assert made.line(classes.IDLE).elapsed_share == pytest.approx(0.2)
    # getrusage's figure is user, kernel and recorder together.
    assert made.line(classes.RECORDER).thread_s == pytest.approx(0.35)
    # What causes ask is of the time without it.
    assert made.left_out == pytest.approx(0.35)
    assert made.elapsed(*classes.CPU, classes.RECORDER) == pytest.approx(0.45 / 0.65)


@given(
    st.lists(
        st.tuples(
            SHARE, SHARE, SHARE, st.one_of(st.none(), st.integers(0, 60).map(lambda n: n / 100))
        ),
        min_size=1,
        max_size=4,
    )
)
@costly(5)
def test_with_it_the_lines_add_up_and_none_is_below_nothing(
    threads: list[tuple[float, float, float, float | None]],
) -> None:
    story = Story(1.05)
    for tid, (user, kernel, runnable, recorder) in enumerate(threads, 10):
        story.thread(tid, user=user, kernel=kernel, runnable=runnable, recorder=recorder)
    made = budget(story)
    assert sum(line.thread_s or 0.0 for line in made.lines) == pytest.approx(made.thread_s)
    assert sum(line.elapsed_share for line in made.lines) == pytest.approx(1.0, rel=1e-6)
    assert all(line.elapsed_share >= 0 and (line.thread_ns or 0) >= 0 for line in made.lines)
    # More than all kernel time is not taken out.
    most = sum(min(kernel, recorder or 0.0) for _, kernel, _, recorder in threads)
    assert made.line(classes.RECORDER).thread_s == pytest.approx(1.05 * most, abs=1e-6)


def test_what_was_not_measured_changes_nothing() -> None:
    story = Story(1.0).thread(10, user=0.2, kernel=0.6)
    assert budget(story).line(classes.RECORDER).elapsed_share == 0
    assert budget(story).line(classes.KERNEL).elapsed_share == pytest.approx(0.6)


@pytest.mark.parametrize(("recorder", "said"), [(0.029, False), (0.031, True)])
def test_a_share_that_counts_is_said(tmp_path: Path, recorder: float, said: bool) -> None:
    story = Story(2.0).thread(10, user=0.5, kernel=0.4, recorder=recorder)
    verdict = judge(story.made(tmp_path / "x"))
    notes = [note for note in verdict.notes if "the recorder itself" in note]
    assert bool(notes) is said
    if said:
        assert tells(notes[0], "3.1 %") and tells(notes[0], "62 ms")
    assert verdict.budget.line("the recorder itself").elapsed_share == pytest.approx(recorder)


def test_no_finding_claims_it_and_no_answer_names_it(tmp_path: Path) -> None:
    story = Story(2.0).thread(10, user=0.39, kernel=0.6, recorder=0.45)
    for number in range(20_000):
        parts = {"cpu_ns": 12_000, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0}
        story.call(
            START + number * 100_000, "read", parts, tid=10, ino=FILE, offset=number, bytes_=1
        )
    with Facts(story.made(tmp_path / "x")) as facts:
        verdict = judge(facts.recording)
        (own,) = [p for p in facts.budget.pieces if p.cls == classes.RECORDER]
        for cause in causes():
            found = cause.find(facts)
            assert found is None or not any(matches(claim, own) for claim in found.claims), (
                cause.name
            )
    assert own.elapsed == 0
    assert sum(f.share for f in verdict.findings) <= 1 + 1e-6
    assert "the recorder itself" not in verdict.answer


def test_findings_are_of_the_time_without_it(tmp_path: Path) -> None:
    # Of 2 s the recorder took 0.9; of the 1.1 left, calls of a byte each take 0.3 s in the kernel and 0.78 around them.
    story = Story(2.0).thread(10, user=0.39, kernel=0.6, recorder=0.45)
    for number in range(400_000):
        story.call(
            START + number * 5_000, "read", _ON_CPU, tid=10, ino=FILE, offset=number, bytes_=1
        )
    verdict = judge(story.made(tmp_path / "x"))
    (first, *_) = verdict.findings
    assert first.cause == "small-requests"
    assert first.share == pytest.approx(0.54 / 0.55, abs=0.01)
    # Of the 1,950 ns around each, what may be computed on its byte stays.
    assert first.gain == pytest.approx(first.share - 0.39 / 0.55 * 40 / 1_950, abs=0.001)
    assert first.share_of == "the time without the recorder"
    assert verdict.shares_of_s == pytest.approx(1.1)
    assert tells(verdict.answer, percent(first.share), "1.1 s", "small-requests")
    # The lines that are drawn stay those of all that passed.
    assert verdict.budget.line(classes.RECORDER).elapsed_share == pytest.approx(0.45)
    assert verdict.budget.elapsed(classes.USER) == pytest.approx(0.39 / 0.55)
    assert verdict.budget.elapsed(*classes.ALL) == pytest.approx(1.0)
    assert sum(piece.elapsed for piece in verdict.budget.pieces) == pytest.approx(1.0)


_ON_CPU = {"cpu_ns": 1_200, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0}


def test_one_that_takes_little_is_in_the_whole(tmp_path: Path) -> None:
    story = Story(2.0).thread(10, user=0.98, kernel=0.02, recorder=0.02)
    verdict = judge(story.made(tmp_path / "x"))
    assert verdict.shares_of_s == verdict.elapsed_s == 2.0
    assert all(finding.share_of == "the time" for finding in verdict.findings)
    assert "without the recorder" not in verdict.answer
