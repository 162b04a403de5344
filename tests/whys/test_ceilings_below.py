"""device-capped: what drivers tell, what a device is on, and stretches that begin after what shows the ceiling."""

from pathlib import Path

import pytest

from iowhy.commands.overview import overview_of
from iowhy.recordings import Recording
from iowhy.relations.narrowed import Narrowed
from iowhy.whys.facts import facts_of
from iowhy.whys.verdict import verdict_of

from .causes.test_device_capped import US, held, numbers
from .conftest import Judge, absent, finding, leads
from .made import KIB, MS, Row, Story, pasted
from .made.base import DISK, START, S

BELOW = DISK + 16
EBS = "Amazon Elastic Block Store"


def even(**more: object) -> Story:
    """What nothing but its evenness shows: four at once, none quickly before."""
    values = {"alone": 900 * US, "burst": 0, "depth": 4, "quick": 2, "seconds": 3.0} | more
    return held(3000, **values)  # type: ignore[arg-type]


def tells(story: Story, dev: int = DISK, **counted: float) -> Story:
    """A volume that counts, by share of the time."""
    names = ("volume_requests", "volume_bytes", "machine_requests", "machine_bytes")
    for second in range(int(story.seconds) + 1):
        sums = {f"{one}_ns": 7 * S + int(second * S * counted.get(one, 0.0)) for one in names}
        story.add("volume_limits", ts_ns=START + second * S, dev=dev, **sums)
    return story


def test_a_volume_that_counts_itself_at_its_limit(judged: Judge) -> None:
    """Not even, and never quick: nothing else would show it."""
    chips = even(spread=0.3)
    absent(judged(chips), "device-capped")
    verdict = judged(tells(even(spread=0.3), volume_requests=0.9))
    found = leads(verdict, "device-capped", 0.9)
    assert numbers(verdict, "device-capped.own-count")["share"] == pytest.approx(0.9)
    assert found.confidence > 0.9
    assert found.fixes[0].do.values["whole"] == "sda"


def test_a_limit_of_the_machine_is_raised_there(judged: Judge) -> None:
    verdict = judged(tells(even(spread=0.3), machine_bytes=0.8, volume_requests=0.1))
    found = leads(verdict, "device-capped", 0.9)
    assert "MB/s" in str(found.chain[1].statement)
    assert found.fixes[0].do.values["whole"] == "the machine"


def test_a_volume_that_counts_nothing_is_not_at_what_was_bought(judged: Judge) -> None:
    """What its model alone would say is not so, whatever it is."""
    story = even(uneven=0.025)
    story.tables["devices"][0]["model"] = EBS
    leads(judged(story), "device-capped", 0.9)
    absent(judged(tells(story)), "device-capped")
    # What single requests show is so: another limit than those that it counts.
    verdict = judged(tells(held(1000)))
    leads(verdict, "device-capped", 0.9)
    assert numbers(verdict, "device-capped.own-count")["share"] == 0
    # Read once, it tells nothing.
    once = tells(even(uneven=0.025))
    once.tables["devices"][0]["model"] = EBS
    del once.tables["volume_limits"][1:]
    leads(judged(once), "device-capped", 0.9)


def on_another(story: Story, *, others: int = 0, **below: object) -> Story:
    """The same on a volume below, with requests of others there."""
    story.tables["devices"][0] |= {"below_dev": BELOW, "name": "dm-0"}
    story.device(BELOW, "nvme1n1", **below)
    for table in ("block_requests", "disk_samples"):
        for row in list(story.tables[table]):
            story.add(table, **row | {"dev": BELOW})
    for row in story.tables["disk_samples"]:
        if row["dev"] == BELOW:
            row["read_bytes"] = int(row["read_bytes"] * (1 + others))  # type: ignore[call-overload]
    return story


def test_the_ceiling_of_a_mapped_device_is_that_of_what_it_is_on(judged: Judge) -> None:
    verdict = judged(on_another(even(uneven=0.025), model=EBS))
    found = leads(verdict, "device-capped", 0.9)
    assert found.fixes[0].do.values["whole"] == "nvme1n1"
    assert numbers(verdict, "device-capped.on") == {"above": "dm-0", "device": "nvme1n1"}
    absent(judged(on_another(even(uneven=0.025))), "device-capped")
    # Of a volume that does as much for others, half of the waiting is its own.
    verdict = judged(on_another(even(uneven=0.025), others=1, model=EBS))
    found = finding(verdict, "device-capped")
    assert found is not None and found.share == pytest.approx(0.5, abs=0.06)


