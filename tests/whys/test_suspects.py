"""Where no cause explains most of the time: two suspects, and what would tell them apart."""

from pathlib import Path

import pytest

from iowhy.sentences import Sentence
from iowhy.whys import classes
from iowhy.whys.facts import Facts
from iowhy.whys.suspects import doubt
from iowhy.whys.typed import commands

from .conftest import Judge
from .made import MS, Story


def writer(count: int, service: int) -> Story:
    """Writes that wait 17 ms each for a page, while the device has so many requests."""
    story = Story(2.0).caller("write", 100, blocked=17 * MS, reason="page_lock", io=True)
    return story.requests(count, op="write", service=service) if count else story


def test_two_suspects_and_what_decided_by(judged: Judge) -> None:
    verdict = judged(writer(0, 0))
    assert isinstance(verdict.headline, Sentence) and verdict.headline.id == "no-single-cause"
    assert verdict.doubt is not None and len(verdict.doubt.suspects) == 2
    assert "run -a" in verdict.doubt.decided_by
    assert all(one.speaks_for or one.against for one in verdict.doubt.suspects)


@pytest.mark.parametrize(("service", "device_first"), [(4 * MS, False), (15 * MS, True)])
def test_the_device_is_the_first_if_it_is_busy_then(
    tmp_path: Path, service: int, device_first: bool
) -> None:
    with Facts(writer(100, service).made(tmp_path / "x")) as facts:
        found = doubt(facts, commands(facts), (), classes.WRITE)
    assert found is not None
    assert (found.suspects[0].could_be == "sda") is device_first


def test_none_where_a_cause_leads(judged: Judge) -> None:
    assert judged(Story(2.0).thread(user=0.95)).doubt is None
