"""queue-shallow: one request at a time, to a quick device."""

import pytest

from ..conftest import Judge, absent, finding, fixes_of, leads
from ..made import KIB, MS, Story


def test_one_random_read_at_a_time_on_flash(judged: Judge) -> None:
    story = Story(1.5).caller("pread64", 1500, blocked=900_000, jump=True, reason="direct_io")
    story.requests(1500, service=900_000, jump=True)
    leads(judged(story), "queue-shallow", 0.85, 0.95)


def test_not_on_a_disk_that_seeks(judged: Judge) -> None:
    story = Story(1.5).caller("pread64", 140, blocked=10 * MS, jump=True, reason="direct_io")
    story.requests(140, service=10 * MS, jump=True)
    absent(judged(story), "queue-shallow")


def test_not_with_many_under_way(judged: Judge) -> None:
    story = Story(1.5)
    for tid in range(10, 18):
        story.caller("pread64", 140, tid=tid, blocked=10 * MS, jump=True, reason="direct_io")
    story.requests(8 * 140, service=10 * MS, depth=8, jump=True)
    absent(judged(story), "queue-shallow")


def test_not_with_large_requests(judged: Judge) -> None:
    story = Story(1.5).caller("pread64", 700, blocked=2 * MS, bytes_=512 * KIB, reason="direct_io")
    story.requests(700, service=2 * MS - 1000, bytes_=512 * KIB)
    absent(judged(story), "queue-shallow")


def test_data_can_be_asked_for_ahead(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 1900, blocked=MS, jump=True)
    found = finding(judged(story.requests(1900, service=MS, jump=True)), "queue-shallow")
    assert found is not None and "posix_fadvise" in found.remedies[0]


def test_what_is_read_past_the_cache_is_not_read_ahead(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 1900, blocked=MS, jump=True, reason="direct_io")
    found = finding(judged(story.requests(1900, service=MS, jump=True)), "queue-shallow")
    assert found is not None and not any(
        "readahead" in one or "WILLNEED" in one for one in found.remedies
    )
    assert "8 requests in flight" in found.remedies[0]


def shredder(*, turns: bool, name: str = "sdb", jump: bool = False, kib: int = 64) -> Story:
    """One write past the cache after the other, each as quick as a disk of 150 MB/s moves it."""
    story = Story(2.0)
    story.tables["devices"][0].update(name=name, rotational=turns)
    story.caller(
        "write", 3800, blocked=460_000, bytes_=kib * KIB, reason="direct_io", gap_share=0.0
    )
    return story.requests(3800, op="write", bytes_=kib * KIB, service=458_000, jump=jump)


def test_not_in_order_on_a_disk_that_turns(judged: Judge) -> None:
    """One head moves one after the other as fast as many at once: it does all that it can."""
    verdict = judged(shredder(turns=True))
    absent(verdict, "queue-shallow")
    found = leads(verdict, "device-saturated", 0.8)
    assert "zstd" in found.remedies[0]


def test_flash_and_what_may_be_flash_have_channels(judged: Judge) -> None:
    """Disks of virtio all say that they turn."""
    leads(judged(shredder(turns=False)), "queue-shallow", 0.8)
    leads(judged(shredder(turns=True, name="vdb")), "queue-shallow", 0.8)


def test_not_of_a_disk_that_turns_but_answers_small_requests_at_once(judged: Judge) -> None:
    """What is small takes its way, not its bytes: the device has time left, and its size is what is wrong."""
    absent(judged(shredder(turns=True, kib=4)), "device-saturated")


def test_somebody_elses_program_that_passes_the_cache_by_may_have_an_option(judged: Judge) -> None:
    story = Story(2.0).device(rotational=False)
    story.caller("pwrite64", 1900, blocked=MS - 10_000, bytes_=32 * KIB, reason="direct_io")
    story.requests(1900, op="write", bytes_=32 * KIB, service=MS - 20_000, jump=True)
    story.argv = ("/usr/bin/ddrescue", "-D", "in", "out")
    assert fixes_of(leads(judged(story), "queue-shallow", 0.8))[0] == "shared.larger-by-option"


@pytest.mark.parametrize(
    ("argv", "jump", "first", "who"),
    [
        (("/usr/bin/qemu-img", "bench"), True, "shared.deeper-by-option", "qemu-img"),
        (("/usr/bin/qemu-img", "bench"), False, "shared.larger-by-option", "qemu-img"),
        (("bash", "bench.sh"), True, "shared.deeper-by-option", "qemu-img"),
        (("/home/me/bench",), True, "queue-shallow.io-uring", None),
    ],
)
def test_whose_calls_jump_has_more_in_flight_by_option(
    judged: Judge, argv: tuple[str, ...], jump: bool, first: str, who: str | None
) -> None:
    story = Story(2.0, argv=argv).file(201, "/usr/bin/qemu-img").device(rotational=False)
    story.caller(
        "pread64", 1900, blocked=MS - 10_000, jump=jump, bytes_=32 * KIB, reason="direct_io"
    )
    story.requests(1900, bytes_=32 * KIB, service=MS - 20_000, jump=True)
    for thread in story.tables["threads"]:
        thread["comm"] = "bench" if argv[0].startswith("/home") else "qemu-img"
    found = finding(judged(story), "queue-shallow")
    assert found is not None and fixes_of(found)[0] == first
    assert dict(found.fixes[0].do.values).get("who") == who
