"""device-capped: what drivers tell, what a device is on, and stretches that begin after what shows the ceiling."""

from pathlib import Path

import pytest

from iowhy.commands.overview import overview_of
from iowhy.relations.narrowed import Narrowed
from iowhy.whys.facts import facts_of
from iowhy.whys.verdict import verdict_of

from ..conftest import Judge, absent, finding, leads
from ..made import MS, Story
from ..made.base import DISK, START, S
from .test_device_capped import US, held, numbers

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
    assert numbers(verdict, "device-capped.told")["share"] == pytest.approx(0.9)
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
    assert numbers(verdict, "device-capped.told")["share"] == 0
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


def test_a_driver_that_gives_it_one_at_a_time(judged: Judge) -> None:
    """As even as a clock, one after the other: a stick on USB, and no limit."""
    story = held(600, alone=1650 * US, burst=1, depth=6, quick=8)
    leads(judged(story), "device-capped", 0.9)
    for at_once, found in ((1, False), (32, True), (None, True)):
        story.tables["devices"][0]["driver_requests"] = at_once
        assert judged(story).finds("device-capped") == found, at_once  # type: ignore[attr-defined]


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
