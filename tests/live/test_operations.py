"""Operations of io_uring and libaio: as many, as long and on what the program says that it did."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import cannot_run
from iowhy.recordings import Recording
from iowhy.relations import Relations
from iowhy.reports import run as report
from machine import ask, filesystem, record, run

pytestmark = pytest.mark.usefixtures("live")

#: Each way to submit and to run that fio has: its options, and who then begins the operations.
WAYS = {
    "io_uring": (["--ioengine=io_uring", "--direct=1"], "inline", {"direct"}),
    "registered": (
        ["--ioengine=io_uring", "--direct=1", "--registerfiles", "--fixedbufs", "--sync=dsync"],
        "inline",
        {"direct", "fixed_file", "fixed_buffer"},
    ),
    "polled": (["--ioengine=io_uring", "--direct=1", "--sqthread_poll"], "poll thread", {"direct"}),
    "worker": (["--ioengine=io_uring", "--force_async=1"], "worker", {"async"}),
    "libaio": (["--ioengine=libaio", "--direct=1", "--sync=dsync"], "inline", {"direct"}),
}
SUMS = """
SELECT kind, count(*), count(complete_ns), sum(bytes), sum(moved_bytes), min(ret), count(DISTINCT ring), min(ran), max(ran)
FROM async_operations WHERE dev = ? AND ino = ? AND kind IN ('read', 'write') GROUP BY kind ORDER BY kind
"""


def _fio(way: str, folder: Path, mount: Path) -> tuple[Recording, dict[str, Any]]:
    job = [
        "fio", "--name=j", "--rw=randrw", "--bs=4k", "--iodepth=8", "--size=8m", "--io_size=4m",
        "--output-format=json", "--directory", str(mount), "--output", str(folder / "fio.json"), *WAYS[way][0],
    ]  # fmt: skip
    recording = record(job, folder / "r.iowhy")
    return recording, json.loads((folder / "fio.json").read_text())["jobs"][0]


@pytest.mark.parametrize("way", WAYS)
def test_operations_and_bytes_are_those_that_fio_counts(way: str, tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        file = scratch.mount / "j.0.0"
        file.write_bytes(bytes(8 << 20))  # else fio writes it first
        run("sync", "-f", str(scratch.mount))
        recording, job = _fio(way, tmp_path, scratch.mount)
        found = ask(recording, SUMS, scratch.dev, file.stat().st_ino)
    _, ran, flags = WAYS[way]
    expected = []
    for kind in ("read", "write"):
        operations, bytes_ = job[kind]["total_ios"], job[kind]["io_bytes"]
        expected.append((kind, operations, operations, bytes_, bytes_, 4096, 1, ran, ran))
    assert found == expected
    seen = ask(
        recording, "SELECT DISTINCT flags FROM async_operations WHERE kind IN ('read', 'write')"
    )
    assert all(flags <= set(one) for (one,) in seen), seen
    (of_file,) = (row for row in report(recording, "files").to_pylist() if row["path"] == str(file))
    assert of_file["read_bytes"] == job["read"]["io_bytes"]
    assert of_file["written_bytes"] == job["write"]["io_bytes"]
    # Those are syncs, too, that are to be durable: by the flags of the file, be it a registered one.
    durable = sum(
        r["calls"] for r in report(recording, "sync").to_pylist() if "(O_SYNC)" in r["name"]
    )
    assert durable == ("--sync=dsync" in WAYS[way][0]) * job["write"]["total_ios"]
    with Relations(recording) as relations:
        (summed,) = relations.rows("SELECT calls FROM sync_sums")
        (counted,) = relations.rows("SELECT count(*) FROM sync_calls")
    assert summed == counted


def _known(tmp_path: Path, mount: Path, *words: str) -> Recording:
    program = tmp_path / "operations"
    source = Path(__file__).parent / "operations.c"
    run("gcc", "-O1", "-o", str(program), str(source))
    return record([program, mount / "file", *words], tmp_path / "o.iowhy", status=None)


KNOWN = """
SELECT op, kind, count(*), count(complete_ns), sum(bytes), sum(moved_bytes), min(ret), sum(results), max(array_to_string(flags, ' '))
FROM async_operations GROUP BY op, kind ORDER BY op
"""


def test_linked_registered_failing_and_multishot_operations(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        recording = _known(tmp_path, scratch.mount)
    if recording.manifest.command.exit_status == 77:
        cannot_run(request, "no io_uring")
    assert recording.manifest.command.exit_status == 0
    assert ask(recording, KNOWN) == [
        ("fsync", "sync", 40, 40, None, None, 0, 40, ""),
        ("poll_add", "other", 1, 1, None, None, -125, 4, "multishot"),
        ("poll_remove", "other", 1, 1, None, None, 0, 1, ""),
        ("read", "read", 1, 1, 4096, 0, -9, 1, ""),
        ("read_fixed", "read", 30, 30, 30 * 4096, 30 * 4096, 4096, 30, "fixed_file fixed_buffer"),
        ("readv", "read", 20, 20, 20 * 4096, 20 * 4096, 4096, 20, ""),
        ("write", "write", 40, 40, 40 * 4096, 40 * 4096, 4096, 40, "linked"),
    ]
    # What is linked to an operation that a worker does is done by that one, too.
    pairs = ask(
        recording,
        "SELECT count(*) FROM async_operations w JOIN async_operations s ON s.op = 'fsync' AND s.submit_ns > w.submit_ns"
        " AND s.submit_ns < w.complete_ns AND (s.ran = 'worker' OR w.ran <> 'worker') AND s.complete_ns >= w.complete_ns WHERE w.op = 'write'",
    )
    assert pairs == [(40,)]


def test_what_libaio_takes_refuses_and_gives_back(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        recording = _known(tmp_path, scratch.mount, "libaio")
        inode = (scratch.mount / "file").stat().st_ino
    assert ask(recording, KNOWN) == [
        ("fsync", "sync", 1, 1, None, None, 0, 1, ""),
        ("preadv", "read", 5, 5, 5 * 8192, 5 * 8192, 8192, 5, ""),
        ("pwrite", "write", 25, 25, 25 * 8192, 25 * 8192, 8192, 25, ""),
    ]
    places = ask(
        recording,
        'SELECT min(dev), min(ino), max(ino), count(DISTINCT "offset"), max("offset") FROM async_operations'
        " WHERE op = 'pwrite'",
    )
    assert places == [(scratch.dev, inode, inode, 25, 24 * 8192)]


def test_each_operation_that_does_something_with_files_is_as_its_program_says(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """All that this kernel has of io_uring's list, one after another: name, result, bytes, and of the file or not."""
    program, log = tmp_path / "opcodes", tmp_path / "log"
    run("gcc", "-O1", "-o", str(program), str(Path(__file__).parent / "opcodes.c"))
    with filesystem("ext4", tmp_path) as scratch:
        script = f"exec {program} {scratch.mount} > {log}"
        recording = record(["sh", "-c", script], tmp_path / "o.iowhy", status=None)
        if recording.manifest.command.exit_status == 77:
            cannot_run(request, "no io_uring")
        assert recording.manifest.command.exit_status == 0
        file = scratch.dev, (scratch.mount / "f").stat().st_ino
    said = [line.split("\t") for line in log.read_text().splitlines()]
    expected = [
        (op, int(result), int(moved) if int(moved) >= 0 else None, of_file == "1")
        for op, result, moved, of_file in said
    ]
    found = ask(
        recording,
        "SELECT op, ret, moved_bytes, coalesce(dev = ? AND ino = ?, false) FROM async_operations ORDER BY submit_ns",
        *file,
    )
    assert found == expected
    # Linux 5.19 has all but the last few; those before 5.15 have no names and attributes.
    assert len({op for op, *_ in expected}) >= 16