def test_an_array_of_bought_volumes_is_bought(judged: Judge) -> None:
    """As its members are, if all of them are; and what one of them counts is counted."""
    for models, found in (((EBS, EBS), True), ((EBS, "SSD"), False)):
        story = even(uneven=0.025)
        story.tables["devices"][0] |= {"name": "md0", "raid_level": "raid0"}
        for nth, model in enumerate(models):
            story.device(BELOW + nth, f"nvme{nth}n1", model=model)
            story.add("device_layers", dev=DISK, below_dev=BELOW + nth)
        assert (finding(judged(story), "device-capped") is not None) == found
    verdict = judged(tells(story, BELOW, volume_requests=0.7))
    leads(verdict, "device-capped", 0.9)
    assert numbers(verdict, "device-capped.own-count")["share"] == pytest.approx(0.7)


def test_a_driver_that_gives_it_one_at_a_time(judged: Judge) -> None:
    """As even as a clock, one after the other: a stick on USB, and no limit."""
    story = held(600, alone=1650 * US, burst=1, depth=6, quick=8)
    leads(judged(story), "device-capped", 0.9)
    for at_once, found in ((1, False), (32, True), (None, True)):
        story.tables["devices"][0]["driver_requests"] = at_once
        assert (finding(judged(story), "device-capped") is not None) == found, at_once


def test_a_stretch_after_what_shows_the_ceiling(tmp_path: Path) -> None:
    """A burst in the first second; later nothing but a rate that stands still."""
    made = held(900, alone=4 * MS, burst=60, quick=4, seconds=6, uneven=0.02).made(
        tmp_path / "a.iowhy"
    )
    for since, until in ((0, 6), (2, 5), (3, None)):
        stretch = Narrowed(
            since_ns=START + since * S, until_ns=None if until is None else START + until * S
        )
        with facts_of(made, narrowed=stretch) as facts:
            found = [one for one in verdict_of(facts).findings if one.cause == "device-capped"]
            assert found, (since, until)
            assert facts.ceiling is not None and facts.ceiling.by == "passed"
            assert facts.ceiling.requests_per_s == pytest.approx(900, rel=0.03)
    assert "device-capped" in {one.cause for one in overview_of(made, (10,)).verdict.findings}


def test_a_stretch_that_is_not_at_the_ceiling(tmp_path: Path) -> None:
    """One at a time, before the others begin."""
    story = held(900, alone=4 * MS, burst=60, quick=400, seconds=6)
    with facts_of(story.made(tmp_path / "a.iowhy"), narrowed=Narrowed(until_ns=START + S)) as facts:
        assert facts.ceiling is None


def test_a_full_queue_of_the_driver_is_named(judged: Judge) -> None:
    """Eight at once where the driver gives it eight: its own limit, whose queue is full."""
    story = held(2000, alone=4 * MS, burst=0, uneven=0.1)
    for at_once, named in ((8, True), (64, False), (None, False)):
        story.tables["devices"][0]["driver_requests"] = at_once
        found = leads(judged(story), "device-saturated", 0.9)
        ids = {one.statement.id for one in found.chain}
        assert ("device-saturated.at-once" in ids) == named, at_once


def seconds(tmp_path: Path, *did: tuple[int, int, float]) -> Recording:
    """A paste of seconds: requests, bytes of each, and what one takes (ms)."""
    sums = dict.fromkeys(("reads", "read_bytes", "read_ns", "queue_ns", "busy_ns"), 0)
    rows: list[Row] = [{"ts_ns": 0, "dev": DISK, **sums}]
    for second, (requests, each, took) in enumerate(did, 1):
        sums["reads"] += requests
        sums["read_bytes"] += requests * each
        sums["read_ns"] += int(requests * took * MS)
        sums["queue_ns"] = sums["read_ns"]
        sums["busy_ns"] += min(S, int(requests * took * MS))
        rows.append({"ts_ns": second * S, "dev": DISK, **sums})
    for row in rows:
        row |= {"writes": 0, "written_bytes": 0, "write_ns": 0}
    made = {"disk_samples": rows, "devices": [{"dev": DISK, "name": "sda"}]}
    return pasted(tmp_path / "seconds.iowhy", made)


