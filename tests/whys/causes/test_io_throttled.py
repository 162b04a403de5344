"""io-throttled: held back above the device."""

from ..conftest import Judge, absent, finding, leads
from ..made import KIB, MS, Story


def reader(service: int) -> Story:
    story = Story(2.0).caller(
        "read", 100, blocked=19 * MS, bytes_=128 * KIB, reason="direct_io", gap="idle"
    )
    return story.requests(100, bytes_=128 * KIB, service=service)


def test_at_the_limit_of_the_group(judged: Judge) -> None:
    story = reader(MS).group(io_limit_read_bytes_per_s=7_000_000)
    found = leads(judged(story), "io-throttled", 0.9)
    assert found.confidence > 0.8
    assert "a limit holds its requests back" in found.summary
    assert "raise or lift the limit" in found.remedies[0]


def test_an_idle_device_without_a_known_limit(judged: Judge) -> None:
    found = leads(judged(reader(MS)), "io-throttled", 0.9)
    assert found.confidence < 0.6 and found.lowered_by
    # That there is a limit is not known: neither said, nor to be lifted.
    assert "something holds its requests back" in found.summary
    assert not any("lift the limit" in one for one in found.remedies)


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
