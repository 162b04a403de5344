"""Which threads sleep for storage, and in which calls, as the recorder's sums of calls tell it, against the rows."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from iowhy.relations import Relations
from tests.examples import costly
from tests.reports.conftest import MS, Make, call, file, filesystem

Row = dict[str, object]

#: A file, a pipe and a directory of a disk, and a file that a process serves.
MACHINE: dict[str, list[Row]] = {
    "files": [
        file(2, "/srv/a"),
        file(3, None, "pipe"),
        file(4, "/srv", "directory"),
        file(2, "/far/a", dev=9),
    ],
    "filesystems": [filesystem(), filesystem(dev=9, disk=None) | {"kind": "fuse.sshfs"}],
}
NAMES = ("read", "pwrite64", "fsync", "openat", "futex", "close", "epoll_wait", "io_submit")
REAPING = ("io_uring_enter", "io_getevents")
CALLS = st.lists(
    st.builds(
        lambda at, name, tid, file_of, ring, asleep: (
            call(
                at * MS,
                MS,
                name,
                tid=tid,
                dev=file_of[0],
                ino=file_of[1],
                blocked_ns=0,
                sleeping_ns=asleep,
            )
            | {"ring": ring, "tgid": 10 + tid // 12}
        ),
        st.integers(0, 900),
        st.sampled_from([*NAMES, *REAPING, *REAPING]),
        st.integers(10, 12),
        st.sampled_from([(1, 2), (1, 3), (1, 4), (9, 2), (None, None)]),
        st.sampled_from([None, None, 7, 8]),
        st.sampled_from([0, 1, MS]),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda row: row["ts_ns"],
)


def summed_up(calls: Iterable[Row]) -> list[Row]:
    """What these relations read of the recorder's sums, which do not know rings."""
    sums: dict[tuple[object, ...], Row] = {}
    names = ("tgid", "tid", "name", "dev", "ino")
    counted = (
        "calls",
        "errors",
        "unfinished",
        "total_ns",
        "max_ns",
        "moving",
        "syncing",
        "sleeping_ns",
    )
    for row in calls:
        key = tuple(row[name] for name in names)
        sum_ = sums.setdefault(
            key, {**dict(zip(names, key, strict=True)), "tiny": False, **dict.fromkeys(counted, 0)}
        )
        sum_["calls"] = number(sum_["calls"]) + 1
        sum_["sleeping_ns"] = number(sum_["sleeping_ns"]) + number(row["sleeping_ns"])
    return list(sums.values())


def number(value: object) -> int:
    assert isinstance(value, int)
    return value


@costly(10)
@given(CALLS)
def test_sums_and_rows_tell_the_same(make: Make, calls: list[Row]) -> None:
    recording = make({**MACHINE, "syscalls": calls, "call_sums": summed_up(calls)})
    with Relations(recording) as summed, Relations(recording) as counted:
        counted.facts = counted.facts.without_sums()
        assert summed.has("call_sums") and not counted.has("call_sums")
        for relation in ("storage_sleepers", "storage_sleeps"):
            every = f"SELECT * FROM {relation} ORDER BY ALL"
            assert summed.rows(every) == counted.rows(every), relation


def test_a_thread_whose_every_ring_is_known_waits_for_these_alone(make: Make) -> None:
    """And one of whose calls one has none waits for any of the process."""
    asleep = {"blocked_ns": 0, "sleeping_ns": MS}
    known = [
        call(at * MS, MS, "io_uring_enter", ino=None, **asleep) | {"ring": 7} for at in range(3)
    ]
    unknown = [call(9 * MS, MS, "io_uring_enter", ino=None, **asleep)]
    for calls, rings in ((known, [(7,)]), (known + unknown, [(7,), (None,)])):
        recording = make({**MACHINE, "syscalls": calls, "call_sums": summed_up(calls)})
        with Relations(recording) as relations:
            assert relations.rows("SELECT ring FROM storage_sleepers ORDER BY 1") == rings