ALONE = [(90, 4 * KIB, 0.1)] * 4
SMALL, LARGE = (3000, 4 * KIB, 5.3), (3000, 16 * KIB, 5.3)


@pytest.mark.parametrize(
    ("did", "counts"),
    [
        ([SMALL, LARGE] * 5, "requests"),
        ([(4000, 32 * KIB, 4.0), (1000, 128 * KIB, 16.0)] * 5, "bytes"),
        # Large ones move more bytes, so that what small ones met counts requests.
        ([SMALL, SMALL, (500, 256 * KIB, 32.0)] * 4, "requests"),
        # And small ones are more, so that what large ones met counts bytes.
        ([SMALL, (500, 256 * KIB, 32.0), (500, 256 * KIB, 32.0)] * 4, "bytes"),
    ],
    ids=["requests", "bytes", "small", "large"],
)
def test_what_is_counted_shows_where_sizes_differ(
    tmp_path: Path, did: list[tuple[int, int, float]], counts: str
) -> None:
    # Before, one at a time, of sizes as they are on average at the ceiling.
    at = [one for one in did if did.count(one) * 2 >= len(did)]
    each = sum(one[0] * one[1] for one in at) // sum(one[0] for one in at)
    alone = [(requests, each, took) for requests, _, took in ALONE]
    with facts_of(seconds(tmp_path, *alone, *did)) as facts:
        found = facts.ceiling
    assert found is not None and found.counts == counts
    assert found.share == pytest.approx(len(at) / len(did), abs=0.05)


def test_each_of_two_limits_shows_in_its_stretch(tmp_path: Path) -> None:
    """Small requests meet the one, large ones then the other; each is quick alone, at another time."""
    small = held(900, alone=MS, burst=1, seconds=4)
    large = held(200, alone=MS, burst=1, seconds=6, bytes_=256 * KIB, quick=6)
    for row in [*large.tables["block_requests"], *large.tables["disk_samples"]]:
        for at in row.keys() & {"ts_ns", "queue_ns", "issue_ns", "complete_ns"}:
            if at != "queue_ns" or "dev" not in row or "reads" not in row:
                row[at] = int(str(row[at])) + 4 * S
    whole = Story(10)
    last = small.tables["disk_samples"][-1]
    sums = ("reads", "read_bytes", "read_ns", "queue_ns", "busy_ns")
    for row in large.tables["disk_samples"][1:]:
        row |= {name: int(str(row[name])) + int(str(last[name])) for name in sums}
    whole.tables["disk_samples"] = [
        *small.tables["disk_samples"], *large.tables["disk_samples"][1:]
    ]  # fmt: skip
    whole.tables["block_requests"] = [
        *small.tables["block_requests"], *large.tables["block_requests"]
    ]  # fmt: skip
    made = whole.made(tmp_path / "two.iowhy")
    for since, until, counts in ((1, 4, "requests"), (6, 10, "bytes")):
        part = Narrowed(since_ns=START + since * S, until_ns=START + until * S)
        with facts_of(made, narrowed=part) as facts:
            assert facts.ceiling is not None and facts.ceiling.counts == counts, since


QUICK, HELD, REST = (4000, 4 * KIB, 1.0), (3000, 4 * KIB, 1.4), (9, 4 * KIB, 0.3)


@pytest.mark.parametrize(
    ("did", "found"),
    [
        ([QUICK] * 4 + [HELD] * 8, True),
        ([QUICK] * 2 + [HELD] * 4 + [REST] * 3 + [QUICK] * 2 + [HELD] * 4, True),
        # It is quicker again while requests queue all along: no credits, but now more, now less.
        ([QUICK] * 2 + [HELD] * 4 + [QUICK] * 2 + [HELD] * 4, False),
    ],
    ids=["credits", "credits-that-came-back", "now-and-then"],
)
def test_credits_come_back_while_it_rests(
    tmp_path: Path, did: list[tuple[int, int, float]], found: bool
) -> None:
    with facts_of(seconds(tmp_path, *did)) as facts:
        assert (facts.ceiling is not None) == found
        assert facts.ceiling is None or facts.ceiling.by == "burst"
