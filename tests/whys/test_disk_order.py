"""What the order of places saves who reads many files: the way to them, as the run itself shows."""

import pytest

from .conftest import Judge, fixes_of, leads
from .made import FS, KIB, MS, Story


def _packing(files: int, far: int, near: int) -> Story:
    """tar reads so many small files; a tenth of the requests takes `near`, the others `far`."""
    story = Story(2.0).cache(lookups=files, misses=files)
    story.caller("read", files, blocked=1800 * MS // files, ino=list(range(1000, 1000 + files)))
    story.requests(files, bytes_=4 * KIB, service=far, jump=True)
    for row in story.tables["block_requests"][1 : 1 + files // 10]:
        row["complete_ns"] = int(str(row["issue_ns"])) + near
    story.add("files", dev=FS, ino=900, path="/usr/bin/tar", kind="file")
    story.tables["threads"][0]["comm"] = "tar"
    return story


@pytest.mark.parametrize(
    ("files", "far", "near", "gained"),
    [(201, 8 * MS, MS, 7 / 8), (201, 8 * MS, 3 * MS, 5 / 8), (201, 8 * MS, 8 * MS, 0), (1601, MS, 0, 0)],
)  # fmt: skip
def test_an_order_gains_the_way_and_not_the_data(
    judged: Judge, files: int, far: int, near: int, gained: float
) -> None:
    """Where every way takes as long (a server far away), or none takes any, an order gains nothing."""
    found = leads(judged(_packing(files, far, near or MS)), "cache-cold", 0.85)
    assert found.gain == found.remedy_gains[0]
    again = fixes_of(found).index("shared.warm-cache")
    assert found.remedy_gains[again] == pytest.approx(found.share)
    assert ("--sort=inode" in found.remedies[0]) is (gained > 0)
    if gained:
        assert found.gain == pytest.approx(gained * found.share, rel=0.1)
        assert "as quick as the quickest tenth" in found.gain_condition
    else:
        assert not any("--sort" in one for one in found.remedies)
        assert found.gain_condition == "if all data is in memory"


@pytest.mark.parametrize(("near", "gained"), [(MS, 1), (5 * MS, 3 / 8)])
def test_files_that_are_stored_one_after_the_other_take_no_way_in_that_order(
    judged: Judge, near: int, gained: float
) -> None:
    """Unless all ways take as long, also the shortest."""
    story = _packing(201, 8 * MS, near)
    for at, row in enumerate(story.tables["block_requests"]):
        row["sector"] = 2048 + 8 * (at * 100 % 201)
    found = leads(judged(story), "cache-cold", 0.85)
    (ordered,) = (one for one in found.fixes if one.do.id == "tar.disk-order")
    assert ordered.gain == pytest.approx(gained * found.share, rel=0.1)
