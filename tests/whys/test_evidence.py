"""Evidence that several causes share: unknown, zero and one are three things."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from iowhy.whys import evidence, links
from iowhy.whys.causes import cache_thrash
from iowhy.whys.facts import Facts
from iowhy.whys.facts.cache import Cache
from tests.numbers_told import tells

from .conftest import Judge, absent, chain, leads, links_of
from .made import DISK, KIB, MS, START, S, Story, disk, pasted, samples

Factual = Callable[[Story], Facts]


@pytest.fixture
def factual(tmp_path: Path) -> Iterator[Factual]:
    """The facts of a story."""
    with ExitStack() as stack:
        yield lambda story: stack.enter_context(Facts(story.made(tmp_path / "facts.iowhy")))


def reader_that_also_wrote() -> Story:
    """It waits to read 90 % of the time, reads are in flight in 27 %, its own writes always."""
    story = Story(2.0).caller("pread64", 180, blocked=10 * MS, jump=True)
    story.requests(180, service=3 * MS, jump=True)
    return story.requests(200, op="write", bytes_=64 * KIB, service=10 * MS, ino=None)


def test_alone_on_its_device_only_its_reads_are_what_it_waits_for(factual: Factual) -> None:
    facts = factual(reader_that_also_wrote())
    assert facts.requests.others_share == 0.0
    assert evidence.busy_while_waiting(facts) == pytest.approx(0.3, abs=0.01)


def test_beside_others_all_that_its_device_does_is_what_it_waits_for(factual: Factual) -> None:
    story = reader_that_also_wrote()
    story.requests(400, op="write", service=10 * MS, depth=2, own=False, tgid=9)
    facts = factual(story)
    assert evidence.busy_while_waiting(facts) == pytest.approx(1.0, abs=0.01)


def test_reads_that_none_of_its_requests_answers_are_not_answered_in_no_time(
    factual: Factual,
) -> None:
    story = Story(2.0).caller("pread64", 180, blocked=10 * MS, jump=True)
    facts = factual(story.requests(200, op="write", service=10 * MS))
    assert evidence.busy_while_waiting(facts) == pytest.approx(1.0, abs=0.01)


def of_another_disk(story: Story) -> Story:
    """Requests were recorded, and all are another program's."""
    story.requests(4000, service=MS, own=False, tgid=9)
    for row in disk(seconds=2, reads=2000, read_bytes=1e7, wait_ns=25e6, busy=0.99, depth=6.0):
        story.add("disk_samples", **(row | {"ts_ns": START + int(str(row["ts_ns"]))}))
    return story


def test_what_others_devices_do_is_no_evidence_where_it_asked_for_nothing(judged: Judge) -> None:
    """A filesystem in user space: reads wait, and none of the machine's requests is the command's."""
    verdict = judged(of_another_disk(Story(2.0).caller("read", 180, blocked=10 * MS)))
    for cause in ("device-saturated", "device-slow", "queue-shallow", "device-contended"):
        absent(verdict, cause)
    said = " ".join(link.statement for one in verdict.findings for link in one.chain)
    assert "sda" not in said


def test_what_its_device_does_is_evidence_where_requests_were_not_recorded(judged: Judge) -> None:
    story = of_another_disk(Story(2.0).caller("read", 180, blocked=10 * MS))
    del story.tables["block_requests"]
    story.missing.add("block_requests")
    assert "sda" in chain(leads(judged(story), "device-saturated", 0.8))


def test_no_flush_is_none_and_without_a_device_unknown(factual: Factual) -> None:
    story = Story(2.0).caller("fsync", 100, blocked=10 * MS, bytes_=None, reason="journal_commit")
    assert evidence.flush_share(factual(story.requests(100, op="write", service=MS))) == 0.0


def test_flushes_of_no_device_are_unknown(factual: Factual) -> None:
    story = Story(2.0).caller("fsync", 100, blocked=10 * MS, bytes_=None, reason="journal_commit")
    assert evidence.flush_share(factual(story)) is None


def test_a_sync_that_computes_says_how_it_waits_only_where_that_is_known(factual: Factual) -> None:
    story = Story(2.0).caller("fsync", 300, cpu=6 * MS, bytes_=None)
    for row in story.tables["syscalls"]:
        row["blocked_ns"] = None
    said = " ".join(link.statement for link in links.sync_looks_long(factual(story)))
    assert tells(said, "100 %") and "uninterruptible" not in said


def test_pages_are_read_for_the_first_time_only_where_refaults_are_counted(judged: Judge) -> None:
    def reader(refaults: int | None) -> Story:
        story = Story(2.0).caller("pread64", 180, blocked=10 * MS).requests(180, service=10 * MS)
        return story.cache(lookups=4000, misses=40, readahead=3960, refaults=refaults)

    known, unknown = judged(reader(0)), judged(reader(None))
    assert tells(chain(leads(known, "cache-cold", 0.8)), "100 %")
    found = leads(unknown, "cache-cold", 0.8)
    assert "cache-cold.first" not in links_of(found)
    assert any("is not known" in why for why in found.lowered_by)


@pytest.mark.parametrize(("share", "again"), [(None, None), (0.0, 0.0), (1.0, 0.75)])
def test_the_part_of_the_file_that_was_read_most(share: float | None, again: float | None) -> None:
    cache = Cache(known=True, top_times_read=4.0, top_share=share)
    assert cache_thrash._read_again(cache) == again


def test_a_quota_says_what_its_counters_say(judged: Judge) -> None:
    """A group whose counters tell of periods alone, or of the time alone."""

    def held(**last: object) -> str:
        story = Story(2.0).thread(user=0.3, runnable=0.7).group(cpu_quota_cores=0.3, **last)
        return chain(leads(judged(story), "cpu-throttled", 0.5))

    assert tells(held(cpu_periods=20, cpu_throttled_periods=18), "90 %")
    assert tells(held(cpu_throttled_ns=int(1.4 * S)), "70 %")


def test_large_requests_are_well_used_only_where_their_order_is_known(
    judged: Judge, tmp_path: Path
) -> None:
    from iowhy.whys.verdict import judge

    story = Story(2.0).caller("read", 180, blocked=10 * MS, bytes_=512 * KIB)
    known = leads(
        judged(story.requests(180, bytes_=512 * KIB, service=10 * MS)), "device-saturated", 0.8
    )
    assert "zstd" in known.remedies[0]
    tables = {
        "cpu_samples": samples(user=0.02, system=0.03, idle=0.05, iowait=0.9),
        "disk_samples": disk(reads=200, read_bytes=1e8, wait_ns=25e6, busy=0.99, depth=6.0),
        "devices": [{"dev": DISK, "name": "sda"}],
    }
    unknown = leads(judge(pasted(tmp_path / "pasted", tables, cpus=1)), "device-saturated", 0.5)
    assert "zstd" not in unknown.remedies[0]
