"""What can be gained: a bound that says what it takes, by which findings are ordered."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.sentences import worded
from iowhy.whys import saving
from iowhy.whys.facts import Facts
from iowhy.whys.remedy import Fix, worth_first
from tests.numbers_told import tells

from .conftest import Judge
from .made import KIB, MIB, MS, Story
from .made.base import S


def test_one_thread_gains_all_but_its_share_of_the_cpus(judged: Judge) -> None:
    for cpus in (2, 8):
        first = judged(Story(2.0, cpus=cpus).thread(user=1.0)).findings[0]
        assert first.cause == "cpu-serial" and first.share == pytest.approx(1.0)
        assert first.gain == pytest.approx(1 - 1 / cpus, abs=0.01)
        assert "run in parallel" in first.gain_condition


def test_what_can_be_mended_wholly_comes_before_more_that_cannot(judged: Judge) -> None:
    """0.55 s of computing on two CPUs, at most half of it to gain, against 0.45 s of syncs."""
    story = Story(4.0, cpus=2).caller(
        "fsync", 180, blocked=10 * MS, cpu=1, bytes_=None, reason="journal_commit"
    )
    story.requests(180, op="write", service=5 * MS)
    verdict = judged(story)
    assert [one.cause for one in verdict.findings[:2]] == ["sync-storm", "cpu-serial"]
    assert verdict.findings[0].share < verdict.findings[1].share
    assert verdict.findings[0].gain == pytest.approx(0.42, abs=0.01)


@given(st.integers(1, 1_000_000))
def test_n_times_in_one_leaves_an_nth(number: int) -> None:
    assert saving.once(number, "sync").part == pytest.approx(1 - 1 / number)


def test_moving_the_bytes_stays(tmp_path_factory: pytest.TempPathFactory) -> None:
    """150 MB that are waited for during 2 s take a disk one of them in order, however they are asked for."""
    story = Story(4.0).caller("pread64", 200, blocked=10 * MS, bytes_=4 * KIB)
    with Facts(story.made(tmp_path_factory.mktemp("x") / "x")) as facts:
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
    with Facts(story.made(tmp_path / "x")) as facts:
        rate = saving.in_order_rate(facts, 1 * MIB, 2e9)
    assert rate is not None and rate.bytes_per_s == saving.KINDS[0 if turns else 1].bytes_per_s


def test_some_quick_reads_say_nothing_of_the_device(tmp_path: Path) -> None:
    story = Story(4.0).thread(user=1.0)
    with Facts(story.requests(63, service=MS // 10, jump=True).made(tmp_path / "x")) as facts:
        rate = saving.in_order_rate(facts, 1 * MIB, 2e9)
    assert rate is not None and rate.known_by == "a guess: probably a rotating disk"


@pytest.mark.parametrize(
    ("service", "kind"),
    [
        # A disk's memory needs 27 µs for the bytes and 15 for the request, flash behind SATA 8 and 10.
        (43_000, "a guess: probably a rotating disk"),
        (42_000, "a guess: probably SATA flash"),
        (19_000, "a guess: probably SATA flash"),
        (18_000, "a guess: probably PCIe flash"),
        (2_000, "a guess: probably PCIe flash"),
    ],
)
def test_reads_in_order_of_one_size_bound_what_the_device_can_be(
    service: int, kind: str, tmp_path: Path
) -> None:
    story = _disk(Story(4.0), rotational=True).requests(2000, service=service)
    with Facts(story.made(tmp_path / "x")) as facts:
        rate = saving.in_order_rate(facts, 1 * MIB, 2e9)
    assert rate is not None and rate.known_by == kind


@pytest.mark.parametrize(
    ("name", "jump", "service", "kind"),
    [
        ("vda", False, 100_000, "a guess: probably SATA flash"),
        ("vda", True, 2 * MS, "a guess: probably a rotating disk"),
        ("sda", False, 100_000, "a guess: probably a rotating disk"),
        ("vdo0", False, 100_000, "a guess: probably a rotating disk"),
    ],
)
def test_that_a_disk_of_virtio_rotates_says_nothing(
    name: str, jump: bool, service: int, kind: str, tmp_path: Path
) -> None:
    story = _disk(Story(4.0), name=name, rotational=True)
    story.requests(1000, service=service, jump=jump)
    with Facts(story.made(tmp_path / "x")) as facts:
        rate = saving.in_order_rate(facts, 1 * MIB, 2e9)
    assert rate is not None and rate.known_by == kind


def _disk(story: Story, **of: object) -> Story:
    """The story's one disk says this of itself."""
    story.tables["devices"][0] |= of
    return story


