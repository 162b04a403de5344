"""Requests that jump, as the recorder sums them up, against the rows: also where some of a device's do not count."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from iowhy.relations import Relations
from tests.examples import costly
from tests.reports.conftest import MS, T0, Make, filesystem, request

Row = dict[str, object]

#: A loop device on a file of the second filesystem, which lies on the disk 80: there requests of the first are seen again.
MACHINE: dict[str, list[Row]] = {
    "devices": [{"dev": 70, "name": "loop0", "below_dev": 80}, {"dev": 80, "name": "vda"}],
    "filesystems": [filesystem(disk=70), filesystem(disk=80, dev=5)],
}
REQUESTS = st.lists(
    st.builds(
        lambda at, op, dev, owner, ino, sector, size, page, length, scope, sent: (
            request(
                at * MS,
                length and length * MS,
                op,
                dev=dev,
                owner_dev=owner,
                owner_ino=ino,
                owner_page=page,
                sector=sector,
                bytes=size,
                in_scope=scope,
            )
            # A scheduler sends them in another order.
            | {"issue_ns": T0 + (at + sent) * MS}
        ),
        st.integers(0, 900),
        st.sampled_from(["read", "write", "write", "flush"]),
        st.sampled_from([70, 80, 80]),
        st.sampled_from([1, 5, 5, None]),
        st.sampled_from([2, 3, None]),
        st.sampled_from([0, 8, 8, 16, 16, 24, None]),
        st.sampled_from([0, 4096, 4096, 8192]),
        st.none() | st.integers(0, 9),
        st.none() | st.integers(1, 9),
        st.sampled_from([True, True, True, False, None]),
        st.integers(0, 300),
    ),
    min_size=1,
    max_size=30,
    unique_by=lambda row: row["queue_ns"],
)
EVERY = "SELECT * FROM {} ORDER BY ALL"


def summed_up(requests: Iterable[Row]) -> list[Row]:
    """As the recorder does, which does not know what counts."""
    ended: dict[tuple[object, object], int | None] = {}
    sums: dict[tuple[object, ...], Row] = {}
    for row in sorted(requests, key=lambda one: number(one["queue_ns"])):
        if row["in_scope"] is not True or row["op"] == "flush" or not row["bytes"]:
            continue
        begins = None if row["sector"] is None else 512 * number(row["sector"])
        way = (row["dev"], row["op"])
        before = ended.get(way)
        ended[way] = None if begins is None else begins + number(row["bytes"])
        steps = before is not None and begins is not None
        key = (*way, row["owner_dev"], row["owner_ino"])
        names = ("dev", "op", "owner_dev", "owner_ino")
        empty = dict.fromkeys(("requests", "bytes", "direct_bytes", "jumps", "steps"), 0)
        sum_ = sums.setdefault(key, {**dict(zip(names, key, strict=True)), **empty})
        add(sum_, "requests", 1)
        add(sum_, "bytes", row["bytes"])
        add(sum_, "direct_bytes", row["bytes"] if row["owner_page"] is None else 0)
        add(sum_, "jumps", int(steps and before != begins))
        add(sum_, "steps", int(steps))
        if row["complete_ns"] is not None:
            add(sum_, "time_ns", number(row["complete_ns"]) - number(row["queue_ns"]))
    return list(sums.values())


def add(sum_: Row, name: str, more: object) -> None:
    sum_[name] = number(sum_.get(name, 0)) + number(more)


def number(value: object) -> int:
    assert isinstance(value, int)
    return value


@costly(8)
@given(REQUESTS)
def test_sums_and_rows_tell_the_same(make: Make, requests: list[Row]) -> None:
    sums = summed_up(requests)
    recording = make(
        {**MACHINE, "block_requests": requests, **({"jump_sums": sums} if sums else {})}
    )
    with Relations(recording) as summed, Relations(recording) as counted:
        counted.facts = counted.facts.without_sums()
        assert summed.has("jump_sums") is bool(sums) and not counted.has("jump_sums")
        for relation in ("jump_totals", "file_requests"):
            every = EVERY.format(relation)
            assert summed.rows(every) == counted.rows(every)
        of_rows = counted.rows(
            """SELECT dev, op, count(*), count(jump_bytes), count(*) FILTER (WHERE jump_bytes <> 0)
            FROM command_requests GROUP BY dev, op ORDER BY ALL"""
        )
        assert of_rows == summed.rows(
            """SELECT dev, op, sum(requests), sum(steps), sum(jumps)
            FROM jump_totals GROUP BY dev, op ORDER BY ALL"""
        )
