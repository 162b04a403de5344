"""Who reaps from a ring or a context of its own waits for what goes through that one, and for nothing else."""

from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.recording import Recording
from iowhy.relations import Relations
from machine import ask, filesystem, record, run

pytestmark = pytest.mark.usefixtures("live")

READS = 400
SLEPT = """
SELECT t.tid, CAST(coalesce(sum(w.parts), 0) AS BIGINT) > 0
FROM thread_rows t
LEFT JOIN waits_by_interval w ON w.row_id = t.row_id AND w.class IN ('read', 'write')
    AND w.syscall IN ('io_uring_enter', 'io_getevents') AND w.asleep
GROUP BY t.tid
"""


def _rings_of(recording: Recording) -> dict[object, object]:
    """The ring of each thread that reaps; each has one."""
    rows = ask(
        recording,
        "SELECT tid, count(DISTINCT ring), max(ring), count(*) = count(ring) FROM syscalls"
        " WHERE name IN ('io_uring_enter', 'io_getevents') AND sleeping_ns > 0 GROUP BY tid",
    )
    assert [(rings, all_) for _, rings, _, all_ in rows] == [(1, True), (1, True)], rows
    return {tid: ring for tid, _, ring, _ in rows}


@pytest.mark.parametrize("kind", ["uring", "registered", "polled", "worker", "libaio"])
def test_an_idle_ring_beside_a_busy_one_waits_for_no_storage(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    program = tmp_path / "rings"
    run(
        "gcc", "-D_GNU_SOURCE", "-O1", "-o", str(program), str(Path(__file__).parent / "rings.c"),
        "-lpthread",
    )  # fmt: skip
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
    rings = _rings_of(recording)
    (main,) = (tid for (tid,) in ask(recording, "SELECT tid FROM threads WHERE tid = tgid"))
    busy = rings.pop(main)
    (idle,) = rings
    assert rings[idle] != busy
    assert through == [(busy, READS)]
    with Relations.of(recording) as relations:
        waited = dict(relations.rows(SLEPT))
    assert waited[main] is True
    assert waited[idle] is False
