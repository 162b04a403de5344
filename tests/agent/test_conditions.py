"""What a condition sees of an interval, and what is no condition."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.agent import conditions
from iowhy.agent.conditions import Scope
from iowhy.agent.counted import OPEN_NS, lower_ns, percentile_ns
from tests.agent.made import VDA, S, disk, interval, latency


def above(text: str, *arguments: object, **more: object) -> tuple[float, str] | None:
    seen = conditions.read(text).above(interval(*arguments, **more))  # type: ignore[arg-type]
    return (seen[0].value, seen[0].of) if seen else None


def test_a_percentile_holds_only_where_it_is_certain() -> None:
    assert above("fsync p99 > 50 ms", latency()) == (6 << 23, "db")
    # In the same bucket, which begins at 50.3 ms.
    assert above("fsync p99 > 50.4ms", latency()) is None
    assert above("fsync p98 > 50 ms", latency()) is None
    assert above("fdatasync p99 > 50 ms", latency()) is None
    assert above("fsync p99 > 50 ms") is None


def test_a_container_is_judged_by_its_id_and_named_by_its_pod() -> None:
    apps = [
        latency(name="fsync", service=f"{pod}/app", id=pod, up_to_ns=[end], counts=[50])
        for pod, end in (("prod/db", 2048), ("ops/backup", 7 << 23))
    ]
    seen = {
        one.of: one.value for one in conditions.read("fsync p99 > 50 ms").observe(interval(*apps))
    }
    assert set(seen) == {"prod/db/app", "ops/backup/app"}
    same = [latency(name="fsync", service="app", id=id_) for id_ in ("a", "b")]
    assert len(list(conditions.read("fsync p99 > 50 ms").observe(interval(*same)))) == 2


def test_services_are_judged_each_by_itself_and_the_worst_is_named() -> None:
    quick = latency(service=None, path="/quick", up_to_ns=[2048], counts=[10_000])
    slow = latency(service=None, path="/slow", up_to_ns=[OPEN_NS], counts=[1])
    assert above("fsync p99 > 50 ms", quick, latency(), slow) == (2**36, "/slow")


def test_a_condition_is_limited_to_a_service_and_a_device() -> None:
    def found(service: str | None, device: str | None) -> list[str]:
        condition = conditions.read("fsync p99 > 50 ms")
        limited = conditions.limited(condition, Scope(service, device), None)
        return [seen.of for seen in limited.above(interval(*rows, mounts={VDA + 1: "/data"}))]

    other = latency(service="writer", path="/writer", dev=VDA + 1, up_to_ns=[OPEN_NS], counts=[1])
    rows = (latency(), other)
    assert found(None, None) == ["writer", "db"]
    assert found("db", None) == ["db"] and found("db", "vda") == ["db"]
    assert found(None, "/data") == ["writer"] and found("db", "/data") == []
    assert found("/system.slice/db.service", None) == ["db"]
    with pytest.raises(conditions.Unreadable, match="is of the whole machine"):
        conditions.limited(conditions.read("threads in D > 8"), Scope("db"), None)


def test_where_calls_are_traced_syncs_are_not_counted_twice() -> None:
    call = latency("call", up_to_ns=[2048], counts=[100])
    assert above("fsync p99 > 50 ms", latency(), call) is None


def test_requests_are_of_a_disk() -> None:
    read = latency("request", "read")
    assert above("request p99 > 50 ms", read) == (6 << 23, "vda")
    assert above("request write p99 > 50 ms", read) is None
    assert above("wait p99 > 50 ms", latency("io_wait", None)) == (6 << 23, "db")


def test_levels_of_the_machine() -> None:
    stalled = {"io": {"some": 0.21}}
    assert above("io pressure some > 20 %", pressure=stalled) == (0.21, "the machine")
    assert above("io pressure full > 20%", pressure=stalled) is None
    assert above("device vda utilisation > 95 %", disks=[disk(0.96)]) == (0.96, "vda")
    # What is not known is not above anything.
    assert above("device vda utilisation > 95 %", disks=[disk(None)]) is None
    assert above("threads in D > 8", waiting=9) == (9, "the machine")
    assert above("threads in D > 8", waiting=8) is None
    assert above("threads in D > 8", waiting=None) is None


def test_only_calls_other_than_syncs_need_all_calls_traced() -> None:
    assert conditions.read("pread64 p99.9 > 1ms for 2m").calls
    assert conditions.read("pread64 p99.9 > 1ms for 2m").for_ns == 120 * S
    assert not conditions.read("fsync p99 > 50 ms").calls


REFUSED = {"agent_syncs_xfs": "refused", "agent_syncs_btrfs": "not loaded"}


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("io pressure some > 20 %", {"pressure": {"io": {"some": 0.0}}}, None),
        ("io pressure full > 20 %", {"pressure": {"io": {"some": 0.0}}}, "io pressure full is not"),
        (
            "io pressure some > 20 %",
            {"lacking": {"pressure_samples": "no such file"}},
            "not known here: no such file",
        ),
        ("device vda utilisation > 95 %", {"disks": [disk(None)]}, None),
        ("device sda utilisation > 95 %", {"disks": [disk(0.9)]}, "no disk sda here: vda"),
        ("threads in D > 8", {}, None),
        ("threads in D > 8", {"lacking": {"agent_waits": "no BTF"}}, "agent_waits: no BTF"),
        ("fsync p99 > 50 ms for 10 s", {}, None),
        (
            "fsync p99 > 50 ms",
            {"lacking": REFUSED | {"agent_calls": "not asked for"}},
            "some of what it is about is not seen here: agent_syncs_xfs: refused; agent_syncs_btrfs: not",
        ),
        # All calls are traced, of whatever filesystem.
        ("fsync p99 > 50 ms", {"lacking": REFUSED}, None),
        (
            "fsync p99 > 50 ms",
            {"lacking": REFUSED | {"agent_syncs_ext4": "refused", "agent_calls": "no"}},
            "^what it is about is not seen here: agent_syncs_ext4: refused",
        ),
        ("pread64 p99 > 1 ms", {"lacking": {"agent_calls": "no"}}, "^what it is about is not"),
        ("request p99 > 1 ms", {"lacking": REFUSED}, None),
    ],
)
def test_what_this_machine_does_not_tell_is_said(
    text: str, more: dict[str, object], said: str | None
) -> None:
    found = conditions.read(text).unseen(interval(**more))
    if said is None:
        assert found is None
    else:
        assert found is not None and re.search(said, found), found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no condition"),
        ("fsync", "no condition"),
        ("fsync p99 > 50", ""),
        ("fsnyc p99 > 50 ms", "no system call"),
        ("fsync p100 > 50 ms", "between 0 and 100"),
        ("fsync p99 > soon", "give a time"),
        ("fsync p99 > 50 ms for ever", "give a time"),
        ("fsync write p99 > 50 ms", "only requests have operations"),
        ("request wirte p99 > 50 ms", "operations are"),
        ("io pressure some > 20", "percentage"),
        ("io pressure some > 100 %", "below 100"),
        ("threads in D > many", "number of threads"),
        ("disk is slow > 5 ms", "nothing that can be watched"),
    ],
)
def test_what_is_no_condition_says_what_is_wrong(text: str, says: str) -> None:
    if not says:  # a number without a unit is seconds, as everywhere
        assert conditions.read(text).limit == 50 * S
        return
    with pytest.raises(conditions.Unreadable, match=says):
        conditions.read(text)


ENDS = [1024, *((5 + part) << power for power in range(8, 34) for part in range(4)), OPEN_NS]


def test_a_bucket_begins_where_the_one_before_ends() -> None:
    assert [lower_ns(end) for end in ENDS] == [0, *ENDS[:-1]]


@given(
    st.dictionaries(st.sampled_from(ENDS), st.integers(1, 1000), min_size=1),
    st.floats(0.1, 99.9),
)
def test_a_percentile_is_never_above_the_real_one(buckets: dict[int, int], percent: float) -> None:
    rows = [latency(up_to_ns=list(buckets), counts=list(buckets.values()))]
    found = percentile_ns(rows, percent)
    assert found is not None
    # So many at least are as long as that, or longer.
    above_it = sum(count for end, count in buckets.items() if lower_ns(end) >= found)
    assert above_it * 100 >= (100 - percent) * sum(buckets.values()) - 1e-6
