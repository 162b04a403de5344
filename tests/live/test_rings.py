"""Who reaps from a ring or a context of its own, or waits until it can, waits for what goes through that one, and for nothing else."""

from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.recordings import Recording
from iowhy.relations import Relations
from machine import ask, filesystem, record, run

pytestmark = pytest.mark.usefixtures("live")

READS = 400
SLEPT = """
SELECT t.tid, CAST(coalesce(sum(w.parts), 0) AS BIGINT) > 0
FROM thread_intervals t
LEFT JOIN _waits_by_interval w ON w.row_id = t.row_id AND w.class IN ('read', 'write')
    AND w.syscall IN ('io_uring_enter', 'io_getevents') AND w.asleep
GROUP BY t.tid
"""


#: What a thread waits for before it reaps, and the calls that do so here.
WAYS = {
    "read": ("read",),
    "poll": ("poll", "ppoll"),
    "epoll": ("epoll_wait", "epoll_pwait"),
    "late": ("epoll_wait", "epoll_pwait"),
    "itself": ("epoll_wait", "epoll_pwait"),
}


def _rings_of(recording: Recording) -> dict[object, object]:
    """The ring of each thread that reaps; each has one."""
    rows = ask(
        recording,
        "SELECT tid, count(DISTINCT ring), max(ring), count(*) = count(ring) FROM syscalls"
        " WHERE name IN ('io_uring_enter', 'io_getevents') AND sleeping_ns > 0 GROUP BY tid",
    )
    assert [(rings, all_) for _, rings, _, all_ in rows] == [(1, True), (1, True)], rows
    return {tid: ring for tid, _, ring, _ in rows}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rings") / "rings"
    source = Path(__file__).with_name("rings.c")
    run("gcc", "-D_GNU_SOURCE", "-O1", "-o", str(made), str(source), "-lpthread")
    return made


def _recorded(
    program: Path, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> tuple[Recording, list[tuple[object, ...]]]:
    """A recording of the program that does `kind`, and how many of its reads went through which ring."""
    with filesystem("ext4", tmp_path) as scratch:
        file = scratch.mount / "file"
        file.write_bytes(bytes(READS * 4096))
        run("sync", "-f", str(scratch.mount))
        recording = record([program, kind, file, str(READS)], tmp_path / "r.iowhy", status=None)
        if recording.manifest.command.exit_status == 77:
            cannot_run(request, f"no io_uring, or not of this kind: {kind}")
        assert recording.manifest.command.exit_status == 0
        through = ask(
            recording,
            "SELECT ring, count(*) FROM block_requests WHERE op = 'read' AND bytes = 4096"
            " AND owner_dev = ? AND owner_ino = ? GROUP BY ring",
            scratch.dev,
            file.stat().st_ino,
        )
    return recording, through


@pytest.mark.parametrize("kind", ["uring", "registered", "polled", "worker", "libaio"])
def test_an_idle_ring_beside_a_busy_one_waits_for_no_storage(
    kind: str, program: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    recording, through = _recorded(program, kind, tmp_path, request)
    rings = _rings_of(recording)
    (main,) = (tid for (tid,) in ask(recording, "SELECT tid FROM threads WHERE tid = tgid"))
    busy = rings.pop(main)
    (idle,) = rings
    assert rings[idle] != busy
    assert through == [(busy, READS)]
    with Relations(recording) as relations:
        waited = dict(relations.rows(SLEPT))
    assert waited[main] is True
    assert waited[idle] is False


@pytest.mark.parametrize(
    "kind",
    [f"uring-{way}" for way in WAYS] + [f"libaio-{way}" for way in WAYS if way != "itself"],
)
def test_who_waits_to_be_told_waits_for_the_ring_that_tells(
    kind: str, program: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """By an eventfd or an epoll; a thread whose eventfd belongs to a ring that nobody uses is idle in the same call."""
    calls = WAYS[kind.partition("-")[2]]
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        recording, through = _recorded(program, kind, folder, request)
        # A device in memory may have answered each read before it is waited for: that run says nothing of waiting.
        ((slept,),) = ask(
            recording,
            "SELECT coalesce(sum(sleeping_ns), 0) > 0 FROM syscalls WHERE name IN (SELECT unnest(?)) AND ring IS NOT NULL",
            list(calls),
        )
        if slept:
            break
    (main,) = (tid for (tid,) in ask(recording, "SELECT tid FROM threads WHERE tid = tgid"))
    ((ring, reads),) = through
    assert reads == READS
    waited = ask(
        recording,
        "SELECT tid, ring, count(*) FROM syscalls WHERE name IN (SELECT unnest(?)) AND ring IS NOT NULL GROUP BY ALL",
        list(calls),
    )
    assert [(tid, of) for tid, of, _ in waited] == [(main, ring)], waited
    # Of some the data are there before it sleeps. The first call may begin before the ring is known.
    assert waited[0][2] >= READS - 1
    with Relations(recording) as relations:
        names = ", ".join(f"'{call}'" for call in calls)
        rows = relations.rows(
            "SELECT t.tid, sum(w.parts) > 0 FROM thread_intervals t JOIN _waits_by_interval w ON w.row_id = t.row_id"
            f" WHERE w.class = 'read' AND w.syscall IN ({names}) AND w.asleep GROUP BY t.tid"
        )
    assert rows == [(main, True)]
