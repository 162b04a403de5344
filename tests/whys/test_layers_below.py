"""A device that lies on others: the chain says on what, and which disk of an array answers late."""

import pytest

from tests.numbers_told import tells

from .conftest import Judge, chain, leads, links_of
from .made import MS, Story

#: The story's disk is a volume of LVM on an array of these.
VOLUME, ARRAY, LEFT, RIGHT = 8 << 20, 9 << 20, 254 << 20, 254 << 20 | 16
LATE = "its disk vdb takes 40 ms per read, the other 4 ms"


def on_an_array(
    right: int = 40 * MS, left: int = 4 * MS, count: int = 90, kind: str = "data"
) -> Story:
    """Reads that the command waits for, of which each of two disks does as many, and answers in `left` and `right`."""
    story = Story(4.0).caller("pread64", 90, blocked=40 * MS, jump=True)
    story.requests(90, service=40 * MS, jump=True)
    for dev, service in ((ARRAY, 40 * MS), (LEFT, left), (RIGHT, right)):
        story.requests(count, service=service, jump=True, dev=dev, kind=kind)
    story.tables["devices"] = [
        {"dev": VOLUME, "name": "dm-1", "mapper_name": "vg-data", "mapper_kind": "LVM"},
        {"dev": ARRAY, "name": "md0", "raid_level": "raid0"},
        {"dev": LEFT, "name": "vda"},
        {"dev": RIGHT, "name": "vdb"},
    ]
    for above, below in ((VOLUME, ARRAY), (ARRAY, LEFT), (ARRAY, RIGHT)):
        story.add("device_layers", dev=above, below_dev=below)
    return story


def test_the_chain_names_each_layer_and_the_disk_that_is_late(judged: Judge) -> None:
    said = chain(leads(judged(on_an_array()), "device-slow", 0.85))
    assert "LVM vg-data on md0 (raid0) on vda, vdb" in said
    assert LATE in said


@pytest.mark.parametrize(
    "story",
    [
        on_an_array(left=40 * MS),
        on_an_array(left=15 * MS),
        # Too few of them to tell.
        on_an_array(count=10),
    ],
)
def test_no_disk_is_blamed_that_is_not_far_behind_the_others(judged: Judge, story: Story) -> None:
    found = leads(judged(story), "device-slow", 0.85)
    assert "md0 (raid0) on vda, vdb" in chain(found)
    assert "late-disk" not in links_of(found)


def test_a_device_on_nothing_has_no_such_link(judged: Judge) -> None:
    story = on_an_array()
    del story.tables["device_layers"]
    assert " on md0" not in chain(leads(judged(story), "device-slow", 0.85))


def test_what_passes_through_several_layers_counts_once(judged: Judge) -> None:
    found = leads(judged(on_an_array()), "device-slow", 0.85)
    assert tells(chain(found), "dm-1", "40 ms")