def _two_sizes(
    small_ns: int, large_ns: int, large: int = 128 * KIB, number: int = 20, depth: int = 1
) -> Story:
    """Reads of 4 KiB, then larger ones, of a device that calls itself flash."""
    story = _disk(Story(4.0), rotational=False)
    story.caller("pread64", 200, blocked=10 * MS, bytes_=4 * KIB)
    story.requests(number, service=small_ns, depth=depth)
    return story.requests(number, service=large_ns, bytes_=large, depth=depth, first=5 * S)


def test_the_price_of_a_byte_is_told_by_reads_of_several_sizes(tmp_path: Path) -> None:
    """124 KiB more take 2 ms more: 63.5 MB/s, and 68 µs of the 100 are the request's own."""
    with Facts(_two_sizes(100_000, 2_100_000).made(tmp_path / "x")) as facts:
        rate = saving.in_order_rate(facts, 1 * MIB, 2e9)
        assert rate is not None and rate.bytes_per_s == pytest.approx(124 * KIB / 2e-3)
        part = saving.all_but_moving(facts, ("waiting to read",), 10e6, "if")
        moving_s = 10e6 / rate.bytes_per_s
        assert part.part == pytest.approx(1 - moving_s / 2.0, abs=0.01)
        assert tells(part.condition, "63.5 MB/s", "4 KiB", "128 KiB")


@pytest.mark.parametrize(
    "story",
    [
        _two_sizes(100_000, 2_100_000, large=12 * KIB),  # sizes too near each other
        _two_sizes(100_000, 2_100_000, number=15),  # too few of each
        _two_sizes(2_100_000, 2_000_000),  # larger ones are quicker: something else decides
        _two_sizes(100_000, 2_100_000, depth=4),  # each waits for those before it
    ],
)
def test_what_tells_no_price_of_a_byte(story: Story, tmp_path: Path) -> None:
    with Facts(story.made(tmp_path / "x")) as facts:
        rate = saving.in_order_rate(facts, 1 * MIB, 2e9)
    assert rate is not None and rate.known_by == "a guess: probably SATA flash"


def test_a_rate_that_reads_reach_is_what_the_device_moves_at_least(tmp_path: Path) -> None:
    """1 MiB in 1 ms is twice what flash behind SATA does; in 3 ms it is less."""
    for service, known in ((MS, "which its reads reach"), (3 * MS, "a guess: probably SATA flash")):
        story = _disk(Story(4.0), rotational=False).requests(20, bytes_=MIB, service=service)
        with Facts(story.made(tmp_path / str(service))) as facts:
            rate = saving.in_order_rate(facts, 1 * MIB, 2e9)
        assert rate is not None and rate.known_by == known


def test_direct_reads_of_4_kib_in_order_gain_what_larger_ones_save(judged: Judge) -> None:
    """dd bs=4k iflag=direct of a quick virtual disk: bs=1M saved 90 % where 18 were told."""
    story = _disk(Story(2.0), name="vda", rotational=True)
    story.caller("read", 50_000, blocked=33_000, bytes_=4 * KIB, reason="direct_io")
    found = judged(story.requests(50_000, service=33_000)).findings[0]
    assert found.cause == "small-requests" and found.gain == pytest.approx(0.67, abs=0.02)
    assert tells(found.gain_condition, "500 MB/s")


def fix(gain: float, *, looks: bool = False) -> Fix:
    return Fix(worded(f"made.{gain}", "Do it"), gain, looks=looks)


def test_what_saves_less_than_half_of_the_best_is_not_first() -> None:
    for gains, first in (((0.26, 0.98, 0.9), 0.98), ((0.49, 0.98), 0.49), ((0.1, 0.5, 0.98), 0.5)):
        ordered = worth_first(tuple(map(fix, gains)))
        assert ordered[0].gain == first and {one.gain for one in ordered} == set(gains)
    # What only looks saves nothing yet: it stays in front, and nothing is held against it.
    assert worth_first((fix(0.1, looks=True), fix(0.9)))[0].looks
    assert worth_first((fix(0.4), fix(0.98, looks=True)))[0].gain == 0.4
    assert worth_first(()) == ()
