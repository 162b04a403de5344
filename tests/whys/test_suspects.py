"""Where no cause explains most of the time: two suspects, and what would tell them apart."""

from pathlib import Path

import pytest

from iowhy.sentences import Sentence
from iowhy.whys import classes
from iowhy.whys.facts import Facts
from iowhy.whys.suspects import doubt
from iowhy.whys.typed import commands
from tests.numbers_told import tells
from tests.sources.reading import FIXTURES, verdict

from .conftest import Judge
from .made import MS, Story

CORPUS = FIXTURES.parent / "corpus"


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


def test_what_is_next_to_nothing_speaks_for_nobody(tmp_path: Path) -> None:
    """The device is busy in all of the waiting: that it is idle in 0 % of it is no word against it."""
    with Facts(writer(100, 17 * MS).made(tmp_path / "x")) as facts:
        found = doubt(facts, commands(facts), (), classes.WRITE)
    assert found is not None
    device, other = found.suspects
    assert device.speaks_for and not device.against
    assert other.against and not other.speaks_for


def test_a_wait_of_unknown_reason_is_the_kernel_s_work_in_that_call(judged: Judge) -> None:
    """As of a scrub: kernel threads work for a call that waits. Recorded with the whole machine, these show."""
    story = Story(2.0).caller("ioctl", 100, blocked=18 * MS, reason="other", io=False, bytes_=None)
    found = judged(story).doubt
    assert found is not None and "run -a" in found.decided_by
    assert "ioctl" in found.suspects[0].could_be and tells(found.suspects[0].speaks_for, "90 %")
    assert not any("()" in one.sentence for one in found.suspects)


def test_none_where_a_cause_leads(judged: Judge) -> None:
    assert judged(Story(2.0).thread(user=0.95)).doubt is None


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("case1-written.curt.txt", "the device", "each sync"),
        ("case5-new-kernel.latencytop.txt", "the device", "each sync"),
    ],
)
def test_of_a_text_that_ends_there_too(name: str, first: str, second: str, tmp_path: Path) -> None:
    """Which command shows more stands below what was read."""
    found = verdict(tmp_path, (FIXTURES / name).read_text())
    assert isinstance(found.headline, Sentence) and found.headline.id == "no-single-cause"
    assert found.doubt is not None and found.doubt.decided_by == ""
    assert [first in one.could_be or second in one.could_be for one in found.doubt.suspects] == [
        True,
        True,
    ]


def test_a_text_of_idle_cpus_may_be_an_idle_machine_or_a_program_that_waits(tmp_path: Path) -> None:
    lines = (CORPUS / "mpstat-year-9999.txt").read_text().splitlines()
    whole = [line for line in lines if not line.startswith(" ")]
    found = verdict(tmp_path, "\n".join(whole) + "\n")
    assert found.doubt is not None
    assert tells(found.doubt.suspects[0].speaks_for, "97 %")
