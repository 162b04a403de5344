"""device-capped: the rate stands still while requests queue, and it is not the device's own limit."""

from collections.abc import Callable
from pathlib import Path

import pytest

from iowhy.whys import tariffs
from iowhy.whys.facts import facts_of
from iowhy.whys.verdict import verdict_of

from ..conftest import Judge, absent, finding, leads
from ..made import KIB, MS, Row, Story, pasted
from ..made.base import DISK, FILE, FS, START, S

US = 1000


def held(
    rate: float,
    *,
    seconds: float = 4.0,
    alone: int = 500 * US,
    depth: int = 8,
    burst: int = 40,
    bytes_: int = 4 * KIB,
    quick: int = 8,
    op: str = "read",
    uneven: float = 0.0,
    rotational: bool = False,
    samples: bool = True,
    jump: bool = True,
    before: float | None = None,
    credits: int = 0,
    spread: float = 0.0,
) -> Story:
    """Threads that read behind a bucket: `quick` requests one at a time, then `depth` at once, of which `burst` pass at once.

    `before`: at this rate until `credits` are spent. `uneven`: each 0.4 s so much more or less. `spread`: a
    request takes up to so much longer or shorter.
    """
    story = Story(seconds)
    story.tables["devices"][0]["rotational"] = rotational
    done: list[tuple[int, int]] = []
    for number in range(quick):
        at = START + number * (alone + 100 * US)
        done.append((at, at + alone))
    begin = START + quick * (alone + 100 * US)
    at, end, number = float(begin), START + int(seconds * S), 0
    completed: list[int] = []
    while at < end - MS:
        speed = rate if before is None or number >= credits else before
        wobble = 1 + uneven * (1 if int((at - START) // (S * 2 // 5)) % 2 else -1)
        each = 1 + story.random.uniform(-spread, spread)
        at += 0 if number < burst else S / (speed * wobble) * each
        completed.append(int(at) + alone)
        number += 1
    for number, complete in enumerate(completed):
        queued = begin if number < depth else completed[number - depth]
        done.append((min(queued, complete - alone), complete))
    for number, (queued, complete) in enumerate(done):
        story.add(
            "block_requests", queue_ns=queued, issue_ns=queued, complete_ns=complete, dev=DISK,
            sector=(story.random.randrange(0, 1 << 24) if jump else number) * (bytes_ // 512), bytes=bytes_, op=op, flags=[], tgid=10,
            tid=10 + number % depth, owner_dev=FS, owner_ino=FILE, owner_kind="data", in_scope=True, error=0,
        )  # fmt: skip
    if samples:
        counters(story, done, bytes_, op, seconds)
    each = int((seconds * S - 20 * MS) / 100)
    for tid in range(10, 10 + depth):
        call = "pread64" if op == "read" else "pwrite64"
        story.caller(call, 100, tid=tid, blocked=each, jump=jump, reason="direct_io")
    return story


def counters(
    story: Story, done: list[tuple[int, int]], bytes_: int, op: str, seconds: float
) -> None:
    """What the kernel's counters of the device show ten times a second."""
    for step in range(int(seconds * 10) + 1):
        now = START + step * S // 10
        ended = [one for one in done if one[1] <= now]
        area = sum(min(complete, now) - queued for queued, complete in done if queued < now)
        row: Row = {
            "ts_ns": now, "dev": DISK, "busy_ns": max(0, now - START), "queue_ns": area,
            "reads": 0, "read_bytes": 0, "read_ns": 0, "writes": 0, "written_bytes": 0, "write_ns": 0,
        }  # fmt: skip
        way, moved = ("reads", "read") if op == "read" else ("writes", "written")
        row[way], row[f"{moved}_bytes"] = len(ended), len(ended) * bytes_
        row["read_ns" if op == "read" else "write_ns"] = area
        story.add("disk_samples", **row)


def numbers(verdict: object, id_: str) -> dict[str, float]:
    found = finding(verdict, "device-capped")  # type: ignore[arg-type]
    assert found is not None
    return next(dict(one.statement.values) for one in found.chain if one.statement.id == id_)


def test_a_ceiling_of_requests(judged: Judge) -> None:
    verdict = judged(held(1000))
    found = leads(verdict, "device-capped", 0.9)
    assert numbers(verdict, "device-capped.at")["requests"] == pytest.approx(1000, rel=0.03)
    # Eight at once, each of which takes half a millisecond alone.
    assert numbers(verdict, "device-capped.needs")["requests"] == pytest.approx(16_000, rel=0.1)
    assert found.fixes[0].do.id == "device-capped.raise-limit-to"
    assert found.gain == pytest.approx(1 - 1 / 16, abs=0.06)


def test_a_ceiling_of_bytes(judged: Judge) -> None:
    verdict = judged(held(300, bytes_=256 * KIB, alone=MS))
    leads(verdict, "device-capped", 0.9)
    at = numbers(verdict, "device-capped.at")
    assert at["moved"] == pytest.approx(300 * 256 * KIB, rel=0.03)
    assert "MB/s" in str(finding(verdict, "device-capped").chain[1].statement)  # type: ignore[union-attr]


def test_credits_that_run_out(judged: Judge) -> None:
    verdict = judged(held(1000, before=3000, credits=6000, seconds=6, alone=MS))
    leads(verdict, "device-capped", 0.9)
    above = numbers(verdict, "device-capped.above")
    assert above["above"] == pytest.approx(3000, rel=0.05)
    assert above["span"] == pytest.approx(2 * S, rel=0.1)
    assert numbers(verdict, "device-capped.needs")["requests"] == pytest.approx(3000, rel=0.05)


@pytest.mark.parametrize(
    "story",
    [
        # It serves four at once: its own limit.
        lambda: held(1000, alone=4 * MS, burst=0),
        # Four at once in 0.5 ms: a flash disk with four channels.
        lambda: held(7800, burst=0, seconds=2),
        # The rate is what requests come to, now more, now less.
        lambda: held(1000, uneven=0.2),
        # Nobody waits for a queue: one at a time.
        lambda: held(1900, depth=1, burst=0),
        # A disk that turns answers writes from its memory at first, and reads in order from what it read ahead.
        lambda: held(1000, op="write", rotational=True),
        lambda: held(300, bytes_=256 * KIB, alone=MS, rotational=True, jump=False),
        # One head after the other, each as quickly.
        lambda: held(1500, seconds=3, alone=MS, burst=1, quick=1, rotational=True),
        # What its counters do not show is not known.
        lambda: held(1000, samples=False),
    ],
    ids=["own", "flash", "uneven", "alone", "cache", "media", "head", "unknown"],
)
def test_not_the_devices_own_limit(judged: Judge, story: Callable[[], Story]) -> None:
    absent(judged(story()), "device-capped")


@pytest.mark.parametrize("op", ["read", "write"])
def test_a_strict_bucket_that_the_program_never_leaves(judged: Judge, op: str) -> None:
    """One request that found it idle is enough where the others come as by a clock; no chip takes the same time for each."""
    story = held(1500, seconds=3, alone=MS, burst=1, quick=1, op=op)
    leads(judged(story), "device-capped", 0.9)
    # Its threads make the next one as soon as one is answered.
    assert numbers(judged(story), "device-capped.needs")["requests"] == pytest.approx(8000, rel=0.1)
    chips = held(1500, seconds=3, alone=MS, burst=1, quick=1, op=op, spread=0.3)
    absent(judged(chips), "device-capped")


def test_few_large_requests_of_a_clock(judged: Judge) -> None:
    """Too few for slices of a hundred: that each takes the same time shows it, and what it needs is known from below only."""
    verdict = judged(held(120, seconds=2, alone=3 * MS, burst=1, quick=1, bytes_=256 * KIB))
    found = leads(verdict, "device-capped", 0.9)
    assert numbers(verdict, "device-capped.at")["moved"] == pytest.approx(120 * 256 * KIB, rel=0.03)
    assert found.fixes[0].do.values["limit"].id == "device-capped.at-least"
    chips = held(120, seconds=2, alone=3 * MS, burst=1, quick=1, bytes_=256 * KIB, spread=0.3)
    absent(judged(chips), "device-capped")


def test_a_burst_within_one_long_slice_is_no_time_above_the_ceiling(judged: Judge) -> None:
    """A hundred requests at this rate are most of a second: what passed at the begin says what it needs."""
    story = held(129, seconds=2.5, alone=3 * MS, burst=35, quick=0, bytes_=64 * KIB)
    verdict = judged(story)
    leads(verdict, "device-capped", 0.9)
    assert "device-capped.above" not in {one.statement.id for one in verdict.findings[0].chain}
    assert numbers(verdict, "device-capped.needs")["requests"] == pytest.approx(2600, rel=0.1)


def test_a_pause_of_all_is_not_what_a_thread_does_in_between(judged: Judge) -> None:
    story = held(300, seconds=4.0, samples=False, quick=0, burst=40)
    rows = story.tables["block_requests"]
    half = START + 2 * S
    for row in rows:
        if row["queue_ns"] > half:
            for time in ("queue_ns", "issue_ns", "complete_ns"):
                row[time] += 400 * MS
    counters(story, [(row["queue_ns"], row["complete_ns"]) for row in rows], 4 * KIB, "read", 4.4)
    needs = numbers(judged(story), "device-capped.needs")["requests"]
    assert needs == pytest.approx(8 / 500e-6, rel=0.1)


def four_at_once(*, begin_ns: int) -> Story:
    """As at 500 requests/s, but each takes 8 ms, whatever else is under way: the next four begin so long after the first of them ended."""
    story = held(500, depth=4, alone=500 * US, quick=20, burst=20)
    rows = story.tables["block_requests"]
    done: list[tuple[int, int]] = []
    for number, row in enumerate(rows):
        if number >= 20:
            turn = START + 20 * MS + (number - 20) // 4 * 8 * MS
            queued = turn + (number % 4) * begin_ns
            row |= {"queue_ns": queued, "issue_ns": queued, "complete_ns": turn + 8 * MS - 10 * US}
        done.append((row["queue_ns"], row["complete_ns"]))  # type: ignore[arg-type]
    story.tables["disk_samples"] = []
    counters(story, done, 4 * KIB, "read", 4.0)
    return story


def test_not_a_volume_that_takes_as_long_for_one_alone(judged: Judge) -> None:
    assert not judged(four_at_once(begin_ns=5 * US)).finds("device-capped")
    assert judged(held(500, depth=4, quick=20, burst=20)).finds("device-capped")


def test_a_small_burst_of_a_clock_is_enough(judged: Judge) -> None:
    """More than at a link, which lets none pass before its time."""
    found = [
        judged(held(800, seconds=3, alone=MS, burst=burst, quick=1, bytes_=128 * KIB))
        for burst in (1, 8)
    ]
    absent(found[0], "device-capped")
    leads(found[1], "device-capped", 0.9)


def test_writes_to_flash_must_be_even(judged: Judge) -> None:
    leads(judged(held(1000, op="write")), "device-capped", 0.9)


def test_a_provider_s_volume_does_what_was_bought(judged: Judge) -> None:
    story = held(3000, alone=900 * US, burst=0, depth=4, quick=2, seconds=2, uneven=0.025)
    absent(judged(story), "device-capped")
    story = held(3000, alone=900 * US, burst=0, depth=4, quick=2, seconds=2, uneven=0.025)
    story.tables["devices"][0]["model"] = "Amazon Elastic Block Store"
    found = leads(judged(story), "device-capped", 0.9)
    assert "gp3" in numbers(judged(story), "device-capped.matches")["tariffs"]  # type: ignore[operator]
    assert found.share > 0.9


def test_two_volumes_of_one_machine(tmp_path: Path) -> None:
    """Their sum stands still, while each has now more, now less of it."""
    rows: list[Row] = []
    reads, times, busy = {1: 0, 2: 0}, {1: 0, 2: 0}, 0
    for second in range(31):
        first = 500 + (200 + 7 * second) * (-1) ** second
        held_back = second > 5
        for dev, did in ((1, first), (2, 1000 - first)):
            reads[dev] += did if held_back else 50
            times[dev] += (did * 16 if held_back else 50) * MS
        busy += S if held_back else S // 20
        rows += [
            {
                "ts_ns": second * S, "dev": dev, "reads": reads[dev], "read_bytes": reads[dev] * 4096,
                "read_ns": times[dev], "writes": 0, "written_bytes": 0, "write_ns": 0,
                "busy_ns": busy, "queue_ns": times[dev],
            }
            for dev in (1, 2)
        ]  # fmt: skip
    made = pasted(
        tmp_path / "two.iowhy",
        {"disk_samples": rows, "devices": [{"dev": 1, "name": "vdb"}, {"dev": 2, "name": "vdc"}]},
    )
    with facts_of(made) as facts:
        found = facts.ceiling
        assert found is not None and found.names == ("vdb", "vdc")
        assert found.requests_per_s == pytest.approx(1000, rel=0.03)
        assert verdict_of(facts).findings[0].cause == "device-capped"


def test_tariffs_match_and_have_a_source() -> None:
    for one in tariffs.tariffs():
        assert one.source.startswith("https://")
    assert any("gp3" in one for one in tariffs.matching("requests", 3010, 12e6, None))
    assert any("gp2" in one for one in tariffs.matching("requests", 300, 1e6, 100 << 30))
    assert not tariffs.matching("bytes", 3000, 77e6, None)
    assert any("P60" in one for one in tariffs.matching("either", 16_000, 400e6, None))


def test_a_limit_of_the_control_group_is_named_and_lifted(judged: Judge) -> None:
    """A loop device whose disk below is what the group is limited on."""
    for limit, named in ((1000, True), (1100, False)):
        story = held(1000)
        below = DISK + 16
        story.device(below, "sdb").add(
            "io_limits", ts_ns=START, path="/x", dev=below, read_ops_per_s=limit
        )
        found = leads(judged(story), "device-capped", 0.9)
        ids = [one.statement.id for one in found.chain]
        assert ("device-capped.of-group" in ids) == named
        assert (found.fixes[0].do.id == "group.no-io-limit") == named
