"""io-throttled: held back above the device."""

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, fixes_of, leads, sentence
from ..made import DISK, KIB, MS, START, Story

OTHER_DISK = DISK + (1 << 20)


def reader(service: int) -> Story:
    story = Story(2.0).caller(
        "read", 100, blocked=19 * MS, bytes_=128 * KIB, reason="direct_io", gap="idle"
    )
    return story.requests(100, bytes_=128 * KIB, service=service)


def test_at_the_limit_of_the_group(judged: Judge) -> None:
    story = reader(MS).group(io_limit_read_bytes_per_s=7_000_000)
    found = leads(judged(story), "io-throttled", 0.9)
    assert found.confidence > 0.8
    assert tells(found.summary, "7 MB/s")
    assert "Lift the" in found.remedies[0]


def test_the_limit_is_of_the_device_that_it_reads(judged: Judge) -> None:
    story = reader(MS).group(io_limit_read_bytes_per_s=7_000_000)
    story.add("io_limits", ts_ns=START, path="/x", dev=DISK, read_bytes_per_s=7_000_000)
    found = leads(judged(story), "io-throttled", 0.9)
    assert tells(chain(found), "7 MB/s", "sda")
    assert "Lift the" in found.remedies[0]


def test_not_a_limit_of_another_device(judged: Judge) -> None:
    """What it waits for has none: on the device that has it, it read next to nothing, or nothing."""
    story = reader(19 * MS).group(io_limit_read_bytes_per_s=7_000_000)
    for dev in (OTHER_DISK, OTHER_DISK + 16):
        story.add("io_limits", ts_ns=START, path="/x", dev=dev, read_bytes_per_s=7_000_000)
    story.requests(2, dev=OTHER_DISK, bytes_=128 * KIB, service=MS)
    absent(judged(story), "io-throttled")
    # As slow, and the device idles: something may hold it back, but no limit that is known.
    story = reader(MS).group(io_limit_read_bytes_per_s=7_000_000)
    story.add("io_limits", ts_ns=START, path="/x", dev=OTHER_DISK, read_bytes_per_s=7_000_000)
    found = leads(judged(story), "io-throttled", 0.9)
    assert found.confidence < 0.6 and "may read" not in chain(found)
    assert not any("Lift the" in one for one in found.remedies)


def test_each_limit_by_its_own_number(judged: Judge) -> None:
    """Reads at 50 a second of 128 KiB, near the limit on their number, far from that on their bytes."""
    story = reader(MS).group(io_limit_read_ops_per_s=55)
    limits = {"read_bytes_per_s": 100_000_000, "read_ops_per_s": 55, "write_ops_per_s": 50}
    story.add("io_limits", ts_ns=START, path="/x", dev=DISK, **limits)
    found = leads(judged(story), "io-throttled", 0.9)
    assert tells(chain(found), "55 reads/s", "sda")
    assert "writes/s" not in chain(found) and "MB/s" not in chain(found)


def test_an_idle_device_without_a_known_limit(judged: Judge) -> None:
    found = leads(judged(reader(MS)), "io-throttled", 0.9)
    assert found.confidence < 0.6 and found.lowered_by
    # That there is a limit is not known: neither said, nor to be lifted.
    assert sentence(found.summary).id == "io-throttled.held-back"
    assert not {"io-throttled.lift-limit", "group.no-io-limit"} & {*fixes_of(found)}


def test_not_inferred_where_the_kernel_itself_waits_for_a_cpu(judged: Judge) -> None:
    absent(judged(reader(MS).machine(busy=0.99)), "io-throttled")
    story = reader(MS).group(io_limit_read_bytes_per_s=7_000_000).machine(busy=0.99)
    assert finding(judged(story), "io-throttled")


def test_writeback_throttling_by_its_stack(judged: Judge) -> None:
    story = Story(2.0).caller("fsync", 100, blocked=18 * MS, bytes_=None, reason="io_throttle")
    leads(judged(story), "io-throttled", 0.85)


def test_not_far_below_the_limit_on_a_busy_device(judged: Judge) -> None:
    story = reader(19 * MS).group(io_limit_read_bytes_per_s=100_000_000)
    absent(judged(story), "io-throttled")


def test_not_a_busy_device(judged: Judge) -> None:
    absent(judged(reader(19 * MS)), "io-throttled")


def test_not_when_little_is_waited(judged: Judge) -> None:
    story = Story(2.0).caller("read", 100, blocked=MS, bytes_=128 * KIB, reason="direct_io")
    story.requests(100, bytes_=128 * KIB, service=MS // 10)
    absent(judged(story), "io-throttled")
