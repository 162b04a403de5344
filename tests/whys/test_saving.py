"""What can be gained: a bound that says what it takes, by which findings are ordered."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.whys import saving
from iowhy.whys.facts import Facts

from .conftest import Judge
from .made import KIB, MIB, MS, Story


def test_one_thread_gains_all_but_its_share_of_the_cpus(judged: Judge) -> None:
    for cpus in (2, 8):
        first = judged(Story(2.0, cpus=cpus).thread(user=1.0)).findings[0]
        assert first.cause == "cpu-serial" and first.share == pytest.approx(1.0)
        assert first.gain == pytest.approx(1 - 1 / cpus, abs=0.01)
        assert "as far as it can run in parallel" in first.gain_condition


def test_what_can_be_mended_wholly_comes_before_more_that_cannot(judged: Judge) -> None:
    """0.55 s of computing on two CPUs, at most half of it to gain, against 0.45 s of syncs."""
    story = Story(4.0, cpus=2).caller(
        "fsync", 180, blocked=10 * MS, cpu=1, bytes_=None, reason="journal_commit"
    )
    story.requests(180, op="write", service=5 * MS)
    verdict = judged(story)
    assert [one.cause for one in verdict.findings[:2]] == ["sync-storm", "cpu-serial"]
    assert verdict.findings[0].share < verdict.findings[1].share
    assert "at most 42 % can be gained" in verdict.answer


@given(st.integers(1, 1_000_000))
def test_n_times_in_one_leaves_an_nth(number: int) -> None:
    assert saving.once(number, "sync").part == pytest.approx(1 - 1 / number)


def test_moving_the_bytes_stays(tmp_path_factory: pytest.TempPathFactory) -> None:
    """150 MB that are waited for during 2 s take a disk one of them in order, however they are asked for."""
    story = Story(4.0).caller("pread64", 200, blocked=10 * MS, bytes_=4 * KIB)
    with Facts(story.write(tmp_path_factory.mktemp("x") / "x")) as facts:
        waits = ("waiting to read",)
        assert saving.all_but_moving(facts, waits, 150e6, "").part == pytest.approx(0.5, abs=0.01)
        assert saving.all_but_moving(facts, waits, 1 * MIB, "").part > 0.99
        # Faster than any disk: it is flash, and then flash sets what stays.
        assert saving.all_but_moving(facts, waits, 500e6, "").part == pytest.approx(0.5, abs=0.01)
        assert saving.all_but_moving(facts, waits, 1e11, "").part == 0.0


@pytest.mark.parametrize(
    ("service", "jump", "op", "turns"),
    [
        (MS - 1, True, "read", False),
        (MS, True, "read", True),
        # In order a disk answers from the memory that it reads ahead into; writes go into its cache.
        (MS - 1, False, "read", True),
        (MS - 1, True, "write", True),
    ],
)
def test_a_device_that_calls_itself_rotating_but_answers_too_quickly_for_that_is_none(
    service: int, jump: bool, op: str, turns: bool, tmp_path: Path
) -> None:
    story = Story(4.0)
    story.caller("pread64", 200, blocked=10 * MS, bytes_=4 * KIB)
    story.requests(64, op=op, service=service, jump=jump)
    with Facts(story.write(tmp_path / "x")) as facts:
        rate = saving.in_order_rate(facts, 1 * MIB, 2e9)
    assert rate == saving.IN_ORDER_BYTES_PER_S[0 if turns else 1]


def test_some_quick_reads_say_nothing_of_the_device(tmp_path: Path) -> None:
    story = Story(4.0).thread(user=1.0)
    with Facts(story.requests(63, service=MS // 10, jump=True).write(tmp_path / "x")) as facts:
        assert saving.in_order_rate(facts, 1 * MIB, 2e9) == saving.IN_ORDER_BYTES_PER_S[0]
